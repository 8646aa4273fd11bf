"""DSPy: its tools, called by an agent (`ReActV2`, `ReAct`), in an interpreter's code, or directly.

``__call__`` and ``acall`` of a tool are the request: they validate the arguments. The field ``func`` is the
body. `ReActV2` is told the model's ids, and answers for tools that it has not.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from toolog.instrumentation.frameworks.calls import current_call
from toolog.instrumentation.frameworks.plans import bound_to
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import object_vars

_asked: ContextVar[tuple[Any, list[Any]]] = ContextVar("toolog_dspy_asked", default=(None, []))
"""The requests of one turn that an agent is about to answer, and the call that the agent runs in."""


def _refuse(agent: Any, given: Given) -> list[Request]:
    """Return the requests of a turn for tools that the agent has not; note the others."""
    requests = list(given["tool_calls"].tool_calls)
    _asked.set((current_call(), [one for one in requests if one.name in agent.tools]))
    return [
        Request(name=one.name, call_id=one.id, arguments=one.args)
        for one in requests
        if one.name not in agent.tools
    ]


def _take_request(tool: Any, arguments: dict[str, Any]) -> Any:
    """Return the request of the turn that a call answers: the first for its tool with its very arguments."""
    within, waiting = _asked.get()
    if within is not current_call():
        return None
    for request in waiting:
        asked = request.args or {}
        if (
            request.name == tool.name
            and asked.keys() == arguments.keys()
            and all(asked[name] is value for name, value in arguments.items())
        ):
            waiting.remove(request)
            return request
    return None


def _read(tool: Any, given: Given) -> Request:
    arguments = given["kwargs"]
    asked = _take_request(tool, arguments)
    request = _request(tool)
    request.arguments = arguments
    request.call_id = None if asked is None else asked.id
    return request


def _read_body(tool: Any, given: Given) -> Request:
    request = _request(tool)
    request.arguments, request.args = given["kwargs"], given["args"]
    return request


def _request(tool: Any) -> Request:
    function = (object_vars(tool) or {}).get("func")
    box = bound_to(function)
    return Request(
        name=tool.name,
        description=tool.desc,
        tool=tool,
        owners=() if box is None else (box,),
        function=function,
    )


_TOOL = "dspy.adapters.types.tool:Tool"
_AGENT = "dspy.predict.react_v2:ReActV2"

ADAPTER = Adapter(
    name="dspy",
    distribution="dspy",
    packages=("dspy",),
    minimum="3.0",
    tested="3.4.1",
    entries=(
        Entry(place=f"{_AGENT}._execute_tool_calls", role="refuse", refuse=_refuse),
        Entry(place=f"{_AGENT}._aexecute_tool_calls", role="refuse", refuse=_refuse),
        Entry(place=f"{_TOOL}.__call__", read=_read),
        Entry(place=f"{_TOOL}.acall", read=_read),
        Entry(place=f"{_TOOL}.func", role="field", read=_read_body),
    ),
    tools=(_TOOL,),
    recorded="Each call of a `dspy.Tool`, by an agent, in an interpreter's code or directly, with the "
    "validated arguments and the tool's own exception; by `ReActV2` with the model's call id, and unknown "
    "tools as rejected. Arguments that do not fit, as rejected. The tools `finish` and `submit`, which the "
    "agents bring along.",
    not_recorded="Modules, predictors and language models. `ReAct` has no ids, and a tool that it has not "
    "ends the run while the reply is parsed. `ToolCalls.ToolCall.execute` calls the plain function past the "
    "tool (`instrument` that function).",
)
