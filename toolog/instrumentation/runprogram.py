"""`toolog run`: a program with its tools instrumented, its source untouched.

The program finds ``sys.argv``, ``sys.path`` and ``__main__`` as python itself would lay them, and its exit
code is python's. Tools are named before it starts; the modules that hold them are patched when the program
imports them.
"""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any

from toolog.instrumentation.entry import instrument
from toolog.instrumentation.instrumented import Instrumentation
from toolog.instrumentation.ownprogram import MAIN, OwnTools, own_names, pieces


class NoProgram(SystemExit):
    """There is no such program, which is told on stderr; the exit code is python's: 2, or 1 for a module."""


def instrument_named(name: str) -> Instrumentation:
    """Instrument what a name says. Of the program's own file all calls are records: the outermost one may be
    that of its ``main``. Raises ConfigError.
    """
    return instrument(name, nested=True if name == MAIN else None)


def run_program(
    program: str,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    tools: Sequence[str] = (),
    instrument: Callable[[str], Any] = instrument_named,
) -> int:
    """Run a script, a folder or zip file with a ``__main__.py``, or (``module``) a module, as ``python``
    would.

    ``tools``: dotted names to instrument first, each by ``instrument``; names below ``__main__``, or below
    the program's own name, mean what its file itself defines, as it does so. Returns the exit code: 0, or 1
    after an uncaught exception (told by ``sys.excepthook``), 130 after Ctrl-C. A SystemExit of the program
    passes through. Raises NoProgram when there is nothing to run, and ConfigError for a tool that cannot be
    instrumented.
    """
    sys.argv = [program, *arguments]
    if not sys.flags.safe_path:
        sys.path[:1] = [os.getcwd() if module else os.path.dirname(os.path.realpath(program))]
    is_container = not module and (os.path.isdir(program) or _is_zip(program))
    if is_container:
        program = os.path.abspath(program)
        if sys.flags.safe_path:
            sys.path.insert(0, program)
        else:
            sys.path[0] = program
    own = own_names(tools, program if module else "" if is_container else _stem(program))
    for name in tools:
        if name != MAIN and not name.startswith(f"{MAIN}."):
            instrument(name)
    try:
        if module or is_container:
            spec, code = _find_in(program) if is_container else _find_module(program)
            if module:
                sys.argv[0] = spec.origin or program
        else:
            program = os.path.abspath(program)  # as python does for __file__ and tracebacks
            spec, code = None, _read(program)
        codes = [*pieces(_source_of(program, spec), code.co_filename)] if own else [code]
    except OSError as error:
        print(f"toolog run: can't open file {program!r}: {error.strerror}", file=sys.stderr)  # noqa: T201
        raise NoProgram(2) from error
    except ImportError as error:
        print(f"toolog run: {error}", file=sys.stderr)  # noqa: T201
        raise NoProgram(1) from error
    except SyntaxError as error:
        return _tell(error)
    main = _make_main(program, spec)
    tools_of_main = OwnTools(own, main.__dict__, instrument)
    try:
        for code in codes:
            exec(code, main.__dict__)
            tools_of_main.look()
    except SystemExit:
        raise
    except BaseException as error:
        return _tell(error)
    finally:
        for name in tools_of_main.missing(tools):
            print(f"toolog run: {name!r} was not defined", file=sys.stderr)  # noqa: T201
    return 0


def _make_main(program: str, spec: ModuleSpec | None) -> types.ModuleType:
    """Return a fresh ``__main__``, in its place in ``sys.modules`` for good: threads and pickles refer to
    it."""
    main = types.ModuleType("__main__")
    names = main.__dict__
    if spec is None:
        names.update(__file__=program, __loader__=SourceFileLoader("__main__", program), __cached__=None)
        names.update(__package__=None, __spec__=None)
    else:
        names.update(__file__=spec.origin, __loader__=spec.loader, __cached__=spec.cached)
        names.update(__package__=spec.parent, __spec__=spec)
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    names["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    return main


def _read(program: str) -> types.CodeType:
    with open(program, "rb") as file:
        compiled: types.CodeType | None = pkgutil.read_code(file)  # a .pyc file
    if compiled is not None:
        return compiled
    with open(program, "rb") as file:
        code: types.CodeType = compile(file.read(), program, "exec", dont_inherit=True)
    return code


def _find_module(name: str) -> tuple[ModuleSpec, types.CodeType]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ImportError(f"error while finding module specification for {name!r} ({error})") from error
    if spec is None:
        raise ImportError(f"no module named {name}")
    if spec.submodule_search_locations is not None:
        return _find_module(f"{name}.__main__")
    get_code = getattr(spec.loader, "get_code", None)
    code = None if get_code is None else get_code(name)
    if code is None:
        raise ImportError(f"no code object available for {name}")
    return spec, code


def _find_in(container: str) -> tuple[ModuleSpec, types.CodeType]:
    spec = PathFinder.find_spec("__main__", [container])
    code = None if spec is None else spec.loader.get_code("__main__")  # type: ignore[union-attr]
    if spec is None or code is None:
        raise ImportError(f"can't find '__main__' module in {container!r}")
    return spec, code


def _source_of(program: str, spec: ModuleSpec | None) -> bytes | str:
    """Return the source of the program. Raises ImportError when there is none."""
    if spec is None:
        with open(program, "rb") as file:
            source: bytes | str = file.read()
            file.seek(0)
            if pkgutil.read_code(file) is None:
                return source
    else:
        get_source = getattr(spec.loader, "get_source", None)
        found = None if get_source is None else get_source(spec.name)
        if found is not None:
            return str(found)
    raise ImportError(
        f"the tools of {program} itself cannot be instrumented without its source; put them into a module"
    )


def _stem(program: str) -> str:
    return os.path.splitext(os.path.basename(program))[0]


def _is_zip(program: str) -> bool:
    if not os.path.isfile(program):
        return False
    from zipfile import is_zipfile

    return is_zipfile(program)


def _tell(error: BaseException) -> int:
    """Show an uncaught exception as python would, without our frames; return the exit code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
