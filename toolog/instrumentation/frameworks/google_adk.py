"""Google's Agent Development Kit (google-adk).

``run_async`` of a tool answers arguments that do not fit with an error of its own: it is the request. The
function runs in ``FunctionTool._invoke_callable``, which also asks whether a call must be confirmed. A tool
that is not there is found out before any request is made.
"""

from __future__ import annotations

from typing import Any

from toolog.instrumentation.frameworks.plans import unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Refusal, Request
from toolog.instrumentation.kinds import object_vars


def _read_tool(tool: Any, given: Given) -> Request:
    held = object_vars(tool) or {}
    function = held.get("func")
    mcp_tool = held.get("_mcp_tool")
    return Request(
        name=tool.name,
        call_id=getattr(given.get("tool_context"), "function_call_id", None),
        description=tool.description,
        tool=tool,
        function=function,
        arguments=given.get("args"),
        injected=frozenset({"input_stream", held.get("_context_param_name", "tool_context")}),
        has_body=function is not None,
        remote=getattr(mcp_tool, "name", None),
    )


def _read_function(tool: Any, given: Given) -> Request | None:
    function = (object_vars(tool) or {}).get("func")
    if unwrap_function(given.get("target")) is not unwrap_function(function):
        return None  # the question whether to confirm
    request = _read_tool(tool, {})
    request.arguments = given.get("args_to_call")
    return request


def _judge(result: Any) -> str | None:
    """Return the text of the answer to arguments that do not fit."""
    error = result.get("error") if type(result) is dict and len(result) == 1 else None
    if isinstance(error, str) and error.startswith("Invoking `") and "failed" in error:
        return Refusal(error)
    return None


def _refuse(nothing: Any, given: Given) -> list[Request]:
    call = given["function_call"]
    if call.name is None or call.name in given["tools_dict"]:
        return []
    return [Request(name=call.name, call_id=call.id, arguments=call.args)]


def _expand(value: Any) -> tuple[Any, ...]:
    return (value, *((object_vars(value) or {}).get("tools") or ()))


_FLOWS = "google.adk.flows.llm_flows"

ADAPTER = Adapter(
    name="google-adk",
    distribution="google-adk",
    packages=("google.adk",),
    minimum="2.0",
    tested="2.13.0",
    entries=(
        Entry(place="google.adk.tools.base_tool:BaseTool.run_async", read=_read_tool, judge=_judge),
        Entry(
            place="google.adk.tools.function_tool:FunctionTool._invoke_callable",
            role="body",
            read=_read_function,
            opens=False,
        ),
        Entry(place=f"{_FLOWS}.tools._caller:_get_tool", role="refuse", refuse=_refuse),
        Entry(place=f"{_FLOWS}.functions:_get_tool", role="refuse", refuse=_refuse),
    ),
    tools=("google.adk.tools.base_tool:BaseTool", "google.adk.agents.llm_agent:LlmAgent"),
    expand=_expand,
    recorded="Each call of a function tool, an agent used as a tool (with what that calls as children) and a "
    "tool of an MCP server, with the model's call id, without the tool context; refused arguments and "
    "unknown tools as rejected.",
    not_recorded="Tools that run inside the model's service (search, code execution), transfers to another "
    "agent's model.",
)
