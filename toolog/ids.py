"""Ids of calls: a random start and a fixed step, so none comes twice and all look random."""

from __future__ import annotations

import itertools
from binascii import hexlify

from toolog.context import getrandbits
from toolog.forks import after_in_child, here, notice


class Ids:
    """Span ids of this process: a random start and a step coprime to 2**64, so none comes twice and all look
    random. The start is a multiple of the step, up to the 2**63th, so the invalid id 0 is 2**63 steps away.

    ``next`` on a counter is atomic and costs a third of drawing random bits and checking them. A trace made
    here begins with digits of its own (so that few of them name it), goes on with ``prefix``, random for the
    program, and ends with the root's span (so that sampling by its last digits is even). A forked child keeps
    the prefix: the trace of a call that is under way must be the same on both sides.
    """

    step = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, made odd: neighbours in time lie far apart
    counter = itertools.count((getrandbits(63) + 1) * step % 2**64, step)
    prefix = b"%08x" % getrandbits(32)

    @classmethod
    def reseed(cls) -> None:
        """Begin at another random number, as a forked child must."""
        cls.counter = itertools.count((getrandbits(63) + 1) * cls.step % 2**64, cls.step)


after_in_child(Ids.reseed)
MASK = 2**64 - 1
"""An id is as much of its number."""


def new_span() -> bytes:
    """Return a new span id: 16 hex digits, unique in this process and its forks."""
    if not here[0]:
        notice()
    return span_of(next(Ids.counter))


def span_of(ident: int) -> bytes:
    """Return the span id of a number that ``Ids.counter`` gave."""
    return hexlify((ident & MASK).to_bytes(8))
