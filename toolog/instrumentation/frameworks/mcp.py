"""MCP, the Model Context Protocol's SDK (mcp 1 and 2): both sides of the wire.

A client's call carries our context in ``_meta`` (``traceparent``), and a server's call continues what came in
there. Where both sides are one process (a server in memory), the client's record is the call's, and the
server fills it in: the raw result, the tool's own exception.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolog.arguments import Arguments
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Refusal, Request
from toolog.instrumentation.kinds import object_vars

_UNKNOWN = re.compile(r"Unknown tool: ")
_INVALID = re.compile(
    r"Input validation error: "  # of mcp 1, for arguments that break the tool's schema
    r"|(?:Error executing tool [^\n]*: )?\d+ validation errors? for (?:\w*Arguments\n|call\[)"
)
"""What servers made with the SDK or with FastMCP answer for a tool that they have not, and for arguments
that do not fit."""


def _read_client(session: Any, given: Given) -> Request:
    return Request(
        name=given["name"],
        owners=(session,),
        arguments=given.get("arguments"),
        type="extension",
        has_body=False,
    )


def _read_group(group: Any, given: Given) -> Request:
    """Of a group of sessions, which may know tools by names of its own."""
    tool = group.tools.get(given["name"])
    request = _read_client(group, given)
    request.arguments = given.get("arguments", given.get("args"))  # its name was another before
    request.remote = getattr(tool, "name", None)
    request.description = getattr(tool, "description", None)
    return request


def send_in_meta(
    names: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any], context: Mapping[str, str]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Put a context into the argument ``meta`` of a call, where its function takes that."""
    if "meta" not in names.names:
        return args, kwargs
    return args, {**kwargs, "meta": {**context, **(kwargs.get("meta") or {})}}


def judge(result: Any) -> str | None:
    """Return the text of a result that says it is an error (``isError``)."""
    if type(result).__name__ == "ErrorData":
        return str(result.message)
    result = getattr(result, "root", result)
    # read past the model, whose old names warn
    held = result if isinstance(result, dict) else object_vars(result) or {}
    failed, content = held.get("isError", held.get("is_error")), held.get("content")
    if failed is not True:
        return None
    parts = [part if isinstance(part, dict) else object_vars(part) or {} for part in content or ()]
    text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    if _UNKNOWN.match(text):
        return Refusal(text, "unknown_tool")
    return Refusal(text) if _INVALID.match(text) else text


def _read_server(server: Any, given: Given) -> Request | None:
    """Of mcp 1: any request to the low-level server."""
    params = getattr(given.get("req"), "params", None)
    if type(given.get("req")).__name__ != "CallToolRequest" or params is None:
        return None
    return Request(
        name=params.name,
        owners=(server,),
        arguments=params.arguments,
        carrier=carrier_of(getattr(params, "meta", None)),
        has_body=False,
    )


def _read_runner(runner: Any, given: Given) -> Request | None:
    """Of mcp 2: any request of a connection, as it came over the wire."""
    params = given.get("params")
    if given.get("method") != "tools/call" or not isinstance(params, Mapping):
        return None
    if not isinstance(params.get("name"), str):
        return None
    return Request(
        name=params["name"],
        owners=(runner.server,),
        arguments=params.get("arguments"),
        carrier=carrier_of(params.get("_meta")),
        has_body=False,
    )


def carrier_of(meta: Any) -> dict[str, str] | None:
    """Return the context in a request's ``_meta``, a mapping or a model."""
    if meta is None:
        return None
    if not isinstance(meta, Mapping):
        meta = {**(object_vars(meta) or {}), **(getattr(meta, "model_extra", None) or {})}
    found = {name: meta[name] for name in ("traceparent", "baggage") if isinstance(meta.get(name), str)}
    return found or None


def _read_manager(manager: Any, given: Given) -> Request:
    tool = manager.get_tool(given["name"])
    context = given.get("context")
    injected = {getattr(tool, "context_kwarg", None), *(getattr(tool, "resolved_params", None) or ())}
    return Request(
        name=given["name"],
        description=getattr(tool, "description", None),
        tool=tool,
        owners=(manager,),
        function=getattr(tool, "fn", None),
        arguments=given.get("arguments"),
        injected=frozenset(injected - {None}),
        known=tool is not None,
        carrier=_request_carrier(context),
    )


def _request_carrier(context: Any) -> dict[str, str] | None:
    try:
        return carrier_of(context.request_context.meta)
    except (AttributeError, ValueError, LookupError):  # called outside of a request
        return None


def _read_function(metadata: Any, given: Given) -> Request | None:
    """Of mcp 2: the function with validated arguments. (It knows its tool by the call in flight.)"""
    return Request(name="", function=given.get("fn"), arguments=given.get("arguments"))


def _note_arguments(call: Any, model: Any, given: Given, result: Any) -> None:
    """Of mcp 1: the arguments are valid, and the function is called with them next."""
    if not call.claimed and call.request.tool is not None:
        request = Request(name=call.request.name, function=call.request.function, arguments=result,
                          injected=call.request.injected)  # fmt: skip
        call.enter(request)


def _note_response(call: Any, responder: Any, given: Given, result: Any) -> None:
    """Of mcp 1: what the low-level server answers, which its own method does not return."""
    call.passed(given.get("response"), _ANSWER)


def _itself(result: Any) -> Any:
    return getattr(result, "root", result)


def _meaning(error: BaseException) -> tuple[str, str] | None:
    """Return what an error answer means: a request that took too long is told by its code."""
    code = getattr(getattr(error, "error", None), "code", None)
    return ("tool_call_failed", "timeout") if code in _TIMEOUTS else None


def _refusal(error: BaseException) -> tuple[str, str] | None:
    """Of mcp 2: return what it means that a person declined what a parameter asked for."""
    if type(error).__name__ == "ToolError" and "could not resolve: elicitation was " in str(error):
        return "tool_call_rejected", "context_error"
    return None


def _expand(value: Any) -> tuple[Any, ...]:
    held = object_vars(value) or {}
    inner = ("_tool_manager", "_mcp_server", "_lowlevel_server")
    return (value, *(held[name] for name in inner if name in held))


_TIMEOUTS = (408, -32001)  # of mcp 1, of mcp 2
_ANSWER = Entry(place="mcp.shared.session:RequestResponder.respond", judge=judge, output=_itself)
_V1 = "mcp.server.fastmcp"
_V2 = "mcp.server.mcpserver"

ADAPTER = Adapter(
    name="mcp",
    distribution="mcp",
    packages=("mcp",),
    minimum="1.19",
    tested="2.3.0",
    entries=(
        Entry(place="mcp.client.client:Client.call_tool", read=_read_client, judge=judge, meaning=_meaning),
        Entry(
            place="mcp.client.session:ClientSession.call_tool",
            read=_read_client,
            judge=judge,
            meaning=_meaning,
            send=send_in_meta,
        ),
        Entry(
            place="mcp.client.session_group:ClientSessionGroup.call_tool",
            read=_read_group,
            judge=judge,
            meaning=_meaning,
        ),
        Entry(place="mcp.server.lowlevel.server:Server._handle_request", read=_read_server, judge=judge),
        Entry(place="mcp.shared.session:RequestResponder.respond", role="note", note=_note_response),
        Entry(place="mcp.server.runner:ServerRunner._on_request", read=_read_runner, judge=judge),
        Entry(place=f"{_V1}.tools.tool_manager:ToolManager.call_tool", read=_read_manager),
        Entry(place=f"{_V2}.tools.tool_manager:ToolManager.call_tool", read=_read_manager, meaning=_refusal),
        Entry(
            place=f"{_V1}.utilities.func_metadata:FuncMetadata.call_fn_with_arg_validation",
            read=_read_function,
            output=_itself,
        ),
        Entry(
            place=f"{_V1}.utilities.func_metadata:ArgModelBase.model_dump_one_level",
            role="note",
            note=_note_arguments,
        ),
        Entry(
            place=f"{_V2}.utilities.func_metadata:FuncMetadata.call_fn",
            read=_read_function,
            role="body",
        ),
    ),
    tools=(
        f"{_V1}.tools.base:Tool",
        f"{_V2}.tools.base:Tool",
        "mcp.client.session:ClientSession",
        "mcp.client.session_group:ClientSessionGroup",
        "mcp.server.lowlevel.server:Server",
        f"{_V1}.server:FastMCP",
        f"{_V2}.server:MCPServer",
    ),
    expand=_expand,
    recorded="A client's `call_tool`, by stdio, streamable HTTP or in memory, with `isError` as a failure; "
    "the tools of a server, high-level or low-level, with the tool's own exception and raw result. Both are "
    "one trace by `traceparent` in `_meta`, and one record where both sides are the same process.",
    not_recorded="Resources, prompts, sampling and elicitation; the model's id of a call, which MCP does not "
    "carry.",
)
