"""What waits in a spool for sinks that whoever ships it does not serve.

A sink that is taken out of the configuration, or left out by mistake, may have records waiting: the
segments that hold them stay until it is served again or somebody gives it up (`forget`). Which segments these
are is decided when a shipper first comes without the sink, and noted in the sink's cursor: what is written
later goes where the configuration says, which does not name that sink any more. The spool's bound holds all
the same, and what only such a sink waits for is the first to be given up then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from urllib.parse import unquote

from toolog.errors import SpoolError
from toolog.spool import naming, segment
from toolog.spool.browse import frames_left
from toolog.spool.cursor import Cursor, open_tracks, path_of, sinks_with_files
from toolog.spool.reader import SpoolReader
from toolog.spool.tracks import Mark


class Claim(SpoolReader):
    """What a spool holds for one track of a sink that nobody serves: all that it did not acknowledge in the
    segments that were there when it went. Nothing is read by it.
    """

    def __init__(self, directory: str | os.PathLike[str], cursor: Cursor) -> None:
        super().__init__(directory, cursor.sink, cursor=cursor)

    @property
    def sink(self) -> str:
        """The sink's name."""
        return self.cursor.sink

    def concerns(self, name: str) -> bool:
        """Tell whether a segment was there when the sink went, or is addressed to it."""
        if naming.addressee(name):
            return not naming.is_foreign(name, self.cursor.sink)
        return name in (self.cursor.left or ())

    def carry_over(self, old: str, new: str, mark: Mark | None) -> None:
        """Save that what was kept of a segment will stand in a new one."""
        if self.concerns(old):
            self.cursor.left = sorted({*(self.cursor.left or ()), new})
            if mark is not None:
                self.cursor.marks[new] = mark
            self.cursor.save()

    def is_given_up(self) -> bool:
        """Tell whether the sink was forgotten meanwhile."""
        return not self.cursor.path.exists()

    def waits(self) -> bool:
        """Tell whether anything is there for it, without counting how much."""
        return any(
            self.concerns(name) and _holds(self.directory, [self.cursor], name)
            for name in _listing(self.directory)
        )


def read_claims(
    directory: Path, served: Collection[str], wrote: Callable[[str], bool] = lambda name: False
) -> list[Claim]:
    """Return the claims of the sinks that are not ``served``; changes nothing.

    Such a sink has a cursor, or segments that are for it alone. ``wrote`` tells the segments of whoever asks:
    no sink that went before has a claim on those.
    """
    known = {path_of(directory, sink) for sink in served}
    found: list[Claim] = []
    for sink, path in sinks_with_files(directory).items():
        if path in known:
            continue
        tracks = open_tracks(directory, sink, path=path)
        if tracks[0].left is None:
            tracks[0].left = [
                name for name in _listing(directory) if not wrote(name) and _holds(directory, tracks, name)
            ]
        found += [Claim(directory, track) for track in tracks]
    addresses = {naming.address(sink) for sink in (*served, *(claim.sink for claim in found))}
    for address in {naming.addressee(name) for name in _listing(directory)} - addresses - {""}:
        cursor = Cursor(directory, unquote(address))  # dead letters, sent again to a sink that never was
        cursor.left = []
        found.append(Claim(directory, cursor))
    return found


def take_claims(
    directory: Path, served: Collection[str], wrote: Callable[[str], bool] = lambda name: False
) -> list[Claim]:
    """Return the claims of sinks that are not ``served``, and note in the cursors what they are.

    The cursors of sinks that are served again lose that note. Only the holder of the shipper's lock may do
    so.
    """
    for sink in served:
        first = open_tracks(directory, sink)[0]
        if first.left is not None:
            first.left = None
            first.save()
    claims = read_claims(directory, served, wrote)
    for claim in claims:
        claim.cursor.save()
    return claims


def forget(directory: Path, sink: str, served: Collection[str], *, is_shipper: bool) -> int:
    """Give up all that waits for a sink that is not ``served``; return how many records that are.

    Without the shipper's lock, only what the shipper itself noted as nobody's can be given up. Raises
    SpoolError when it cannot.
    """
    claims = read_claims(directory, served)
    given_up = [claim for claim in claims if claim.sink == sink]
    if not given_up:
        raise SpoolError(
            f"nothing in {directory} waits for a sink {sink!r} that is not served; "
            f"there is: {', '.join(dict.fromkeys(claim.sink for claim in claims)) or 'none'}"
        )
    path = given_up[0].cursor.path
    if not is_shipper and Cursor(directory, sink, path).left is None:
        raise SpoolError(f"the process that ships {directory} serves the sink {sink!r}; end it first")
    number = sum([claim.pending() for claim in given_up])
    path.unlink(missing_ok=True)
    for name in _listing(directory):
        if naming.addressee(name) == naming.address(sink):
            os.unlink(directory / (name + segment.SUFFIX))
    return number


def _holds(directory: Path, tracks: Sequence[Cursor], name: str) -> bool:
    """Tell whether a segment holds anything that the sink did not acknowledge on one of these tracks."""
    if naming.is_foreign(name, tracks[0].sink):
        return False
    return next(frames_left(directory, name, tracks), None) is not None


def _listing(directory: Path) -> dict[str, int]:
    try:
        return segment.listing(directory)
    except OSError:
        return {}
