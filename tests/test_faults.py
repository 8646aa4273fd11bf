"""Exceptions as plain data."""

from __future__ import annotations

import pytest

from toolog.faults import describe_error, safe_text


def _raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_type_message_and_stack() -> None:
    """An exception gives its qualified type, its text, and frames without their source lines."""
    described = describe_error(_raised(ValueError("bad input")))
    assert described["type"] == "ValueError"
    assert described["message"] == "bad input"
    assert described["stack"].endswith("in _raised")
    assert "raise error" not in described["stack"]


def test_causes_are_chained() -> None:
    """Causes and implicit contexts follow in order; a suppressed context does not."""
    caused, alone = RuntimeError("outer"), RuntimeError("alone")
    caused.__cause__ = KeyError("inner")
    alone.__context__, alone.__suppress_context__ = KeyError("hidden"), True
    implicit = RuntimeError("outer")
    implicit.__context__ = KeyError("inner")
    for error in (caused, implicit):
        assert [link["type"] for link in describe_error(error)["chain"]] == ["KeyError"]
    assert "chain" not in describe_error(alone)


def test_a_chain_that_bites_its_tail_ends() -> None:
    """A cycle of causes is followed once."""
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert [link["message"] for link in describe_error(first)["chain"]] == ["2"]


def test_groups_name_their_members() -> None:
    """The members of an exception group stand in its chain."""
    group = ExceptionGroup("two", [ValueError("a"), TypeError("b")])
    assert [link["type"] for link in describe_error(group)["chain"]] == ["ValueError", "TypeError"]


def test_deep_stacks_are_bounded() -> None:
    """A recursion of a thousand frames keeps its first and last frames and says how many are missing."""

    def dig(depth: int) -> None:
        if depth == 0:
            raise RecursionError("bottom")
        dig(depth - 1)

    with pytest.raises(RecursionError) as caught:
        dig(400)
    lines = describe_error(caught.value)["stack"].splitlines()
    assert len(lines) < 60
    assert any("more frames" in line for line in lines)


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    @property
    def __cause__(self) -> BaseException:  # type: ignore[override]
        raise RuntimeError("no cause")


def test_hostile_exceptions_do_not_raise() -> None:
    """An exception whose own methods raise is described by its type."""
    described = describe_error(Hostile("secret"))
    assert described["type"].endswith("Hostile")
    assert described["message"] == "[no text: RuntimeError]"


def test_long_texts_are_bounded() -> None:
    """A message of a megabyte is cut, and the cut is told."""
    text = safe_text(lambda: "x" * 1_000_000)
    assert len(text) < 10_000
    assert text.endswith("more characters]")


def test_notes_stand_beside_the_message() -> None:
    """What was added to an exception, its causes and its members stands beside their messages as texts."""
    error = ExceptionGroup("two", [ValueError("a"), TypeError("b")])
    error.add_note("while paying")
    error.exceptions[1].add_note("of the group")
    error.__cause__ = KeyError("inner")
    error.__cause__.add_note("of the cause")
    described = describe_error(error)
    assert described["notes"] == ["while paying"]
    assert [link.get("notes") for link in described["chain"]] == [["of the cause"], None, ["of the group"]]
    assert "notes" not in describe_error(ValueError("plain"))


def test_notes_are_bounded() -> None:
    """Of very many notes the first and the last stay, each bounded, and what is missing is told."""
    error = ValueError("bad")
    for number in range(1000):
        error.add_note(f"{number} " + "x" * 10_000)
    notes = describe_error(error)["notes"]
    assert [note.split()[0] for note in notes[-2:]] == ["[...", "999"]
    assert "984 more notes" in notes[-2]
    assert notes[0].endswith("more characters]")
    assert sum(map(len, notes)) < 20_000


@pytest.mark.parametrize("held", ["text", 5, {"a": 1}, [1, None, b"x"], iter(["a"])])
def test_what_are_no_notes_is_left_out(held: object) -> None:
    """``__notes__`` may be anything; what is no list of texts is not looked into."""
    error = ValueError("bad")
    error.__notes__ = held  # type: ignore[assignment]
    assert "notes" not in describe_error(error)
