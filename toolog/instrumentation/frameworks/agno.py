"""Agno: functions and toolkits of its agents and teams.

Every call of a tool is a `FunctionCall`: it knows the model's id and arguments, fills in what the agent
provides, and turns an exception into a text after it logged it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from toolog.instrumentation.frameworks.plans import bound_to, undecorated, unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request, Toolbox

_INJECTED = frozenset({"agent", "team", "run_context", "fc", "images", "videos", "audios", "files"})


def _read(call: Any, given: Given) -> Request:
    tool = call.function
    function = undecorated(tool.entrypoint)  # behind the validation around it
    box = bound_to(function)
    return Request(
        name=tool.name,
        call_id=call.call_id,
        description=tool.description,
        owners=(tool,) if box is None else (tool, box),
        function=function,
        arguments=call.arguments or {},
        injected=(_INJECTED | frozenset(tool._framework_params or ())) - frozenset(call.arguments or ()),
        has_body=False,
    )


def _expand(value: Any) -> tuple[Any, ...]:
    """Return what stands for a tool in the requests: an agent runs copies of it."""
    return (value, unwrap_function(value.entrypoint)) if hasattr(value, "entrypoint") else (value,)


def _note_error(call: Any, instance: Any, given: Given, result: Any) -> None:
    error = next(iter(given.get("args") or given.values()), None)
    if isinstance(error, BaseException):
        call.suspect(error)


def _judge(outcome: Any) -> str | None:
    if getattr(outcome, "status", None) == "failure":
        return str(outcome.error)
    return None


def _output(outcome: Any) -> Any:
    return getattr(outcome, "result", outcome)


def _follow(call: Any, outcome: Any, follow: Callable[[Any], Any]) -> bool:
    """Follow the stream that a tool returned: an agent reads it from the outcome, or from its call."""
    held = getattr(outcome, "result", None)
    followed = follow(held)
    if followed is held:
        return False
    outcome.result = followed
    if call.result is held:
        call.result = followed
    return True


def _check(function: Any) -> Any:
    """Return a function with the check of its arguments that Agno puts around it."""
    from pydantic import ConfigDict, validate_call

    return validate_call(config=ConfigDict(arbitrary_types_allowed=True))(function)


def _refused(_: Any, given: Given, call: Any) -> Iterable[Request]:
    """Give the request that comes to no call: there is no such function, or its arguments cannot be read."""
    if given["functions"] is not None and (call is None or call.error is not None):
        yield Request(
            name=given["name"],
            call_id=given["call_id"],
            arguments=given["arguments"],
            known=call is not None,
            refusal=f"Function {given['name']} not found" if call is None else call.error,
        )


_TOOLKIT = "agno.tools.toolkit:Toolkit"
_FUNCTION = "agno.tools.function"

ADAPTER = Adapter(
    name="agno",
    distribution="agno",
    packages=("agno",),
    minimum="3.0",
    tested="3.1.10",
    entries=(
        *(
            Entry(
                place=f"{_FUNCTION}:FunctionCall.{method}",
                role="body",
                read=_read,
                judge=_judge,
                output=_output,
                stream=_follow,
            )
            for method in ("execute", "aexecute")
        ),
        Entry(place=f"{_FUNCTION}:Function.entrypoint", role="checked", check=_check),
        Entry(place=f"{_FUNCTION}:log_exception", role="note", note=_note_error),
        Entry(place="agno.utils.functions:get_function_call", role="after", after=_refused),
    ),
    tools=(f"{_FUNCTION}:Function", f"{_TOOLKIT}"),
    expand=_expand,
    toolbox=Toolbox(
        place=_TOOLKIT,
        name=lambda cls, attribute: attribute,
        leave_out=frozenset({"register", "connect", "close", "get_functions", "get_async_functions"}),
    ),
    recorded="Each tool call of an agent or a team: functions, `@tool`s and the methods of toolkits, "
    "with the model's call id; the tool's own exception in place of the text that the model "
    "is told. A stream that a tool returns is a record with its items, when the agent has read it. Unknown "
    "functions, and arguments that do not fit, as rejected.",
    not_recorded="Models, memory, knowledge and workflows. The input of an async generator function is the "
    "model's, before pydantic converts it.",
)
