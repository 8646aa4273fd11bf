"""Whether a function looks for its caller on the stack: a wrapper's frame would answer instead.

So it is with what makes a class and says that it belongs to the caller's module, and with what evaluates
names as its caller sees them. Told from the code alone, of the function and of helpers of its own package
that it calls: how many frames up each of them looks. That something looks from further below is not seen.
"""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Callable, Iterator
from importlib.util import resolve_name
from math import inf
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

from toolog.instrumentation.kinds import (
    find_static,
    is_class,
    kind_of,
    module_of,
    module_vars,
    root_package,
    unwrap,
)

_BY_DEPTH = frozenset({"_getframe", "_getframemodulename"})
_SILENT = frozenset({"CACHE", "EXTENDED_ARG", "PUSH_NULL", "PRECALL"})
_MOST_HELPERS = 2  # one inside the other
_MOST_ANSWERS = 20_000
Answer = TypeVar("Answer")
_DEPTH = re.compile("depth|level|frame|stack|offset")
_passing: dict[int, tuple[CodeType, bool]] = {}
_answers: dict[tuple[int, float], tuple[CodeType, bool]] = {}
"""By the code's identity, which is kept: equal code may stand in two modules. Whether it reaches that many
frames up; infinity: as many as it is told."""


def _remembered(answer: Callable[[CodeType], Answer]) -> Callable[[CodeType], Answer]:
    """Remember answers by the code's identity: hundreds of short methods may have the same hash."""
    known: dict[int, tuple[CodeType, Answer]] = {}

    def ask(code: CodeType) -> Answer:
        found = known.get(id(code))
        if found is None:
            if len(known) > _MOST_ANSWERS:
                known.clear()
            found = known[id(code)] = code, answer(code)
        return found[1]

    return ask


def looks_at_caller(function: Any) -> bool:
    """Whether a function looks at the frame of whoever called it, or at frames beyond.

    What merely takes its own frame (``inspect.currentframe()`` without ``f_back``) does not count, nor does a
    helper that looks no further up than the function itself, or walks up until it is out of its package, as
    those do that blame a warning on the user's line: they pass our frame.
    """
    inner = unwrap(function)
    if type(inner) is not FunctionType:
        return False
    package = root_package(module_of(inner))
    return _reaches(inner, 1, package) or _passes_depth(inner, package)


def looks_as_told(function: Any) -> bool:
    """Whether a function, or a helper of its package that it calls, looks as many frames up as it is told:
    so whoever tells it knows the frames between, and may stand anywhere above."""
    inner = unwrap(function)
    if type(inner) is not FunctionType:
        return False
    known = _answers.get((id(inner.__code__), inf))
    if known is not None:
        return known[1]
    concerned = (inner, *_helpers(inner, root_package(module_of(inner))))
    return _keep(inner.__code__, inf, any(_frames_up(one.__code__)[0] == inf for one in concerned))


def _passes_depth(function: FunctionType, package: str) -> bool:
    """Whether a function hands down, through any number of helpers that speak of it, how many frames up the
    last one of them looks: ``df.query(..., level=0)`` does."""
    seen: dict[int, CodeType] = {}
    todo = [function]
    answer = False
    while todo and not answer:
        one = todo.pop()
        code = one.__code__
        if id(code) in seen or not _speaks_of_depth(code):
            continue
        known = _passing.get(id(code))
        if known is None:
            seen[id(code)] = code
            answer = _frames_up(code)[0] == inf
            todo += _helpers(one, package)
        else:
            answer = known[1]
    if len(_passing) > _MOST_ANSWERS:
        _passing.clear()
    settled = {id(function.__code__): function.__code__} if answer else seen  # none of those leads there
    _passing.update((key, (code, answer)) for key, code in settled.items())
    return answer


@_remembered
def _speaks_of_depth(code: CodeType) -> bool:
    """Whether a code has a parameter, or gives one by name, that is called like a number of frames."""
    given = (item for const in code.co_consts for item in (const if type(const) is tuple else (const,)))
    return _is_told_depth(code) or any(map(_is_depth, given))


def _is_told_depth(code: CodeType) -> bool:
    return any(map(_is_depth, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]))


def _is_depth(name: object) -> bool:
    return type(name) is str and len(name) < 40 and _DEPTH.search(name) is not None


def _keep(code: CodeType, frames: float, answer: bool) -> bool:
    if len(_answers) > _MOST_ANSWERS:
        _answers.clear()
    _answers[id(code), frames] = code, answer
    return answer


def _reaches(function: FunctionType, frames: int, package: str) -> bool:
    """Whether a function, or a helper of its package, looks that many frames up."""
    code = function.__code__
    known = _answers.get((id(code), frames))
    if known is not None:
        return known[1]
    depth, walks = _frames_up(code)
    answer = depth >= frames or (walks and frames == 1)
    if not answer and frames <= _MOST_HELPERS:
        answer = any(_reaches(helper, frames + 1, package) for helper in _helpers(function, package))
    return _keep(code, frames, answer)


@_remembered
def _frames_up(code: CodeType) -> tuple[float, bool]:
    """Return how many frames above its own a code looks (infinity: that many as it is told), and whether it
    walks up."""
    names = set(code.co_names)
    walks = {"inspect", "stack"} <= names
    if not (names & _BY_DEPTH or {"currentframe", "f_back"} <= names):
        return 0, walks
    steps = [one for one in dis.get_instructions(code) if one.opname not in _SILENT]
    back = sum(one.argval == "f_back" for one in steps)
    if back and any("JUMP_BACKWARD" in one.opname for one in steps):
        return (inf, False) if "range" in names or _is_told_depth(code) else (0, True)
    deepest: float = 0
    for place, one in enumerate(steps):
        if one.argval in _BY_DEPTH and one.opname.startswith("LOAD_"):
            following, then = (*steps[place + 1 : place + 3], None, None)[:2]
            if following is None or not following.opname.startswith("CALL"):
                known = following is not None and then is not None and then.opname.startswith("CALL")
                depth = following.argval if known and following is not None else None
                deepest = max(deepest, depth if isinstance(depth, int) else inf)
    return deepest + back, walks


def _helpers(function: FunctionType, package: str) -> Iterator[FunctionType]:
    """Give the functions of a package that one of its functions uses: by their names, through a module or a
    class, or as methods of its own class; of a class its constructor."""
    around = function.__globals__
    cls: Any = around.get(function.__qualname__.partition(".")[0])
    for kind, owner, name in _uses(function.__code__):
        value: Any = None
        if kind == "global":
            value = around.get(name)
        elif kind == "own":
            value = _held(cls, name)
        else:
            held = around.get(owner) if kind == "attribute" else _imported(owner, around)
            value = module_vars(held).get(name) if type(held) is ModuleType else _held(held, name)
        found = None if value is None else kind_of(_held(value, "__init__") if is_class(value) else value)
        helper = None if found is None else unwrap(found.function)
        if type(helper) is FunctionType and root_package(module_of(helper)) == package:
            yield helper


def _held(cls: Any, name: str) -> Any:
    """Return what a class, if it is one, has under a name."""
    held = find_static(cls, name) if is_class(cls) else None
    return None if held is None else held[1]


def _imported(name: str, around: dict[str, Any]) -> Any:
    """Return a module by the name that a function imports it by, or None when it is not loaded."""
    try:
        return sys.modules.get(resolve_name(name, around.get("__package__")))
    except (ImportError, TypeError):
        return None


@_remembered
def _uses(code: CodeType) -> tuple[tuple[str, str, str], ...]:
    """Return the names that a code loads: ("global", "", name), ("attribute", a global, its attribute),
    ("own", "", an attribute of the first parameter), and ("import", a module, what is taken from it)."""
    if not code.co_names:
        return ()
    first = code.co_varnames[0] if code.co_argcount else None
    found: dict[tuple[str, str, str], None] = {}
    steps = [one for one in dis.get_instructions(code) if one.opname not in _SILENT]
    module = ""
    for place, (one, then) in enumerate(zip(steps, [*steps[1:], None], strict=True)):
        attribute = None
        if then is not None and then.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attribute = then.argval
        if one.opname == "LOAD_GLOBAL":
            found["global", "", one.argval] = None
            if attribute is not None:
                found["attribute", one.argval, attribute] = None
        elif one.opname.startswith("LOAD_FAST") and one.argval == first and attribute is not None:
            found["own", "", attribute] = None
        elif one.opname == "IMPORT_NAME":
            up = steps[place - 2].argval  # of a relative import: one dot for each
            module = "." * up + one.argval if isinstance(up, int) else one.argval
        elif one.opname == "IMPORT_FROM":
            found["import", module, one.argval] = None
    return tuple(found)
