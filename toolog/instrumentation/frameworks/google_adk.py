"""Google's Agent Development Kit (google-adk).

Every tool is called by ``run_async``, with the context that knows the model's id. A function tool answers by
itself, without its function, where arguments are missing or do not fit, or somebody has to approve first; its
function runs in ``_invoke_callable``. Tools of other classes are their ``run_async``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Refusal, Request
from toolog.instrumentation.kinds import object_vars

_MISFIT = re.compile(r"Invoking `.*\(\)` failed (as the following mandatory|due to argument validation)")
_UNCONFIRMED = (
    "This tool call requires confirmation, please approve or reject.",
    "This tool call is rejected.",
)


def _read(tool: Any, given: Given) -> Request:
    context = given["tool_context"]
    held = object_vars(tool) or {}
    function = held.get("func")
    remote = getattr(held.get("_mcp_tool"), "name", None)
    return Request(
        name=tool.name,
        call_id=getattr(context, "function_call_id", None),
        description=tool.description,
        tool=tool,
        owners=_owners(context),
        function=function,
        arguments=given["args"],
        injected=frozenset(held.get("_ignore_params") or ()),
        has_body=function is not None,
        remote=remote,
        type="function" if remote is None else "extension",
    )


def _owners(context: Any) -> tuple[Any, ...]:
    """Return the agent whose turn it is."""
    invocation = (object_vars(context) or {}).get("_invocation_context")
    agent = getattr(invocation, "agent", None)
    return () if agent is None else (agent,)


def _expand(value: Any) -> tuple[Any, ...]:
    """Return what stands for an object in the requests: a toolset runs copies of a tool, with its function; a
    runner may run a copy of an agent, with its tools."""
    held = object_vars(value) or {}
    found = [value, held.get("func")]
    for tool in held.get("tools") or ():
        found += [tool, (object_vars(tool) or {}).get("func")]
    return tuple(one for one in found if one is not None)


def _read_body(tool: Any, given: Given) -> Request | None:
    held = object_vars(tool) or {}
    if given["target"] is not held.get("func"):
        return None  # what decides whether somebody has to approve
    return _function_of(tool, held, given["args_to_call"])


def _read_node(tool: Any, given: Given) -> Request:
    return _function_of(tool, object_vars(tool) or {}, given["args_to_call"])


def _read_live(tool: Any, given: Given) -> Request:
    request = _read(tool, given)
    request.has_body = False
    return request


def _function_of(tool: Any, held: dict[str, Any], arguments: Any) -> Request:
    return Request(
        name=tool.name,
        tool=tool,
        function=held.get("func"),
        arguments=arguments,
        injected=frozenset(held.get("_ignore_params") or ()),
    )


def _read_pooled(_: Any, given: Given) -> Request:
    return _read_live(given["tool"], given)


def _judge(result: Any) -> str | None:
    """Return why a tool was not run, or what an MCP server says of its failure."""
    if type(result) is not dict:
        return None
    text = result.get("error")
    if type(text) is str:
        if text in _UNCONFIRMED:
            return Refusal(text, "context_error")
        return Refusal(text) if _MISFIT.match(text) else None
    if (result.get("isError") or result.get("is_error")) is True:
        parts = result.get("content")
        texts = [part.get("text") for part in parts or () if type(part) is dict]
        return "\n".join(one for one in texts if type(one) is str) or "the server says that it failed"
    return None


def _refuse(_: Any, given: Given) -> list[Request]:
    """Return the call that there is no tool for."""
    call = given["function_call"]
    if call.name in given["tools_dict"]:
        return []
    return [Request(name=call.name or "<unnamed>", call_id=call.id, arguments=call.args)]


def _unconfirmed(_: Any, given: Given, answer: Any) -> Iterable[Request]:
    """Give the call that somebody has to approve before it runs."""
    if type(answer) is dict:
        request = _read(given["tool"], {**given, "args": given["function_args"]})
        request.refusal, request.status = str(answer.get("error")), "context_error"
        yield request


_FLOWS = "google.adk.flows.llm_flows"
_TOOL = "google.adk.tools.base_tool:BaseTool"
_FUNCTION = "google.adk.tools.function_tool:FunctionTool"

ADAPTER = Adapter(
    name="google-adk",
    distribution="google-adk",
    packages=("google.adk",),
    aliases=("adk",),
    minimum="1.26",
    tested="2.13.0",
    entries=(
        Entry(place=f"{_TOOL}.run_async", read=_read, judge=_judge),
        Entry(place=f"{_FUNCTION}._invoke_callable", role="body", read=_read_body, opens=False),
        Entry(place=f"{_FUNCTION}._run_generator_as_node", role="body", read=_read_node, opens=False),
        Entry(place=f"{_FUNCTION}._call_live", role="body", read=_read_live),
        Entry(place=f"{_FLOWS}.functions:_call_tool_in_thread_pool", read=_read_pooled),
        Entry(place=f"{_FLOWS}.functions:_get_tool", role="refuse", refuse=_refuse),
        Entry(place=f"{_FLOWS}.tools._caller:_get_tool", role="refuse", refuse=_refuse),
        Entry(
            place="google.adk.tools._confirmation_utils:apply_confirmation_gate",
            role="after",
            after=_unconfirmed,
        ),
    ),
    tools=(_TOOL, "google.adk.agents.base_agent:BaseAgent"),
    expand=_expand,
    recorded="Each tool call of an agent's run, live runs included: functions, tools of classes, agents used "
    "as tools and tools of MCP servers, with the model's call id, and `run_async` in code. Missing or wrong "
    "arguments, unknown tools, and calls that somebody has to approve first, as rejected.",
    not_recorded="Requests to models; code executors; tools that run at the model's provider (search, code "
    "execution); a call that a `before_tool_callback` or a plugin answers, since no tool runs.",
)
