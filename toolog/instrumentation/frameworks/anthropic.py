"""Anthropic's SDK: its tool runners (of messages and of sessions) and the tools made for them.

``call`` of a tool validates and runs it, so it is the body; the runner's ``_run_tool`` knows the model's id,
and makes a text for the model of what the tool raises. A tool that does not exist stands only in the answer.
A toolset (computer, browser) has one ``call`` for all its members, and ``tool_result`` in front of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import module_of, mro, object_vars


def _read_request(runner: Any, given: Given) -> Request:
    use = given["tool_use"]
    request = _request(given["tool"], use.name, use.input)
    request.call_id = use.id
    request.has_body = False  # what fits is told by the body
    return request


def _read_call(tool: Any, given: Given) -> Request:
    return _request(tool, (object_vars(tool) or {}).get("name") or type(tool).__name__, given["input"])


def _read_event(runner: Any, given: Given) -> Request:
    """Of a session: the event by which its agent asks for a call."""
    event = given["ev"]
    request = _request(given["tool"], event.name, given["input_"])
    request.call_id = event.id
    request.has_body = False
    return request


def _judge_event(answer: Any) -> BaseException | None:
    """Return the time that ran out, which a session's runner answers with a text."""
    result, content = answer
    for block in content if result.get("is_error") else ():
        text = block.get("text") if isinstance(block, dict) else getattr(block, "text", None)
        if isinstance(text, str) and text.startswith("tool ") and text.endswith(" timed out"):
            return TimeoutError(text)
    return None


def _read_result(toolset: Any, given: Given) -> Request:
    use = given["tool_use"]
    return Request(
        name=use.name, call_id=use.id, tool=toolset, arguments=use.input, whole=True, has_body=False
    )


def _read_member(toolset: Any, given: Given) -> Request:
    return Request(name=given["name"], tool=toolset, arguments=given["input"], whole=True)


def _own_of_member(error: BaseException) -> BaseException:
    """Return what is behind an error with content for the model: a refusal, or what the member raised."""
    while type(error).__name__ == "ToolError" and error.__cause__ is not None:
        error = error.__cause__
    return error


def _meaning(error: BaseException) -> tuple[str, str] | None:
    """Return what a toolset's refusal means."""
    for base in mro(type(error)):
        status = _REFUSALS.get(base.__name__)
        if status is not None and module_of(base) == "anthropic.lib.tools._toolsets._errors":
            return "tool_call_rejected", status
    return None


def _request(tool: Any, name: str, arguments: Any) -> Request:
    held = object_vars(tool) or {}
    function = held.get("func")
    return Request(
        name=name,
        description=held.get("description"),
        tool=tool,
        function=function,
        arguments=arguments,
        whole=module_of(function).startswith("anthropic."),  # a tool that stands for an MCP server's
    )


def _own(error: BaseException) -> BaseException:
    """Return the validation's error behind the text that says so."""
    told = type(error) is ValueError and str(error).startswith("Invalid arguments for function")
    return error.__cause__ or error if told else error


def _check(function: Any) -> Any:
    """Return a function with the check of its arguments that the SDK puts around it."""
    import pydantic

    return pydantic.validate_call(function)


def _refused(runner: Any, given: Given, answer: Any) -> Iterable[Request]:
    """Give the requests that were answered without a call: there is no tool of that name, or an earlier
    action of the turn has failed."""
    told = {
        result["tool_use_id"]: _text(result.get("content"))
        for result in (answer or {}).get("content", ())
        if result.get("is_error")
    }
    reply = runner._last_message
    if callable(reply):  # of a stream, which is over
        reply = getattr(getattr(reply, "__self__", None), "current_message_snapshot", None)
    for block in getattr(reply, "content", None) or ():
        if getattr(block, "type", None) != "tool_use":
            continue
        text = told.get(block.id, "")
        unknown = text.startswith("Error: Tool '") and _is_unknown(runner, block.name)
        if unknown or text.startswith("Not executed: an earlier "):
            yield Request(
                name=block.name,
                call_id=block.id,
                arguments=block.input,
                known=not unknown,
                refusal=f"Tool '{block.name}' not found" if unknown else text,
                status=None if unknown else "context_error",
            )


def _text(content: Any) -> str:
    """Return the text of a result's content, which may be a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content or () if isinstance(block, dict)]
    return "".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def _is_unknown(runner: Any, name: str) -> bool:
    find = getattr(runner, "_runnable_tools", None)
    tools = runner._tools_by_name if find is None else find()  # the older way
    return name not in tools or name not in runner._available_tool_names()


_REFUSALS = {
    "UnknownMemberError": "unknown_tool",
    "InvalidMemberInputError": "validation_error",
    "DisabledMemberError": "context_error",
    "UnavailableMemberError": "context_error",
    "ConfirmDeclinedError": "context_error",
    "ConfirmFailedError": "context_error",
    "URLRefusedError": "context_error",
    "UploadRefusedError": "context_error",
}
_FUNCTIONS = "anthropic.lib.tools._beta_functions"
_RUNNER = "anthropic.lib.tools._beta_runner"
_SESSION = "anthropic.lib.tools._beta_session_runner:SessionToolRunner"
_TOOLSETS = tuple(
    f"anthropic.lib.tools._toolsets._runnable:{kind}Toolset" for kind in ("BetaRunnable", "BetaAsyncRunnable")
)
_RUNNERS = ("BaseSyncToolRunner", "BaseAsyncToolRunner")
_TOOLS = (
    "BetaFunctionTool", "BetaAsyncFunctionTool", "BetaBuiltinFunctionTool", "BetaAsyncBuiltinFunctionTool",
)  # fmt: skip

ADAPTER = Adapter(
    name="anthropic",
    distribution="anthropic",
    packages=("anthropic",),
    minimum="2.0",
    tested="2.14.0",
    entries=(
        *(Entry(place=f"{_RUNNER}:{runner}._run_tool", read=_read_request) for runner in _RUNNERS),
        *(
            Entry(place=f"{_RUNNER}:{runner}._generate_tool_call_response", role="after", after=_refused)
            for runner in _RUNNERS
        ),
        *(
            Entry(place=f"{_FUNCTIONS}:{tool}.call", role="body", read=_read_call, own=_own)
            for tool in _TOOLS
        ),
        Entry(place=f"{_FUNCTIONS}:BaseFunctionTool._func_with_validate", role="checked", check=_check),
        Entry(place=f"{_SESSION}._call_tool", read=_read_event, judge=_judge_event),
        *(
            Entry(place=f"{toolset}.tool_result", read=_read_result, own=_own_of_member, meaning=_meaning)
            for toolset in _TOOLSETS
        ),
        *(
            Entry(
                place=f"{toolset}.call",
                role="body",
                read=_read_member,
                own=_own_of_member,
                meaning=_meaning,
            )
            for toolset in _TOOLSETS
        ),
    ),
    tools=(
        f"{_FUNCTIONS}:BaseFunctionTool",
        f"{_FUNCTIONS}:BetaBuiltinFunctionTool",
        f"{_FUNCTIONS}:BetaAsyncBuiltinFunctionTool",
        *_TOOLSETS,
    ),
    recorded="Each call that a tool runner makes (sync, async, streaming, eager, of a session) of "
    "`@beta_tool` functions, tool classes and members of toolsets (computer, browser), with the model's call "
    "id, and calls of a tool's `call` in code. Arguments that do not fit and unknown tools, as rejected; so "
    "is what a toolset's settings or a person refuse (`context_error`).",
    not_recorded="Requests to the API; tools that run on Anthropic's side; a member of a toolset that the "
    "runner has not; a function that `messages.create` users call themselves (`instrument` that function).",
)
