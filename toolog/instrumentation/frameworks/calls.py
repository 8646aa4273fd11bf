"""A call whose facts are spread over a framework's layers: one record, put together from what each knows.

The request opens the call and is the scope of all that happens inside. The body fills it in: the arguments as
the tool got them, the raw result, the tool's own exception. What is recorded at the end is what the body saw;
what the framework made of it (a text for the model, a wrapped exception) is not.
"""

from __future__ import annotations

from time import perf_counter_ns, time_ns
from typing import Any
from weakref import WeakValueDictionary

from toolog.call import Call, Plan
from toolog.context import Scope, current
from toolog.counters import contain
from toolog.instrumentation.frameworks.plans import instance_of, name_arguments, unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Entry, Request
from toolog.instrumentation.frameworks.verdicts import Judged, is_cancelled, is_misfit
from toolog.instrumentation.stream_record import PROXIES
from toolog.snapshot import pack_cut

AWAITS = -1
"""``muted`` of a call whose tool has not been entered yet: no thread has this ident. So the wrapper of the
tool's own function, if it has one, comes to ask (see `endings.reentered`)."""


in_flight: WeakValueDictionary[bytes, FrameworkCall] = WeakValueDictionary()
"""Calls that were sent over a wire and have not come back, by span: where the other side is this very process
(an MCP server in memory), it fills in the same record."""


class FrameworkCall(Judged):
    """One call of a tool through a framework."""

    muted = AWAITS

    def __init__(self, plan: Plan, parent: Scope | None, adapter: Adapter, entry: Entry, request: Request):
        super().__init__(plan, parent, entry, request)
        self.adapter = adapter
        self.entered: set[tuple[int, str, str]] = set()
        self.opener: tuple[int, str, str] | None = None

    # -- layers

    def is_same(self, request: Request) -> bool:
        """Whether a layer further in speaks of this call: of the same tool object, else of the same name."""
        mine = self.request
        tool, other = mine.tool, request.tool
        if tool is not None and other is not None and (type(tool) is type(other) or not mine.hands_on):
            return tool is other
        if not request.name:
            return True
        names = {mine.name, mine.remote} - {None}
        return request.name in names or request.remote in names

    def answers(self, request: Request) -> bool:
        """Whether a layer further in speaks of the same request of the model's, whatever tool it answers it
        with. Only while a body is waited for: what is inside a tool may have the same id."""
        mine = self.request
        return mine.has_body and mine.call_id is not None and mine.call_id == request.call_id

    def redirect(self, request: Request) -> None:
        """Note that the framework answers the request with another tool than the one that was asked for."""
        self.request.tool, self.request.function = request.tool, request.function
        self.request.injected = frozenset()
        self.function = unwrap_function(request.function)
        self.instance = instance_of(request)

    def merge(self, request: Request) -> None:
        """Take from a layer further in what this call does not know yet."""
        mine = self.request
        for field in ("tool", "function", "call_id", "description"):
            if getattr(mine, field) is None:
                setattr(mine, field, getattr(request, field))
        mine.injected |= request.injected
        mine.has_body |= request.has_body
        if request.name:  # else it knows nothing of the tool
            mine.known, mine.status, mine.hands_on = request.known, request.status, request.hands_on
        if self.function is None:
            self.function = unwrap_function(request.function)
        if self.instance is None:
            self.instance = instance_of(mine)
        if mine.call_id is not None and self.extra is not None:
            self.extra.setdefault("tool_call_id", str(mine.call_id))

    def enter(self, request: Request) -> None:
        """Note that the tool itself starts, with these arguments; snapshotted now, it may change them."""
        self.merge(request)
        self.claimed = True
        self.tried = (time_ns(), perf_counter_ns())
        if self.muted == AWAITS and self.function is None:
            self.muted = 0  # no wrapper of its own to be told from others
        self.take_input(request)

    def take_input(self, request: Request) -> None:
        """Snapshot the arguments, by name."""
        self.input, self.cuts = pack_cut(name_arguments(request, request.function), "input")

    def yields_to(self, plan: Plan) -> bool:
        """Whether a wrapped function that is entered now is this call's own, which then does not record.

        Only the first time: a tool that calls itself makes another call.
        """
        if self.muted >= 0 or self.function is None or unwrap_function(plan.function) is not self.function:
            return False
        self.muted = 0
        self.claimed = True
        return True

    def retry(self) -> None:
        """Note that the framework runs the tool once more for the same request."""
        self.close_try()
        self.claimed = self.over = False
        self.own_error = self.noted = self.failure = self.packed_output = self.output_cuts = None
        self.refused = self.verdict = None
        self.entered = set()

    # -- the tool's own end

    def tool_returned(self, result: Any, entry: Entry) -> Any:
        """Note what the tool returned, snapshotted now; give back what takes its place (a stream's proxy)."""
        self.muted = max(self.muted, 0)
        self.over = True
        if self.ended:
            return result
        proxy = PROXIES.get(type(result))
        if proxy is not None:  # the record ends when the stream does
            heir = Call.__new__(Call)
            heir.__dict__.update(self.__dict__)
            heir.muted = 0
            self.ended = True
            return proxy(heir, result)
        try:
            self.look_at(result, entry)
            if entry.output is None:
                self.packed_output, self.output_cuts = pack_cut(result, "output")
        except Exception as trouble:
            contain("adapter", trouble)
        return result

    def tool_raised(self, error: BaseException, entry: Entry | None = None) -> None:
        """Note what the tool raised; or that it was not entered, since the arguments did not fit."""
        self.muted = max(self.muted, 0)
        self.over = True
        error = error if entry is None else entry.behind(error)
        if is_misfit(error, self.function):
            self.note_misfit()
        if self.own_error is None or (is_cancelled(self.own_error) and not is_cancelled(error)):
            self.own_error = error  # of one that was given up: a layer further out says why

    def note(self, error: BaseException) -> None:
        """Note what went wrong around the tool; the first that is told is the nearest to it."""
        if self.noted is None:
            self.noted = error

    def note_error(self, error: BaseException) -> None:
        """Note an exception that the framework makes something else of: the tool's own, if that runs."""
        if self.claimed:
            self.tool_raised(error)
        else:
            self.note(error)

    def suspect(self, error: BaseException) -> None:
        """Note an exception that counts when the result turns out to be a failure with its very text."""
        self.suspected = error

    def time_out(self, error: BaseException) -> None:
        """Note that the framework gave the tool up because it took too long."""
        self.verdict = "tool_call_failed", "timeout"
        self.own_error = error

    def passed(self, result: Any, entry: Entry) -> None:
        """Note what a request inside this one returned."""
        try:
            self.look_at(result, entry)
        except Exception as trouble:
            contain("adapter", trouble)

    # -- the request's end

    def heed(self, result: Any) -> None:
        """Let the table judge what the request returned."""
        self.look_at(result, self.entry)

    def settle(
        self,
        event: str,
        status: str,
        output: bytes | None,
        cuts: dict[str, Any] | None,
        error: BaseException | None,
    ) -> tuple[str, str, bytes | None, dict[str, Any] | None, BaseException | None]:
        """Say what is recorded: what the tool itself did, as far as a layer saw it."""
        in_flight.pop(self.span, None)
        settled = self.judged(event, status, output, cuts, error)
        # What a task that outlives the call has inherited keeps none of this alive.
        self.own_error = self.noted = self.suspected = self.failure = None
        self.request.arguments, self.request.args = None, ()
        return settled


def enclosing(scope: Scope | None) -> Call | None:
    """Return the call that a scope stands in: a session or a tag may lie between."""
    while scope is not None and not isinstance(scope, Call):
        scope = scope.parent
    return scope


def current_call() -> FrameworkCall | None:
    """Return the framework's call that the running code is in, unless that is over."""
    call = enclosing(current.get())
    return call if isinstance(call, FrameworkCall) and not call.ended else None
