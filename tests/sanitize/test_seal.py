"""Sealing: nothing unmasked passes, and what breaks is withheld."""

from __future__ import annotations

import json
import logging
from typing import Any

import ormsgpack
import pytest

import toolog
from tests.helpers import collecting, wrap
from toolog.events import record_from_log
from toolog.record import ToolRecord
from toolog.sanitize import Sanitizer, default, warm
from toolog.sanitize.seal import seal, seal_batch
from toolog.settings import capture

MAIL = "dana.invented" + "@" + "example.com"


def records(*values: Any) -> list[ToolRecord]:
    """Return the records of a tool that was called with each value and gave it back."""
    with collecting() as seen:
        tool = wrap(lambda value: value, "echo")
        for value in values:
            tool(value)
    return seen.records


def test_masks_are_counted_by_rule() -> None:
    """A sealed document says how many values each rule masked, never which."""
    [record] = records({"password": "Zq9-inv", "note": f"mail {MAIL}"})
    document = record.document()
    assert "Zq9-inv" not in json.dumps(document)
    assert MAIL not in json.dumps(document)
    assert sum(document["masked"].values()) == 4  # in the input and in the output
    toolog.validate(document)


def test_what_was_cut_below_a_sensitive_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The notes of what was cut are valid and whole below a sensitive name, and a path that holds a secret is
    masked itself."""
    monkeypatch.setattr(capture, "max_items", 2)
    [record] = records({"password": list(range(9)), f"to {MAIL}": list(range(8)), "tokens": [[1, 2, 3]]})
    document = record.document()
    toolog.validate(document)
    assert document["truncated"]["output.password"] == {"size": 9, "unit": "items", "kept": 2}
    assert MAIL not in json.dumps(document)
    sizes = [note["size"] for path, note in document["truncated"].items() if path.startswith("output")]
    assert sorted(sizes) == [3, 8, 9]


def test_clean_records_say_nothing_of_masks() -> None:
    """A record without secrets has no ``masked`` field."""
    [record] = records({"city": "Paris"})
    assert "masked" not in record.document()


def test_a_batch_is_sealed_as_its_records_alone_are() -> None:
    """Sealing in a batch gives the same documents as sealing one by one, dirty or clean."""
    values = [{"n": 1}, {"password": "Zq9-inv"}, "plain", {"mail": MAIL}]
    batch = seal_batch(records(*values))
    alone = [seal(record) for record in records(*values)]

    def content(packed: bytes) -> list[Any]:
        document = ormsgpack.unpackb(packed)
        return [document["input"], document["output"], document.get("masked")]

    assert [content(packed) for packed in batch] == [content(packed) for packed in alone]


def test_a_stamped_sanitizer_wins() -> None:
    """A sanitizer among the logger's filters is the one that is used."""
    stamped = Sanitizer(keys_add=["city"])
    logger = logging.getLogger("toolog.calls.echo")
    logger.addFilter(stamped)
    try:
        [record] = records({"city": "Paris"})
    finally:
        logger.removeFilter(stamped)
    assert "Paris" not in json.dumps(record.document())


@pytest.mark.parametrize("broken", ["flags", "sanitize_at"])
def test_it_fails_closed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sanitizer that breaks leaves no content in the document, and says so."""

    def explode(*_: Any) -> Any:
        raise RuntimeError("rule")

    sanitizer = Sanitizer()
    monkeypatch.setattr(Sanitizer, broken, explode) if broken == "sanitize_at" else None
    if broken == "flags":

        class Broken(Sanitizer):
            common = property(explode)

        sanitizer = Broken()
    [record] = records({"password": "Zq9-inv"})
    document = ormsgpack.unpackb(seal(record, sanitizer))
    assert "Zq9-inv" not in json.dumps(document)
    assert document["masked"]["redaction_failed"] >= 1


@pytest.mark.parametrize("broken", ["flags", "sanitize_at"])
@pytest.mark.parametrize("line", [False, True], ids=["call", "log line"])
def test_what_cannot_be_sanitized_stays_on_hold(
    broken: str, line: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record whose content is withheld still says that it is on hold, as a purge would delete it else; why
    it is, is withheld too.
    """

    def explode(*_: Any) -> Any:
        raise RuntimeError("rule")

    class Broken(Sanitizer):
        common = property(explode)

    if broken == "sanitize_at":
        monkeypatch.setattr(Sanitizer, broken, explode)
    sanitizer = Broken() if broken == "flags" else Sanitizer()
    with toolog.bind(hold="Zq9-inv", password="Zq9-inv"):
        if line:
            record = record_from_log(
                logging.makeLogRecord({"msg": "password=Zq9-inv", "name": "shop", "levelno": 20})
            )
        else:
            [record] = records({"password": "Zq9-inv"})
    document = ormsgpack.unpackb(seal(record, sanitizer))
    assert document["tags"]["hold"]
    assert "Zq9-inv" not in json.dumps(document)


def test_what_cannot_be_sanitized_and_is_not_on_hold_has_no_hold() -> None:
    """Without the tag, or with one that was lifted, a withheld record has none."""

    class Broken(Sanitizer):
        @property
        def common(self) -> Any:
            raise RuntimeError("rule")

    with toolog.bind(hold=None, order="hold"):
        [record] = records({"hold": "x"})
    assert "tags" not in ormsgpack.unpackb(seal(record, Broken()))


def test_a_tool_is_sealed_by_its_own_options_alone_and_in_a_batch() -> None:
    """Options of one tool hold when its records are sealed, however they are sealed."""
    sanitizer = Sanitizer(tools={"echo": {"keys_add": ["city"]}})
    made = [seal(records({"city": "Paris"})[0], sanitizer)]
    made += seal_batch(records({"city": "Paris"}, {"city": "Rome"}), sanitizer)
    assert [packed for packed in made if b"Paris" in packed or b"Rome" in packed] == []


@pytest.mark.parametrize("dirty", [{0}, {7}, {8}, {15}, {3, 11}, set(range(16))], ids=str)
def test_in_a_batch_only_the_dirty_records_are_masked(dirty: set[int]) -> None:
    """Wherever in a batch the records with secrets stand, they are masked and the others untouched."""
    values = [{"password" if at in dirty else "note": "Zq9-inv"} for at in range(17)]
    packed = seal_batch(records(*values))
    assert {at for at, document in enumerate(packed) if b"Zq9-inv" not in document} == dirty


def test_warming_up_changes_nothing() -> None:
    """`warm` makes the scans; what is sealed after it is what was sealed before it."""
    before = default().sanitize({"password": "Zq9-inv"})
    warm()
    assert default().sanitize({"password": "Zq9-inv"}) == before == {"password": "[MASKED:password]"}


def test_options_of_a_tool_go_by_glob() -> None:
    """Options under ``tools`` hold for the tools whose names a glob fits, when sealing too."""
    sanitizer = Sanitizer(tools={"ec*": {"keys_add": ["city"]}})
    [record] = records({"city": "Paris"})
    assert b"Paris" not in seal(record, sanitizer)
    [other] = records({"city": "Paris"})
    assert b"Paris" in seal(other, Sanitizer(tools={"x*": {"keys_add": ["city"]}}))


def test_keys_run_no_code_of_theirs() -> None:
    """A key that is no plain text is not asked for its hash, and its record arrives."""
    asked: list[str] = []

    class Key(str):
        def __hash__(self) -> int:
            asked.append("hash")
            return 5

    odd = {Key("sku"): "A-1001"}
    with collecting() as seen:
        tool = wrap(lambda: odd, "find")
        asked.clear()
        tool()
    [record] = seen.records
    assert record.document()["output"] == {"sku": "A-1001"}
    assert asked == []
