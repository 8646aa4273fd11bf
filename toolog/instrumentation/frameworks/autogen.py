"""AutoGen (autogen-core and autogen-agentchat).

A workbench knows the name that the model uses, also where it renames a tool; ``run_json`` of a tool
validates. Both are requests. The body is ``run``, before a function hops to a thread. An agent answers what
no workbench has, and arguments that are no JSON, by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolog.instrumentation.frameworks.plans import is_json
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import find_static, module_of, object_vars

_INJECTED = frozenset({"cancellation_token"})


def _read_workbench(workbench: Any, given: Given) -> Request:
    held = object_vars(workbench) or {}
    name = given["name"]
    own = held.get("_override_name_to_original", {}).get(name, name)
    tools = held.get("_tools")
    tool = next((one for one in tools or () if one.name == own), None)
    return Request(
        name=name,
        call_id=given.get("call_id"),
        tool=tool,
        owners=(workbench,),
        arguments=given.get("arguments"),
        known=tool is not None or tools is None,
        has_body=tool is not None,
        remote=own,
    )


def _read_stream(workbench: Any, given: Given) -> Request:
    request = _read_workbench(workbench, given)
    found = find_static(type(workbench), "call_tool_stream")
    if not request.known and found is not None and module_of(found[0]).startswith("autogen_core."):
        request.refusal = f"Tool {request.name} not found."  # as one item of the stream will say
    return request


def _read_request(tool: Any, given: Given) -> Request:
    request = _request(tool)
    request.call_id, request.arguments = given.get("call_id"), given["args"]
    return request


def _read_body(tool: Any, given: Given) -> Request:
    request = _request(tool)
    request.arguments = {
        name: value for name, value in (object_vars(given["args"]) or {}).items() if not name.startswith("_")
    }
    return request


def _request(tool: Any) -> Request:
    return Request(
        name=tool.name,
        description=tool.description,
        tool=tool,
        function=(object_vars(tool) or {}).get("_func"),
        injected=_INJECTED,
    )


def _judge(result: Any) -> str | None:
    """Return the text of a workbench's result that says it is an error."""
    if getattr(result, "is_error", False) is True and hasattr(result, "to_text"):
        return str(result.to_text())
    return None


def _refused(_: Any, given: Given, answer: Any) -> Iterable[Request]:
    """Give the request that an agent answered itself: no such tool, or arguments that are no JSON."""
    call, result = answer
    if not result.is_error:
        return
    unknown = result.content == f"Error: tool '{call.name}' not found in any workbench"
    if unknown or not is_json(call.arguments):
        yield Request(
            name=call.name,
            call_id=call.id,
            arguments=call.arguments,
            known=not unknown,
            refusal=result.content,
        )


_TOOL = "autogen_core.tools._base"
_WORKBENCH = "autogen_core.tools._workbench"

ADAPTER = Adapter(
    name="autogen",
    distribution="autogen-core",
    packages=("autogen_core", "autogen_agentchat", "autogen_ext"),
    aliases=("autogen-agentchat",),
    minimum="0.7",
    tested="0.7.5",
    entries=(
        Entry(place=f"{_WORKBENCH}:Workbench.call_tool", read=_read_workbench, judge=_judge),
        Entry(place=f"{_WORKBENCH}:StreamWorkbench.call_tool_stream", read=_read_stream),
        Entry(place=f"{_TOOL}:BaseTool.run_json", read=_read_request),
        Entry(place=f"{_TOOL}:BaseStreamTool.run_json_stream", read=_read_request),
        Entry(place=f"{_TOOL}:BaseTool.run", role="body", read=_read_body),
        Entry(place=f"{_TOOL}:BaseStreamTool.run_stream", role="body", read=_read_body),
        Entry(
            place="autogen_agentchat.agents._assistant_agent:AssistantAgent._execute_tool_call",
            role="after",
            after=_refused,
        ),
    ),
    tools=(f"{_TOOL}:BaseTool", f"{_WORKBENCH}:Workbench"),
    recorded="Each tool call of an `AssistantAgent`, a workbench or a tool agent, and `run_json` in "
    "code, with the model's call id and the validated arguments; a tool's exception before it "
    "becomes a text. Refused arguments and unknown tools as rejected.",
    not_recorded="Messages and model clients; the streamed events of a tool beside its result; what a "
    "workbench of another program does inside.",
)
