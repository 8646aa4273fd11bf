"""Which interpreter this is: toolog works in the main one of a process only.

Its threads and fork hooks belong to the whole process, and google-re2 hangs when it is imported in a
sub-interpreter (CPython 3.11, google-re2 1.1). So it is refused in plain words before anything of it is
loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from toolog.errors import ConfigError


def refuse_sub_interpreter() -> None:
    """Raise ConfigError in a sub-interpreter; does nothing in the main one."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = import_module(name)
        except ImportError:
            continue
        if _number(interpreters.get_current()) != _number(interpreters.get_main()):
            raise ConfigError(
                "toolog does not run in a sub-interpreter: its threads belong to the whole process"
            )
        return


def _number(interpreter: Any) -> int:
    """Return an interpreter's id; from 3.13 on it comes in a tuple."""
    return int(interpreter[0] if isinstance(interpreter, tuple) else interpreter)
