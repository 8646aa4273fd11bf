"""Dead letters: records that a sink refuses for good, kept in ``<spool>/dead-letters/<sink>.jsonl``.

One JSON object a line: ``sink``, ``reason``, ``status``, ``time``, ``levelno`` and the (sanitized)
``record``. Bytes that are no JSON stand there as ``{"base64": ..., "serializer": ...}``. The file is bounded;
what does not fit is dropped and counted. Whoever changes the file holds a lock on it (flock), as ``letters``
replaces it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from toolog.counters import contain, count
from toolog.errors import SerializationError
from toolog.ownership import hand_over
from toolog.pipeline.answers import words_of
from toolog.record import stamp
from toolog.sinks.base import SinkRecord


class DeadLetters:
    """The dead-letter file of one sink. ``find`` gives its path, or None while there is no directory for
    it. ``sync`` brings each letter to the disk, for durability against a loss of power.
    """

    def __init__(
        self, find: Callable[[], Path | None], sink: str, max_size: int, *, sync: bool = False
    ) -> None:
        self._find = find
        self._sink = sink
        self._max_size = max_size
        self._sync = sync

    def write(self, letters: Sequence[tuple[SinkRecord, str, str]], *, once: bool = False) -> int:
        """Keep records, each with (reason, status); return how many could not be kept.

        ``status`` is ``rejected`` (the sink refused it), ``failed`` (the sink broke on it again and again) or
        ``unreadable`` (the bytes are no record). ``once``: those that are there already are kept.
        """
        lines = [self._line(record, reason, status) for record, reason, status in letters]
        there = self._names() if once and lines else set()
        new = [line for line in lines if _name_in(line) not in there]
        kept = len(lines) - len(new) + self._append(new)
        count("dead_letters", kept, sink=self._sink)
        return len(lines) - kept

    def _names(self) -> set[str]:
        """Return the names of the records whose letters are there."""
        try:
            path = self._find()
            content = b"" if path is None else path.read_bytes()
        except OSError:  # there are none yet
            return set()
        return {name for line in content.splitlines() if (name := _name_in(line))}

    def _line(self, record: SinkRecord, reason: str, status: str) -> bytes:
        try:
            document: Any = record.decode()
        except SerializationError:
            document = _raw(record)
            status = "unreadable"
        letter = {
            "sink": words_of(self._sink),
            "reason": words_of(reason)[:2000],
            "status": status,
            "time": stamp(time.time_ns()).decode(),
            "levelno": record.level,
            "record": document,
        }
        try:
            return orjson.dumps(letter, option=orjson.OPT_APPEND_NEWLINE)
        except (TypeError, ValueError):  # what no JSON can hold
            letter["record"] = _raw(record)
            return orjson.dumps(letter, option=orjson.OPT_APPEND_NEWLINE)

    def _append(self, lines: list[bytes]) -> int:
        try:
            path = self._find()
            if path is None or not lines:
                return 0
            fd = open_box(path, os.O_CREAT)
        except OSError as error:
            contain("dead_letters", error)
            return 0
        try:
            length = os.fstat(fd).st_size
            # A torn line (a lost machine, an editor) must not swallow the next letter.
            seam = b"\n" if length and os.pread(fd, 1, length - 1) != b"\n" else b""
            room = self._max_size - length - len(seam)
            fitting = 0
            while fitting < len(lines) and len(lines[fitting]) <= room:
                room -= len(lines[fitting])
                fitting += 1
            if not fitting:
                return 0
            data = seam + b"".join(lines[:fitting])
            if os.write(fd, data) != len(data):  # the disk is full: leave no torn line
                os.ftruncate(fd, length)
                return 0
            if self._sync:
                os.fdatasync(fd)
            return fitting
        except OSError as error:
            contain("dead_letters", error)
            return 0
        finally:
            os.close(fd)


def open_box(path: Path, flags: int = 0) -> int:
    """Open a dead-letter file, locked against everybody else who keeps to it; return the descriptor.

    Raises OSError.
    """
    while True:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            hand_over(path, fd)
            if os.fstat(fd).st_nlink:  # else it was replaced while we waited for the lock
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _raw(record: SinkRecord) -> dict[str, Any]:
    import base64  # only for bytes that are no record

    return {"base64": base64.b64encode(record.data).decode(), "serializer": record.serializer}


def _name_in(line: bytes) -> str:
    """Return by what the record in a letter is known: its id, or its bytes; "" where there is none."""
    try:
        record = orjson.loads(line)["record"]
        return str(record.get("record_id") or record.get("base64") or "")
    except (ValueError, TypeError, KeyError, AttributeError):
        return ""
