"""llm (Simon Willison's): functions, toolboxes and tools of plugins.

llm calls ``tool.implementation(**arguments)`` in a loop of its own, so the field is the body: reading it
gives the function with our wrapper around it. Which request it is, llm works out one step before, in
``_implementation_arguments``. What it could not call stands only in the results.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolog.instrumentation.frameworks.asked import Asked
from toolog.instrumentation.frameworks.plans import bound_to
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request, Toolbox
from toolog.instrumentation.kinds import object_vars

_INJECTED = frozenset({"llm_tool_call"})

_asked = Asked()


def _note_request(_: Any, given: Given) -> None:
    _asked.note(given["tool"], given["tool_call"])


def _read(tool: Any, given: Given) -> Request:
    function = (object_vars(tool) or {}).get("implementation")
    request = _asked.take(tool)
    box = bound_to(function)
    return Request(
        name=tool.name,
        call_id=None if request is None else request.tool_call_id,
        description=tool.description,
        owners=(tool,) if box is None else (tool, box),
        function=function,
        arguments=given["kwargs"],
        args=given["args"],
        injected=_INJECTED,
    )


def _refused(response: Any, given: Given, results: Any) -> Iterable[Request]:
    """Give the requests that llm answered without calling anything: no such tool, or a hook cancelled it."""
    calls = {call.tool_call_id: call for call in given["tool_calls_list"] or response._tool_calls}
    for result in results:
        error = result.exception
        cancelled = type(error).__name__ == "CancelToolCall" and result.output.startswith("Cancelled: ")
        unknown = type(error) is KeyError and error.__traceback__ is None  # made by llm, raised by nobody
        if cancelled or unknown:
            call = calls.get(result.tool_call_id)
            yield Request(
                name=result.name,
                call_id=result.tool_call_id,
                arguments=None if call is None else call.arguments,
                known=not unknown,
                refusal=error,
                status="context_error" if cancelled else None,
            )


_MODELS = "llm.models"

ADAPTER = Adapter(
    name="llm",
    distribution="llm",
    packages=("llm",),
    minimum="0.32",
    tested="0.36",
    entries=(
        Entry(place=f"{_MODELS}:_implementation_arguments", read=_note_request),
        Entry(place=f"{_MODELS}:Tool.implementation", role="field", read=_read),
        Entry(place=f"{_MODELS}:Response.execute_tool_calls", role="after", after=_refused),
        Entry(place=f"{_MODELS}:AsyncResponse.execute_tool_calls", role="after", after=_refused),
    ),
    tools=(f"{_MODELS}:Tool", f"{_MODELS}:Toolbox"),
    toolbox=Toolbox(
        place=f"{_MODELS}:Toolbox",
        name=lambda cls, attribute: f"{cls.__name__}_{attribute}",
        leave_out=frozenset({"tools", "add_tool", "method_tools", "prepare", "prepare_async"}),
    ),
    recorded="Each call that a response makes of a function, a toolbox's method or a plugin's tool, "
    "with the model's call id, and methods of toolboxes called past llm. Unknown tools, "
    "arguments that do not fit the function, and calls that a `before_call` hook cancels, as "
    "rejected.",
    not_recorded="Prompts and responses; tools that the provider runs on its own side. Before llm 0.32 the "
    "records have no call id.",
)
