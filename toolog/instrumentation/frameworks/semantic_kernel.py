"""Semantic Kernel: functions of plugins, called by the model or in code.

``Kernel.invoke_function_call`` is told the model's request, and answers what it refuses with a text in the
chat history. ``KernelFunction.invoke`` is passed in any case; the function itself is the field ``method``.
"""

from __future__ import annotations

import sys
from typing import Any

from toolog.instrumentation.frameworks.plans import unwrap_function
from toolog.instrumentation.frameworks.table import Adapter, Entry, Given, Refusal, Request
from toolog.instrumentation.kinds import object_vars

_INJECTED = frozenset({"kernel", "service", "execution_settings", "arguments"})
_MISFITS = ("FunctionCallInvalidArgumentsException", "TypeError")


def _read_call(kernel: Any, given: Given) -> Request:
    call = given["function_call"]
    function = _find(kernel, call.plugin_name, call.function_name)
    request = Request(name="") if function is None else _request(function, None)
    request.name, request.call_id, request.arguments = (
        call.name or call.function_name,
        call.id,
        call.arguments,
    )
    return request


def _find(kernel: Any, plugin_name: str | None, name: str) -> Any:
    """Return the function that a kernel finds for a request: that of the plugin, or the first of its name."""
    for plugin in kernel.plugins.values():
        if plugin_name in (None, plugin.name) and name in plugin.functions:
            return plugin.functions[name]
    return None


def _read_function(function: Any, given: Given) -> Request:
    arguments = given["arguments"]
    return _request(function, given.get("kwargs") if arguments is None else arguments)


def _read_body(function: Any, given: Given) -> Request:
    request = _request(function, given["kwargs"])
    request.args = given["args"]
    return request


def _request(function: Any, arguments: Any) -> Request:
    method = (object_vars(function) or {}).get("method")
    return Request(
        name=function.fully_qualified_name,
        description=function.description,
        tool=function,
        function=method,
        arguments=arguments,
        injected=_INJECTED,
        has_body=method is not None,
    )


def _note_answer(call: Any, _: Any, given: Given, result: Any) -> None:
    """Note that a request was answered without a call of its function, and why."""
    answer = given["result"]
    if call.claimed or given["function_call_content"].id != call.request.call_id:
        return
    if not isinstance(answer, str):
        if call.noted is None and call.request.has_body:
            call.refused, call.failure = (
                "context_error",
                Refusal("a filter answered in place of the function"),
            )
        return
    reason = sys.exc_info()[1]
    call.request.known = reason is None or type(reason).__name__ in _MISFITS
    call.failure = Refusal(answer) if reason is None else reason


def _value(result: Any) -> Any:
    """Return the function's own result out of the kernel's."""
    return getattr(result, "value", result)


def _expand(value: Any) -> tuple[Any, ...]:
    """Return what stands for a function, or the functions of a plugin or kernel, in the requests: plugins and
    kernels have copies.
    """
    held = object_vars(value) or {}
    inner = held.get("functions") or held.get("plugins")
    if isinstance(inner, dict):
        return (value, *(one for each in inner.values() for one in _expand(each)))
    return (value, unwrap_function(held["method"])) if "method" in held else (value,)


_FUNCTION = "semantic_kernel.functions.kernel_function:KernelFunction"
_METHOD = "semantic_kernel.functions.kernel_function_from_method:KernelFunctionFromMethod"
_RESULT = "semantic_kernel.contents.function_result_content:FunctionResultContent"

ADAPTER = Adapter(
    name="semantic-kernel",
    distribution="semantic-kernel",
    packages=("semantic_kernel",),
    minimum="1.30",
    tested="1.45.0",
    entries=(
        Entry(place="semantic_kernel.kernel:Kernel.invoke_function_call", read=_read_call),
        Entry(place=f"{_FUNCTION}.invoke", read=_read_function, output=_value),
        Entry(place=f"{_FUNCTION}.invoke_stream", read=_read_function),
        Entry(place=f"{_METHOD}.method", role="field", read=_read_body),
        Entry(place=f"{_METHOD}.stream_method", role="field", read=_read_body),
        Entry(place=f"{_RESULT}.from_function_call_content_and_result", role="note", note=_note_answer),
    ),
    aliases=("semantic_kernel",),
    tools=(
        _FUNCTION,
        "semantic_kernel.functions.kernel_plugin:KernelPlugin",
        "semantic_kernel.kernel:Kernel",
    ),
    expand=_expand,
    recorded="Each function that the model calls or that code invokes, streamed or not, with the model's "
    "call id and its name with that of the plugin, the arguments as the function gets them, and its own "
    "exception in place of the text that the model is told. Unknown functions and arguments that do not fit, "
    "as rejected; calls that a filter answers itself, too (`context_error`). Functions made of prompts.",
    not_recorded="Chat and text services, memory, and agents themselves. What the kernel fills in beside the "
    "model's arguments.",
)
