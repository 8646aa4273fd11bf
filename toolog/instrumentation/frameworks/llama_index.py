"""LlamaIndex (llama-index-core): tools of agents and workflows, and of the older ways of calling them.

The body is ``call`` or ``acall`` of each tool class: its result holds the raw output, its exception is the
tool's own. The step of an agent that calls tools knows the model's id and what does not exist; ``call_tool``
and ``acall_tool`` turn an exception into a text.
"""

from __future__ import annotations

from typing import Any

from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import module_of, object_vars


def _read_step(agent: Any, given: Given) -> Request | None:
    event = given["ev"]
    held = object_vars(agent) or {}
    agents = (held.get("agents") or {}).values() if "agents" in held else (agent,)
    tools: dict[str, Any] = {}
    complete = True
    for one in agents:
        own = object_vars(one) or {}
        complete = complete and own.get("tool_retriever") is None
        tools.update((_name(tool), tool) for tool in own.get("tools") or () if hasattr(tool, "metadata"))
    tool = tools.get(event.tool_name)
    known = tool is not None or not complete or event.tool_name == "handoff"
    return Request(
        name=event.tool_name,
        call_id=event.tool_id,
        tool=tool,
        owners=(agent, *agents),
        arguments=event.tool_kwargs,
        known=known,
        has_body=False,
    )


def _read_call(nothing: Any, given: Given) -> Request:
    request = _request(given["tool"])
    request.arguments, request.has_body = given["arguments"], False
    return request


def _read_body(tool: Any, given: Given) -> Request:
    request = _request(tool)
    request.args = tuple(given.get("args", ()))
    named = {name: value for name, value in given.items() if name not in ("args", "kwargs")}
    held = object_vars(tool) or {}
    if not module_of(type(tool)).startswith("llama_index.core.tools.function_tool"):
        request.arguments = {**named, **given.get("kwargs", {})}
        return request
    defaults = {**(held.get("_field_defaults") or {}), **(held.get("partial_params") or {})}
    request.arguments = {**defaults, **given.get("kwargs", {})}
    return request


def _request(tool: Any) -> Request:
    held = object_vars(tool) or {}
    context = held.get("ctx_param_name")
    return Request(
        name=_name(tool),
        description=tool.metadata.description,
        tool=tool,
        function=held.get("_real_fn"),
        injected=frozenset() if context is None else frozenset({context}),
    )


def _name(tool: Any) -> str:
    return tool.metadata.name or type(tool).__name__


def _output(result: Any) -> Any:
    """Return the tool's own result in a ToolOutput."""
    return (object_vars(result) or {}).get("raw_output", result)


def _judge(result: Any) -> BaseException | str | None:
    """Return what went wrong, of a tool's output or of an agent's event with one."""
    output = getattr(result, "tool_output", result)
    if getattr(output, "is_error", False) is not True:
        return None
    return getattr(output, "exception", None) or str(getattr(output, "content", "failed"))


_AGENTS = "llama_index.core.agent.workflow"
_CALLING = "llama_index.core.tools.calling"
_TYPES = "llama_index.core.tools.types"

ADAPTER = Adapter(
    name="llama-index",
    distribution="llama-index-core",
    packages=("llama_index.core",),
    aliases=("llama-index-core", "llama_index"),
    minimum="0.13",
    tested="0.14.25",
    entries=(
        Entry(place=f"{_AGENTS}.base_agent:BaseWorkflowAgent.call_tool", read=_read_step, judge=_judge),
        Entry(place=f"{_AGENTS}.multi_agent_workflow:AgentWorkflow.call_tool", read=_read_step, judge=_judge),
        Entry(place=f"{_CALLING}:call_tool", read=_read_call, judge=_judge),
        Entry(place=f"{_CALLING}:acall_tool", read=_read_call, judge=_judge),
        Entry(place=f"{_TYPES}:AsyncBaseTool.call", role="body", read=_read_body, output=_output),
        Entry(place=f"{_TYPES}:AsyncBaseTool.acall", role="body", read=_read_body, output=_output),
    ),
    tools=(f"{_TYPES}:BaseTool", f"{_AGENTS}.base_agent:BaseWorkflowAgent"),
    recorded="Each tool call of an agent or an `AgentWorkflow`, with the model's call id, and of a "
    "tool in code; the raw output in place of a `ToolOutput`, and a tool's exception before "
    "it becomes a text. Unknown tools, and arguments that do not fit the function, as "
    "rejected.",
    not_recorded="Models, retrievers, query engines outside of a tool, and other steps of a workflow. The "
    "input is the model's: LlamaIndex does not convert it.",
    expand=lambda value: (value, *((object_vars(value) or {}).get("tools") or ())),
)
