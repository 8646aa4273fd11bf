"""AG2 (version 1 and later).

A tool is called with the event that asks for it, and answers with an event: a result, or an error that it
caught. Inside, a model of the function (of the package that injects dependencies) converts the arguments; the
function is a field of that model, which has others for the dependencies.
"""

from __future__ import annotations

from typing import Any

from toolog.instrumentation.frameworks.calls import current_call
from toolog.instrumentation.frameworks.plans import bound_to, undecorated, unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request


def _read(tool: Any, given: Given) -> Request:
    event = given["event"]
    function = undecorated(tool.model.call)  # behind the hop to a thread
    box = bound_to(function)
    return Request(
        name=event.name,
        call_id=event.id,
        description=tool.schema.function.description,
        tool=tool,
        owners=() if box is None else (box,),
        function=function,
        arguments=event.arguments,
        injected=frozenset(tool.model.custom_fields),
    )


def _read_body(model: Any, given: Given) -> Request | None:
    call = current_call()
    if call is None or getattr(call.request.tool, "model", None) is not model:
        return None  # of a dependency, or of somebody else's
    mine = call.request
    return Request(
        name="",
        tool=mine.tool,
        function=mine.function,
        arguments=given["kwargs"],
        args=given["args"],
        injected=mine.injected,
    )


def _read_unknown(kind: Any, given: Given) -> Request | None:
    if getattr(kind, "__name__", "") != "ToolNotFoundEvent":
        return None  # another error's, which inherits this
    call = given["call"]
    return Request(
        name=call.name, call_id=call.id, arguments=call.arguments, known=False, refusal=given["error"]
    )


def _expand(value: Any) -> tuple[Any, ...]:
    """Return what stands for a tool in the requests: an agent runs a copy of it."""
    return (value, unwrap_function(value.model.call)) if hasattr(value, "model") else (value,)


def _judge(event: Any) -> BaseException | None:
    error = getattr(event, "error", None)
    return error if isinstance(error, BaseException) else None


_EVENTS = "ag2.events.tool_events"

ADAPTER = Adapter(
    name="ag2",
    distribution="ag2",
    packages=("ag2",),
    minimum="1.0",
    tested="1.2.1",
    entries=(
        Entry(
            place="ag2.tools.final.function_tool:FunctionTool.__call__",
            read=_read,
            judge=_judge,
        ),
        Entry(place="fast_depends.core.model:CallModel.call", role="field", read=_read_body, opens=False),
        Entry(place=f"{_EVENTS}:ToolNotFoundEvent.from_call", read=_read_unknown),
    ),
    tools=("ag2.tools.final.function_tool:FunctionTool",),
    expand=_expand,
    recorded="Each call of a function tool by an agent, with the model's call id, the arguments as "
    "the function gets them, its raw result and its own exception. Arguments that do not fit, and unknown "
    "tools, as rejected.",
    not_recorded="Models, agents' messages, client and built-in tools, MCP toolkits.",
)
