"""What is recorded of a framework's call: judged at its end, by what its layers saw.

The tool's own exception counts before what a layer further out made of it; a refusal is told by a layer, or
by the arguments that did not fit.
"""

from __future__ import annotations

import asyncio
from time import perf_counter_ns
from types import FunctionType
from typing import Any

from toolog.call import Call, Plan
from toolog.context import Scope
from toolog.faults import describe_error
from toolog.instrumentation.endings import kind_of
from toolog.instrumentation.frameworks.plans import raw_arguments, unwrap_function
from toolog.instrumentation.frameworks.table import Entry, Refusal, Request
from toolog.record import stamp
from toolog.snapshot import pack_cut


class Judged(Call):
    """A call of a tool through a framework, as far as its record is concerned."""

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

    def __init__(self, plan: Plan, parent: Scope | None, entry: Entry, request: Request) -> None:
        super().__init__(plan, parent)
        self.entry = entry
        self.request = request
        self.function = unwrap_function(request.function)
        self.tries: list[dict[str, Any]] = []
        self.tried = (0, 0)
        # Never None: the short ways of recording are for calls that need no judgement.
        self.extra = {} if request.call_id is None else {"tool_call_id": str(request.call_id)}

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
            self.note_misfit()
        return failure

    def note_misfit(self) -> None:
        """Note that the tool was not entered, since the arguments did not fit."""
        self.claimed = False
        self.refused = "validation_error"
        self.input, self.cuts = pack_cut(raw_arguments(self.request), "input")

    def close_try(self) -> None:
        """Note how one try ended, of several that the framework made for the same request."""
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

    def judged(
        self,
        event: str,
        status: str,
        output: bytes | None,
        cuts: dict[str, Any] | None,
        error: BaseException | None,
    ) -> tuple[str, str, bytes | None, dict[str, Any] | None, BaseException | None]:
        """Return what is recorded of an end, as `Call.settle` does: what the tool did, if a layer saw it."""
        if self.tries:
            self.close_try()
            self.add(attempts=self.tries, retry_count=len(self.tries) - 1)
        if self.packed_output is not None:
            output, cuts = self.packed_output, self.output_cuts
        own = self.own_error
        if own is not None and is_cancelled(own):
            why = self.failure if error is None else error
            if why is not None and not (isinstance(why, BaseException) and is_cancelled(why)):
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
                self.refused = (self.request.status or "validation_error") if told is None else told.status
        self.add(phase="validation")
        return "tool_call_rejected", self.refused

    def _wrap(self, own: BaseException, outer: BaseException | None) -> None:
        """Name in the chain what a layer further out made of the tool's own exception."""
        if outer is None or outer is own or is_cancelled(outer):
            return
        described = describe_error(own)
        wrapper = describe_error(outer)
        chain = described.setdefault("chain", [])
        chain.append({key: wrapper[key] for key in ("type", "message", "notes") if key in wrapper})
        self.add(error=described)


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


def is_cancelled(error: BaseException) -> bool:
    """Whether an exception says that a call was given up from outside."""
    return isinstance(error, asyncio.CancelledError) or kind_of(error)[1] == "cancelled"
