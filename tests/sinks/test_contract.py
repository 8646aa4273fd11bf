"""Every sink that comes with toolog keeps the contract of sinks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgpack
import orjson
import pytest

from tests.sinks.contract import SinkContract
from toolog import store
from toolog.sinks import Sink, create
from toolog.sinks.base import MSGPACK
from toolog.sinks.memory import MemorySink


class TestMemory(SinkContract):
    def make(self, directory: Path) -> Sink:
        return create("memory", {})

    def stored(self, directory: Path, sink: Sink) -> list[dict[str, Any]]:
        return cast(MemorySink, sink).records


class TestJsonLines(SinkContract):
    deduplicates = False
    spoilt = (b"\xc1", MSGPACK)

    def make(self, directory: Path) -> Sink:
        return create("lines", {"type": "file", "path": str(directory / "calls.jsonl")})

    def stored(self, directory: Path, sink: Sink) -> list[dict[str, Any]]:
        with (directory / "calls.jsonl").open("rb") as lines:
            return [orjson.loads(line) for line in lines]


class TestMessagePackFile(SinkContract):
    deduplicates = False

    def make(self, directory: Path) -> Sink:
        return create("packed", {"type": "file", "path": directory / "calls.msgpack", "sync": True})

    def stored(self, directory: Path, sink: Sink) -> list[dict[str, Any]]:
        with (directory / "calls.msgpack").open("rb") as stream:
            return list(msgpack.Unpacker(stream))


class TestRotatedFiles(SinkContract):
    deduplicates = False
    spoilt = (b"\xc1", MSGPACK)

    def make(self, directory: Path) -> Sink:
        options = {"type": "file", "path": directory / "calls.jsonl", "max_size": "1 KiB"}
        return create("rotated", options)

    def stored(self, directory: Path, sink: Sink) -> list[dict[str, Any]]:
        return [orjson.loads(line) for path in directory.iterdir() for line in path.read_bytes().splitlines()]


class TestSqlite(SinkContract):
    def make(self, directory: Path) -> Sink:
        return create("sqlite", {"path": directory / "calls.db"})

    def stored(self, directory: Path, sink: Sink) -> list[dict[str, Any]]:
        with store.open(directory / "calls.db", read_only=True) as opened:
            return [document for _, document in opened.follow(limit=20_000)]

    def test_leaves_a_sound_database(self, tmp_path: Path) -> None:
        """The file is a sound SQLite database after it was written, readable by its owner only."""
        self.test_stores_once_what_comes_twice(tmp_path)
        connection = sqlite3.connect(tmp_path / "calls.db")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
        assert (tmp_path / "calls.db").stat().st_mode & 0o777 == 0o600


class TestConsole(SinkContract):
    deduplicates = False
    reads_back = False

    @pytest.fixture(autouse=True)
    def _quiet(self, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
        yield
        capsys.readouterr()

    def make(self, directory: Path) -> Sink:
        return create("console", {})
