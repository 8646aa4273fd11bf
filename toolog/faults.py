"""An exception as plain data, made on the caller's thread without reading files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

# A subclass may put properties over these attributes: the slots of BaseException are asked, not the object.
_get_cause = BaseException.__dict__["__cause__"].__get__
_get_context = BaseException.__dict__["__context__"].__get__
_get_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_get_traceback = BaseException.__dict__["__traceback__"].__get__
_get_members = BaseExceptionGroup.__dict__["exceptions"].__get__
_get_dict = BaseException.__dict__["__dict__"].__get__

_FRAMES_FIRST, _FRAMES_LAST = 5, 45
_CHAIN = 10
_TEXT = 8192
"""Longest message kept, characters."""
_NOTES = 16
_NOTE = 1024
"""How many of an exception's notes are kept, and how many characters of each."""


def _itself(value: object) -> object:
    return value


def safe_text(make: Callable[[], object], most: int = _TEXT) -> str:
    """Return ``str(make())``, of ``most`` characters, or a note of what failed: an exception's own text may
    raise.
    """
    try:
        text = make()
        if not issubclass(type(text), str):
            text = str(text)
        text = str.__str__(text)  # a subclass may lie about its length
    except Exception as error:
        return f"[no text: {_type_name(error)}]"
    return text if len(text) <= most else text[:most] + f"[... {len(text) - most} more characters]"


def _notes(error: BaseException) -> list[str]:
    """Return what was added to an exception by ``add_note``; of very many the first and the last one."""
    held = _get_dict(error).get("__notes__")
    if type(held) is not list and type(held) is not tuple:  # not ours to iterate over
        return []
    notes = [note for note in held if isinstance(note, str)]
    left_out = len(notes) - _NOTES
    if left_out > 0:
        notes[_NOTES - 1 : -1] = [f"[... {left_out} more notes]"]
    return [safe_text(partial(_itself, note), _NOTE) for note in notes]


def _described(error: BaseException) -> dict[str, Any]:
    described: dict[str, Any] = {"type": _type_name(error), "message": safe_text(partial(_itself, error))}
    notes = _notes(error)
    if notes:
        described["notes"] = notes
    return described


def _type_name(error: BaseException) -> str:
    kind = type(error)
    try:
        module = type.__getattribute__(kind, "__module__")
        name = type.__getattribute__(kind, "__qualname__")
    except Exception:
        return "Exception"
    return str(name) if module == "builtins" or not isinstance(module, str) else f"{module}.{name}"


def _is_ours(filename: str) -> bool:
    return "importlib" in filename and "_bootstrap" in filename


def _stack(trace: TracebackType | None) -> str:
    """Return the frames from the outermost inwards, ours left out, without their source lines.

    Walking to (file, line, name) costs a hundredth of ``traceback.format_exception``, and reads no file: that
    would trip the blocking-call detectors of async applications.
    """
    frames: list[str] = []
    left_out = 0
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _is_ours(code.co_filename):
            if len(frames) >= _FRAMES_FIRST + _FRAMES_LAST:
                del frames[_FRAMES_FIRST]
                left_out += 1
            frames.append(f'File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}')
        trace = trace.tb_next
    if left_out:
        frames.insert(_FRAMES_FIRST, f"... {left_out} more frames")
    return "\n".join(frames)


def _next_in_chain(error: BaseException) -> BaseException | None:
    cause: BaseException | None = _get_cause(error)
    if cause is not None:
        return cause
    if _get_suppressed(error):
        return None
    context: BaseException | None = _get_context(error)
    return context


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return ``{"type", "message", "notes", "stack", "chain"}`` of an exception, its causes and members
    included. Never raises.
    """
    described = _described(error)
    described["stack"] = _stack(_get_traceback(error))
    chain: list[dict[str, Any]] = []
    seen = {id(error)}
    cause = _next_in_chain(error)
    while cause is not None and id(cause) not in seen and len(chain) < _CHAIN:
        seen.add(id(cause))
        chain.append(_described(cause))
        cause = _next_in_chain(cause)
    if issubclass(type(error), BaseExceptionGroup):
        for member in _get_members(error)[: _CHAIN - len(chain)]:
            chain.append(_described(member))
    if chain:
        described["chain"] = chain
    return described
