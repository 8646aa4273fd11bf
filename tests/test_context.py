"""Scopes, sessions, tags and carriers."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import weakref
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolog
from toolog.call import refresh_plans
from toolog.context import CHAIN_END, Mode, Place, Scope, current, is_our_thread, is_ours, mute, pop, push
from toolog.sanitize import Sanitizer, inuse
from toolog.settings import capture


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


def test_blocks_may_be_left_in_another_order_than_entered() -> None:
    """Generators that take turns, each with a session of its own, leave nothing behind; the inner block goes
    on until its own end."""

    def work(name: str) -> Iterator[None]:
        with toolog.session(name):
            yield

    first, second = work("first"), work("second")
    next(first)
    next(second)
    assert list(first) == []
    assert session_of(current.get()) == "second"
    assert list(second) == []
    assert current.get() is None


async def test_one_block_may_be_entered_by_tasks_at_once_and_outlived_by_them() -> None:
    """Each task leaves what it entered, and a task that was begun inside goes on inside."""
    shared = toolog.session("shared")
    entered, go = asyncio.Event(), asyncio.Event()

    async def work() -> list[str | None]:
        with shared:
            entered.set()
            await go.wait()
            inside = session_of(current.get())
        return [inside, session_of(current.get())]

    async def later() -> str | None:
        await go.wait()
        with toolog.bind(stage="late"):
            pass
        return session_of(current.get())

    with toolog.session("outer"):
        late = asyncio.create_task(later())
    tasks = [asyncio.create_task(work()) for _ in range(3)]
    await entered.wait()
    await asyncio.sleep(0)
    go.set()
    assert await asyncio.gather(*tasks) == [["shared", None]] * 3
    assert await late == "outer"


def session_of(scope: Scope | None) -> str | None:
    """Return the session that a scope is in."""
    return None if scope is None else scope.bag.session_id


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
    with toolog.attach(held, trusted=True) as scope:
        assert scope.bag.tags == {"hold": "case 4711"}
    with toolog.attach(lifted, trusted=True) as scope:
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
     {"baggage": "toolog.depth=%C2%B2"}, {"traceparent": f"ff-{'a' * 32}-{'b' * 16}-01"},
     {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01-more"},
     "traceparent", 5, {1: None, "baggage": None}],
)  # fmt: skip
def test_malformed_carriers_are_left_out(wrong: Any) -> None:
    """A carrier from elsewhere that is malformed is ignored, as W3C asks."""
    with toolog.attach(wrong) as scope:
        assert scope.trace is None


def test_a_carrier_from_outside_decides_nothing_here() -> None:
    """Who sends a carrier sets no hold, no session or tag that is bound here, no depth beyond the bound."""
    told = ["depth=999999", "session=s-2", "tag.hold=x", "tag.team=b", "tag.new=c"]
    sent = {"Baggage": ",".join(f"toolog.{item}" for item in told)}
    with toolog.session("s-1", team="a"), toolog.attach(sent) as scope:
        assert (scope.bag.session_id, scope.bag.tags) == ("s-1", {"team": "a", "new": "c"})
        assert scope.depth == capture.max_depth - 1
        assert "hold" not in ormsgpack.unpackb(b"\x82" + scope.bag.packed)["tags"]
    with toolog.session("s-1", hold="case 4711"), toolog.attach(sent) as scope:
        assert scope.bag.tags["hold"] == "case 4711"
    with toolog.session("s-1", team="a"), toolog.attach(sent, trusted=True) as scope:
        assert (scope.bag.session_id, scope.depth) == ("s-2", 999999)
        assert scope.bag.tags == {"hold": "x", "team": "b", "new": "c"}


@given(st.lists(st.text("ab%=; ", max_size=300), max_size=200))
def test_of_a_huge_carrier_whole_items_are_read_up_to_the_bounds(values: list[str]) -> None:
    """However much arrives from outside, 64 items within 8,192 characters are taken, none of them in part."""
    told = [f"toolog.tag.t{place}={quote(value)}" for place, value in enumerate(values)]
    taken: dict[str, str] = {}
    size = 0
    for place, item in enumerate(told[:64]):
        size += len(item) + 1
        if size > 8193:
            break
        taken[f"t{place}"] = values[place].strip()
    with toolog.attach({"baggage": ",".join(told)}) as scope:
        assert {key: text.strip() for key, text in scope.bag.tags.items()} == taken
    with toolog.attach({"baggage": ",".join(told)}, trusted=True) as scope:
        assert len(scope.bag.tags) == len(values)


def test_a_carrier_is_not_longer_than_others_pass_on() -> None:
    """Of very many or very long tags those are sent that have room, the hold first."""
    many = {f"tag{number}": "x" * 50 for number in range(100)}
    with toolog.session("s-1", long="y" * 10_000, **many, last="z", hold="case 4711"):
        sent = toolog.carrier()
    assert len(sent["baggage"]) <= 8192
    assert sent["baggage"].count(",") == 63
    with toolog.attach(sent, trusted=True) as scope:
        assert scope.bag.session_id == "s-1"
        assert {"hold", "tag0", "tag60"} <= set(scope.bag.tags)
        assert "long" not in scope.bag.tags


def test_a_mapping_that_cannot_be_read_is_left_out() -> None:
    """A mapping of headers that raises when it is read is no carrier, and nothing reaches the caller."""

    class Broken(dict[str, str]):
        def items(self) -> Any:
            raise RuntimeError("no items")

    with toolog.attach(Broken(traceparent="x")) as scope:
        assert scope.trace is None


def test_a_later_version_of_traceparent_may_say_more() -> None:
    """Of a version that nobody knows yet, trace and span are read, as W3C asks."""
    with toolog.attach({"traceparent": f"cc-{'a' * 32}-{'b' * 16}-01-what-comes"}) as scope:
        assert (scope.trace_id, scope.span_id) == ("a" * 32, "b" * 16)


def test_a_carrier_is_masked_like_a_record() -> None:
    """What is sent to another process, perhaps somebody else's, holds no secret of session or tags."""
    tags = {"password": "invented-1", "note": {"call": "138 1234 5678"}, "customer": "c-7"}
    with toolog.session("for ada@example.org", **tags):
        sent = toolog.carrier()
    with toolog.attach(sent) as scope:
        assert scope.bag.session_id == "for [MASKED:email]"
        assert scope.bag.tags == {
            "password": "[MASKED:password]",
            "note": '{"call":"[MASKED:phone]"}',
            "customer": "c-7",
        }


def test_a_carrier_is_masked_by_the_policy_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that the configured sanitizer holds for safe is sent as it is, as records show it."""
    monkeypatch.setattr(inuse, "_inuse", weakref.WeakValueDictionary())  # others' may not be collected yet
    safe = Sanitizer(safe_paths=["tags.contact"])
    inuse.enlist(safe)
    with toolog.bind(contact="ada@example.org", other="bob@example.org"):
        sent = toolog.carrier()
    with toolog.attach(sent) as scope:
        assert scope.bag.tags == {"contact": "ada@example.org", "other": "[MASKED:email]"}


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none() | st.lists(st.text())))
def test_any_tags_can_be_sent(tags: dict[str, Any]) -> None:
    """Whatever a tag is, a lone surrogate or an object whose text cannot be had, a carrier is made of it."""

    class Mute:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with toolog.session("\ud800"), toolog.bind(**{**tags, "mute": Mute(), "lone": "\ud800"}):
        assert toolog.carrier()["baggage"].isascii()


def test_no_session_is_no_session() -> None:
    """``session(None)`` is what it says, and not one called "None" for all who have none."""
    with toolog.session("order-1"), toolog.session(None, stage="x") as scope:
        assert scope.bag.session_id is None
        assert scope.bag.tags == {"stage": "x"}


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
    """What our own threads do is recognised by their context, and what they logged by their ident as long as
    they run."""
    answers: list[bool] = []
    begun, go_on = threading.Event(), threading.Event()

    def ours() -> None:
        mute()
        answers.append(is_ours())
        begun.set()
        go_on.wait(60)

    thread = threading.Thread(target=ours)
    thread.start()
    assert begun.wait(60)
    ident = thread.ident
    assert answers == [True]
    assert is_our_thread(ident)
    assert not is_ours()
    assert not is_our_thread(threading.get_ident())
    assert not is_our_thread("no ident")
    go_on.set()
    thread.join()
    assert not is_our_thread(ident)


def _nested(names: list[str | None]) -> Scope:
    """Return the innermost of nested scopes: a call of each name, a session for None."""
    scope = Scope()
    for number, name in enumerate(names, 1):
        scope = Scope(scope)
        if name is not None:
            scope.plan, scope.span = Place(name), b"%016x" % number
    return scope


@given(st.lists(st.sampled_from(["a", "b", None]), max_size=100), st.sets(st.integers(0, 100)))
def test_a_shown_chain_is_the_ends_of_the_chain(names: list[str | None], asked: set[int]) -> None:
    """Whichever levels were asked before, a chain is shown whole, or by its ends and how many lie between."""
    innermost = _nested(names)
    scope: Scope | None = innermost
    levels = []
    while scope is not None:
        levels.append(scope)
        scope = scope.parent
    for place in sorted(asked, reverse=True):
        if place < len(levels):
            levels[place].shown_chain()
    chain = list(innermost.chain())
    between = len(chain) - 2 * CHAIN_END
    if between > 0:
        chain[CHAIN_END:-CHAIN_END] = [f"... {between} more"]
    assert innermost.shown_chain() == chain


def test_showing_the_chain_at_each_level_of_a_recursion_is_linear() -> None:
    """However deep a call is nested, showing its chain looks at no more levels than are shown."""
    looks = 0

    class Counting(Scope):
        def _is_named(self) -> bool:
            nonlocal looks
            looks += 1
            return super()._is_named()

    scope: Scope = Counting()
    for number in range(1, 3000):
        scope = Counting(scope)
        scope.plan, scope.span = Place("walk"), b"%016x" % number
        before = looks
        scope.shown_chain()
        assert looks - before <= CHAIN_END + 2


def test_what_a_test_configures_ends_with_it() -> None:
    """The fixture of all tests puts back capture's settings, and what the hot path made of them."""
    from tests import conftest

    around = conftest.settings_of_capture.__wrapped__()  # type: ignore[attr-defined]
    next(around)
    capture.capture_output, capture.service = True, {"name": "shop"}
    refresh_plans()
    assert not Mode.plain
    assert next(around, "done") == "done"
    assert Mode.plain
    assert not capture.capture_output
    around = conftest.settings_of_capture.__wrapped__()  # type: ignore[attr-defined]
    next(around)
    token = push(Scope())
    with pytest.raises(AssertionError, match="left a session"):
        next(around)
    pop(token)
