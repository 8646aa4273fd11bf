"""FastMCP (fastmcp 3 and 4): an MCP server with middleware, mounted servers and transformed tools.

It stands on the SDK, so its table is that of ``mcp`` and what it adds: its server hands a call on (to itself
behind the middleware, to a mounted server under another name), and validates arguments and runs the function
in one step of pydantic. What it makes of the function for that is run as the body. A tool that only renames
or hides another's arguments hands the call on to that one, too; one with a function of its own is a tool of
its own, and what that calls is inside it.
"""

from __future__ import annotations

import sys
from typing import Any

from toolog.instrumentation.frameworks import mcp
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import module_vars, object_vars


def _read_server(server: Any, given: Given) -> Request | None:
    if given.get("run_middleware") is False:  # the same call, behind the middleware
        return None
    return Request(name=given["name"], owners=(server,), arguments=given.get("arguments"), has_body=False)


def _read_tool(tool: Any, given: Given) -> Request:
    held = object_vars(tool) or {}
    function = held.get("fn")
    hands_on, transformed = _hands_on(function), "parent_tool" in held
    return Request(
        name=tool.name,
        description=tool.description,
        tool=tool,
        function=None if hands_on else function,
        arguments=given.get("arguments"),
        has_body=_has_function(tool) and (hands_on or not transformed or _shows_body()),
        hands_on=hands_on or not transformed,
    )


def _shows_body() -> bool:
    """Whether FastMCP makes something of a transforming function, too, that can be run as the body."""
    return "_wrap_body_errors" in module_vars(sys.modules["fastmcp.tools.tool_transform"])


def _hands_on(function: Any) -> bool:
    """Whether a tool's function is FastMCP's own that calls the tool which was transformed."""
    return (
        getattr(function, "__module__", None) == "fastmcp.tools.tool_transform"
        and getattr(function, "__name__", None) == "_forward"
    )


def _has_function(tool: Any) -> bool:
    """Whether a tool, or the one that it hands on to, runs a function in this process."""
    held = object_vars(tool) or {}
    while _hands_on(held.get("fn")) and held.get("parent_tool") is not None:
        held = object_vars(held["parent_tool"]) or {}
    return held.get("fn") is not None


def _is_own_code(given: Given) -> bool:
    return not _hands_on(given.get("fn"))


def _read_body(nothing: Any, given: Given) -> Request:
    return Request(name="", arguments=given)


def _own(error: BaseException) -> BaseException:
    """Return what the tool's own code raised, behind the tag that tells it from bad arguments."""
    behind = error.__cause__ if type(error).__name__ == "_ToolBodyError" else None
    return error if behind is None else behind


def _meaning(error: BaseException) -> tuple[str, str] | None:
    text = str(error)
    if type(error).__name__ == "NotFoundError" and text.startswith("Unknown tool"):
        return "tool_call_rejected", "unknown_tool"
    if type(error).__name__ in ("MCPError", "McpError") and "execution timed out after" in text:
        return "tool_call_failed", "timeout"
    return None


def _expand(value: Any) -> tuple[Any, ...]:
    held = object_vars(value) or {}
    return (value, held["_mcp_server"]) if "_mcp_server" in held else (value,)


ADAPTER = Adapter(
    name="fastmcp",
    distribution="fastmcp-slim",
    packages=("fastmcp",),
    family="mcp",
    minimum="3.4.3",
    tested="4.2.3",
    entries=(
        *mcp.ADAPTER.entries,
        Entry(
            place="fastmcp.server.server:FastMCP.call_tool",
            read=_read_server,
            meaning=_meaning,
            delegates=True,
        ),
        Entry(place="fastmcp.tools.base:Tool.run", read=_read_tool, meaning=_meaning, delegates=True),
        Entry(
            place="fastmcp.tools.function_tool:_wrap_body_errors",
            role="made",
            read=_read_body,
            own=_own,
            makes=_is_own_code,
        ),
    ),
    tools=("fastmcp.tools.base:Tool", "fastmcp.server.server:FastMCP"),
    expand=_expand,
    recorded="Each tool call of a server, by a client of any kind, through middleware, mounted servers and "
    "transformed tools, with the function's own exception and raw result, without what is injected (the "
    "context, dependencies); unknown tools and arguments that do not fit as rejected. The client's side and "
    "`traceparent` as by `mcp`.",
    not_recorded="Resources, prompts, and tools that run as background tasks.",
)
