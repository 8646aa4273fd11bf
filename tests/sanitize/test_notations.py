"""What YAML writes before a value, or in its place, and LDIF's values in base64."""

from __future__ import annotations

import pytest

from toolog.sanitize.notations import anchors_of, base64_end, value_start


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("&main x1y2", "x1y2"),
        ("&main 'x1 y2'", "'x1 y2'"),
        ("!!str 4821", "4821"),
        ("&a !!str x1 # old", "x1 # old"),
        ("!vault |\n  6231", "|\n  6231"),
        ("&a7 and more words", "&a7 and more words"),
        ("*other", "*other"),
        ("x1y2", "x1y2"),
    ],
)
def test_a_name_and_a_kind_before_a_value_are_passed_over(text: str, value: str) -> None:
    """What only looks like them, and an alias of nothing, is the value itself."""
    assert text[value_start(text, 0, frozenset({"main"})) :] == value


@pytest.mark.parametrize(
    "text", ["*main", "*main # same", "!Ref Name", '!Sub "${A}"', "!secret name", "&str", "&String,"]
)
def test_a_value_that_stands_elsewhere_is_none(text: str) -> None:
    """An alias of a name that was given, a tag that fetches a value, a type."""
    assert value_start(text, 0, anchors_of("a: &main x1\n")) == -1


def test_base64_of_ldif_ends_with_its_last_line() -> None:
    """Lines that begin with a blank go on; a word in small letters is no value."""
    text = "VGFubmVf\n NDQ3MV9EcnVjaw==\ncn: a"
    assert text[: base64_end(text, 0)] == "VGFubmVf\n NDQ3MV9EcnVjaw=="
    assert base64_end("parser", 0) == 0
