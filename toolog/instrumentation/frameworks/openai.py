"""OpenAI's SDK, where that calls tools itself: the Responses tool runners, and the tool handlers of agent
sessions (``client.beta.agents.sessions``).

A runner's ``_execute_function`` knows the model's id, and ``invoke`` in its module calls the function, whose
exception the runner then hides. The handlers of a session are called with the model's arguments as one dict;
where they are a `FunctionTool`, its field ``_handler`` is the body. A program that looks a function up by the
name in a reply and calls it leaves no trace in the SDK.
"""

from __future__ import annotations

import json
import sys
from types import FunctionType
from typing import Any

from toolog.instrumentation.frameworks.asked import Asked
from toolog.instrumentation.frameworks.plans import unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import object_vars

_asked = Asked()
_VALIDATION = "validation"


def _read_run(runner: Any, given: Given) -> Request:
    item, run = given["item"], given["run"]
    registered = runner._functions[item.name]
    return Request(
        name=item.name,
        call_id=item.call_id,
        description=registered.tool.get("description"),
        owners=(registered,),
        function=registered.execute,
        arguments=_by_name(run.arguments[item.call_id]),
        whole=True,
    )


def _read_invoke(_: Any, given: Given) -> Request:
    return Request(
        name="", function=given["handler"], arguments=_by_name(next(iter(given["args"]), None)), whole=True
    )


def _by_name(given: Any) -> Any:
    """Return the arguments in the one value that a function takes: a dict, or a pydantic model."""
    return given if isinstance(given, dict) else object_vars(given)


def _note_item(run: Any, given: Given) -> Request | None:
    """Refuse a request for a function that the runner has not; note the others, which may not fit."""
    item = given["item"]
    if item.type != "function_call":
        return None
    if item.name in run.function_names:
        _asked.note(_VALIDATION, item)
        return None
    return Request(
        name=item.name,
        call_id=item.call_id,
        arguments=item.arguments,
        known=False,
        refusal=f"there is no function {item.name!r}",
    )


def _read_misfit(_: Any, given: Given) -> Request | None:
    """Return the request whose arguments the runner has just found not to fit."""
    item = _asked.take(_VALIDATION) if given["reason"] == "invalid_input" else None
    if item is None or item.call_id != given["call_id"]:
        return None
    return Request(
        name=item.name,
        call_id=item.call_id,
        arguments=item.arguments,
        refusal=sys.exc_info()[1] or "the arguments do not fit",
    )


def _read_handler(invocation: Any, given: Given) -> Request:
    call, handler = invocation.call, given["handler"]
    if _is_tool(handler):
        request = _request(handler, call.name, call.arguments)
    else:
        request = Request(
            name=call.name,
            function=handler,
            arguments=call.arguments,
            whole=True,
            has_body=not _is_readable(call.arguments),  # no call comes of it, then
        )
    request.call_id = call.call_id
    return request


def _read_tool(tool: Any, given: Given) -> Request:
    return _request(tool, tool.name, given["arguments"])


def _read_body(tool: Any, given: Given) -> Request:
    """Return the call with the validated arguments, which stand in one pydantic model."""
    request = _request(tool, tool.name, None)
    named = object_vars(next(iter(given["args"]), None)) or {}
    _, aliases = _made_of(tool)
    request.arguments = {(aliases or {}).get(name, name): value for name, value in named.items()}
    return request


def _request(tool: Any, name: str, arguments: Any) -> Request:
    function, aliases = _made_of(tool)
    return Request(
        name=name,
        description=tool._definition["description"],
        tool=tool,
        function=function,
        arguments=arguments,
        whole=aliases is None,
    )


def _is_tool(handler: Any) -> bool:
    return any(cls.__module__ == _TOOLS and cls.__name__ == "FunctionTool" for cls in type(handler).__mro__)


def _is_readable(arguments: Any) -> bool:
    if not isinstance(arguments, str):
        return isinstance(arguments, dict)
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _made_of(tool: Any) -> tuple[Any, dict[str, str] | None]:
    """Return the function that a tool calls, and for one that ``function_tool`` made, in whose closures the
    user's stands, the names of its parameters by the fields of the model.
    """
    handler = inner = (object_vars(tool) or {}).get("_handler")
    while type(inner) is FunctionType and inner.__module__ == _TOOLS:
        cells = dict(zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True))
        if "aliases" in cells and "function" in cells:
            return cells["function"].cell_contents, cells["aliases"].cell_contents
        inner = cells["invoke"].cell_contents if "invoke" in cells else None
    return handler, None


def _expand(value: Any) -> tuple[Any, ...]:
    """Return what stands for a registered function in the requests: a runner has copies of it."""
    execute = (object_vars(value) or {}).get("execute")
    return (value,) if execute is None else (value, unwrap_function(execute))


_TOOLS = "openai.lib.beta.agents._tools"
_RUNNER = "openai.lib.responses_tool_runner"

ADAPTER = Adapter(
    name="openai",
    distribution="openai",
    packages=("openai",),
    minimum="3.33",
    tested="3.57.0",
    entries=(
        Entry(place=f"{_RUNNER}:ResponsesToolRunner._execute_function", read=_read_run),
        Entry(place=f"{_RUNNER}:AsyncResponsesToolRunner._execute_function", read=_read_run),
        Entry(place=f"{_RUNNER}:invoke", role="body", read=_read_invoke, opens=False),
        Entry(place=f"{_RUNNER}:_Run.validate", read=_note_item),
        Entry(place=f"{_RUNNER}:emit_tool_diagnostic", read=_read_misfit),
        Entry(place="openai.lib.streaming.agents._tools:ToolInvocation.invoke", read=_read_handler),
        Entry(place=f"{_TOOLS}:FunctionTool._call", read=_read_tool),
        Entry(place=f"{_TOOLS}:FunctionTool._handler", role="field", read=_read_body),
    ),
    tools=(
        f"{_RUNNER}:RegisteredFunction",
        f"{_RUNNER}:AsyncRegisteredFunction",
        f"{_TOOLS}:FunctionTool",
    ),
    expand=_expand,
    recorded="Each call that a `ResponsesToolRunner` (sync, async, streaming, eager) makes of a registered "
    "function, and each call of a tool handler of an agent session, with the model's call id, the validated "
    "arguments and the function's own exception, which the SDK hides. Unknown functions of a runner and "
    "arguments that do not fit, as rejected.",
    not_recorded="Requests to the API; tools that run at OpenAI; browser, computer and decision runners; "
    "functions that a program looks up by the name in `tool_calls` and calls itself (`instrument` those, and "
    "`toolog.bind` the id).",
)
