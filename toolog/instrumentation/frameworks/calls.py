"""A call whose facts are spread over a framework's layers: one record, put together from what each knows.

The request opens the call and is the scope of all that happens inside. The body fills it in: the arguments as
the tool got them, the raw result, the tool's own exception. What is recorded at the end is what the body saw;
what the framework made of it (a text for the model, a wrapped exception) is not.
"""

from __future__ import annotations

import asyncio
from time import perf_counter_ns, time_ns
from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary

from toolog.call import Call, Plan
from toolog.context import Scope, current
from toolog.counters import contain
from toolog.faults import describe_error
from toolog.instrumentation.endings import kind_of
from toolog.instrumentation.frameworks.plans import (
    bound_to,
    instance_of,
    name_arguments,
    plan_of,
    raw_arguments,
    unwrap_function,
)
from toolog.instrumentation.frameworks.table import Adapter, Entry, Refusal, Request
from toolog.instrumentation.stream_record import PROXIES
from toolog.record import stamp
from toolog.snapshot import pack_cut

AWAITS = -1
"""``muted`` of a call whose tool has not been entered yet: no thread has this ident. So the wrapper of the
tool's own function, if it has one, comes to ask (see `endings.reentered`)."""


in_flight: WeakValueDictionary[bytes, FrameworkCall] = WeakValueDictionary()
"""Calls that were sent over a wire and have not come back, by span: where the other side is this very process
(an MCP server in memory), it fills in the same record."""


class FrameworkCall(Call):
    """One call of a tool through a framework."""

    muted = AWAITS
    claimed = False
    """Whether the tool itself was entered: by a body, or by the function's own wrapper."""
    over = False
    """Whether the tool itself has ended."""
    own_error: BaseException | None = None
    """What the tool raised."""
    noted: BaseException | None = None
    """What went wrong before or around the tool, as a note told it."""
    suspected: BaseException | None = None
    """An exception that the framework told of, which may be what a result is a failure for."""
    failure: BaseException | str | None = None
    """Why a result is a failure all the same."""
    refused: str | None = None
    """The status of a call that a layer refused."""
    verdict: tuple[str, str] | None = None
    """Event and status, where a layer says what an exception means."""
    packed_output: bytes | None = None
    output_cuts: dict[str, Any] | None = None

    def __init__(self, plan: Plan, parent: Scope | None, adapter: Adapter, entry: Entry, request: Request):
        super().__init__(plan, parent)
        self.adapter = adapter
        self.entry = entry
        self.request = request
        self.function = unwrap_function(request.function)
        self.entered: set[tuple[int, str, str]] = set()
        self.opener: tuple[int, str, str] | None = None
        self.tries: list[dict[str, Any]] = []
        self.tried = (0, 0)
        # Never None: the short ways of recording are for calls that need no judgement.
        self.extra = {} if request.call_id is None else {"tool_call_id": str(request.call_id)}

    # -- layers

    def is_same(self, request: Request) -> bool:
        """Whether a layer further in speaks of this call: of the same tool object, else of the same name."""
        mine = self.request
        if mine.tool is not None and request.tool is not None and type(mine.tool) is type(request.tool):
            return mine.tool is request.tool
        if not request.name:
            return True
        names = {mine.name, mine.remote} - {None}
        return request.name in names or request.remote in names

    def merge(self, request: Request) -> None:
        """Take from a layer further in what this call does not know yet."""
        mine = self.request
        for field in ("tool", "function", "call_id", "description"):
            if getattr(mine, field) is None:
                setattr(mine, field, getattr(request, field))
        mine.injected |= request.injected
        mine.has_body |= request.has_body
        mine.known &= request.known
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
        self._close_try()
        self.claimed = self.over = False
        self.own_error = self.noted = self.failure = self.packed_output = self.output_cuts = None
        self.refused = self.verdict = None
        self.entered = set()

    def _close_try(self) -> None:
        wall, started = self.tried
        error = self.own_error or self.noted
        failed = error is not None or self.failure is not None
        status = kind_of(error)[1] if error is not None else "execution_error" if failed else "success"
        one: dict[str, Any] = {
            "started": stamp(wall).decode(),
            "duration_ms": (perf_counter_ns() - started) / 1e6,
            "status": status,
        }
        if error is not None:
            one["error"] = describe_error(error)
        self.tries.append(one)

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
            self._misfit()
        if self.own_error is None:
            self.own_error = error

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

    def look_at(self, result: Any, entry: Entry) -> None:
        """Let a layer judge its result: it may be a failure that was returned, or wrapped in something."""
        if entry.judge is not None and self.failure is None:
            self.failure = self._real(entry.judge(result))
        if entry.output is not None and self.packed_output is None:
            self.packed_output, self.output_cuts = pack_cut(entry.output(result), "output")

    def _real(self, failure: BaseException | str | None) -> BaseException | str | None:
        """Return the exception behind a failure's text, where the framework told of it."""
        told = self.suspected
        if told is not None and failure == str(told):
            failure = told
        if isinstance(failure, BaseException) and is_misfit(failure, self.function):
            self._misfit()
        return failure

    def _misfit(self) -> None:
        """Note that the tool was not entered, since the arguments did not fit."""
        self.claimed = False
        self.refused = "validation_error"
        self.input, self.cuts = pack_cut(raw_arguments(self.request), "input")

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
        settled = self._judged(event, status, output, cuts, error)
        # What a task that outlives the call has inherited keeps none of this alive.
        self.own_error = self.noted = self.suspected = self.failure = None
        self.request.arguments, self.request.args = None, ()
        return settled

    def _judged(
        self,
        event: str,
        status: str,
        output: bytes | None,
        cuts: dict[str, Any] | None,
        error: BaseException | None,
    ) -> tuple[str, str, bytes | None, dict[str, Any] | None, BaseException | None]:
        if self.tries:
            self._close_try()
            self.add(attempts=self.tries, retry_count=len(self.tries) - 1)
        if self.packed_output is not None:
            output, cuts = self.packed_output, self.output_cuts
        own = self.own_error
        if own is not None and _is_cancelled(own) and error is not None and not _is_cancelled(error):
            own = None  # given up by a layer further out, which says why
        if own is None and not self.claimed and self.noted is not None:
            own = self.noted
        if own is None and error is not None:
            behind = self.entry.behind(error)
            own = None if behind is error else behind
        if own is not None:
            self._wrap(own, error)
            event, status = self._meaning(own) or self._refusal(own) or kind_of(own)
            return event, status, None, None, own
        if error is not None:
            event, status = self._meaning(error) or self._refusal(error) or (event, status)
            return event, status, output, cuts, error
        if self.failure is not None:
            event, status = self._refusal(None) or ("tool_call_failed", "execution_error")
            if event == "tool_call_rejected":
                output = cuts = None  # what the model was told, not what a tool returned
            if isinstance(self.failure, BaseException):
                if status == "execution_error":
                    event, status = kind_of(self.failure)
                return event, status, output, cuts, self.failure
            self.add(error={"type": "ToolError", "message": str(self.failure), "stack": ""})
            return event, status, output, cuts, None
        return event, status, output, cuts, error

    def _meaning(self, error: BaseException) -> tuple[str, str] | None:
        """Return event and status, where a layer or the table says what an exception means."""
        if self.verdict is None and self.entry.meaning is not None:
            self.verdict = self.entry.meaning(error)
        return self.verdict

    def _refusal(self, error: BaseException | None) -> tuple[str, str] | None:
        """Return event and status of a call that was refused: its tool never ran, and one would have seen
        it."""
        if self.refused is None:
            told = self.failure if isinstance(self.failure, Refusal) else None
            if self.claimed or not (self.request.has_body or told is not None or not self.request.known):
                return None
            if error is not None and (not isinstance(error, Exception) or isinstance(error, TimeoutError)):
                return None
            if not self.request.known:
                self.refused = "unknown_tool"
            else:
                self.refused = "validation_error" if told is None else told.status
        self.add(phase="validation")
        return "tool_call_rejected", self.refused

    def _wrap(self, own: BaseException, outer: BaseException | None) -> None:
        """Name in the chain what a layer further out made of the tool's own exception."""
        if outer is None or outer is own or _is_cancelled(outer):
            return
        described = describe_error(own)
        wrapper = describe_error(outer)
        chain = described.setdefault("chain", [])
        chain.append({key: wrapper[key] for key in ("type", "message", "notes") if key in wrapper})
        self.add(error=described)


def enclosing(scope: Scope | None) -> Call | None:
    """Return the call that a scope stands in: a session or a tag may lie between."""
    while scope is not None and not isinstance(scope, Call):
        scope = scope.parent
    return scope


def current_call() -> FrameworkCall | None:
    """Return the framework's call that the running code is in, unless that is over."""
    call = enclosing(current.get())
    return call if isinstance(call, FrameworkCall) and not call.ended else None


_VALIDATORS = ("pydantic_core.", "fast_depends.")


def is_misfit(error: BaseException, function: Any) -> bool:
    """Whether an exception says that the arguments did not fit a function, so that none of its code ran: from
    Python's own binding, or from the validation of the call by pydantic or fast_depends."""
    if type(function) is not FunctionType:
        return False
    if type(error) is TypeError:
        fits = not str(error).startswith(f"{function.__qualname__}() ")
    elif type(error).__name__ == "ValidationError" and type(error).__module__.startswith(_VALIDATORS):
        fits = getattr(error, "title", function.__name__) != function.__name__
    else:
        return False
    trace = error.__traceback__
    while trace is not None and not fits:
        fits = trace.tb_frame.f_code is function.__code__
        trace = trace.tb_next
    return not fits


def _is_cancelled(error: BaseException) -> bool:
    return isinstance(error, asyncio.CancelledError) or kind_of(error)[1] == "cancelled"


__all__ = [
    "AWAITS", "FrameworkCall", "bound_to", "current_call", "enclosing", "in_flight", "instance_of",
    "name_arguments", "plan_of", "raw_arguments", "unwrap_function",
]  # fmt: skip
