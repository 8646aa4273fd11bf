"""Compression in a thread of its own, while the caller makes what is compressed next.

The compressor needs no interpreter, so that one thread decodes records while the other compresses those
before them. The bytes are those that the caller alone would get. The thread is begun with the first chunk,
and has ended when `finish` returns; where none can be started, the caller does it all.
"""

from __future__ import annotations

import _thread
from queue import Queue
from typing import Any

from toolog.context import mute

_AHEAD = 4
"""How many chunks may wait; where compression is slow, the caller is."""


class Beside:
    """Compresses the chunks it is given, in their order. ``compressor``: a compression object of zstandard.

    `finish` must be called, whatever happens in between.
    """

    def __init__(self, compressor: Any) -> None:
        self._compressor = compressor
        self._parts: list[bytes] = []
        self._chunks: Queue[bytes | None] = Queue(_AHEAD)
        self._ended: _thread.LockType | None = None
        self._error: BaseException | None = None
        self._alone = False

    def add(self, chunk: bytes) -> None:
        """Take the next chunk. Never raises: `finish` does."""
        if self._ended is None and not self._alone:
            self._begin()
        if self._alone:
            self._compress(chunk)
        else:
            self._chunks.put(chunk)

    def finish(self, last: bytes = b"") -> bytes:
        """Return all that became of the chunks and of ``last``, the end of the frame included.

        Raises what the compressor raised.
        """
        if self._ended is not None:
            self._chunks.put(None)
            self._ended.acquire()
            self._ended = None
        self._compress(last)
        if self._error is not None:
            raise self._error
        return b"".join([*self._parts, self._compressor.flush()])

    def _begin(self) -> None:
        ended = _thread.allocate_lock()
        ended.acquire()
        try:
            _thread.start_new_thread(self._run, (ended,))
        except RuntimeError:  # at the end of the interpreter there are no new threads
            self._alone = True
        else:
            self._ended = ended

    def _run(self, ended: _thread.LockType) -> None:
        try:
            mute()
            while (chunk := self._chunks.get()) is not None:
                self._compress(chunk)
        finally:
            ended.release()

    def _compress(self, chunk: bytes) -> None:
        if self._error is None:
            try:
                self._parts.append(self._compressor.compress(chunk))
            except Exception as error:
                self._error = error
