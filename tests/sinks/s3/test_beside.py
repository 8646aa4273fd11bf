"""Compression beside the work of making what is compressed."""

from __future__ import annotations

import _thread
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from toolog.sinks.s3.beside import Beside


def compressor() -> Any:
    """Return what an object is compressed with."""
    return zstandard.ZstdCompressor(level=3, write_checksum=True).compressobj()


def alone(chunks: list[bytes]) -> bytes:
    """Return what a compressor makes of chunks on one thread."""
    one = compressor()
    return b"".join([*map(one.compress, chunks), one.flush()])


@given(st.lists(st.binary(max_size=2000), max_size=6), st.binary(max_size=2000))
def test_the_bytes_are_those_of_one_thread(chunks: list[bytes], last: bytes) -> None:
    """The same chunks become the same bytes, wherever they are compressed: an object can be repeated."""
    beside = Beside(compressor())
    for chunk in chunks:
        beside.add(chunk)
    assert beside.finish(last) == alone([*chunks, last])


def test_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can be started, the caller compresses."""

    def refuse(*_: Any) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    beside = Beside(compressor())
    beside.add(b"one" * 1000)
    beside.add(b"two" * 1000)
    assert beside.finish(b"three") == alone([b"one" * 1000, b"two" * 1000, b"three"])


def test_what_the_compressor_raises_is_raised_at_the_end() -> None:
    """An error in the thread is one of the caller, once: nothing is taken for compressed that was not."""

    class Broken:
        def compress(self, chunk: bytes) -> bytes:
            raise zstandard.ZstdError("no memory")

    beside = Beside(Broken())
    beside.add(b"one")
    beside.add(b"two")
    with pytest.raises(zstandard.ZstdError, match="no memory"):
        beside.finish()
