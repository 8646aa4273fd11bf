"""Scopes, sessions, tags and carriers."""

from __future__ import annotations

import contextvars
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolog
from toolog.context import Scope, current, is_ours, mute, pop, push


def test_sessions_and_tags_nest() -> None:
    """The inner session and tags win, the outer ones stay, and all of it ends with its block."""
    with toolog.session("order-1", customer="c-7"), toolog.bind(stage="payment", customer="c-8") as scope:
        assert scope.bag.session_id == "order-1"
        assert scope.bag.tags == {"customer": "c-8", "stage": "payment"}
    assert current.get() is None


async def test_session_is_an_async_context_manager() -> None:
    """``async with toolog.session(...)`` does the same as ``with``."""
    async with toolog.session("order-2"):
        scope = current.get()
        assert scope is not None
        assert scope.bag.session_id == "order-2"
    assert current.get() is None


def test_carrier_round_trip() -> None:
    """What a carrier says can be attached elsewhere: trace, span, depth, session and tags."""
    given_context = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    with toolog.attach(given_context), toolog.session("s/1, ü", stage="a=b;c"):
        sent = toolog.carrier()
    with toolog.attach(sent) as scope:
        assert (scope.trace_id, scope.span_id, scope.depth) == ("a" * 32, "b" * 16, 0)
        assert scope.bag.session_id == "s/1, ü"
        assert scope.bag.tags == {"stage": "a=b;c"}


def test_a_hold_is_a_tag_that_an_inner_block_may_lift() -> None:
    """``hold`` holds for all that is inside, until somebody says otherwise."""
    with toolog.session("order-1", hold="case 4711"):
        with toolog.bind(stage="payment") as inner:
            assert inner.bag.tags == {"hold": "case 4711", "stage": "payment"}
        with toolog.bind(hold=None) as lifted:
            assert lifted.bag.tags["hold"] is None


def test_a_lifted_hold_stays_lifted_elsewhere() -> None:
    """A tag that is None is not sent along: as text it would be one again."""
    with toolog.session("order-1", hold="case 4711"):
        held = toolog.carrier()
        with toolog.bind(hold=None):
            lifted = toolog.carrier()
    with toolog.attach(held) as scope:
        assert scope.bag.tags == {"hold": "case 4711"}
    with toolog.attach(lifted) as scope:
        assert scope.bag.tags.get("hold") is None


def test_a_hold_is_not_lost_among_many_tags() -> None:
    """Of too many tags the last ones are cut off, never the hold."""
    with toolog.bind(**{f"tag{number}": number for number in range(3000)}), toolog.bind(hold="x") as scope:
        packed = ormsgpack.unpackb(b"\x81" + scope.bag.packed)
    assert len(packed["tags"]) < 3000
    assert packed["tags"]["hold"] == "x"


def test_no_context_is_an_empty_carrier() -> None:
    """Outside any call and session there is nothing to send along."""
    assert toolog.carrier() == {}


@pytest.mark.parametrize(
    "wrong",
    [None, {}, {"traceparent": "nonsense"}, {"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"},
     {"baggage": ",,=;;toolog.depth=x"}, {"traceparent": f"00-{'A' * 32}-{'b' * 16}-01"},
     "traceparent", 5, {1: None, "baggage": None}],
)  # fmt: skip
def test_malformed_carriers_are_left_out(wrong: Any) -> None:
    """A carrier from elsewhere that is malformed is ignored, as W3C asks."""
    with toolog.attach(wrong) as scope:
        assert scope.trace is None


@given(st.dictionaries(st.text(), st.text()))
def test_any_mapping_can_be_attached(carrier: dict[str, str]) -> None:
    """Whatever headers arrive, attaching them never raises."""
    with toolog.attach(carrier):
        pass


def test_pop_in_another_context_does_not_raise() -> None:
    """A scope pushed in one context can be popped in another, as generators closed elsewhere do."""
    token = contextvars.copy_context().run(push, Scope())
    pop(token)
    pop(token)
    assert current.get() is None


def test_a_muted_thread_is_ours() -> None:
    """What our own threads do is recognised by their context."""
    assert not is_ours()

    def ours() -> bool:
        mute()
        return is_ours()

    assert contextvars.copy_context().run(ours)
    assert not is_ours()
