"""Records in a file: JSON lines, or MessagePack maps one behind the other; rotated, and never with a record
twice.

The file being written is ``path``. When it has reached ``max_size`` or is older than ``rotate_every``, it is
renamed to ``<stem>-<number><suffix>`` (numbers only ever rise) before the next batch, and packed to ``.zst``
if wanted. Of the rotated files the newest ``max_files`` stay, and of those none older than ``max_age``; but
one in which a record carries the tag ``hold`` stays whatever its age. A file that nobody wrote to for
``max_age`` is rotated for that reason.

Nothing stands in the file twice: the sink's ``cursor_state()`` is the file's identity, its length after the
last batch that was acknowledged, and a checksum of its last bytes then; ``restore()`` cuts the file back to
it. Whatever stood behind came from a batch that will come again. The checksum tells our file from one that
got its inode after somebody deleted it, or its content by being copied over it: such a file is not cut. A
batch is never spread over two files, so a rotation that was not acknowledged leaves exactly one file to
empty.

A link is followed: what it leads to is rotated, beside itself. What is no plain file (``/dev/stdout``, a
pipe, see ``streams``) is written to and nothing else.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolog.breath import breathing
from toolog.descriptors import Mark, is_still, keep, let_go, mark
from toolog.errors import ConfigError, SerializationError, SinkUnavailable, shown
from toolog.ownership import hand_over
from toolog.sinks.base import JSON, Answer, Batch, BatchLimits
from toolog.sinks.forms import FORMS, bytes_in
from toolog.sinks.rotated import may_hold, pack
from toolog.sinks.streams import is_stream, open_stream
from toolog.units import parse_duration, parse_path, parse_size

_TAIL = 256
"""How many bytes before its acknowledged end tell whether a file is still ours."""


@dataclass(frozen=True, slots=True)
class OldFile:
    """A file that is too old, or one too many: its size in bytes, when it was last written to (seconds of the
    Unix epoch), and whether a record in it is on hold. ``live``: it is the one being written.
    """

    path: Path
    why: str
    size: int
    written: float
    held: bool
    live: bool = False


class FileSink:
    """Appends each record to a file that only its owner may read (mode 0600).

    ``path``: the file; its directory is made when missing. ``format``: ``"jsonl"`` or ``"msgpack"``; by
    default what the suffix of the path says, else JSON lines. ``max_size``: rotate at this size ("64 MiB"; 0
    never). ``rotate_every``: rotate at this age ("1 day"; 0 never). ``max_files``: how many rotated files
    stay (0: all). ``max_age``: rotated files older than this are deleted ("30 days"; 0 never). ``compress``:
    pack rotated files to ``.zst``. ``sync``: ``fdatasync`` after each batch, so that it survives a power
    failure. Raises ConfigError for a wrong value.
    """

    paths = writes = ("path",)
    batch = BatchLimits(max_records=5000, max_bytes=4 * 1024 * 1024, max_age=0.5)

    def __init__(
        self,
        *,
        path: str | os.PathLike[str],
        name: str = "file",
        format: str | None = None,
        max_size: int | str = "64 MiB",
        rotate_every: float | str = 0,
        max_files: int = 0,
        max_age: float | str = 0,
        compress: bool = False,
        sync: bool = False,
    ) -> None:
        where = f"sink {name!r}"
        self.name = name
        self.path = Path(parse_path(path, f"path of {where}"))
        if format is None:
            format = "msgpack" if self.path.suffix in {".msgpack", ".mp"} else "jsonl"
        if format not in FORMS:
            raise ConfigError(f"format of {where} is 'jsonl' or 'msgpack', not {shown(format)}")
        if isinstance(max_files, bool) or not isinstance(max_files, int) or max_files < 0:
            raise ConfigError(f"max_files of {where} is a whole number, zero or more, not {shown(max_files)}")
        self._code = FORMS[format]
        self._max_size = parse_size(max_size, f"max_size of {where}")
        self.rotate_every = parse_duration(rotate_every, f"rotate_every of {where}")
        self.max_files = max_files
        self.max_age = parse_duration(max_age, f"max_age of {where}")
        for option, value in (("compress", compress), ("sync", sync)):
            if not isinstance(value, bool):
                raise ConfigError(f"{option} of {where} is true or false, not {shown(value)}")
        self._compress = compress
        self._sync = sync
        self._fd = -1
        self._is_stream = False
        self._mark: Mark = (0, 0)
        self._length = 0
        self._opened_at = 0.0
        self._holding: dict[Path, tuple[int, int]] = {}

    # -- the protocol of a sink ------------------------------------------------------------------------------

    def connect(self) -> None:
        """Open the file for appending and lock it. Raises SinkUnavailable (no such place, another process
        writes it).
        """
        if self._fd >= 0:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            raise SinkUnavailable(f"{self.path}: {error.strerror or error}") from error

    def write(self, batch: Batch) -> Answer | None:
        """Append the batch in one go; all of it or, with SinkUnavailable, nothing of it stands in the file
        afterwards.
        """
        if self._fd < 0:
            raise SinkUnavailable(f"sink {self.name!r} is closed")
        rejected: dict[str, str] = {}
        buffer = io.BytesIO()
        for record in breathing(batch):
            try:
                buffer.write(bytes_in(record, self._code))
            except SerializationError as error:
                rejected[record.record_id] = str(error)
        try:
            self._follow_a_moved_file()
            if self._is_due() and buffer.tell():
                self._rotate()
                self.delete_old()
            self._append(buffer.getbuffer())
        except OSError as error:
            raise SinkUnavailable(f"{self.path}: {error.strerror or error}") from error
        return Answer(rejected) if rejected else None

    def close(self) -> None:
        """Close the file and let go of its lock."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            let_go(fd, self._mark)

    def cursor_state(self) -> dict[str, Any] | None:
        """Return which file was written, how long it is after the last batch, and how it ends."""
        if self._fd < 0 or self._is_stream:
            return None
        try:
            tail = _read_tail(self._fd, self._length)
        except OSError:
            tail = None
        return {"inode": self._mark[1], "length": self._length, "tail": tail}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Cut the file back to where the last acknowledged batch ended.

        A file that is neither the one of ``state`` nor was begun after it by a rotation is somebody else's
        doing (a log rotator's, a user's) and is left as it is.
        """
        if self._fd < 0 or self._is_stream:
            return
        keep = self._acknowledged(state) if state else None
        if keep is None:
            self._end_torn_line()
        elif keep < self._length:
            os.ftruncate(self._fd, keep)
            self._length = keep

    def _acknowledged(self, state: Mapping[str, Any]) -> int | None:
        """Return how much of the file was acknowledged; None where it is not the one that was written."""
        inode, length, tail = state.get("inode"), state.get("length"), state.get("tail")
        if not isinstance(inode, int) or not isinstance(length, int) or length < 0:
            return None
        if os.fstat(self._fd).st_ino == inode:
            if length > self._length:  # what was acknowledged is not there: nothing of ours can be behind it
                return None
            return length if tail in (None, _read_tail(self._fd, length)) else None
        for _, path in self._rotated():
            if path.suffix != ".zst":
                with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                    facts = os.fstat(file.fileno())
                    if facts.st_ino == inode and tail in (None, _read_tail(file.fileno(), length)):
                        return 0
        return None

    # -- the file --------------------------------------------------------------------------------------------

    def _end_torn_line(self) -> None:
        """End a line that somebody left unfinished, so that it spoils only itself."""
        if self._code == JSON and self._length and os.pread(self._fd, 1, self._length - 1) != b"\n":
            self._append(memoryview(b"\n"))

    def _open(self) -> None:
        self._is_stream = is_stream(self.path)
        if self._is_stream:
            self._fd = keep(open_stream(self.path))
            self._mark, self._length = mark(self._fd), 0
            return
        is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = keep(os.open(self.path, flags, 0o600))
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = os.fstat(fd)
            if is_new:
                hand_over(self.path, fd)
        except BlockingIOError:
            os.close(fd)
            raise OSError(None, "another process or sink writes this file") from None
        except OSError:
            os.close(fd)
            raise
        self._fd, self._length = fd, held.st_size
        self._mark = held.st_dev, held.st_ino
        self._opened_at = held.st_mtime if held.st_size else time.time()

    def _append(self, data: memoryview) -> None:
        # somebody may have added a line by hand
        start = self._length = 0 if self._is_stream else os.fstat(self._fd).st_size
        try:
            while data:
                written = os.write(self._fd, data)
                self._length += written
                data = data[written:]
            if self._sync and not self._is_stream:
                os.fdatasync(self._fd)
        except OSError:
            if not self._is_stream:
                # A torn batch would stand there twice when it comes again.
                os.ftruncate(self._fd, start)
            self._length = start
            raise

    def _follow_a_moved_file(self) -> None:
        """Reopen the path when somebody moved, deleted or closed the file under us."""
        try:
            moved = not is_still(self._fd, self._mark)
            if not self._is_stream:
                moved = moved or os.stat(self.path).st_ino != self._mark[1]
        except FileNotFoundError:
            moved = True
        if moved:
            self.close()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._reopen()

    def _reopen(self) -> None:
        try:
            self._open()
        except OSError:
            # Stay connected: the next write tries again.
            self._fd = keep(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
            self._mark = mark(self._fd)
            raise

    def _is_due(self) -> bool:
        if not self._length or self._is_stream:
            return False
        if self._max_size and self._length >= self._max_size:
            return True
        return bool(self.rotate_every) and time.time() - self._opened_at >= self.rotate_every

    # -- rotated files ---------------------------------------------------------------------------------------

    def _file(self) -> Path:
        """Return the file itself, where ``path`` is a link to it."""
        return Path(os.path.realpath(self.path))

    def _rotated(self) -> Iterator[tuple[int, Path]]:
        file = self._file()
        shape = re.compile(re.escape(file.stem) + r"-(\d{6,})" + re.escape(file.suffix) + r"(\.zst)?")
        for path in file.parent.iterdir():
            if found := shape.fullmatch(path.name):
                yield int(found[1]), path

    def _rotate(self) -> None:
        # What was rotated earlier is acknowledged by now (this is a later batch), so only now may it be
        # packed.
        older = sorted(self._rotated())
        number = older[-1][0] + 1 if older else 1
        file = self._file()
        before = os.stat(file)
        os.rename(file, file.with_name(f"{file.stem}-{number:06d}{file.suffix}"))
        self.close()
        self._reopen()
        hand_over(file, self._fd, like=before)
        for _, path in older:
            if self._compress and path.suffix != ".zst":
                pack(path)

    def old_files(self) -> list[OldFile]:
        """Return the files that are too many or too old, held ones too; the sink need not be connected."""
        found: list[OldFile] = []
        if is_stream(self.path):
            return found
        files = sorted(self._rotated()) if self._file().parent.is_dir() else []
        surplus = len(files) - self.max_files if self.max_files else 0
        for position, (_, path) in enumerate(files):
            with contextlib.suppress(FileNotFoundError):
                facts = path.stat()
                if position < surplus:
                    why = f"more than max_files ({self.max_files})"
                elif self._is_past_age(facts.st_mtime):
                    why = "past its age"
                else:
                    continue
                found.append(OldFile(path, why, facts.st_size, facts.st_mtime, self._holds(path, facts)))
        with contextlib.suppress(FileNotFoundError):
            facts = self.path.stat()
            if facts.st_size and self._is_past_age(facts.st_mtime):
                held = self._holds(self.path, facts)
                found.append(
                    OldFile(self.path, "past its age", facts.st_size, facts.st_mtime, held, live=True)
                )
        return found

    def delete_old(self) -> int:
        """Delete the files that are too many or too old, unless one has a record on hold; return how many
        went.

        The file being written is rotated first when it is too old itself, and then goes like the others; that
        takes a connected sink. Raises OSError.
        """
        if (
            self._fd >= 0
            and not self._is_stream
            and self._length
            and self._is_past_age(os.fstat(self._fd).st_mtime)
        ):
            self._rotate()
        gone = 0
        for old in self.old_files():
            if not old.held and not old.live:
                with contextlib.suppress(FileNotFoundError):
                    old.path.unlink()
                    gone += 1
        return gone

    def _is_past_age(self, written: float) -> bool:
        return bool(self.max_age) and time.time() - written > self.max_age

    def _holds(self, path: Path, facts: os.stat_result) -> bool:
        """Look into a file for a record on hold; one that has it is not read again while it is the same."""
        seen = (facts.st_mtime_ns, facts.st_size)
        if self._holding.get(path) != seen:
            if not may_hold(path):
                return False
            self._holding[path] = seen
        return True


def _read_tail(fd: int, length: int) -> int:
    """Return a checksum of the bytes before a place in a file. Raises OSError."""
    begin = max(0, length - _TAIL)
    return zlib.crc32(os.pread(fd, length - begin, begin))
