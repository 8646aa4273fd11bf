"""Dead letters after the fact: looking at them, sending them again, and dropping them.

Sending again puts the records back into the spool, in a segment that is for their sink alone. Neither a
death in the middle nor a shipper that runs meanwhile loses one or doubles one:

1. the segment is written, whole and on the disk, into the folder of the dead letters, where no shipper looks
2. the file of dead letters is replaced by one without these letters
3. the segment is moved into the spool

All of it under the lock of the dead-letter file. Whoever comes after a death between two steps finds a
segment in the wrong folder, and `settle` decides: are all of its records still among the dead letters, then
step 2 did not happen, and the segment goes; else step 3 is made up for.
"""

from __future__ import annotations

import base64
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson

from toolog.context import HOLD_TAG
from toolog.descriptors import sync_path
from toolog.errors import ConfigError, nearest
from toolog.levels import NAMES
from toolog.ownership import hand_over
from toolog.pipeline.dead_letters import open_box
from toolog.sinks.base import JSON, MSGPACK
from toolog.spool import SegmentName, Spool, frame, naming, segment
from toolog.spool.browse import frames_of
from toolog.spool.directory import DEAD_LETTERS, dead_letters_of
from toolog.spool.tracks import Mark

_SUFFIX = ".jsonl"
_SAFETY = 4096


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter. ``id`` is its record's id, or a hash of its line; ``record`` is the record document,
    or ``{"base64": ..., "serializer": ...}`` of bytes that are none; ``line`` are the letter's own bytes.
    """

    id: str
    sink: str
    reason: str
    status: str
    time: str
    levelno: int
    record: dict[str, Any]
    line: bytes

    @property
    def on_hold(self) -> bool:
        """Whether the record carries the tag that forbids its deletion."""
        tags = self.record.get("tags")
        return isinstance(tags, dict) and tags.get(HOLD_TAG) is not None

    def frame(self) -> tuple[int, int, bytes]:
        """Return the record as it goes into the spool: level number, serializer code, bytes."""
        raw = self.record.get("base64")
        if isinstance(raw, str) and "record_id" not in self.record:
            code = self.record.get("serializer", MSGPACK)
            return self.levelno, code if code in (JSON, MSGPACK) else MSGPACK, base64.b64decode(raw)
        return self.levelno, JSON, orjson.dumps(self.record)


def read_letters(
    directory: Path, *, sink: str | None = None, reason: str | None = None, ids: Collection[str] = ()
) -> list[Letter]:
    """Return the dead letters of a spool, oldest first for each sink.

    ``sink``: only this one's; ``reason``: only those whose reason or status matches (a part of it, or a
    pattern with ``*``); ``ids``: only these, a beginning of each is enough. Raises ConfigError for a sink
    that has no dead letters, and for an id that no letter has.
    """
    settle(directory)
    boxes = _boxes(directory)
    if sink is not None and sink not in boxes:
        guess = nearest(sink, boxes)
        hint = f"did you mean {guess!r}?" if guess else f"there are some of: {', '.join(boxes) or 'no sink'}"
        raise ConfigError(f"{directory} has no dead letters of the sink {sink!r}; {hint}")
    found: list[Letter] = []
    for name, path in boxes.items():
        if sink in (None, name):
            found += [letter for letter in _read(path.read_bytes(), name) if _matches(letter, reason, ids)]
    for wanted in ids:
        if not any(letter.id.startswith(wanted) for letter in found):
            raise ConfigError(f"no dead letter of this choice has an id that begins with {wanted!r}")
    return found


def count_letters(directory: Path) -> dict[str, int]:
    """Return how many dead letters there are, by sink."""
    return {sink: sum(1 for _ in _read(box.read_bytes(), sink)) for sink, box in _boxes(directory).items()}


def send_again(directory: Path, letters: Iterable[Letter], *, max_size: int) -> int:
    """Put dead letters back into the spool, each for its own sink alone; return how many that were.

    A letter that is no longer there is left out; of several about the same record (the sink was handed it
    again after a crash) one is sent and all go. ``max_size`` is the spool's bound in bytes; raises
    ConfigError when there is no room for them below it, OSError when the disk refuses.
    """

    def send(box: Path, sink: str, chosen: list[Letter], rest: bytes) -> None:
        frames = list({letter.id: letter.frame() for letter in chosen}.values())
        need = sum(len(payload) + frame.HEAD_SIZE for _, _, payload in frames) + _SAFETY
        if Spool(directory).size() + need > max_size:
            raise ConfigError(
                f"the spool {directory} has no room for {len(frames)} records ({need} bytes) below its bound"
                f" of {max_size}; send fewer of them, or ship what is there first"
            )
        waiting = _write_segment(box.parent, sink, frames)
        try:
            _replace(box, rest)
        except BaseException:
            waiting.unlink(missing_ok=True)
            raise
        _publish(waiting, directory)

    return _change(directory, letters, send)


def drop(directory: Path, letters: Iterable[Letter]) -> int:
    """Delete dead letters for good, unless they are on hold; return how many that were.

    Raises OSError when the disk refuses.
    """
    free = [letter for letter in letters if not letter.on_hold]
    return _change(directory, free, lambda box, _, __, rest: _replace(box, rest))


def settle(directory: Path) -> None:
    """Bring to its end what somebody died over who sent dead letters again. Raises OSError."""
    folder = directory / DEAD_LETTERS
    if not folder.is_dir():
        return
    segment.sweep(folder)
    for name in segment.listing(folder):
        to, waiting = naming.addressee(name), folder / (name + segment.SUFFIX)
        boxes = [box for box in folder.glob(f"*{_SUFFIX}") if naming.address(unquote(box.stem)) == to]
        if not boxes:  # somebody deleted the letters
            _publish(waiting, directory)
        for box in boxes:
            with _locked(box) as content:
                _settle_one(waiting, content, unquote(box.stem), directory)


def _settle_one(waiting: Path, content: bytes, sink: str, directory: Path) -> None:
    """Decide about one segment that was left behind; the caller holds the lock of its sink's letters."""
    if not waiting.exists():  # another one was here first
        return
    sent = Counter(found.payload for found in frames_of(waiting.parent, waiting.stem, Mark(0)))
    there = Counter(letter.frame()[2] for letter in _read(content, sink))
    if sent <= there:
        waiting.unlink()
    else:
        _publish(waiting, directory)


# -- the file of one sink


def _boxes(directory: Path) -> dict[str, Path]:
    return {unquote(path.stem): path for path in sorted((directory / DEAD_LETTERS).glob(f"*{_SUFFIX}"))}


def _change(
    directory: Path, letters: Iterable[Letter], change: Callable[[Path, str, list[Letter], bytes], None]
) -> int:
    """Take letters out of their files, under the lock of each, by ``change(file, sink, letters, rest)``."""
    wanted: dict[str, Counter[bytes]] = {}
    for one in letters:
        wanted.setdefault(one.sink, Counter())[one.line] += 1
    done = 0
    for sink, lines in wanted.items():
        box = dead_letters_of(directory, sink)
        with _locked(box) as content:
            chosen: list[Letter] = []
            rest: list[bytes] = []
            for line in content.splitlines(keepends=True):
                letter = _letter(line, sink)
                if letter is not None and lines[line] > 0:
                    lines[line] -= 1
                    chosen.append(letter)
                else:
                    rest.append(line)
            if chosen:
                change(box, sink, chosen, b"".join(rest))
            done += len(chosen)
    return done


@contextmanager
def _locked(box: Path) -> Iterator[bytes]:
    """Hold the lock of a dead-letter file; gives its content."""
    fd = open_box(box)
    try:
        with os.fdopen(os.dup(fd), "rb") as source:
            content = source.read()
        yield content
    finally:
        os.close(fd)


def _replace(box: Path, content: bytes) -> None:
    fresh = box.with_name(f".{box.name}.new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as target:
            hand_over(fresh, target.fileno(), like=os.stat(box))
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
        os.replace(fresh, box)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_path(box.parent)


def _write_segment(folder: Path, sink: str, frames: list[tuple[int, int, bytes]]) -> Path:
    """Write frames into a segment for one sink that no shipper sees yet; return its path."""
    name = SegmentName(
        naming.stamp(time.time_ns()),
        naming.host_name(),
        os.getpid(),
        secrets.token_hex(6),
        1,
        naming.address(sink),
    )
    salt = frame.salt_of(str(name))
    parts = [frame.build(salt, seq, *facts) for seq, facts in enumerate(frames, 1)]
    created = segment.create(folder, name, b"".join(parts))
    os.fsync(created.fd)
    sync_path(folder)
    return created.path


def _publish(waiting: Path, directory: Path) -> None:
    os.rename(waiting, directory / waiting.name)
    sync_path(directory)


# -- one letter


def _read(content: bytes, sink: str) -> Iterator[Letter]:
    for line in content.splitlines(keepends=True):
        letter = _letter(line, sink)
        if letter is not None:
            yield letter


def _letter(line: bytes, sink: str) -> Letter | None:
    """Return the letter in a line; None for what is none (a torn line stays where it is)."""
    try:
        found: Any = orjson.loads(line)
        record = found["record"]
        if not isinstance(record, dict) or not line.endswith(b"\n"):
            return None
        levelno = found.get("levelno", NAMES.get(str(record.get("level")), NAMES["INFO"]))
        return Letter(
            id=str(record.get("record_id") or f"line-{_hash(line)}"),
            sink=sink,
            reason=str(found.get("reason", "")),
            status=str(found.get("status", "")),
            time=str(found.get("time", "")),
            levelno=levelno if isinstance(levelno, int) else NAMES["INFO"],
            record=record,
            line=line,
        )
    except (ValueError, TypeError, KeyError):
        return None


def _hash(line: bytes) -> str:
    from hashlib import blake2b

    return blake2b(line, digest_size=6).hexdigest()


def _matches(letter: Letter, reason: str | None, ids: Collection[str]) -> bool:
    if ids and not any(letter.id.startswith(wanted) for wanted in ids):
        return False
    if reason is None:
        return True
    if letter.status == reason:
        return True
    wanted, text = reason.casefold(), letter.reason.casefold()
    if "*" not in wanted:
        return wanted in text
    # Nothing but the asterisk means anything: reasons are full of brackets and question marks.
    return fnmatchcase(text, wanted.replace("[", "[[]").replace("?", "[?]"))
