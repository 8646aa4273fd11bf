"""What a tool prints during its call: a context-aware stream in place of ``sys.stdout`` and ``sys.stderr``.

A `Tap` stands on top of whatever stream is there. It writes through to it, unchanged, and what is written
while a call is current is also collected for that call's record: separately for concurrent threads and tasks,
and for a call inside a call. Writes to ``sys.stdout.buffer`` count too. Where no call is current a write
costs one look more.

Other replacements coexist: one put on top later (``contextlib.redirect_stdout``, pytest's ``capsys``) is
tapped when the next call begins, and restoring what was there before removes that tap with it.

Not seen: what C code or a child process writes to the file descriptor, and writes through a reference to the
stream taken before the first tap (a ``logging.StreamHandler`` made earlier; its lines are log records
anyway).
"""

from __future__ import annotations

import codecs
import hashlib
import sys
import weakref
from collections.abc import Iterable
from threading import get_ident
from typing import Any

from toolog.call import Call
from toolog.context import current
from toolog.counters import contain
from toolog.settings import capture
from toolog.snapshot.texts import clean, shorten

NAMES = ("stdout", "stderr")
_get = current.get


class Collected:
    """What one call wrote to one stream: the first ``max_bytes`` of it, and size and hash of the whole."""

    __slots__ = ("_decoder", "_hash", "length", "limit", "parts", "size")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0  # characters kept
        self.size = 0  # bytes of all that was written, as UTF-8; counted once the limit is reached
        self.limit = capture.max_bytes // 2  # both streams fit into the record beside each other
        self._hash: Any = None
        self._decoder: codecs.IncrementalDecoder | None = None

    def add(self, text: str) -> None:
        """Collect some text; beyond the limit it is only counted and hashed."""
        if self._hash is None:
            self.parts.append(text[: self.limit + 1])
            self.length += len(text)
            if self.length <= self.limit:
                return
            self.parts[-1] = text
            text = "".join(self.parts)
            self.parts = [text[: self.limit + 1]]
            self._hash = hashlib.sha256()
        data = clean(text).encode()
        self.size += len(data)
        self._hash.update(data)

    def add_bytes(self, data: bytes, encoding: str) -> None:
        """Collect bytes written to the stream's buffer; a character may be split over several writes."""
        if self._decoder is None:
            try:
                self._decoder = codecs.getincrementaldecoder(encoding)("replace")
            except LookupError:
                self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.add(self._decoder.decode(data))

    def text(self) -> tuple[str, dict[str, Any] | None]:
        """Return the text, and what was cut from it as an entry of the record's ``truncated``."""
        text = "".join(self.parts)
        if self._hash is None:
            return clean(text), None
        cut = {"size": self.size, "unit": "bytes", "hash": "sha256:" + self._hash.hexdigest()}
        return shorten(clean(text), self.limit, self.size), cut


class Output:
    """What one call prints."""

    __slots__ = ("__weakref__", "_call", "_streams", "writing")

    def __init__(self, call: Call) -> None:
        self.writing: set[int] = set()  # idents of threads in a write of a tap
        self._call = weakref.ref(call)
        self._streams: dict[str, Collected] | None = {}

    def stream(self, name: str) -> Collected | None:
        """Return what collects one stream, or None once the call is over."""
        streams = self._streams
        if streams is None:
            return None
        found = streams.get(name)
        return streams.setdefault(name, Collected()) if found is None else found

    def take(self) -> dict[str, str]:
        """Return what was written by stream name, and collect no more."""
        streams, self._streams = self._streams, None
        call = self._call()
        texts = {}
        for name, collected in (streams or {}).items():
            text, cut = collected.text()
            if text:
                texts[name] = text
            if cut is not None and call is not None:
                call.cuts = {**(call.cuts or {}), name: cut}
        return texts


def _open_output() -> Output | None:
    """Return what collects the prints of the code that runs now, or None."""
    scope = _get()
    if scope is None:
        return None
    output = scope.output
    if output is None or (scope.muted and scope.muted == get_ident()):
        return None
    return output  # type: ignore[no-any-return]


class Tap:
    """A text stream that writes through to ``stream`` and shows what passes to the current call.

    It answers like the stream itself in everything else, its type included.
    """

    __slots__ = ("__weakref__", "_toolog_name", "_toolog_stream")

    def __init__(self, stream: Any, name: str) -> None:
        object.__setattr__(self, "_toolog_stream", stream)
        object.__setattr__(self, "_toolog_name", name)

    @property  # type: ignore[misc]  # what isinstance falls back to
    def __class__(self) -> type:
        return type(self._toolog_stream)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_toolog_"):
            raise AttributeError(name)
        return getattr(self._toolog_stream, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._toolog_stream, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._toolog_stream, name)

    def __dir__(self) -> Iterable[str]:
        return dir(self._toolog_stream)

    def __repr__(self) -> str:
        return repr(self._toolog_stream)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._toolog_stream.__reduce_ex__(protocol)

    def __iter__(self) -> Any:
        return iter(self._toolog_stream)

    def __next__(self) -> Any:
        return next(self._toolog_stream)

    def __enter__(self) -> Any:
        self._toolog_stream.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._toolog_stream.__exit__(*error)

    def write(self, text: str) -> Any:
        """Write through; returns and raises what the stream does."""
        if _get() is None:
            return self._toolog_stream.write(text)
        return _pass_through(self, text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write through, line by line."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """The stream's binary buffer, tapped as well."""
        return TapBuffer(self._toolog_stream.buffer, self._toolog_name, self._toolog_stream.encoding)


class TapBuffer(Tap):
    """The binary stream below a text stream."""

    __slots__ = ("_toolog_encoding",)

    def __init__(self, stream: Any, name: str, encoding: str | None) -> None:
        super().__init__(stream, name)
        object.__setattr__(self, "_toolog_encoding", encoding or "utf-8")

    def write(self, data: Any) -> Any:
        """Write through; returns and raises what the stream does."""
        if _get() is None:
            return self._toolog_stream.write(data)
        return _pass_through(self, data, self._toolog_encoding)

    @property
    def buffer(self) -> Any:
        """What the stream says about a buffer: a binary stream has none."""
        return self._toolog_stream.buffer


def _pass_through(tap: Tap, written: Any, encoding: str | None = None) -> Any:
    """Write to the stream below, and collect it for the current call: once, where that stream writes on to
    another tap of ours."""
    write = tap._toolog_stream.write
    output = _open_output()
    thread = get_ident()
    if output is None or thread in output.writing:
        return write(written)
    output.writing.add(thread)
    try:
        result = write(written)
    finally:
        output.writing.discard(thread)
    _collect(output, tap._toolog_name, written, encoding)
    return result


def _collect(output: Output, name: str, written: Any, encoding: str | None) -> None:
    try:
        collected = output.stream(name)
        if collected is None:
            return
        if encoding is None:
            collected.add(written if type(written) is str else str.__str__(written))
        else:
            collected.add_bytes(bytes(written), encoding)
    except Exception as trouble:
        contain("output", trouble)


def collect(call: Call) -> None:
    """Begin to collect what a call prints; the record takes it when the call ends. Never raises."""
    try:
        if type(sys.stdout) is not Tap or type(sys.stderr) is not Tap:
            install()
        call.output = Output(call)
    except Exception as trouble:
        contain("output", trouble)


def install() -> None:
    """Put a tap on ``sys.stdout`` and ``sys.stderr`` where there is none. Repeating it changes nothing."""
    for name in NAMES:
        stream = getattr(sys, name, None)
        if stream is not None and type(stream) is not Tap:
            setattr(sys, name, Tap(stream, name))


def undo() -> None:
    """Take the taps away: ``sys.stdout`` and ``sys.stderr`` are the very streams that stood below them.

    A tap that somebody else holds keeps writing through, and collects nothing once no call is current.
    """
    for name in NAMES:
        stream = getattr(sys, name, None)
        while type(stream) is Tap:
            stream = stream._toolog_stream
            setattr(sys, name, stream)
