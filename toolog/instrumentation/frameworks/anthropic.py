"""Anthropic's SDK: its tool runners (``client.beta.messages.tool_runner``) and the tools made for them.

``call`` of a tool validates and runs it, so it is the body; the runner's ``_run_tool`` knows the model's id,
and makes a text for the model of what the tool raises. A tool that does not exist stands only in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import object_vars


def _read_request(runner: Any, given: Given) -> Request:
    use = given["tool_use"]
    request = _request(given["tool"], use.name, use.input)
    request.call_id = use.id
    request.has_body = False  # what fits is told by the body
    return request


def _read_call(tool: Any, given: Given) -> Request:
    return _request(tool, (object_vars(tool) or {}).get("name") or type(tool).__name__, given["input"])


def _request(tool: Any, name: str, arguments: Any) -> Request:
    held = object_vars(tool) or {}
    return Request(
        name=name,
        description=held.get("description"),
        tool=tool,
        function=held.get("func"),
        arguments=arguments,
    )


def _own(error: BaseException) -> BaseException:
    """Return the validation's error behind the text that says so."""
    told = type(error) is ValueError and str(error).startswith("Invalid arguments for function")
    return error.__cause__ or error if told else error


def _refused(runner: Any, given: Given, answer: Any) -> Iterable[Request]:
    """Give the requests that were answered without a tool: there is none of that name."""
    failed = {
        result["tool_use_id"]
        for result in (answer or {}).get("content", ())
        if result.get("is_error") and str(result.get("content")).startswith("Error: Tool '")
    }
    reply = runner._last_message
    if callable(reply):  # of a stream, which is over
        reply = getattr(getattr(reply, "__self__", None), "current_message_snapshot", None)
    for block in getattr(reply, "content", None) or ():
        asks = getattr(block, "type", None) == "tool_use"
        if asks and block.id in failed and _is_unknown(runner, block.name):
            yield Request(
                name=block.name,
                call_id=block.id,
                arguments=block.input,
                known=False,
                refusal=f"Tool '{block.name}' not found",
            )


def _is_unknown(runner: Any, name: str) -> bool:
    find = getattr(runner, "_runnable_tools", None)
    tools = runner._tools_by_name if find is None else find()  # the older way
    return name not in tools or name not in runner._available_tool_names()


_FUNCTIONS = "anthropic.lib.tools._beta_functions"
_RUNNER = "anthropic.lib.tools._beta_runner"
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
    ),
    tools=(
        f"{_FUNCTIONS}:BaseFunctionTool",
        f"{_FUNCTIONS}:BetaBuiltinFunctionTool",
        f"{_FUNCTIONS}:BetaAsyncBuiltinFunctionTool",
    ),
    recorded="Each call that a tool runner makes (sync, async, streaming, eager) of `@beta_tool` "
    "functions and tool classes, with the model's call id, and calls of a tool's `call` in "
    "code. Arguments that do not fit and unknown tools, as rejected.",
    not_recorded="Requests to the API; tools that run on Anthropic's side; the members of toolsets; a "
    "function that `messages.create` users call themselves (`instrument` that function). The "
    "input is the model's, before pydantic converts it.",
)
