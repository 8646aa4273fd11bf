"""Tools that a program's own file defines, where `toolog run` is asked for them as ``__main__``.

They are there only while the file runs, and are called by it, too. So it runs in pieces: whenever definitions
were made and something else comes, its tools are instrumented first. Each piece is compiled for the file it
is from, so that tracebacks, line numbers and ``inspect`` see one program.
"""

from __future__ import annotations
import __future__

import ast
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from toolog.errors import ToologError
from toolog.instrumentation.kinds import is_class, module_of

MAIN = "__main__"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_QUIET = (*_DEFINITIONS, ast.Import, ast.ImportFrom)
"""Statements in which the program does not call what it defined (but by a decorator, which has it bare)."""
_FUTURE = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag, __future__.all_feature_names, 0
)


def own_names(tools: Sequence[str], program: str) -> list[str]:
    """Return the names that mean the program's own file, as names below ``__main__``.

    ``program`` is by what name its file would be imported: that means it, too.
    """
    found = []
    for tool in tools:
        for own in (MAIN, program):
            if own and (tool == own or tool.startswith(f"{own}.")):
                found.append(MAIN + tool[len(own) :])
    return list(dict.fromkeys(found))


def pieces(source: bytes | str, file: str) -> Iterator[CodeType]:
    """Yield a program's code in pieces, each ending where something comes behind definitions. Raises
    SyntaxError.
    """
    flags = compile(source, file, "exec", dont_inherit=True).co_flags & _FUTURE
    body: list[ast.stmt] = []
    has_definitions = False
    number = 0
    tree = compile(source, file, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    for statement in tree.body:
        if has_definitions and not isinstance(statement, _QUIET):
            yield _compiled(body, file, flags, number)
            body, has_definitions, number = [], False, number + 1
        body.append(statement)
        has_definitions = has_definitions or isinstance(statement, _DEFINITIONS)
    yield _compiled(body, file, flags, number)


def _compiled(body: list[ast.stmt], file: str, flags: int, number: int) -> CodeType:
    if number and body:  # else a text that begins a later piece would be the program's docstring
        body = [ast.copy_location(ast.Pass(), body[0]), *body]
    code: CodeType = compile(ast.Module(body, []), file, "exec", flags, dont_inherit=True)
    return code


class OwnTools:
    """Instruments the tools of a program's own file as they come into being.

    ``names`` are those of `own_names`, ``namespace`` is that of ``__main__``.
    """

    def __init__(
        self, names: Sequence[str], namespace: dict[str, Any], instrument: Callable[[str], Any]
    ) -> None:
        self._names = list(names)
        self._namespace = namespace
        self._instrument = instrument
        self._seen: set[int] = set()

    def look(self) -> None:
        """Instrument what was defined since the last look. Never raises."""
        fresh = {
            id(value)
            for value in list(self._namespace.values())
            if (is_class(value) or type(value) is FunctionType) and module_of(value) == MAIN
        } - self._seen
        if not fresh:
            return
        self._seen |= fresh
        for name in self._names[:]:
            first = name.removeprefix(MAIN).lstrip(".").partition(".")[0]
            if first and first not in self._namespace:
                continue
            if first:
                self._names.remove(name)
            self._try(name)

    def missing(self, tools: Sequence[str]) -> list[str]:
        """Return those of the names asked for that never came. One below the program's name may be another
        module's.
        """
        return [name for name in self._names if name != MAIN and name in tools]

    def _try(self, name: str) -> None:
        try:
            self._instrument(name)
        except ToologError as error:
            print(f"toolog run: {error}", file=sys.stderr)  # noqa: T201
