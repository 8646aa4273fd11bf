"""CrewAI (crewai).

An agent's loop calls a tool in one of two ways: by the model's own function calls, or by an action that it
reads out of the model's text. Both end in ``run`` of a tool or ``invoke`` of the structured tool that stands
for it, which validate the arguments, count the use, and only then run the function; so the function is
entered when the use was counted.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from toolog.instrumentation.frameworks.plans import is_json
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Refusal, Request
from toolog.instrumentation.kinds import module_vars, object_vars

_REFUSED = re.compile(
    r"Tool execution blocked by hook\. Tool: "
    r"|Tool '.*' has reached its (usage limit of \d+ times|maximum usage limit) and cannot be used anymore"
)
_REMOTE = ("crewai.tools.mcp_native_tool", "crewai.tools.mcp_tool_wrapper")


# -- what the model asked for


def _read_native(executor: Any, given: Given) -> Request | None:
    """Read a function call of the model's, in any provider's form."""
    call: Any
    if "func_name" in given:
        call = given["call_id"], given["func_name"], given["func_args"]
    else:
        call = _utility("agent_utils", "extract_tool_call_info")(given["tool_call"])
    if call is None:
        return None
    call_id, name, arguments = call
    functions = given.get("available_functions")
    if functions is None:
        functions = getattr(executor, "_available_functions", {})
    owner = getattr(functions.get(name), "__self__", None)
    request = _request(owner, name)
    request.call_id, request.arguments = call_id, arguments
    if name not in functions:
        request.known, request.refusal = False, f"there is no tool {name!r}"
    elif isinstance(arguments, str) and not is_json(arguments):
        request.refusal = "the arguments are no JSON"
    return request


def _read_action(_: Any, given: Given) -> Request:
    """Read an action that stood in the model's text."""
    action = given["agent_action"]
    name = _known_as(action.tool)
    tool = next((one for one in given["tools"] if _known_as(one.name) == name), None)
    request = _request(tool, name)
    request.arguments = action.tool_input
    if tool is None:
        request.known, request.refusal = False, f"there is no tool {name!r}"
    return request


def _judge_answer(answer: Any) -> str | None:
    """Return why an answer for the model says that the tool was not run."""
    text = _answer_of(answer)
    if isinstance(text, str) and _REFUSED.match(text):
        return Refusal(text, "context_error")
    return None


def _answer_of(answer: Any) -> Any:
    """Return what the model is told: all there is of a result that came out of CrewAI's cache."""
    return answer.get("result") if isinstance(answer, dict) else getattr(answer, "result", answer)


def _note_repeated(call: Any, usage: Any, given: Given, result: Any) -> None:
    if result is True:
        call.failure = Refusal("the same call as the one before", "context_error")


def _note_unreadable(call: Any, usage: Any, given: Given, result: Any) -> None:
    if type(result).__name__ == "ToolUsageError":
        call.failure = Refusal(str(result.message))


# -- where the tool runs


def _read_run(tool: Any, given: Given) -> Request:
    request = _request(tool)
    request.args, request.arguments = tuple(given.get("args", ())), given.get("kwargs", {})
    return request


def _read_invoke(tool: Any, given: Given) -> Request:
    request = _request(tool)
    request.arguments = given["input"]
    return request


def _note_arguments(call: Any, tool: Any, given: Given, result: Any) -> None:
    """Keep the validated arguments for when the function is entered."""
    if not call.claimed and _original(tool) is call.request.tool:
        call.request.arguments = result


def _note_entered(call: Any, tool: Any, given: Given, result: Any) -> None:
    if result is None and not call.claimed and _original(tool) is call.request.tool:
        call.enter(call.request)


def _judge(result: Any) -> str | None:
    """Return what a tool (or the limit of its uses) says of its failure."""
    if type(result).__name__ == "ToolFailure":
        text = str(result.message)
        limited = getattr(result.reason, "value", None) == "usage_limit"
        return Refusal(text, "context_error") if limited else text
    return Refusal(result, "context_error") if type(result) is str and _REFUSED.match(result) else None


def _meaning(error: BaseException) -> tuple[str, str] | None:
    if type(error).__name__ == "ToolUsageLimitExceededError":
        return "tool_call_rejected", "context_error"
    return None


# -- what is known of a tool


def _request(tool: Any, name: str | None = None) -> Request:
    if tool is None:
        return Request(name=name or "")
    original = _original(tool)
    remote = original.original_tool_name if type(original).__module__ in _REMOTE else None
    return Request(
        name=name or _known_as(tool.name),
        description=tool.description,
        tool=original,
        owners=(tool,) if original is not tool else (),
        function=_function(original),
        remote=remote,
        type="function" if remote is None else "extension",
    )


def _original(tool: Any) -> Any:
    """Return the tool that a structured tool stands for."""
    original = getattr(tool, "_original_tool", None)
    return tool if original is None else original


def _function(tool: Any) -> Any:
    """Return the function that a tool runs in the end: the one it was made from, else its class's method."""
    function = (object_vars(tool) or {}).get("func")
    return function if callable(function) else getattr(tool, "_run", None)


def _known_as(name: str) -> str:
    """Return what the model calls a tool of this name."""
    return str(_utility("string_utils", "sanitize_tool_name")(name))


def _utility(module: str, name: str) -> Any:
    return module_vars(sys.modules[f"crewai.utilities.{module}"])[name]


def _itself(result: Any) -> Any:
    return result


def _native(place: str) -> Entry:
    return Entry(place=place, read=_read_native, judge=_judge_answer, output=_answer_of)


def _action(name: str) -> Entry:
    place = f"crewai.utilities.tool_utils:{name}"
    return Entry(place=place, read=_read_action, judge=_judge_answer, output=_answer_of)


def _run(place: str, read: Any) -> Entry:
    return Entry(place=place, read=read, judge=_judge, output=_itself, meaning=_meaning)


_SINGLE = "_execute_single_native_tool_call"
_USAGE = "crewai.tools.tool_usage:ToolUsage"
_TOOL = "crewai.tools.base_tool:BaseTool"
_STRUCTURED = "crewai.tools.structured_tool:CrewStructuredTool"

ADAPTER = Adapter(
    name="crewai",
    distribution="crewai",
    packages=("crewai",),
    minimum="1.15",
    tested="1.15.30",
    entries=(
        _native(f"crewai.agents.agent_executor:AgentExecutor.{_SINGLE}"),
        _native(f"crewai.experimental.agent_executor:AgentExecutor.{_SINGLE}"),
        _native(f"crewai.agents.crew_agent_executor:CrewAgentExecutor.{_SINGLE}"),
        _native("crewai.utilities.agent_utils:execute_single_native_tool_call"),
        _action("execute_tool_and_check_finality"),
        _action("aexecute_tool_and_check_finality"),
        Entry(place=f"{_USAGE}._check_tool_repeated_usage", role="note", note=_note_repeated),
        Entry(place=f"{_USAGE}.parse_tool_calling", role="note", note=_note_unreadable),
        _run(f"{_TOOL}.run", _read_run),
        _run(f"{_TOOL}.arun", _read_run),
        _run(f"{_STRUCTURED}.invoke", _read_invoke),
        _run(f"{_STRUCTURED}.ainvoke", _read_invoke),
        Entry(place=f"{_TOOL}._validate_kwargs", role="note", note=_note_arguments),
        Entry(place=f"{_STRUCTURED}._parse_args", role="note", note=_note_arguments),
        Entry(place=f"{_TOOL}._claim_usage", role="note", note=_note_entered),
        Entry(place=f"{_STRUCTURED}._increment_usage_count", role="note", note=_note_entered),
    ),
    tools=(_TOOL, _STRUCTURED),
    recorded="Each tool call of an agent, alone or in a crew, by the model's function calls (with its id) or "
    "by actions in its text, and `run`, `arun` and `invoke` in code: the raw result, and the tool's own "
    "exception before it becomes a text; runs again for the same action as attempts. Unknown tools, wrong "
    "arguments, spent limits and calls that a hook blocks, as rejected.",
    not_recorded="Requests to models, knowledge, and memory that is no tool. An answer from CrewAI's cache "
    "is a record whose output is the text that the model was told. Actions in a text have no call id. An "
    "agent runs async tools in event loops of their own: its cancellation does not reach them, and they are "
    "recorded as they end.",
)
