"""Pydantic AI.

The tool manager validates, then executes, often in another task: a call that is refused never comes to be
executed. So there are two requests: the one that is executed, and the refusal. What a person denied is told
where the denial is made a message. The body is the function's
schema, which calls the function with the arguments validated; tools of other toolsets have no body, their
result and exception pass through as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import object_vars


def _read_execution(manager: Any, given: Given) -> Request | None:
    validated = given["validated"]
    tool = validated.tool
    if not validated.args_valid or tool is None:
        return None  # its refusal has been recorded
    request = _request(validated.call, tool, validated.validated_args)
    request.has_body = False  # a tool that fails is not one whose arguments did not fit
    return request


def _read_refusal(manager: Any, given: Given) -> Request:
    call = given["call"]
    request = _request(call, given["tool"], call.args)
    request.known = given["tool"] is not None
    request.refusal = given["error"]
    return request


def _request(call: Any, tool: Any, arguments: Any) -> Request:
    schema = _schema(tool)
    return Request(
        name=call.tool_name,
        call_id=call.tool_call_id,
        description=None if tool is None else tool.tool_def.description,
        owners=() if tool is None else (tool.toolset,),
        function=None if schema is None else schema.function,
        arguments=arguments,
        injected=_injected(schema),
    )


def _schema(tool: Any) -> Any:
    """Return the schema of a toolset's tool's function, or None for a tool that is no function."""
    tool = getattr(tool, "source_tool", tool)
    return getattr(getattr(tool, "call_func", None), "__self__", None)


def _injected(schema: Any) -> frozenset[str]:
    """Return the name of the parameter that takes the run context: the first one."""
    if schema is None or not schema.takes_ctx:
        return frozenset()
    from inspect import signature

    return frozenset(list(signature(schema.function).parameters)[:1])


def _read_toolset(toolset: Any, given: Given) -> Request:
    request = _request_in(given["ctx"], given["name"], _schema(given["tool"]))
    request.arguments = given["tool_args"]
    request.owners = (toolset,)
    request.has_body = False
    return request


def _read_function(schema: Any, given: Given) -> Request:
    request = _request_in(given["ctx"], schema.function.__name__, schema)
    named = dict(given["args_dict"])
    args = [named.pop(field) for field in schema.positional_fields]
    if schema.var_positional_field:
        args += named.pop(schema.var_positional_field)
    request.args, request.arguments = tuple(args), named
    return request


def _request_in(context: Any, name: str, schema: Any) -> Request:
    """Return what a run context tells of the call; ``name`` for a call that no model asked for."""
    return Request(
        name=getattr(context, "_dispatched_tool_name", None) or context.tool_name or name,
        call_id=context.tool_call_id,
        description=None if schema is None else schema.description,
        function=None if schema is None else schema.function,
        injected=_injected(schema),
    )


def _own(error: BaseException) -> BaseException:
    """Return what is behind a text for the model: what the tool raised, or the time that ran out."""
    if type(error).__name__ in ("ToolRetryError", "ToolFailedError", "UnexpectedModelBehavior"):
        error = error.__cause__ or error
    if type(error).__name__ == "ModelRetry" and type(error.__context__) is TimeoutError:
        return error.__context__
    return error


def _meaning(error: BaseException) -> tuple[str, str] | None:
    """Return what a tool means that puts its call off: it is not done now, nor has it failed."""
    put_off = type(error).__name__ in ("ApprovalRequired", "CallDeferred")
    return ("tool_call_cancelled", "cancelled") if put_off else None


def _denied(nothing: Any, given: Given, result: Any) -> Iterable[Request]:
    """Give the call that a person denied, out of what is made of the denial for the model."""
    denial = given["tool_result"]
    if type(denial).__name__ == "ToolDenied":
        call = given["call"]
        yield Request(
            name=call.tool_name,
            call_id=call.tool_call_id,
            arguments=call.args,
            refusal=denial.message,
            status="context_error",
        )


def _expand(value: Any) -> tuple[Any, ...]:
    """Return what stands for a tool (its function) or for an agent (its toolsets) in the requests."""
    held = object_vars(value) or {}
    toolsets = (held.get("_function_toolset"), *(held.get("_user_toolsets") or ()), held.get("function"))
    return (value, *(one for one in toolsets if one is not None))


_MANAGER = "pydantic_ai.tool_manager:ToolManager"
_FUNCTIONS = "pydantic_ai.toolsets.function:FunctionToolset"

ADAPTER = Adapter(
    name="pydantic-ai",
    distribution="pydantic-ai-slim",
    packages=("pydantic_ai",),
    minimum="2.0",
    tested="2.68.0",
    entries=(
        Entry(place=f"{_MANAGER}._make_validation_failure", read=_read_refusal),
        Entry(place=f"{_MANAGER}.execute_tool_call", read=_read_execution, own=_own, meaning=_meaning),
        Entry(place=f"{_FUNCTIONS}.call_tool", read=_read_toolset, own=_own, meaning=_meaning),
        Entry(place="pydantic_ai._tool_execution:build_tool_return_part", role="after", after=_denied),
        Entry(
            place="pydantic_ai._function_schema:FunctionSchema.call",
            role="body",
            read=_read_function,
            opens=False,  # functions for an output are called so, too
        ),
    ),
    tools=(
        "pydantic_ai.tools:Tool",
        "pydantic_ai.toolsets.abstract:AbstractToolset",
        "pydantic_ai.agent:Agent",
    ),
    expand=_expand,
    recorded="Each tool call of an agent's run, streamed or not, of function tools and of any other "
    "toolset, under the name that the model knows, with its call id and the validated "
    "arguments. Refused arguments and unknown tools, and calls that a person denied (`context_error`), as "
    "rejected; a tool's time limit as a timeout. A tool that asks for approval or defers its call is "
    "cancelled, with the exception that it raises for that.",
    not_recorded="Requests to models; output tools and output functions; a call that is put off before its "
    "tool runs, until it is approved. Up to 2.62 a toolset that is pointed "
    "at behind a prefix is recorded under the name without it.",
)
