"""What each type of value becomes as plain data."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import io
import ipaddress
import pathlib
import re
import sqlite3
import sys
import threading
import types
import urllib.parse
import uuid
import weakref
import zoneinfo
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
import wrapt

from toolog.snapshot import plain

HERE = __name__


class Colour(enum.Enum):
    RED = "red"


class Unit(str, enum.Enum):  # noqa: UP042 - the kind that loses its type elsewhere
    METRE = "m"


class Grade(enum.IntEnum):
    GOOD = 1


@dataclasses.dataclass
class Order:
    number: int
    items: list[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    sku: str
    amount: int = 1


class Point(NamedTuple):
    x: int
    y: int


class Slotted:
    __slots__ = ("empty", "filled")

    def __init__(self) -> None:
        self.filled = 7


class Client(Slotted):
    def __init__(self) -> None:
        super().__init__()
        self.base = "shop"
        self.parent = self


class Money(decimal.Decimal):
    def __str__(self) -> str:
        raise AssertionError("code of a subclass ran")


class Text(str):
    def __len__(self) -> int:
        raise AssertionError("code of a subclass ran")


class Day(dt.datetime):
    def isoformat(self, *args: Any, **kwargs: Any) -> str:
        raise AssertionError("code of a subclass ran")


class Zone(dt.tzinfo):
    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        raise AssertionError("code of a foreign time zone ran")


def numbers() -> Iterator[int]:
    """A generator function."""
    yield 1


UTC = dt.UTC

TABLE: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (-0.5, -0.5),
    ("词", "词"),
    (float("nan"), "NaN"),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
    (2**64 - 1, 2**64 - 1),
    (2**64, "18446744073709551616"),
    (-(2**63), -(2**63)),
    (-(2**63) - 1, "-9223372036854775809"),
    (2**20_000, "0x1" + "0" * 5000),
    (1 << 2_000_000, {"type": "int", "bits": 2_000_001}),
    ("a\ud800b", "a\\ud800b"),
    ("\ud83d\ude00", "\\ud83d\\ude00"),
    (Text("abc"), "abc"),
    (1 + 2j, "1+2j"),
    (dt.datetime(2026, 1, 2, 3, 4, 5, 6), "2026-01-02T03:04:05.000006"),
    (dt.datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
    (dt.datetime(2026, 7, 2, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")), "2026-07-02T00:00:00+02:00"),
    (dt.datetime(2026, 1, 2, tzinfo=Zone()), f"2026-01-02T00:00:00 [{HERE}.Zone]"),
    (Day(2026, 1, 2), "2026-01-02T00:00:00"),
    (dt.date(2026, 1, 2), "2026-01-02"),
    (dt.time(1, 2, 3, tzinfo=UTC), "01:02:03+00:00"),
    (dt.timedelta(days=1, hours=2, seconds=3, microseconds=40), "P1DT2H3.00004S"),
    (-dt.timedelta(minutes=90), "-PT1H30M"),
    (dt.timedelta(days=2), "P2D"),
    (dt.timedelta(), "PT0S"),
    (UTC, "UTC"),
    (zoneinfo.ZoneInfo("Europe/Berlin"), "Europe/Berlin"),
    (decimal.Decimal("1.10"), "1.10"),
    (decimal.Decimal("NaN"), "NaN"),
    (Money("2.50"), "2.50"),
    (fractions.Fraction(1, 3), "1/3"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Colour.RED, {"type": f"{HERE}.Colour", "name": "RED", "value": "red"}),
    (Unit.METRE, {"type": f"{HERE}.Unit", "name": "METRE", "value": "m"}),
    (Grade.GOOD, {"type": f"{HERE}.Grade", "name": "GOOD", "value": 1}),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (pathlib.PureWindowsPath("c:/a"), "c:\\a"),
    (Path("a"), "a"),
    (b"text \xc3\xa9", "text é"),
    (b"\xff\x00", "base64:/wA="),
    (bytearray(b"ab"), "ab"),
    (memoryview(b"abcd")[::2], {"type": "memoryview", "format": "B", "shape": [2]}),
    (memoryview(b"abcd")[1:3], "bc"),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a", 1, None, (2, "x")}), [None, 1, "a", "b", [2, "x"]]),
    ((1, (2,)), [1, [2]]),
    (Point(1, 2), {"x": 1, "y": 2}),
    (Order(1, ["a"]), {"number": 1, "items": ["a"]}),
    (Line("A-1"), {"sku": "A-1", "amount": 1}),
    (range(3), {"type": "range", "start": 0, "stop": 3, "step": 1}),
    (slice(1, None), {"type": "slice", "start": 1, "stop": None, "step": None}),
    (collections.deque([1, 2]), [1, 2]),
    (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (collections.defaultdict(list, a=[1]), {"a": [1]}),
    (collections.Counter("aab"), {"a": 2, "b": 1}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    (types.SimpleNamespace(a=1), {"a": 1}),
    ({"a": 1}.keys(), ["a"]),
    ({"a": 1}.values(), [1]),
    ({"a": 1}.items(), [["a", 1]]),
    (array.array("d", [1.5]), [1.5]),
    (ValueError("bad"), {"type": "ValueError", "message": "bad"}),
    (KeyError(1), {"type": "KeyError", "args": [1]}),
    (OSError(2, "none", "f"), {"type": "FileNotFoundError", "args": [2, "none"], "filename": "f"}),
    (
        ExceptionGroup("two", [ValueError("a")]),
        {"type": "ExceptionGroup", "message": "two", "exceptions": [{"type": "ValueError", "message": "a"}]},
    ),
    (iter([1]), {"type": "list_iterator"}),
    (map(str, [1]), {"type": "map"}),
    (io.BytesIO(b"x"), {"type": "_io.BytesIO"}),
    (threading.Lock(), {"type": "_thread.lock"}),
    (threading.Event(), {"type": "threading.Event"}),
    (sys, {"type": "module", "name": "sys"}),
    (Colour, {"type": "class", "name": f"{HERE}.Colour"}),
    (dict, {"type": "class", "name": "dict"}),
    (numbers, {"type": "function", "name": f"{HERE}.numbers"}),
    (len, {"type": "function", "name": "len"}),
    ([].append, {"type": "function", "name": "list.append"}),
    (str.join, {"type": "function", "name": "str.join"}),
    (Client().__init__, {"type": "method", "name": f"{HERE}.Client.__init__"}),
    (
        functools.partial(numbers, 1, a=2),
        {
            "type": "functools.partial",
            "func": {"type": "function", "name": f"{HERE}.numbers"},
            "args": [1],
            "keywords": {"a": 2},
        },
    ),
    (re.compile("a+"), {"type": "re.Pattern", "pattern": "a+", "flags": 32}),
    (re.match("a", "ab"), {"type": "re.Match", "span": [0, 1], "match": "a"}),
    (
        weakref.ref(Colour),
        {"type": "weakref", "to": f"{type(Colour).__module__}.{type(Colour).__qualname__}"},
    ),
    (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
    (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
    (urllib.parse.urlsplit("http://u:p@h/x?y=1"), "http://u:p@h/x?y=1"),
    (wrapt.ObjectProxy({"a": 1}), {"a": 1}),
    (wrapt.ObjectProxy(None), None),
    (wrapt.FunctionWrapper(numbers, len), {"type": "function", "name": f"{HERE}.numbers"}),
    (mock.MagicMock(name="api"), {"type": "unittest.mock.MagicMock", "name": "api"}),
    (..., "..."),
    (NotImplemented, "NotImplemented"),
    (object(), {"type": "object"}),
    (Slotted(), {"type": f"{HERE}.Slotted", "state": {"filled": 7}}),
    (
        Client(),
        {"type": f"{HERE}.Client", "state": {"filled": 7, "base": "shop", "parent": "[CYCLE]"}},
    ),
]


@pytest.mark.parametrize(("value", "expected"), TABLE, ids=lambda value: type(value).__name__)
def test_table(value: Any, expected: Any) -> None:
    """Each type becomes what the reference page says."""
    assert plain(value) == expected


def test_generator_is_not_consumed() -> None:
    """A generator is named, and still yields everything."""
    running = numbers()
    assert plain(running) == {"type": "generator", "name": "numbers"}
    assert list(running) == [1]


def test_coroutine_is_not_awaited() -> None:
    """A coroutine and an async generator are named, not run."""

    async def fetch() -> None: ...

    async def stream() -> AsyncIterator[int]:
        yield 1

    waiting = fetch()
    assert plain(waiting)["type"] == "coroutine"
    waiting.close()
    assert plain(stream()) == {"type": "async_generator", "name": stream.__qualname__}


def test_file_shows_name_and_mode(tmp_path: Path) -> None:
    """A file shows where it is and whether it is open, never its content."""
    place = tmp_path / "notes.txt"
    with open(place, "w") as file:
        file.write("secret")
        assert plain(file) == {"type": "_io.TextIOWrapper", "name": str(place), "mode": "w", "closed": False}
    assert plain(file)["closed"] is True


def test_row_of_sqlite() -> None:
    """A row of sqlite3 is an object of its columns."""
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    try:
        assert plain(connection.execute("select 1 as a, 'x' as b").fetchone()) == {"a": 1, "b": "x"}
    finally:
        connection.close()


def test_exception_shows_cause_and_attributes() -> None:
    """An exception keeps its cause and what was set on it."""
    error = RuntimeError("outer")
    error.code = 7  # type: ignore[attr-defined]
    error.__cause__ = ValueError("inner")
    assert plain(error) == {
        "type": "RuntimeError",
        "message": "outer",
        "state": {"code": 7},
        "cause": {"type": "ValueError", "message": "inner"},
    }


def test_objects_inside_objects_end() -> None:
    """Unknown objects are opened three deep; below that only their type is told."""

    class Node:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

    found = plain(Node(Node(Node(Node(None)))))
    name = f"{HERE}.test_objects_inside_objects_end.<locals>.Node"
    deepest = {"type": name, "state": {"inner": {"type": name}}}
    assert found["state"]["inner"]["state"]["inner"] == deepest


def test_subclass_of_path_runs_nothing() -> None:
    """A path's subclass is written from its parts, without its own code."""

    class Place(type(Path())):  # type: ignore[misc]
        def __str__(self) -> str:
            raise AssertionError("code of a subclass ran")

    assert plain(Place("/a", "b")) == "/a/b"
