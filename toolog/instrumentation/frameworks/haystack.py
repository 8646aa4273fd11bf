"""Haystack (haystack-ai): tools of an Agent.

The body is ``invoke`` or ``invoke_async`` of a tool, whose exception wraps the tool's own. The agent opens a
span for each call right before, where the model's request is known; what the model did not give, the agent
filled in from its state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolog.instrumentation.frameworks.asked import Asked
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import object_vars

_asked = Asked()


def _note_request(_: Any, given: Given) -> None:
    _asked.note(given["tool"], given["tool_call"])


def _read(tool: Any, given: Given) -> Request:
    asked = _asked.take(tool)
    held = object_vars(tool) or {}
    arguments = given.get("kwargs", {})
    injected = set((held.get("inputs_from_state") or {}).values())
    if asked is not None:
        injected = set(arguments) - set(asked.arguments)
    return Request(
        name=tool.name,
        call_id=None if asked is None else asked.id,
        description=tool.description,
        tool=tool,
        function=held.get("function") or held.get("async_function"),
        arguments=arguments,
        injected=frozenset(injected),
    )


def _own(error: BaseException) -> BaseException:
    """Return what the tool raised, behind the exception that says it could not be invoked."""
    if type(error).__name__ == "ToolInvocationError" and error.__cause__ is not None:
        return error.__cause__
    return error


def _refused(_: Any, given: Given, answer: Any) -> Iterable[Request]:
    """Give the requests for tools that the agent has not."""
    for message in given["messages_with_tool_calls"]:
        for call in message.tool_calls:
            if call.tool_name not in given["tools_with_names"]:
                yield Request(
                    name=call.tool_name,
                    call_id=call.id,
                    arguments=call.arguments,
                    known=False,
                    refusal=f"there is no tool {call.tool_name!r}",
                )


_CALLING = "haystack.components.agents.tool_calling"
_TOOL = "haystack.tools.tool:Tool"

ADAPTER = Adapter(
    name="haystack",
    distribution="haystack-ai",
    packages=("haystack",),
    minimum="3.0",
    tested="3.4.1",
    entries=(
        Entry(place=f"{_CALLING}:_create_tool_span", read=_note_request),
        Entry(place=f"{_CALLING}:_resolve_tool_calls", role="after", after=_refused),
        Entry(place=f"{_TOOL}.invoke", role="body", read=_read, own=_own),
        Entry(place=f"{_TOOL}.invoke_async", role="body", read=_read, own=_own),
    ),
    tools=(_TOOL,),
    recorded="Each tool call of an `Agent`, with the model's call id and without what the agent takes "
    "from its state, and `invoke` in code; the tool's own exception before it is wrapped. "
    "Unknown tools, and arguments that do not fit the function, as rejected.",
    not_recorded="Chat generators and pipelines; components that are not used as tools. An unknown tool is "
    "not told where the agent is made with `raise_on_tool_invocation_failure`, which ends the "
    "run.",
)
