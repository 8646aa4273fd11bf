"""Records in requests of their own, when requests fail as a whole: one of them may be what they fail for.

A web application firewall that answers a page, a server or proxy that ends the connection on one document:
nothing says which. One record is sent alone, and after each that is stored twice as many, so that the rest is
soon through. What failed alone comes last, the next time too: the others overtake it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from toolog.sinks.search.bulk import Line
from toolog.sinks.search.outcome import Outcome

MOST = 500
"""How many records one such write looks at."""
_IN_A_ROW = 3
"""So many requests in a row that fail end it: it is not one record, or not now."""


def send_apart(
    lines: Sequence[Line],
    send: Callable[[Sequence[Line], Outcome], None],
    tries: Callable[[str], int],
    outcome: Outcome,
    seconds: float,
) -> None:
    """Send lines by ``send`` as far as that goes; ``outcome`` learns of each.

    ``tries`` says how often a record failed alone before. No request begins after ``seconds``.
    """
    until = time.monotonic() + seconds
    fresh = deque(line for line in lines if not tries(line.record_id))
    known = sorted((line for line in lines if tries(line.record_id)), key=lambda line: tries(line.record_id))
    nothing_else = not fresh
    size, failures, ended = 1, 0, False

    def try_part(part: Sequence[Line]) -> bool:
        """Send one request; return whether the server took it, whatever it says of single records."""
        nonlocal failures, ended
        one = Outcome()
        send(part, one)
        lost = one.vague and len(part) > 1
        if lost:
            one.retry.clear()  # they are tried again below
        outcome.add(one)
        failures = failures + 1 if one.vague else 0
        ended = bool(
            one.throttled
            or failures >= _IN_A_ROW
            or (one.trouble is not None and not one.vague)
            or time.monotonic() >= until
        )
        return not lost

    while fresh and not ended:
        part = [fresh.popleft() for _ in range(min(size, len(fresh)))]
        if try_part(part):
            size = 1 if failures else size * 2
        else:
            fresh.extendleft(reversed(part))
            size = 1
    while known and not ended and (nothing_else or outcome.stored):
        try_part([known.pop(0)])
    outcome.retry |= {line.record_id for line in (*fresh, *known)}
