"""Files that the file sink has rotated: packed, and looked into before they are deleted."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from toolog.ownership import hand_over


def may_hold(path: Path) -> bool:
    """Return whether a rotated file may have a record with the tag ``hold``; such a file is never deleted.

    Looks for the key's bytes in either format: it may keep a file too many, never one too few.
    """
    wanted = (b'"hold":', b"\xa4hold")
    with contextlib.ExitStack() as stack:
        source: Any = stack.enter_context(path.open("rb"))
        if path.suffix == ".zst":
            import zstandard

            source = stack.enter_context(zstandard.ZstdDecompressor().stream_reader(source))
        tail = b""
        while chunk := source.read(1 << 20):
            block = tail + chunk
            if any(key in block for key in wanted):
                return True
            tail = block[-8:]
    return False


def pack(path: Path) -> None:
    """Replace a file by its zstd frame; at every moment one of the two is whole."""
    import zstandard

    packed = path.with_name(path.name + ".zst")
    part = path.with_name(path.name + ".zst.part")
    with path.open("rb") as source, part.open("wb") as target:
        os.fchmod(target.fileno(), 0o600)
        hand_over(part, target.fileno(), like=os.fstat(source.fileno()))
        zstandard.ZstdCompressor(level=3, threads=0).copy_stream(source, target)
    os.utime(part, (path.stat().st_atime, path.stat().st_mtime))
    os.replace(part, packed)
    path.unlink()
