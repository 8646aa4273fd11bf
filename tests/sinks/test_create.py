"""From an entry of the configuration to a sink, or to an error that says what would be right."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from toolog import sinks
from toolog.errors import ConfigError
from toolog.sinks import Batch, create
from toolog.sinks.memory import MemorySink


class OwnSink:
    """A user's sink without a name of its own."""

    def __init__(self, *, where: str = "here") -> None:
        self.where = where

    def connect(self) -> None:
        pass

    def write(self, batch: Batch) -> None:
        pass

    def close(self) -> None:
        pass


class AsyncSink(OwnSink):
    """Written for an event loop, which a sink has not."""

    async def write(self, batch: Batch) -> None:  # type: ignore[override]
        pass


class BreakingSink(OwnSink):
    """Finds in its own way that its options are wrong."""

    def __init__(self) -> None:
        raise ValueError("the line to the moon is down")


class NamelessSink(OwnSink):
    """Cannot be given a name."""

    name = property(lambda self: "")


class NoSink:
    """Has none of a sink's methods."""


def test_the_name_is_the_type_when_none_is_given() -> None:
    """``{"memory": {}}`` is enough, and the sink carries the entry's name."""
    sink = create("memory", {})
    assert isinstance(sink, MemorySink)
    assert sink.name == "memory"
    assert create("mine", {"type": "memory"}).name == "mine"


def test_a_ready_sink_is_taken_as_it_is() -> None:
    """A sink object in the configuration is used itself."""
    ready = MemorySink()
    assert create("any", ready) is ready


def test_a_class_of_the_users_own_is_found_by_its_dotted_name() -> None:
    """``package.module:Class`` makes that class with its own options, and gives it the entry's name."""
    sink = create("mine", {"type": f"{__name__}:OwnSink", "where": "there", "batch": {"max_records": 5}})
    assert isinstance(sink, OwnSink)
    assert (sink.name, sink.where) == ("mine", "there")  # type: ignore[attr-defined]


def test_an_entry_point_of_another_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that an installed package offers in the group toolog.sinks is a type."""
    point = EntryPoint(name="theirs", value=f"{__name__}:OwnSink", group="toolog.sinks")
    monkeypatch.setattr(sinks, "_entry_points", lambda: EntryPoints([point]))
    assert isinstance(create("x", {"type": "theirs"}), OwnSink)
    assert "theirs" in sinks.known_types()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "sqlit"}, "did you mean 'sqlite'"),
        ({"type": "zzzz"}, "known: console, elasticsearch, file, memory, opensearch, otlp, s3, sqlite"),
        ({"type": 5}, "type of sink 'x'"),
        ({"type": "file", "path": "p", "max_sise": 1}, "did you mean 'max_size'"),
        ({"type": "file", "path": "p", "name": "y"}, "unknown key 'name'"),
        ({"type": "file"}, r"sink 'x' \(file\) needs 'path'"),
        ({"type": "file", "path": 7}, "path of sink 'x' is a path, not 7"),
        ({"type": "file", "path": "p", "compress": "no"}, "compress of sink 'x' is true or false, not 'no'"),
        ({"type": "file", "path": "p", "sync": 0}, "sync of sink 'x' is true or false"),
        ({"type": "sqlite", "path": 7}, "path of sink 'x' is a path, not 7"),
        ({"type": "sqlite", "path": "a\0.db"}, "path of sink 'x' is a path"),
        ({"type": "sqlite", "path": ":memory:"}, "path of sink 'x': a database in memory"),
        ({"type": "memory", "timeout": 0}, "timeout of sink 'x' is more than 0"),
        ({"type": f"{__name__}:BreakingSink"}, "could not be made from its options: the line to the moon"),
        ({"type": f"{__name__}:NamelessSink"}, "could not be made"),
        ({"type": "..relative:Sink"}, "could not be imported"),
        ({"type": f"{__name__}:AsyncSink"}, r"write\(\) .* is a coroutine function"),
        ({"type": "file", "path": "p", "format": "xml"}, "'jsonl' or 'msgpack'"),
        ({"type": "file", "path": "p", "max_files": -1}, "max_files"),
        ({"type": "file", "path": "p", "max_size": "many"}, "max_size"),
        ({"type": "console", "stream": "stdin"}, "'stderr' or 'stdout'"),
        ({"type": "console", "color": "red"}, "'auto'"),
        ({"type": "console", "printed": -1}, "printed"),
        ({"type": "memory", "batch": {"max_record": 1}}, "did you mean 'max_records'"),
        ({"type": "memory", "batch": {"max_records": 0}}, "at least 1"),
        ({"type": "memory", "batch": 5}, "table of options"),
        ({"type": "memory", "retry": {"backoff": 1}}, "did you mean 'max_backoff'"),
        ({"type": "memory", "timeout": "soon"}, "timeout"),
        ({"type": "nowhere.at_all:Sink"}, "could not be imported"),
        ({"type": f"{__name__}:NoSink"}, "no connect"),
        ({"type": f"{__name__}:OwnSink", "wher": 1}, "did you mean 'where'"),
        (7, "table of options or a sink object"),
    ],
)
def test_a_mistake_is_told_with_what_would_be_right(options: Any, message: str) -> None:
    """A wrong type or option is a ConfigError that names the sink's entry and the nearest right word."""
    with pytest.raises(ConfigError, match=message) as caught:
        create("x", options)
    assert "x" in str(caught.value)


def test_a_module_beside_the_command_says_how_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sink's module in the working directory, where an installed command does not look, is named with what
    to do.
    """
    (tmp_path / "bulletin_beside.py").write_text("class Sink: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    with pytest.raises(ConfigError, match=r"bulletin_beside.*PYTHONPATH=\."):
        create("x", {"type": "bulletin_beside:Sink"})
    with pytest.raises(ConfigError) as caught:
        create("x", {"type": "bulletin_nowhere:Sink"})
    assert "PYTHONPATH" not in str(caught.value)
