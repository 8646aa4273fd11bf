"""smolagents: tools of a ToolCallingAgent, of a CodeAgent's code, and managed agents.

The body is ``Tool.__call__``: every kind of tool runs through it. ``execute_tool_call`` validates before, and
turns exceptions into the agent's own. Only ``process_tool_calls`` sees the model's ids; it hands on the very
same arguments object, which tells which request a call belongs to.
"""

from __future__ import annotations

import weakref
from types import MethodType
from typing import Any

from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import class_vars, find_static, kind_of, object_vars, unwrap

_asked: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()
"""The requests of the turn that an agent executes, as far as they have not been found again."""


def _note_requests(agent: Any, given: Given) -> None:
    _asked[agent] = list(given["chat_message"].tool_calls)


def _call_id(agent: Any, name: str, arguments: Any) -> str | None:
    requests = _asked.get(agent, [])
    for request in requests:
        asked = request.function
        if asked.name == name and (asked.arguments is arguments or not (asked.arguments or arguments)):
            requests.remove(request)
            return str(request.id)
    return None


def _read_request(agent: Any, given: Given) -> Request:
    name, arguments = given["tool_name"], given["arguments"]
    tool = agent.tools.get(name, agent.managed_agents.get(name))
    return Request(
        name=name,
        call_id=_call_id(agent, name, arguments),
        description=None if tool is None else tool.description,
        tool=tool,
        owners=(agent,),
        function=None if tool is None else _function(tool),
        arguments=arguments,
        known=tool is not None,
    )


def _read_tool(tool: Any, given: Given) -> Request:
    args = tuple(given.get("args", ()))
    kwargs = given.get("kwargs", {})
    if len(args) == 1 and not kwargs and isinstance(args[0], dict) and set(args[0]) <= set(tool.inputs):
        kwargs, args = args[0], ()  # as the tool itself will do
    stands_for = _stands_for_another(tool)
    if stands_for and len(args) == 1 and tool.inputs:  # which of several is which, only it itself knows
        kwargs, args = {next(iter(tool.inputs)): args[0], **kwargs}, ()
    return Request(
        name=tool.name,
        description=tool.description,
        tool=tool,
        function=_function(tool),
        args=args,
        arguments=kwargs,
        whole=stands_for,
    )


def _stands_for_another(tool: Any) -> bool:
    """Whether a tool hands on whatever it gets (to a tool of LangChain, a Space, an MCP server), so that only
    its inputs tell the names of the arguments."""
    held = find_static(type(tool), "skip_forward_signature_validation")
    return held is not None and held[1] is True


def _read_agent(agent: Any, given: Given) -> Request:
    return Request(
        name=agent.name or type(agent).__name__,
        description=agent.description,
        tool=agent,
        arguments={"task": given["task"], **given.get("kwargs", {})},
        type="extension",
    )


def _function(tool: Any) -> Any:
    """Return what a tool runs: the function it was made from, else its own ``forward``."""
    found = find_static(type(tool), "forward")
    kind = None if found is None else kind_of(found[1])
    if kind is None:
        return None
    if kind.binding == "static":
        return unwrap(kind.function)  # what stands there claims to take the tool, too
    return MethodType(kind.function, tool)


def _own(error: BaseException) -> BaseException:
    """Return what is behind an agent's error, which is a text for the model."""
    if (
        type(error).__name__ in ("AgentToolCallError", "AgentToolExecutionError")
        and error.__cause__ is not None
    ):
        return error.__cause__
    return error


def _output(result: Any) -> Any:
    """Return the value that the agent's own types (a text, an image) stand for."""
    for base in type(result).__mro__:
        if class_vars(base).get("__module__") == "smolagents.agent_types" and base.__name__ == "AgentType":
            return (object_vars(result) or {}).get("_value", result)
    return result


_AGENTS = "smolagents.agents"

ADAPTER = Adapter(
    name="smolagents",
    distribution="smolagents",
    packages=("smolagents",),
    minimum="1.23",
    tested="1.26.0",
    entries=(
        Entry(place=f"{_AGENTS}:ToolCallingAgent.process_tool_calls", read=_note_requests),
        Entry(place=f"{_AGENTS}:ToolCallingAgent.execute_tool_call", read=_read_request, own=_own),
        Entry(place="smolagents.tools:Tool.__call__", role="body", read=_read_tool, output=_output),
        Entry(place=f"{_AGENTS}:MultiStepAgent.__call__", role="body", read=_read_agent),
    ),
    tools=("smolagents.tools:Tool", f"{_AGENTS}:MultiStepAgent"),
    recorded="Each tool call of a `ToolCallingAgent` (with the model's call id) and of a `CodeAgent`'s "
    "code, and of tools called directly; managed agents, which the model calls like tools; "
    "`final_answer`, which is a tool as well. Arguments that do not fit and unknown tools, as "
    "rejected.",
    not_recorded="Models and steps; what runs in a remote executor. A `CodeAgent`'s calls have no id. With "
    "a time limit its code runs in another thread: without `toolog.instrument_threads()` a "
    "call there has no parent.",
    expand=lambda value: (value, *(object_vars(value) or {}).get("tools", {}).values()),
)
