"""The breaker of a sink: when it opens and closes, how long it waits, what is told."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog import counters
from toolog.errors import SinkDenied, SinkUnavailable
from toolog.pipeline.breaker import BREAK_AFTER, DENIED_PAUSE, FIRST_PAUSE, Breaker


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Return what is told on `toolog.internal`."""
    counters.reset()
    logging.getLogger("toolog.internal").addHandler(caplog.handler)
    yield caplog
    logging.getLogger("toolog.internal").removeHandler(caplog.handler)


def test_five_failures_in_a_row_open_it_and_an_answer_closes_it(told: pytest.LogCaptureFixture) -> None:
    """It is closed for four failures, open from the fifth on, half open while a probe is on its way, and
    closed by an answer; opening and closing are told once each.
    """
    breaker = Breaker("search", 60.0)
    for number in range(1, BREAK_AFTER + 3):
        assert (breaker.state == "open") == (number > BREAK_AFTER)
        breaker.failed("unavailable", SinkUnavailable("down"))
    breaker.probing = True
    assert breaker.state == "half_open"
    breaker.failed("unavailable", SinkUnavailable("down"))
    assert breaker.state == "open"
    breaker.answered()
    assert breaker.state == "closed"
    assert len([line for line in told.messages if "sink search is left in peace" in line]) == 1
    assert len([line for line in told.messages if "sink search answers again" in line]) == 1
    assert counters.value("breaker_opened", sink="search") == 1


def test_an_answer_in_between_begins_the_count_anew(told: pytest.LogCaptureFixture) -> None:
    """Four failures, an answer, four failures: it never opens, and nobody is told that it did."""
    breaker = Breaker("search", 60.0)
    for _ in range(2):
        for _ in range(BREAK_AFTER - 1):
            breaker.failed("unavailable", SinkUnavailable("down"))
        breaker.answered()
    assert breaker.state == "closed"
    assert not [line for line in told.messages if "left in peace" in line or "answers again" in line]


def test_a_denial_opens_it_at_once(told: pytest.LogCaptureFixture) -> None:
    """Where we are denied access, the first failure opens it; the sink's own words are told."""
    breaker = Breaker("search", 60.0)
    breaker.failed("unavailable", SinkDenied("api_key is refused: give a new one"))
    assert breaker.state == "open"
    assert any("api_key is refused: give a new one" in line for line in told.messages)
    assert any("it denies us access" in line for line in told.messages)


def test_a_denial_is_not_hammered_while_somebody_flushes() -> None:
    """After a denial the pause that holds in a flush, too, is a second, or the sink's longest if shorter."""
    breaker = Breaker("search", 60.0)
    breaker.failed("denied", SinkDenied("the key is wrong"))
    assert breaker.asked_for == DENIED_PAUSE == 1.0
    quick = Breaker("search", 0.2)
    quick.failed("denied", SinkDenied("the key is wrong"))
    assert quick.asked_for == 0.2
    breaker.failed("unavailable", SinkUnavailable("down"))
    assert breaker.asked_for == 0.0


def test_what_may_quote_a_record_is_not_told(told: pytest.LogCaptureFixture) -> None:
    """Of an error that does not say that it quotes no record, only the type is told."""
    breaker = Breaker("search", 60.0)
    breaker.failed("unavailable", SinkUnavailable("cannot take 'ring 13812345678'"))
    assert told.messages == ["toolog: sink search: unavailable (SinkUnavailable)"]


@given(st.integers(0, 1000), st.floats(0.1, 600), st.none() | st.floats(0, 10_000))
def test_a_pause_grows_up_to_its_bound_and_keeps_to_what_the_sink_asked_for(
    failures: int, longest: float, wanted: float | None
) -> None:
    """No pause is longer than max_backoff, none is shorter than half of what it would be without jitter, nor
    than what the sink asked for (up to max_backoff).
    """
    breaker = Breaker("search", longest)
    breaker.failed("unavailable", SinkUnavailable("busy", retry_after=wanted))
    breaker.failures = failures
    pause = breaker.pause()
    assert pause <= max(longest, FIRST_PAUSE)
    assert pause >= min(longest, FIRST_PAUSE * 2 ** min(failures, 20)) / 2
    assert pause >= min(wanted or 0.0, longest)


def test_a_call_that_does_not_return_opens_it_until_it_does(told: pytest.LogCaptureFixture) -> None:
    """While a write hangs the breaker is open; it is counted and told with what to do."""
    breaker = Breaker("search", 60.0)
    breaker.overdue("write", 31.0, 30.0)
    assert breaker.state == "open"
    assert counters.value("timeouts", sink="search") == 1
    assert any("a write has not returned for 31 s" in line and "restart" in line for line in told.messages)
    breaker.returned()
    assert breaker.state == "closed"


def test_why_records_come_again_is_told(told: pytest.LogCaptureFixture) -> None:
    """What a sink says of records that it wants again is told, and again when the breaker opens for it."""
    breaker = Breaker("search", 60.0)
    for _ in range(BREAK_AFTER):
        breaker.failed("retry", why="503 unavailable_shards_exception")
    (first, opened) = told.messages
    assert first == "toolog: sink search: retry (503 unavailable_shards_exception)"
    assert "it failed 5 times in a row (503 unavailable_shards_exception)" in opened


@pytest.mark.parametrize("way", ["why", "error"])
def test_what_a_sink_says_is_told_in_one_clean_line(told: pytest.LogCaptureFixture, way: str) -> None:
    """Secrets, line breaks and control characters in a server's words do not reach the log, nor do more than
    500 characters.
    """
    words = "no\x1b[31m\r\nFATAL: password=hunter2-hunter2 " + "x" * 1000
    breaker = Breaker("search", 60.0)
    if way == "why":
        breaker.failed("retry", why=words)
    else:
        breaker.failed("unavailable", SinkUnavailable(words, tells=True))
    (line,) = told.messages
    assert "\n" not in line
    assert "\r" not in line
    assert "\x1b" not in line
    assert "hunter2" not in line
    assert len(line) < 600
