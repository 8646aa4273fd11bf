"""Where we are: the trace, span, session and tags that the next tool call belongs to.

One context variable holds a `Scope`. A tool call in flight is a Scope of its own (``toolog.call.Call``), and
so is what ``session``, ``bind`` and ``attach`` put around calls. Ids are kept as hexadecimal bytes, because a
record is assembled from bytes; ``trace_id`` and ``span_id`` give them as text.
"""

from __future__ import annotations

import random
import sys
from contextvars import ContextVar, Token, copy_context
from threading import Thread, current_thread, get_ident
from types import TracebackType
from typing import Any, Protocol
from weakref import ref

from toolog.forks import after_in_child
from toolog.settings import capture
from toolog.untraced import leave_no_spans

_random = random.Random()
getrandbits = _random.getrandbits
after_in_child(_random.seed)  # else a child repeats its parent's ids


HOLD_TAG = "hold"
"""The tag that keeps records from being purged, whatever their age."""


class Bag:
    """Session and tags, shared by all scopes inside; ``packed`` is their MessagePack form, ready for each
    record. ``texts`` are all texts in them, where the tags are scalars; ``cleared_by`` is the policy that
    found nothing in them.
    """

    __slots__ = ("cleared_by", "count", "packed", "session_id", "tags", "texts")

    def __init__(self, session_id: str | None = None, tags: dict[str, Any] | None = None) -> None:
        self.session_id = session_id
        self.tags = tags or {}
        self.packed = b""
        self.count = 0
        self.texts: list[str] | None = None
        self.cleared_by: Any = None
        if session_id is None and not tags:
            return
        from toolog.snapshot import flat, pack  # lazily: this module is imported by `import toolog`

        texts = flat.texts_in(self.tags, session_id) if flat.is_flat(self.tags) else None
        if texts is not None:
            self.texts = texts
        if session_id is not None:
            self.packed += b"\xaasession_id" + pack(session_id)
            self.count += 1
        if tags:
            if HOLD_TAG in tags:  # first, so that it is not what is cut off from too many
                tags = {HOLD_TAG: tags[HOLD_TAG], **tags}
            self.packed += b"\xa4tags" + pack(tags)
            self.count += 1


class Place:
    """Which tool or package a scope stands in; a tool's ``Plan`` is one.

    ``region`` is the module or package (its dotted name) of which only the outermost call is recorded, None
    where calls inside are recorded, too.
    """

    __slots__ = ("package", "region", "tool_name")

    def __init__(
        self, tool_name: str | None = None, package: str | None = None, region: str | None = None
    ) -> None:
        self.tool_name = tool_name
        self.package = package
        self.region = region


EMPTY = Bag()
NOWHERE = Place()
CHAIN_END = 32
"""Names at either end that are shown of a chain of calls which is longer than both ends."""


class Scope:
    """What the next call inherits: ids, depth, the tool or package we are inside of, session and tags."""

    muted = 0  # the ident of the thread whose calls are our own doing, not the agent's
    output: Any = None  # what collects the prints of the call
    begun: tuple[tuple[str, ...], int] | None = None  # the first names of the chain, and how many it has
    left = False  # its block is over, and was left before a block inside it was

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        if parent is None:
            self.trace: bytes | None = None
            self.span: bytes | None = None
            self.depth = -1
            self.plan: Place = NOWHERE
            self.bag = EMPTY
        else:
            self.trace = parent.trace
            self.span = parent.span
            self.depth = parent.depth
            self.plan = parent.plan
            self.bag = parent.bag
            self.output = parent.output
            if parent.muted < 0:  # a framework's call that waits for its tool's own function
                self.muted = parent.muted

    @property
    def trace_id(self) -> str | None:
        """The W3C trace id, 32 hex digits, or None outside any trace."""
        return None if self.trace is None else self.trace.decode()

    @property
    def span_id(self) -> str | None:
        """The W3C span id, 16 hex digits, or None outside any call."""
        return None if self.span is None else self.span.decode()

    @property
    def tool_name(self) -> str | None:
        """The name of the tool whose call we are in, or None."""
        return self.plan.tool_name

    def chain(self) -> tuple[str, ...]:
        """Return the names of the tools from the root call inwards."""
        names: list[str] = []
        scope: Scope | None = self
        while scope is not None:
            if scope._is_named():
                names.append(str(scope.plan.tool_name))
            scope = scope.parent
        return tuple(reversed(names))

    def shown_chain(self) -> list[str]:
        """Return the chain as it is shown: of a very long one the first and the last names.

        Each level keeps how the chain begins, so that a recursion which asks at every level is not slower the
        deeper it is.
        """
        unknown: list[Scope] = []
        scope: Scope | None = self
        while scope is not None and scope.begun is None:
            unknown.append(scope)
            scope = scope.parent
        first, number = scope.begun if scope is not None and scope.begun is not None else ((), 0)
        for scope in reversed(unknown):
            if scope._is_named():
                number += 1
                if len(first) < CHAIN_END:
                    first = (*first, str(scope.plan.tool_name))
            scope.begun = first, number
        last: list[str] = []
        scope = self
        while scope is not None and len(last) < min(number - len(first), CHAIN_END):
            if scope._is_named():
                last.append(str(scope.plan.tool_name))
            scope = scope.parent
        between = number - len(first) - len(last)
        return [*first, *([f"... {between} more"] if between else []), *reversed(last)]

    def _is_named(self) -> bool:
        """Whether it is a tool's call, and not a scope inside of one."""
        above = self.parent
        return self.plan.tool_name is not None and (above is None or above.span != self.span)


def is_inside(scope: Scope | None, place: Place) -> bool:
    """Whether a call stands inside another one of its own region: one is a part of the other, or the same.

    Two modules of one package that were pointed at one by one are regions of their own, and a function or
    class that was pointed at is none.
    """
    region = place.region
    if region is None:
        return False
    while scope is not None and scope.plan.package is place.package:
        outer = scope.plan.region
        if outer is not None and (
            outer == region or outer.startswith(f"{region}.") or region.startswith(f"{outer}.")
        ):
            return True
        scope = scope.parent
    return False


current: ContextVar[Scope | None] = ContextVar("toolog_scope", default=None)

# On CPython 3.11 the garbage collector may run inside ContextVar.set and reset; a finalizer there that sets
# the same variable frees the mapping in use (python/cpython#148891). A copy of the context, held meanwhile,
# keeps it alive.
HOLD = sys.version_info < (3, 12)


def push(scope: Scope | None) -> Token[Scope | None]:
    """Make ``scope`` the current one; give the token to `pop`."""
    held = copy_context() if HOLD else None
    token = current.set(scope)
    del held
    return token


def pop(token: Token[Scope | None]) -> None:
    """Restore what was current before `push`; never raises, also in another context than the push."""
    held = copy_context() if HOLD else None
    try:
        current.reset(token)
    except (ValueError, RuntimeError):  # made in another context, or used already
        old = token.old_value
        current.set(old if isinstance(old, Scope) else None)
    del held


_ours: dict[int, ref[Thread]] = {}  # threads of ours that were begun, by their ident


def mute() -> None:
    """Mark this thread as one of ours: what it calls or logs is not captured, nor traced by others."""
    scope = Scope()
    scope.muted = ident = get_ident()
    current.set(scope)
    leave_no_spans()
    _ours[ident] = ref(current_thread(), _forget)


def _forget(gone: ref[Thread]) -> None:
    for ident, held in list(_ours.items()):
        if held is gone:
            _ours.pop(ident, None)


def is_our_thread(ident: Any) -> bool:
    """Whether a thread, by its ident, is one of ours that still runs. What it logged may come to a handler by
    another thread, through a queue.
    """
    held = _ours.get(ident) if type(ident) is int else None
    thread = None if held is None else held()
    return thread is not None and thread.is_alive()


class quiet:  # reads as a verb in `with`
    """A block whose calls and log lines on this thread are our own doing: counted, not recorded.

    ``scope`` is what the block stands in (None: in nothing).
    """

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: Scope | None) -> None:
        self._scope = Scope(scope)
        self._scope.muted = get_ident()

    def __enter__(self) -> None:
        self._token = push(self._scope)

    def __exit__(self, *error: object) -> None:
        pop(self._token)


def quiet_repr(value: Any) -> str:
    """Return ``repr(value)``; tools that the value's own code calls on the way are not recorded."""
    with quiet(current.get()):
        return repr(value)


def is_ours() -> bool:
    """Whether the code that runs now is our own thread or our own recording, not the application's."""
    scope = current.get()
    return scope is not None and scope.muted != 0 and scope.muted == get_ident()


class Bridge(Protocol):
    """What a tracing library's bridge answers (see ``instrumentation.otel``)."""

    def parent(self, scope: Scope | None) -> tuple[bytes, bytes] | None:
        """Return trace and span active there when they are the parent of the next call, else None."""


bridge: Bridge | None = None


DEEP = 32
"""From this depth on calls go the long way, which sees to room on the stack (``instrumentation.room``)."""


class Mode:
    """Whether calls may take the short way: no option is on that the hot path would have to look at one by
    one.

    ``simple`` speaks of a call's beginning, ``plain`` of its end. ``refresh`` decides anew; whoever changes
    the settings of capture calls it. ``ending``: the process ends, and so did calls that still run.
    """

    plain = True
    simple = True
    ending = False
    max_depth = min(capture.max_depth, DEEP)

    @classmethod
    def refresh(cls) -> None:
        """Look at the settings and the bridge again."""
        cls.max_depth = min(capture.max_depth, DEEP)
        watched = capture.capture_output or capture.slow_ms is not None or capture.levels
        cls.plain = not (watched or cls.ending)
        cls.simple = cls.plain and bridge is None


def use_bridge(new: Bridge | None) -> None:
    """Join another tracing library's context to ours (None: part them)."""
    global bridge
    bridge = new
    Mode.refresh()


class Binding:
    """A block in which a scope holds; a context manager for ``with`` and ``async with``.

    Blocks may be left in another order than they were entered (generators that take turns), and one may be
    entered by several tasks at once. One that is over does not hold again when the last one inside is.
    """

    __slots__ = ("_entered", "_make")

    def __init__(self, make: Any) -> None:
        self._make = make
        self._entered: list[tuple[Scope, Token[Scope | None]]] = []

    def __enter__(self) -> Scope:
        scope: Scope = self._make()
        self._entered.append((scope, push(scope)))
        return scope

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        now = current.get()
        mine = [entry for entry in self._entered if entry[0] is now]
        scope, token = mine[-1] if mine else self._entered[-1]
        self._entered.remove((scope, token))
        if not mine:  # another block inside holds still, or it was entered in another context
            scope.left = True
            return
        pop(token)
        above = now = current.get()
        while above is not None and above.left:
            above = above.parent
        if above is not now:
            push(above)

    async def __aenter__(self) -> Scope:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


def session(session_id: str | None, /, **tags: Any) -> Binding:
    """Group the calls inside a block: ``with toolog.session("order-1001", customer="c-7"): ...``.

    ``session_id`` (None: there is none, also not an outer block's) and the tags stand in each record made
    inside. The tag ``hold`` (``hold="case 4711"``) keeps these records from toolog's own purges; an inner
    ``bind(hold=None)`` lifts it. Returns a context manager (also for ``async with``). Since 0.1.
    """

    def make() -> Scope:
        scope = Scope(current.get())
        named = None if session_id is None else str(session_id)
        scope.bag = Bag(named, {**scope.bag.tags, **tags})
        return scope

    return Binding(make)


def bind(**tags: Any) -> Binding:
    """Tag the calls inside a block: ``with toolog.bind(stage="payment"): ...``.

    Tags of an outer block stay; the inner value wins. ``hold`` is a tag like others, see `session`. Returns a
    context manager. Since 0.1.
    """

    def make() -> Scope:
        scope = Scope(current.get())
        scope.bag = Bag(scope.bag.session_id, {**scope.bag.tags, **tags})
        return scope

    return Binding(make)
