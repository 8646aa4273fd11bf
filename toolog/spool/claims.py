"""What waits in a spool for sinks that whoever ships it does not serve.

A sink that is taken out of the configuration, or left out by mistake, may have records waiting: the
segments that hold them stay until it is served again or somebody gives it up (`forget`). Which segments these
are is decided when a shipper first comes without the sink, and noted in the sink's cursor: what is written
later goes where the configuration says, which does not name that sink any more. The spool's bound holds all
the same, and what only such a sink waits for is the first to be given up then.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote

from toolog.errors import SpoolError
from toolog.spool import segment
from toolog.spool.browse import frames_of
from toolog.spool.cursor import Cursor, Mark, path_of, sinks_with_files
from toolog.spool.reader import SpoolReader


class Claim(SpoolReader):
    """What a spool holds for one sink that nobody serves: all that it did not acknowledge in the segments
    that were there when it went. Nothing is read by it.
    """

    def __init__(self, directory: str | os.PathLike[str], cursor: Cursor) -> None:
        super().__init__(directory, cursor.sink)
        self.cursor = cursor
        self._left = set(cursor.left or ())

    @property
    def sink(self) -> str:
        """The sink's name."""
        return self.cursor.sink

    def concerns(self, name: str) -> bool:
        """Tell whether a segment was there when the sink went, or is addressed to it."""
        if segment.addressee(name):
            return not segment.is_foreign(name, self.cursor.sink)
        return name in self._left

    def carry_over(self, old: str, new: str, mark: Mark | None) -> None:
        """Save that what was kept of a segment will stand in a new one."""
        if self.concerns(old):
            self._left.add(new)
            self.cursor.left = sorted(self._left)
            if mark is not None:
                self.cursor.marks[new] = mark
            self.cursor.save()

    def is_given_up(self) -> bool:
        """Tell whether the sink was forgotten meanwhile."""
        return not self.cursor.path.exists()

    def waits(self) -> bool:
        """Tell whether anything is there for it, without counting how much."""
        return any(
            next(frames_of(self.directory, name, self.cursor.saved.get(name, Mark(0))), None) is not None
            for name in _listing(self.directory)
            if self.concerns(name)
        )


def read_claims(directory: Path, served: Collection[str]) -> list[Claim]:
    """Return the claims of the sinks that are not ``served``; changes nothing.

    Such a sink has a cursor, or segments that are for it alone.
    """
    known = {path_of(directory, sink) for sink in served}
    found = []
    for sink, path in sinks_with_files(directory).items():
        if path in known:
            continue
        cursor = Cursor(directory, sink, path)
        if cursor.left is None:
            cursor.left = [name for name in _listing(directory) if _holds(directory, cursor, name)]
        found.append(Claim(directory, cursor))
    addresses = {segment.address(sink) for sink in (*served, *(claim.sink for claim in found))}
    for address in {segment.addressee(name) for name in _listing(directory)} - addresses - {""}:
        cursor = Cursor(directory, unquote(address))  # dead letters, sent again to a sink that never was
        cursor.left = []
        found.append(Claim(directory, cursor))
    return found


def take_claims(directory: Path, served: Collection[str]) -> list[Claim]:
    """Return the claims of sinks that are not ``served``, and note in the cursors what they are.

    The cursors of sinks that are served again lose that note. Only the holder of the shipper's lock may do
    so.
    """
    for sink in served:
        cursor = Cursor(directory, sink)
        if cursor.left is not None:
            cursor.left = None
            cursor.save()
    claims = read_claims(directory, served)
    for claim in claims:
        claim.cursor.save()
    return claims


def forget(directory: Path, sink: str, served: Collection[str], *, is_shipper: bool) -> int:
    """Give up all that waits for a sink that is not ``served``; return how many records that are.

    Without the shipper's lock, only what the shipper itself noted as nobody's can be given up. Raises
    SpoolError when it cannot.
    """
    claims = {claim.sink: claim for claim in read_claims(directory, served)}
    claim = claims.get(sink)
    if claim is None:
        raise SpoolError(
            f"nothing in {directory} waits for a sink {sink!r} that is not served; "
            f"there is: {', '.join(claims) or 'none'}"
        )
    if not is_shipper and Cursor(directory, sink, claim.cursor.path).left is None:
        raise SpoolError(f"the process that ships {directory} serves the sink {sink!r}; end it first")
    number = claim.pending()
    claim.cursor.path.unlink(missing_ok=True)
    for name in _listing(directory):
        if segment.addressee(name) == segment.address(sink):
            os.unlink(directory / (name + segment.SUFFIX))
    return number


def _holds(directory: Path, cursor: Cursor, name: str) -> bool:
    """Tell whether a segment holds anything that the sink did not acknowledge."""
    if segment.is_foreign(name, cursor.sink):
        return False
    return next(frames_of(directory, name, cursor.saved.get(name, Mark(0))), None) is not None


def _listing(directory: Path) -> dict[str, int]:
    try:
        return segment.listing(directory)
    except OSError:
        return {}
