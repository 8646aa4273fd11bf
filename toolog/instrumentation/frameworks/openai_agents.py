"""OpenAI Agents SDK (openai-agents).

``FunctionTool.on_invoke_tool`` is a field of each tool that ``copy.copy`` binds anew, and its default error
function turns an exception into a text. So the request is the function through which the runner calls every
tool, and the class of the invokers that ``function_tool`` makes; the arguments are seen where they are made
ready for the function, the exception where a text is made of it. Tools that take a text or a command (custom
tools, local shells) hold their function in a field. What a person or a guardrail refused never comes to be
called: the place where the refusal is made tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

from toolog.arguments import Arguments
from toolog.instrumentation.frameworks import mcp
from toolog.instrumentation.frameworks.plans import bound_to, unwrap_function
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


def _read_server(server: Any, given: Given) -> Request:
    """Of a server of MCP: it answers an error as a result."""
    return Request(
        name=given["tool_name"],
        owners=(server,),
        arguments=given.get("arguments"),
        type="extension",
        has_body=False,
    )


def _read_custom(tool: Any, given: Given) -> Request:
    """Of a custom tool: its function gets the run's context and the model's text."""
    context, text = given["args"]
    function = (object_vars(tool) or {}).get("on_invoke_tool")
    code = getattr(unwrap_function(function), "__code__", None)
    names = () if code is None else code.co_varnames[: code.co_argcount]
    return Request(
        name=tool.name,
        call_id=getattr(context, "tool_call_id", None),
        description=tool.description,
        tool=tool,
        function=function,
        args=(text,),
        injected=frozenset(names[0 if bound_to(function) is None else 1 :][:1]),
    )


def _read_shell(tool: Any, given: Given) -> Request:
    """Of a shell on this machine: what runs its commands gets them in a request."""
    call = given["args"][0].data
    return Request(
        name=tool.name,
        call_id=call.call_id,
        tool=tool,
        function=(object_vars(tool) or {}).get("executor"),
        arguments=object_vars(call.action),
        whole=True,
    )


def _refused_by_guardrail(nothing: Any, given: Given, result: Any) -> Iterable[Request]:
    context = given["tool_context"]
    if result is not None:
        yield Request(
            name=given["func_tool"].name,
            call_id=context.tool_call_id,
            tool=given["func_tool"],
            arguments=context.tool_arguments,
            refusal=result,
            status="context_error",
        )


def _refused_by_person(nothing: Any, given: Given, result: Any) -> Iterable[Request]:
    if isinstance(result, str):
        asked = given.get("tool_call")
        yield Request(
            name=given["tool_name"],
            call_id=given["call_id"],
            arguments=_asked(asked, "arguments") or _asked(asked, "input") or _asked(asked, "action"),
            refusal=result,
            status="context_error",
        )


def _asked(call: Any, name: str) -> Any:
    """Return a field of the model's call, which may be a mapping or a model."""
    found = call.get(name) if isinstance(call, dict) else getattr(call, name, None)
    return found if found is None or isinstance(found, str | dict) else object_vars(found)


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


_EXECUTION = "agents.run_internal.tool_execution"

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
        Entry(place="agents.mcp.server:MCPServer.call_tool", read=_read_server, judge=mcp.judge),
        Entry(place="agents.tool:CustomTool.on_invoke_tool", role="field", read=_read_custom),
        Entry(place="agents.tool:ShellTool.executor", role="field", read=_read_shell),
        Entry(place="agents.tool:LocalShellTool.executor", role="field", read=_read_shell),
        Entry(
            place=f"{_EXECUTION}:_execute_tool_input_guardrails",
            role="after",
            after=_refused_by_guardrail,
            raised=True,
        ),
        Entry(
            place=f"{_EXECUTION}:resolve_approval_rejection_message", role="after", after=_refused_by_person
        ),
        Entry(place="agents.exceptions:ToolTimeoutError.__init__", role="note", note=_note_timeout),
        Entry(
            place="agents.run_internal.turn_resolution:process_model_response", role="refuse", refuse=_refuse
        ),
    ),
    tools=(
        "agents.tool:FunctionTool",
        "agents.tool:CustomTool",
        "agents.tool:ShellTool",
        "agents.tool:LocalShellTool",
        "agents.agent:Agent",
    ),
    expand=lambda value: (value, *((object_vars(value) or {}).get("tools") or ())),
    recorded="Each call of a function tool, a custom tool, a shell on this machine, an agent used as a tool, "
    "and a tool of an MCP server, with the model's call id; the function's own exception in place of the "
    "default error text; timeouts; arguments that do not fit, unknown tools, and calls that a guardrail of "
    "the tool or a person refused (`context_error`), as rejected.",
    not_recorded="Tools that run at the provider (web search, code interpreter, hosted MCP), computer and "
    "patch tools, handoffs, guardrails themselves. A call that waits for approval, until that is given.",
)
