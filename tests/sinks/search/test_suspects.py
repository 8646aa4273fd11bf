"""Whose fault a failure is: laws of the one that decides, with a clock that the test turns."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.search.outcome import Cause, Failure, Outcome, Refusal
from toolog.sinks.search.suspects import ALIKE, PATIENCE, Suspects, Vitals, vitals_of


class Judge:
    """A server that answers and whose streams are in order, unless a test says otherwise."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.answers = True
        self.trouble: SinkUnavailable | None = None
        self.vitals = Vitals()
        self.suspects = Suspects("sink 'search'", lambda: self.now, self.vitals)

    def failed(self, cause: Cause, *ids: str, stored: int = 0) -> Outcome:
        """Let the server fail on records alone, and store so many others."""
        outcome = Outcome(stored=stored, failed={one: Failure(cause, "why") for one in ids}, vague=True)
        return self.decide(outcome)

    def refused(self, kind: str, *ids: str, stored: int = 0) -> Outcome:
        """Let the server refuse records with a 400, and store so many others."""
        return self.decide(Outcome(stored=stored, refused={one: Refusal(kind, f"{kind}: x") for one in ids}))

    def decide(self, outcome: Outcome) -> Outcome:
        self.suspects.judge(outcome, lambda: self.answers, lambda: self.trouble)
        assert not outcome.failed
        assert not outcome.refused
        return outcome


def wait_for_rejection(judge: Judge, cause: Cause, *ids: str, seconds: float = 3.0) -> float:
    """Fail once every few seconds until a record is given up; return how long that took."""
    began = judge.now
    while judge.now - began < 100_000:
        if judge.failed(cause, *ids).rejected:
            return judge.now - began
        judge.now += seconds
    return -1.0


@pytest.mark.parametrize("cause", Cause)
def test_a_record_that_fails_while_others_are_stored(cause: Cause) -> None:
    """It is given up after its number of tries and its time, not before."""
    judge, patience = Judge(), PATIENCE[cause]
    for number in range(1, patience.tries):
        assert judge.failed(cause, "a", stored=1).retry == {"a"}, number
    judge.now += patience.proven
    assert judge.failed(cause, "a", stored=1).rejected == {"a": "why"}


@pytest.mark.parametrize("cause", Cause)
def test_a_record_that_is_alone(cause: Cause) -> None:
    """With nothing else to send it is given up too, after five minutes at most; then each time takes twice as
    long, until something is stored.
    """
    judge, patience = Judge(), PATIENCE[cause]
    assert patience.unproven <= 300
    first = wait_for_rejection(judge, cause, "a")
    assert patience.unproven <= first <= patience.unproven + 3 * patience.tries
    assert wait_for_rejection(judge, cause, "b") >= 2 * patience.unproven
    assert wait_for_rejection(judge, cause, "c") >= 4 * patience.unproven
    judge.decide(Outcome(stored=1))
    assert wait_for_rejection(judge, cause, "d") <= patience.unproven + 3 * patience.tries


@pytest.mark.parametrize("cause", [Cause.ITEM, Cause.WHOLE, Cause.BUSY])
def test_a_record_that_is_alone_in_its_policy(cause: Cause) -> None:
    """Where a sink for another policy stores records in the same cluster meanwhile, it is given up sooner;
    what was stored before says nothing.
    """
    judge, patience = Judge(), PATIENCE[cause]
    assert patience.vouched < patience.unproven
    other = Suspects("sink 'search'", lambda: judge.now, judge.vitals)
    other.judge(Outcome(stored=1), lambda: True, lambda: None)
    judge.now += 1
    assert wait_for_rejection(judge, cause, "a") >= patience.unproven
    judge.decide(Outcome(stored=1))
    judge.now += 1
    judge.failed(cause, "b")
    judge.now += 1
    other.judge(Outcome(stored=1), lambda: True, lambda: None)
    assert wait_for_rejection(judge, cause, "b") <= patience.vouched + 3 * patience.tries


def test_sinks_of_one_cluster_share_its_vitals() -> None:
    """Sinks with the same hosts know of each other, and others do not."""
    here = vitals_of(("http://one",))
    assert vitals_of(("http://one",)) is here
    assert vitals_of(("http://two",)) is not here


def test_one_at_a_time() -> None:
    """Of many records that fail alike, none of them proven, one is given up: the one that failed first."""
    judge = Judge()
    judge.failed(Cause.WHOLE, "z")
    judge.now += 1
    while not (outcome := judge.failed(Cause.WHOLE, "a", "b", "z")).rejected:
        judge.now += 5
    assert list(outcome.rejected) == ["z"]
    assert outcome.retry == {"a", "b"}


def test_a_server_that_is_away() -> None:
    """As long as the server answers nothing at all, nothing is given up."""
    judge = Judge()
    judge.answers = False
    assert wait_for_rejection(judge, Cause.WHOLE, "a", seconds=100.0) == -1.0
    judge.answers = True
    assert judge.failed(Cause.WHOLE, "a").rejected


@given(st.lists(st.tuples(st.floats(0, 20_000), st.sampled_from(Cause)), max_size=60))
def test_hardly_anything_is_given_up_in_an_outage(steps: list[tuple[float, Cause]]) -> None:
    """However long and in whatever way everything fails, what is given up is at most one record for each
    doubling of the time.
    """
    judge, given_up = Judge(), 0
    began = judge.now
    for seconds, cause in steps:
        judge.now += seconds
        given_up += len(judge.failed(cause, "a", "b", "c", "d").rejected)
    passed = judge.now - began
    shortest = min(patience.unproven for patience in PATIENCE.values())
    assert given_up <= max(0.0, passed / shortest).__ceil__().bit_length()


@pytest.mark.parametrize("kind", ["illegal_argument_exception", "mapper_parsing_exception"])
def test_refused_while_others_are_stored(kind: str) -> None:
    """However many are refused, they are rejected when anything is stored."""
    ids = [f"r{number}" for number in range(50)]
    outcome = Judge().refused(kind, *ids, stored=1)
    assert outcome.rejected.keys() == set(ids)
    assert outcome.trouble is None


def test_all_are_refused_alike() -> None:
    """When all are refused with the same type and none is stored, nothing is rejected, and what is told says
    why.
    """
    judge = Judge()
    outcome = judge.refused("illegal_argument_exception", *"abcd")
    assert not outcome.rejected
    assert outcome.retry == set("abcd")
    assert isinstance(outcome.trouble, SinkDenied)
    assert "illegal_argument_exception: x" in str(outcome.trouble)
    assert judge.refused("illegal_argument_exception", "a", stored=1).rejected


def test_refused_one_after_the_other() -> None:
    """In writes of one record each, as many as are no accident are rejected at most, then the rest waits."""
    judge = Judge()
    rejected = [bool(judge.refused("script_exception", f"r{number}").rejected) for number in range(10)]
    assert rejected == [True] * (ALIKE - 1) + [False] * (11 - ALIKE)


@pytest.mark.parametrize("check", [lambda judge: None, lambda judge: SinkDenied("another mapping")])
def test_documents_that_do_not_fit_the_mapping(check: Callable[[Judge], SinkUnavailable | None]) -> None:
    """What does not fit a mapping is rejected where the mapping is ours, and waits where it is not."""
    judge = Judge()
    judge.trouble = check(judge)
    outcome = judge.refused("mapper_parsing_exception", *"abcd")
    assert bool(outcome.rejected) is (judge.trouble is None)
    assert outcome.trouble is judge.trouble


def test_what_is_told_quotes_no_record() -> None:
    """A server that quotes a document in its error is told up to there."""
    said = "a_new_exception: failed to parse field's value: 'a secret'"
    refused = {one: Refusal("a_new_exception", said) for one in "abcd"}
    outcome = Judge().decide(Outcome(refused=refused))
    assert "a_new_exception: failed to parse" in str(outcome.trouble)
    assert "secret" not in str(outcome.trouble)
