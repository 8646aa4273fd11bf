"""AG2 (version 1 and later).

A tool is called with the event that asks for it, and answers with an event: a result, or an error that it
caught, with the traceback as a text for the model. So this one place is seen, and nothing inside it, which
would stand in that text.
"""

from __future__ import annotations

from typing import Any

from toolog.instrumentation.frameworks.plans import unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request


def _read(tool: Any, given: Given) -> Request:
    event = given["event"]
    return Request(
        name=event.name,
        call_id=event.id,
        description=tool.schema.function.description,
        tool=tool,
        function=tool.model.call,
        arguments=event.arguments,
        injected=frozenset(tool.model.custom_fields),
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


def _output(event: Any) -> Any:
    """Return the tool's result out of the parts that AG2 made of it."""
    parts = getattr(getattr(event, "result", None), "parts", ())
    values = [getattr(part, "content", getattr(part, "data", part)) for part in parts]
    return values[0] if len(values) == 1 else values


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
            role="body",
            read=_read,
            judge=_judge,
            output=_output,
        ),
        Entry(place=f"{_EVENTS}:ToolNotFoundEvent.from_call", read=_read_unknown),
    ),
    tools=("ag2.tools.final.function_tool:FunctionTool",),
    expand=_expand,
    recorded="Each call of a function tool by an agent, with the model's call id and the tool's own "
    "exception. Arguments that do not fit, and unknown tools, as rejected.",
    not_recorded="Models, agents' messages, client and built-in tools, MCP toolkits. The input is the "
    "model's, before it is converted; a result is what AG2 makes parts of.",
)
