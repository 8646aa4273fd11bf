"""The pace of a search sink: less at once when the server says so, more step by step when it takes it."""

from __future__ import annotations

from toolog.sinks.search.pace import BYTES, LANES, RECORDS, Pace


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1024.0

    def __call__(self) -> float:
        return self.now


def run(pace: Pace, clock: Clock, seconds: float, each: float = 1 / 64) -> int:
    """Send requests that take ``each`` seconds and are all taken; return how many went out."""
    end, sent = clock.now + seconds, 0
    while (start := clock.now + pace.wait()) < end:
        clock.now = start
        pace.note_request()
        sent += 1
        clock.now += each
        pace.speed_up()
    clock.now = end
    return sent


def make() -> tuple[Pace, Clock]:
    """Return a pace and its clock."""
    clock = Clock()
    return Pace(clock), clock


def test_unhurt_it_never_waits() -> None:
    """As long as the server takes everything, requests follow one another."""
    pace, clock = make()
    assert run(pace, clock, 1.0) == 64
    assert (pace.take, pace.lanes, pace.records) == (None, LANES, RECORDS)


def test_a_429_brings_the_rate_to_a_tenth() -> None:
    """In the second after a 429 at most a tenth of the requests of the second before go out."""
    pace, clock = make()
    before = run(pace, clock, 1.0)
    pace.slow_down()
    assert pace.lanes == 1
    assert pace.take == RECORDS // 2
    assert run(pace, clock, 1.0) <= before / 10


def test_it_recovers_step_by_step() -> None:
    """After the last 429 the rate rises with each success, and is whole again in the end."""
    pace, clock = make()
    before = run(pace, clock, 1.0)
    pace.slow_down()
    seconds = [run(pace, clock, 1.0) for _ in range(12)]
    assert seconds == sorted(seconds)
    assert seconds[1] < before / 2
    assert seconds[-1] == before
    assert (pace.take, pace.lanes, pace.records) == (None, LANES, RECORDS)


def test_further_429s_halve_the_rate_down_to_a_floor() -> None:
    """A server that goes on saying 429 is asked less and less, but at least every ten seconds."""
    pace, clock = make()
    run(pace, clock, 1.0)
    waits = []
    for _ in range(12):
        pace.note_request()
        pace.slow_down()
        waits.append(round(pace.wait(), 3))
    assert waits[:3] == [0.154, 0.308, 0.615]
    assert waits[-1] == 10.0
    assert pace.records >= 20


def test_a_slow_sink_is_not_sped_up_by_a_429() -> None:
    """A sink that sends one request a minute waits after a 429, too."""
    pace, _ = make()
    pace.note_request()
    pace.slow_down()
    assert pace.wait() == 10.0


def test_a_limit_of_size_stays() -> None:
    """After a 413 no request is half as large again, however long all goes well."""
    pace, clock = make()
    pace.limit_size(2_000_000)
    assert pace.bytes == 1_000_000
    run(pace, clock, 10.0)
    assert pace.bytes == 1_000_000
    pace.limit_size(3_000_000)
    assert pace.bytes == 1_000_000
    for _ in range(50):
        pace.limit_size(pace.bytes)
    assert 0 < pace.bytes < BYTES


def test_no_answer_makes_requests_smaller() -> None:
    """A request without an answer in time is followed by smaller ones, which grow again step by step: a
    server to which a size is too much meets it once in a while, and not with every other write.
    """
    pace, _ = make()
    pace.shrink()
    assert pace.records == RECORDS // 2
    assert (pace.take, pace.lanes) == (None, LANES)
    writes = 0
    while pace.records < RECORDS:
        pace.speed_up(16)
        writes += 1
    assert writes >= 4
    assert pace.take is None


def test_after_an_outage_it_is_soon_at_a_good_size() -> None:
    """However often no answer came, two writes in which all is taken bring requests to half of the size at
    which it began, with fewer records than one full request on each lane has; four more to all of it.
    """
    pace, _ = make()
    for _ in range(30):
        pace.shrink()
    sent = 0
    for _ in range(2):
        assert pace.take is not None
        sent += pace.take
        pace.speed_up(pace.take // pace.records)
    assert (pace.take, pace.records) == (None, RECORDS // 2)
    assert sent <= RECORDS * LANES
    for _ in range(4):
        pace.speed_up(16)
    assert pace.records == RECORDS
