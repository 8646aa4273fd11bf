"""What an engine is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from toolog.expiry.cluster import Cluster, is_as_wanted
from toolog.expiry.plan import DAY, Bounds, Change, Piece

ROLLOVER = DAY
"""Seconds after which an index is rolled over at the latest."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A data stream: the policy whose records it holds, its namespace, and the names of its backing indices,
    the one being written last. Without indices it is not there yet.
    """

    name: str
    policy: str
    namespace: str
    indices: tuple[str, ...] = ()


class Engine:
    """One way of letting go of old records; ``name`` is the value of the option ``lifecycle``.

    All methods raise what `Cluster.call` raises.
    """

    name = ""
    needs_template = False
    """Whether the index template of the namespace must be there before anything can be changed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def bounds(self, keep: float) -> Bounds:
        """Return how long a record with that ``keep`` really lives; by default the server counts from the
        rollover of an index, so the age of the index comes on top.
        """
        return Bounds(keep, keep + span(keep), "from the rollover of its index, then within minutes")

    def changes(self, stream: Stream, keep: float) -> Iterator[Change]:
        """Yield what is not as it should be for a stream whose records have an end."""
        yield from ()

    def withdrawal(self, stream: Stream) -> Iterator[Change]:
        """Yield what this engine has left on a stream that it is not, or no longer, responsible for."""
        yield from ()

    def pieces(self, stream: Stream, keep: float, now: float) -> Iterator[Piece]:
        """Yield what a purge has to do; nothing where the server deletes by itself."""
        yield from ()

    def purge(self, stream: Stream, keep: float, now: float) -> Iterator[Piece]:
        """Do it, and yield what was done."""
        yield from ()


def settle(what: str, found: Any, wanted: Any, carry_out: Callable[[], object]) -> Iterator[Change]:
    """Yield the change that makes a setting what it should be, unless it is so."""
    if not is_as_wanted(wanted, found):
        yield Change("change" if found else "create", what, found, wanted, carry_out)


def settle_index(
    engine: str, index: str, found: str | None, wanted: str, carry_out: Callable[[str], object]
) -> Iterator[Change]:
    """Yield the change that brings a backing index under the right policy, unless it is; ``carry_out`` is
    given the index.
    """
    what = f"{engine} policy of the index {index}"
    yield from settle(what, found, wanted, lambda: carry_out(index))


def span(keep: float) -> float:
    """Return after how many seconds an index is rolled over: a day, or less where records live for less."""
    return min(ROLLOVER, keep)
