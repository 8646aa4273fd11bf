"""LangChain (langchain-core, and langgraph's ToolNode).

``BaseTool.run`` validates the arguments and shows a handled error as a success: it is the request. The body
is ``_run`` or ``_arun`` of each tool class. ToolNode knows tools that do not exist, and runs a tool again
when a middleware wants a retry.
"""

from __future__ import annotations

import sys
from inspect import CO_VARKEYWORDS
from types import FunctionType
from typing import Any

from toolog.instrumentation.frameworks.plans import unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Request
from toolog.instrumentation.kinds import find_static, module_of, mro, object_vars, root_package

_MCP = "langchain_mcp_adapters"
_FRAMEWORK = frozenset({"run_manager", "callbacks"})
"""Parameters that LangChain fills in whatever their annotation."""


def _read_run(tool: Any, given: Given) -> Request:
    arguments = given.get("tool_input")
    return Request(
        name=tool.name,
        call_id=given.get("tool_call_id"),
        description=tool.description,
        tool=tool,
        function=_function(tool),
        arguments={"tool_input": arguments} if isinstance(arguments, str) else arguments,
        injected=_injected(tool),
        remote=_remote(tool),
    )


def _read_body(tool: Any, given: Given) -> Request:
    request = Request(
        name=tool.name,
        description=tool.description,
        tool=tool,
        function=_function(tool),
        injected=_injected(tool),
        remote=_remote(tool),
    )
    if set(given) - _FRAMEWORK <= {"args", "kwargs", "config"}:
        request.args, request.arguments = tuple(given.get("args", ())), given.get("kwargs", {})
        request.whole = _passes_on(request.function)
        if request.whole and len(request.args) == 1:
            request.arguments = {"tool_input": request.args[0], **request.arguments}
            request.args = ()
    else:
        request.arguments = {name: value for name, value in given.items() if name != "kwargs"}
        request.arguments.update(given.get("kwargs", {}))
    return request


def _function(tool: Any) -> Any:
    """Return the function that a tool runs in the end: the one it was made from, else its class's method."""
    held = object_vars(tool) or {}
    for field in ("func", "coroutine"):
        if callable(held.get(field)):
            return held[field]
    for method in ("_run", "_arun"):
        found = find_static(type(tool), method)
        if found is not None and not module_of(found[0]).startswith("langchain_core."):
            return getattr(tool, method)
    return None


def _passes_on(function: Any) -> bool:
    """Whether a tool's function is LangChain's own and hands on whatever it gets (to a runnable, to an MCP
    server), so that the names of the arguments are the model's."""
    inner = unwrap_function(function)
    takes_any = getattr(getattr(inner, "__code__", None), "co_flags", 0) & CO_VARKEYWORDS
    return bool(takes_any) and root_package(module_of(inner)) in ("langchain_core", _MCP)


def _remote(tool: Any) -> str | None:
    """Return what an MCP server calls a tool of its, which may have a prefix here."""
    function = (object_vars(tool) or {}).get("coroutine")
    if type(function) is not FunctionType or root_package(module_of(function)) != _MCP:
        return None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        name = cells["tool"].cell_contents.name
    except (KeyError, ValueError, AttributeError):  # another version has it elsewhere
        return None
    return name if isinstance(name, str) else None


def _injected(tool: Any) -> frozenset[str]:
    """Return the parameters that LangChain or langgraph fill in: state, store, runtime, the call's id."""
    base = sys.modules["langchain_core.tools.base"]
    names = set(_FRAMEWORK)
    names.update((object_vars(tool) or {}).get("_injected_args_keys") or ())
    schema = (object_vars(tool) or {}).get("args_schema")
    if isinstance(schema, type):
        names.update(_injected_fields(base, schema))
    function = _function(tool)
    find = getattr(base, "_get_runnable_config_param", None)
    if find is not None and function is not None:
        config = find(function)
        if config:
            names.add(config)
    return frozenset(names)


_fields: dict[int, tuple[type, frozenset[str]]] = {}


def _injected_fields(base: Any, schema: type) -> frozenset[str]:
    held = _fields.get(id(schema))
    if held is None or held[0] is not schema:
        try:
            annotations = base.get_all_basemodel_annotations(schema)
            found = frozenset(name for name, hint in annotations.items() if base._is_injected_arg_type(hint))
        except Exception:  # a hint that cannot be read: LangChain itself then injects nothing either
            found = frozenset()
        if len(_fields) > 2000:
            _fields.clear()
        held = _fields[id(schema)] = (schema, found)
    return held[1]


def _read_node(node: Any, given: Given) -> Request | None:
    call = given.get("call")
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return None
    tool = node.tools_by_name.get(call["name"])
    return Request(
        name=call["name"],
        call_id=call.get("id"),
        description=None if tool is None else tool.description,
        tool=tool,
        owners=(node,),
        function=None if tool is None else _function(tool),
        arguments=call.get("args"),
        injected=frozenset() if tool is None else _injected(tool),
        known=tool is not None,
        status="context_error",  # of what a middleware refuses before it gets to the tool
    )


def _judge(result: Any) -> str | None:
    """Return the text of a tool message that says it is an error."""
    if type(result).__name__ == "ToolMessage" and getattr(result, "status", None) == "error":
        return str(result.content)
    return None


def _meaning(error: BaseException) -> tuple[str, str] | None:
    """Return what langgraph's own exceptions mean: a tool that asks a person stops here, and is called anew
    when the answer is there."""
    for base in mro(type(error)):
        if base.__name__ == "GraphBubbleUp" and module_of(base) == "langgraph.errors":
            return "tool_call_cancelled", "cancelled"
    return None


def _note_error(call: Any, instance: Any, given: Given, result: Any) -> None:
    call.note_error(given["e"])


def _expand(value: Any) -> tuple[Any, ...]:
    tools = (object_vars(value) or {}).get("_tools_by_name")
    return (value, *tools.values()) if isinstance(tools, dict) else (value,)


_BASE = "langchain_core.tools.base"
_NODE = "langgraph.prebuilt.tool_node"

ADAPTER = Adapter(
    name="langchain",
    distribution="langchain-core",
    packages=("langchain_core", "langgraph", "langchain"),
    aliases=("langgraph",),
    minimum="0.3",
    tested="1.8.3",
    entries=(
        Entry(place=f"{_NODE}:ToolNode._run_one", read=_read_node, judge=_judge, meaning=_meaning),
        Entry(place=f"{_NODE}:ToolNode._arun_one", read=_read_node, judge=_judge, meaning=_meaning),
        Entry(place=f"{_BASE}:BaseTool.run", read=_read_run, judge=_judge, meaning=_meaning),
        Entry(place=f"{_BASE}:BaseTool.arun", read=_read_run, judge=_judge, meaning=_meaning),
        Entry(place=f"{_BASE}:BaseTool._run", role="body", read=_read_body),
        Entry(place=f"{_BASE}:BaseTool._arun", role="body", read=_read_body),
        Entry(place=f"{_BASE}:_handle_validation_error", role="note", note=_note_error),
    ),
    tools=(f"{_BASE}:BaseTool", f"{_NODE}:ToolNode"),
    expand=_expand,
    recorded="Each tool call by `invoke`, `ainvoke`, an agent or a `ToolNode`, with the model's call id; "
    "a handled error as the tool's own exception; arguments that do not fit and unknown tools as rejected.",
    not_recorded="Chat models, chains and retrievers; a plain function that was made a tool, when it is "
    "called directly.",
)
