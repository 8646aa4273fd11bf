"""The walk copies on write, reaches everything, and fails closed."""

from __future__ import annotations

import copy
import dataclasses
import threading
from collections import OrderedDict, namedtuple
from types import MappingProxyType
from typing import Any

import attrs
import pydantic
import pytest
from hypothesis import example, given, settings

from tests.sanitize.test_prefilter import values
from toolog.sanitize import CYCLE, FAILED, TRUNCATED, Sanitizer
from toolog.sanitize import engine as engine_module

SANITIZER = Sanitizer()
Point = namedtuple("Point", "name password")


@dataclasses.dataclass(slots=True)
class Slotted:
    user: str
    password: str


@dataclasses.dataclass
class Plain:
    user: str
    api_key: str


@attrs.define
class Defined:
    token: str
    size: int


class Model(pydantic.BaseModel):
    name: str
    password: str


@settings(max_examples=80, deadline=None)
@given(values)
@example([[4242424242424242, None], ["(415) 555-0132", 128]])
@example({"13800138000": 5000})
def test_the_given_value_never_changes_and_masking_is_idempotent(value: Any) -> None:
    """For any plain value: it is as it was, the result is stable, and the same object comes back when it is
    equal."""
    before = copy.deepcopy(value)
    clean = SANITIZER.sanitize(value)
    assert value == before
    assert SANITIZER.sanitize(clean) == clean
    if clean == before:
        assert clean is value or value != value


def test_only_what_changed_is_copied() -> None:
    """Clean branches of a changed structure are the very same objects."""
    clean_branch = {"rows": [1, 2, {"x": "y"}]}
    value = {"a": clean_branch, "password": "Zq9-inv"}
    made = SANITIZER.sanitize(value)
    assert made == {"a": clean_branch, "password": "[MASKED:password]"}
    assert made["a"] is clean_branch


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Slotted("bob", "Zq9-inv"), {"user": "bob", "password": "[MASKED:password]"}),
        (Plain("bob", "Zq9-inv"), {"user": "bob", "api_key": "[MASKED:api_key]"}),
        (Defined("Zq9-inv", 3), {"token": "[MASKED:token]", "size": 3}),
        (Model(name="bob", password="Zq9-inv"), {"name": "bob", "password": "[MASKED:password]"}),
        (Point("bob", "mail dana@example.com"), Point("bob", "mail [MASKED:email]")),
        (("dana@example.com", 1), ("[MASKED:email]", 1)),
        ({"dana@example.com"}, {"[MASKED:email]"}),
        (frozenset(["dana@example.com"]), frozenset(["[MASKED:email]"])),
        (b"password=Zq9-inv", b"password=[MASKED:password]"),
        (bytearray(b"dana@example.com \xff"), b"[MASKED:email] \xff"),
        (OrderedDict(password="Zq9-inv"), {"password": "[MASKED:password]"}),
        (MappingProxyType({"password": "Zq9-inv"}), {"password": "[MASKED:password]"}),
        ({b"password": "Zq9-inv"}, {b"password": "[MASKED:password]"}),
        ({("a", "dana@example.com"): 1}, {("a", "[MASKED:email]"): 1}),
        ({1: {"password": 12345678}}, {1: {"password": "[MASKED:password]"}}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_containers_of_all_kinds_are_read(value: Any, expected: Any) -> None:
    """Dataclasses, attrs, pydantic, named tuples, sets, bytes, mappings and odd keys hide nothing."""
    assert SANITIZER.sanitize(value) == expected


def test_objects_without_declared_fields_come_back_untouched() -> None:
    """Locks, generators and unknown objects are neither read nor copied."""
    generator = (number for number in range(3))
    value = {"lock": threading.Lock(), "gen": generator, "obj": object()}
    assert SANITIZER.sanitize(value) is value
    assert list(generator) == [0, 1, 2]


def test_masked_keys_that_become_equal_are_numbered() -> None:
    """No entry is lost when two keys have the same mask."""
    made = SANITIZER.sanitize({"dana@example.com": 1, "bob@example.com": 2})
    assert made == {"[MASKED:email]": 1, "[MASKED:email] (2)": 2}
    assert SANITIZER.sanitize(made) is made


def test_exceptions_show_neither_their_own_secret_nor_that_of_a_cause() -> None:
    """An exception whose text, note or cause holds a secret becomes masked text; a clean one is untouched."""
    try:
        try:
            raise KeyError("password=Zq9-inv")
        except KeyError as error:
            raise ValueError("bad") from error
    except ValueError as error:
        text = SANITIZER.sanitize({"e": error})["e"]
    assert "Zq9-inv" not in text
    assert text.startswith("ValueError: bad (caused by) KeyError")
    clean = ValueError("bad")
    assert SANITIZER.sanitize(clean) is clean
    noted = ValueError("bad")
    noted.add_note("token=k12ab34cd")
    assert "k12ab34cd" not in SANITIZER.sanitize(noted)


def test_a_cycle_is_named() -> None:
    """What contains itself is cut where it begins again."""
    value: dict[str, Any] = {"password": "Zq9-inv"}
    value["self"] = value
    assert SANITIZER.sanitize(value) == {"password": "[MASKED:password]", "self": CYCLE}


def test_what_lies_too_deep_is_cut() -> None:
    """Below `max_depth` nothing is shown."""
    value: Any = {"password": "Zq9-inv"}
    for _ in range(10):
        value = [value]
    made = Sanitizer(max_depth=5).sanitize(value)
    assert "Zq9-inv" not in repr(made)
    assert TRUNCATED in repr(made)


def test_a_text_beyond_the_bound_is_cut() -> None:
    """Beyond `max_bytes` a text is neither read nor shown."""
    made = Sanitizer(max_bytes=100).sanitize("a" * 200 + " password=Zq9-inv")
    assert len(made) <= 100
    assert made.endswith(TRUNCATED)
    assert Sanitizer(max_bytes=100).sanitize(made) == made


def test_a_rule_that_breaks_withholds_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """When finding raises, the value is replaced, its neighbours are kept, and nothing reaches the caller."""

    def broken(*args: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(engine_module, "find_spans", broken)
    sanitizer = Sanitizer()
    value, counts = sanitizer.sanitize_at({"a": "mail dana@example.com", "b": 1})
    assert value == {"a": FAILED, "b": 1}
    assert counts == {"redaction_failed": 1}


def test_an_object_that_lies_is_withheld() -> None:
    """A mapping that raises while it is read is replaced as a whole."""

    class Liar(dict[str, str]):
        def items(self) -> Any:
            raise RuntimeError("no")

    assert SANITIZER.sanitize({"a": Liar(password="Zq9-inv"), "b": 2}) == {"a": FAILED, "b": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"password":"Zq9-inv","n":1}', '{"password":"[MASKED:password]","n":1}'),
        ('{"password": "Zq9-inv", "n": 1}', '{"password": "[MASKED:password]", "n": 1}'),
        ('{\n  "password": "Zq9-inv"\n}\n', '{\n  "password": "[MASKED:password]"\n}\n'),
        (' ["dana@example.com"] ', ' ["[MASKED:email]"] '),
        ('{"a": "é", "password": "Zq9-inv"}', '{"a": "é", "password": "[MASKED:password]"}'),
        (
            '{"password": "a1", "password": "b2"}',
            '{"password": "[MASKED:password]", "password": "[MASKED:password]"}',
        ),
    ],
)
def test_json_in_text_is_masked_in_its_own_style(text: str, expected: str) -> None:
    """JSON inside a text keeps its blanks, indent and escapes, and loses only the secret."""
    assert SANITIZER.sanitize(text) == expected


def test_lone_surrogates_do_not_hide_a_secret() -> None:
    """Text that no codec can write is masked all the same."""
    assert SANITIZER.sanitize({"t": "\ud800 password=Zq9-inv"}) == {"t": "\ud800 password=[MASKED:password]"}


def test_what_is_remembered_of_masked_texts_is_bounded_and_masked() -> None:
    """Masked texts that were looked at again are remembered: few, short, and none with what was masked."""
    sanitizer = Sanitizer()
    settled = sanitizer.common.settled
    for number in range(1100):
        text = f"order {number}: password=Zq9-inv"
        for _ in range(2):
            assert sanitizer.sanitize(text) == f"order {number}: password=[MASKED:password]"
    sanitizer.sanitize("x" * 600 + " password=Zq9-inv")
    assert 0 < len(settled) <= 1024
    assert not [text for text in settled if "Zq9" in text or len(text) > 512]
