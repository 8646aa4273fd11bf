"""The short way to the spool takes only what the ordinary way would write just so."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolog
from tests.helpers import wrap
from tests.sanitize.test_glance import flat
from toolog.handler import ToologHandler
from toolog.levels import ROOT
from toolog.pipeline.lane import Lane, no_lane
from toolog.record import SuccessRecord
from toolog.sanitize.policy import Policy
from toolog.sinks.memory import MemorySink

OWN = ("record_id", "trace_id", "span_id", "timestamp", "duration_ms")
MAIL = "dana.invented" + "@" + "example.com"
echo = wrap(lambda value: value, "echo")


class Road:
    """A handler in process durability, how its records went, and what its sink got."""

    def __init__(self, folder: Path, options: dict[str, Any]) -> None:
        self.sink = MemorySink(name="kept")
        spool = {"path": str(folder / "spool")}
        self.handler = ToologHandler(
            durability="process", serializer="msgpack", spool=spool, sinks={"kept": self.sink}, **options
        )
        self.short: list[bool] = []

    def open(self) -> None:
        """Choose the way, which is done with the first record, and note from now on how records go."""
        echo(1)
        self.lane: Lane = self.handler.pipeline.lane
        self.handler.pipeline.lane = self._note

    def _note(self, record: SuccessRecord) -> bool:
        self.short.append(self.lane(record))
        return self.short[-1]

    def last(self) -> dict[str, Any]:
        """Return the last record that arrived, without what is each record's own."""
        assert self.handler.flush(60)
        document = list(self.sink.rows.values())[-1]
        toolog.validate(document)
        return {key: value for key, value in document.items() if key not in OWN}


Make = Callable[..., Road]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes the handler behind ``toolog.calls``, and puts everything back."""
    logger = logging.getLogger(ROOT)
    before = (logger.level, logger.propagate, logger.handlers[:])
    logger.setLevel(logging.INFO)
    logger.propagate = False
    made: list[Road] = []

    def build(**options: Any) -> Road:
        road = Road(tmp_path, options)
        made.append(road)
        logger.handlers[:] = [road.handler]
        road.open()
        return road

    yield build
    logger.setLevel(before[0])
    logger.propagate = before[1]
    logger.handlers[:] = before[2]
    for road in made:
        road.handler.close()


def test_both_ways_write_the_same(make: Make) -> None:
    """For any content, flat or not, the record that took the short way equals the one that did not."""
    road = make()
    nested = st.lists(flat, max_size=3) | st.lists(st.text() | st.floats(), max_size=5)

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(flat | nested)
    def compare(value: Any) -> None:
        echo(value)
        first = road.last()
        lane, road.lane = road.lane, no_lane
        echo(value)
        road.lane = lane
        assert road.last() == first

    compare()


def test_ordinary_calls_take_the_short_way(make: Make) -> None:
    """Once their words are known, flat calls take it, inside a session too."""
    road = make()
    for number in range(20):
        echo(f"order {number} of walnut lamps")
    assert road.short[-5:] == [True] * 5
    with toolog.session("order-17", customer="Ada"):
        for number in range(20):
            echo(f"order {number} of walnut lamps")
    assert road.short[-5:] == [True] * 5
    document = road.last()
    assert (document["session_id"], document["tags"]) == ("order-17", {"customer": "Ada"})


@pytest.mark.parametrize(
    "value",
    [
        f"mail {MAIL}",
        "password=hunter2",
        {"who": 13800138000},
        {"api_key": "Zq9-inv"},
        [{"rows": [{"password": "hunter2"}]}],
        "Grüße " + MAIL,
    ],
)
def test_what_may_have_to_be_masked_goes_the_ordinary_way(make: Make, value: Any) -> None:
    """Secrets never take the short way, in whatever they stand."""
    road = make()
    for _ in range(3):
        echo(value)
    assert not any(road.short)
    arrived = json.dumps(road.last())
    assert not any(secret in arrived for secret in (MAIL, "hunter2", "13800138000", "Zq9-inv"))


@pytest.mark.parametrize(
    "value",
    ["Grüße", [1, {"a": ["b"]}], float("nan"), {"text": "lamp " * 2000}, {"at": 1732970000123}, {2: 3}],
)
def test_what_the_scan_clears_takes_the_short_way(make: Make, value: Any) -> None:
    """Other scripts, nested values, long texts, and what JSON cannot hold take it from the first call."""
    road = make()
    for _ in range(2):
        echo(value)
    assert all(road.short)
    assert road.last()["tool_name"] == "echo"


def test_what_was_cut_takes_the_short_way(make: Make) -> None:
    """A record that tells what was cut from it keeps saying so."""
    road = make()
    echo("lamp " * 200_000)
    assert all(road.short)
    assert road.last()["truncated"].keys() == {"input.value", "output"}


def test_a_secret_in_a_tag_is_masked(make: Make) -> None:
    """Session and tags are looked at, too."""
    road = make()
    with toolog.session(f"for {MAIL}", token="Zq9-inv"):
        for _ in range(3):
            echo("walnut lamps")
    assert not any(road.short)
    assert MAIL not in json.dumps(road.last())


def test_what_was_flagged_is_not_scanned_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan that keeps a record off the short way is the only one of the whole record."""
    road = make()
    scanned: list[bytes] = []
    flags = Policy.flags

    def note(policy: Policy, data: bytes) -> bool:
        scanned.append(data)
        return flags(policy, data)

    monkeypatch.setattr(Policy, "flags", note)
    echo(f"mail {MAIL}")
    assert MAIL not in str(road.last())
    assert road.short[-1] is False
    assert len([data for data in scanned if b"input" in data and b"output" in data]) == 1


def test_options_by_tool_close_the_short_way(make: Make) -> None:
    """With options by tool, every record goes the ordinary way."""
    road = make(sanitizer={"tools": {"e*": {}}})
    assert road.lane is no_lane


@pytest.mark.parametrize(
    "sanitizer",
    [
        {"keys_add": ["walnut"]},
        {"known_secrets": ["lamp-text"]},
        {"rules_add": {"lamp": "lamp-[a-z]+"}},
        {"rules_add": {"lamp": "^lamp-[a-z]+"}},
    ],
)
def test_own_rules_are_asked_on_the_short_way(make: Make, sanitizer: dict[str, Any]) -> None:
    """With a user's own words, secrets and rules, what they mask never takes the short way."""
    road = make(sanitizer=sanitizer)
    for _ in range(3):
        echo({"walnut": "lamp-text"})
    assert not any(road.short)
    assert "lamp-text" not in json.dumps(road.last())
    echo({"oak": 1})
    anchored = sanitizer.get("rules_add", {"lamp": ""})["lamp"].startswith("^")  # cannot be asked of bytes
    assert road.short[-1] is not anchored


def test_the_short_way_ends_with_the_handler(make: Make) -> None:
    """After the handler was closed, records count as late and are in the spool all the same."""
    road = make()
    echo("walnut lamps")
    road.handler.close()
    late = toolog.stats()["late"]
    echo("walnut lamps")
    assert toolog.stats()["late"] == late + 1
    assert not road.short[-1]
