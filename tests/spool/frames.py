"""What tests of the spool write, and how they look at what they read."""

from __future__ import annotations

from pathlib import Path

from toolog.errors import SpoolError
from toolog.spool import Frame, SpoolWriter, iter_frames


def texts(frames: list[Frame]) -> list[str]:
    """Return the payloads of frames as text."""
    return [frame.payload.decode() for frame in frames]


def write(writer: SpoolWriter, *payloads: str, levelno: int = 20) -> None:
    """Append some texts."""
    for payload in payloads:
        writer.append(levelno, 0, payload.encode())


def payloads(directory: Path) -> list[bytes]:
    """Return the payloads of all frames in a spool."""
    return [frame.payload for frame in iter_frames(directory)]


def fill(writer: SpoolWriter, size: int = 1000, *, batch: int = 0) -> int:
    """Append numbered records until the writer raises; return how many were accepted before."""
    accepted = 0
    while True:
        records = [(20, 0, b"%06d" % (accepted + more) + b"." * size) for more in range(max(1, batch))]
        try:
            if batch:
                accepted += writer.append_many(records)
            else:
                writer.append(*records[0])
                accepted += 1
        except SpoolError as error:
            raise type(error)(*error.args, accepted) from error.__cause__
