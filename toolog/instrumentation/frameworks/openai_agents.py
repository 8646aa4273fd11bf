"""OpenAI Agents SDK (openai-agents).

``FunctionTool.on_invoke_tool`` is a field of each tool that ``copy.copy`` binds anew, and its default error
function turns an exception into a text. So the request is the function through which the runner calls every
tool, and the class of the invokers that ``function_tool`` makes; the arguments are seen where they are made
ready for the function, the exception where a text is made of it.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from toolog.arguments import Arguments
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import object_vars


def _read_runner(nothing: Any, given: Given) -> Request | None:
    return _request(given.get("function_tool"), given.get("context"), given.get("arguments"))


def _read_invoker(invoker: Any, given: Given) -> Request | None:
    return _request((object_vars(invoker) or {}).get("_function_tool"), given.get("ctx"), given.get("input"))


def _request(tool: Any, context: Any, arguments: Any) -> Request | None:
    if tool is None:
        return None
    function = _function(tool)
    call = getattr(context, "tool_call", None)
    binding = (object_vars(tool) or {}).get("_mcp_tool_binding")
    return Request(
        name=tool.name,
        call_id=getattr(call, "call_id", None) or getattr(context, "tool_call_id", None),
        description=tool.description,
        tool=tool,
        function=function,
        arguments=arguments,
        has_body=function is not None,
        remote=binding[1] if isinstance(binding, tuple) else None,
    )


def _function(tool: Any) -> Any:
    """Return the function that ``function_tool`` made a tool of; it stands in a closure of the invoker."""
    invoker: Any = (object_vars(tool) or {}).get("on_invoke_tool")
    invoker = (object_vars(invoker) or {}).get("_invoke_tool_impl", invoker)
    for _ in range(3):
        if type(invoker) is not FunctionType:
            return None
        cells = dict(zip(invoker.__code__.co_freevars, invoker.__closure__ or (), strict=True))
        for name in ("the_func", "_on_invoke_tool_impl"):
            if name in cells:
                invoker = cells[name].cell_contents
                break
        else:
            return None
        if name == "the_func":
            return invoker
    return None


def _note_arguments(call: Any, schema: Any, given: Given, result: Any) -> None:
    """Take the arguments as the function gets them, without the run's context."""
    parameters = list(schema.signature.parameters.values())[1 if schema.takes_context else 0 :]
    names = Arguments(schema.signature.replace(parameters=parameters))
    positional, keywords = result
    if not call.claimed:
        call.enter(Request(name=call.request.name, arguments=names.named(tuple(positional), keywords)))


def _note_error(call: Any, nothing: Any, given: Given, result: Any) -> None:
    if given.get("function_tool") is call.request.tool:
        call.note_error(given["error"])


def _note_timeout(call: Any, error: Any, given: Given, result: Any) -> None:
    call.time_out(error)


def _refuse(nothing: Any, given: Given) -> list[Request]:
    """Return the calls of the model's response that no tool and no handoff is there for."""
    names = {getattr(tool, "name", None) for tool in given.get("all_tools") or ()}
    names |= {getattr(handoff, "tool_name", None) for handoff in given.get("handoffs") or ()}
    return [
        Request(name=item.name, call_id=item.call_id, arguments=item.arguments)
        for item in given["response"].output
        if getattr(item, "type", None) == "function_call" and item.name not in names
        and item.name not in ("json_tool_call", "apply_patch")
    ]  # fmt: skip


def _output(result: Any) -> Any:
    return result.output


ADAPTER = Adapter(
    name="openai-agents",
    distribution="openai-agents",
    packages=("agents",),
    minimum="0.10.5",
    tested="0.24.0",
    entries=(
        Entry(place="agents.tool:_invoke_function_tool_with_metadata", read=_read_runner, output=_output),
        Entry(place="agents.tool:invoke_function_tool", read=_read_runner),
        Entry(place="agents.tool:_FailureHandlingFunctionToolInvoker.__call__", read=_read_invoker),
        Entry(place="agents.function_schema:FuncSchema.to_call_args", role="note", note=_note_arguments),
        Entry(
            place="agents.tool:maybe_invoke_function_tool_failure_error_function",
            role="note",
            note=_note_error,
        ),
        Entry(place="agents.exceptions:ToolTimeoutError.__init__", role="note", note=_note_timeout),
        Entry(
            place="agents.run_internal.turn_resolution:process_model_response", role="refuse", refuse=_refuse
        ),
    ),
    tools=("agents.tool:FunctionTool", "agents.agent:Agent"),
    expand=lambda value: (value, *((object_vars(value) or {}).get("tools") or ())),
    recorded="Each call of a function tool, an agent used as a tool, and a tool of an MCP server, with the "
    "model's call id; the function's own exception in place of the default error text; timeouts; arguments "
    "that do not fit and unknown tools as rejected.",
    not_recorded="Tools that run at the provider (web search, code interpreter, hosted MCP), computer and "
    "shell tools, handoffs, guardrails.",
)
