"""Where records are written. ``create(name, options)`` turns one entry of the configuration's ``sinks`` into
a sink.

Sinks are found by name in a table of dotted names, then among the entry points of the group ``toolog.sinks``,
then as a dotted name of the user's own (``"package.module:Class"``). Nothing is imported before it is asked
for.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any, cast

from toolog.errors import ConfigError, NotInstalled, ToologError, nearest, shown, unknown_key
from toolog.sinks.base import (
    COMMON_OPTIONS,
    Answer,
    Batch,
    BatchLimits,
    Delivery,
    Pulse,
    Sink,
    SinkRecord,
    delivery,
)

__all__ = [
    "Answer",
    "Batch",
    "BatchLimits",
    "Delivery",
    "Pulse",
    "Sink",
    "SinkRecord",
    "create",
    "delivery",
    "find",
    "known_types",
]

BUILT_IN = {
    "console": "toolog.sinks.console:ConsoleSink",
    "elasticsearch": "toolog.sinks.search:ElasticsearchSink",
    "file": "toolog.sinks.file:FileSink",
    "memory": "toolog.sinks.memory:MemorySink",
    "opensearch": "toolog.sinks.search:OpenSearchSink",
    "otlp": "toolog.sinks.otlp:OtlpSink",
    "s3": "toolog.sinks.s3.sink:S3Sink",
    "sqlite": "toolog.sinks.sqlite:SqliteSink",
}
"""Type name -> dotted name of the sinks that come with toolog."""

GROUP = "toolog.sinks"
"""The entry point group in which other packages offer sinks."""


def create(name: str, options: Mapping[str, Any] | Sink) -> Sink:
    """Return the sink of one entry of the configuration; nothing is opened before its ``connect()``.

    ``name`` is the entry's own name; ``options["type"]`` says which kind of sink (the name itself when left
    out). A ready sink object instead of options is returned as it is. Raises ConfigError for an unknown type
    or option (naming the nearest right one), and where the client of a type is not installed.
    """
    if not isinstance(options, Mapping):
        if isinstance(options, Sink):
            _refuse_coroutines(name, type(options).__name__, options)
            return options
        raise ConfigError(
            f"sink {name!r} is a table of options or a sink object, not a {type(options).__name__}"
        )
    kind = options.get("type", name)
    factory = find(name, kind)
    own = {key: value for key, value in options.items() if key not in COMMON_OPTIONS}
    declared, needed, takes_any = _declared(factory)
    if not takes_any:
        for key in own:
            if key not in declared or key == "name":
                raise unknown_key(key, {*declared, *COMMON_OPTIONS} - {"name"}, f"sink {name!r}")
    for key in needed:
        if key not in options and key != "name":
            raise ConfigError(f"sink {name!r} ({kind}) needs {key!r}")
    if "timeout" in declared and "timeout" in options:
        own["timeout"] = options["timeout"]
    if "name" in declared:
        own["name"] = name
    try:
        sink = factory(**own)
        if not getattr(sink, "name", ""):
            sink.name = name
    except ToologError:
        raise
    except Exception as error:  # of anybody's class
        raise ConfigError(f"sink {name!r} ({kind}) could not be made from its options: {error}") from error
    if not isinstance(sink, Sink):
        raise ConfigError(f"sink {name!r}: {kind} has no connect(), write(batch) and close()")
    _refuse_coroutines(name, kind, sink)
    delivery(sink, options)  # a wrong batch, timeout or retry is told now, not when the shipper starts
    return sink


def is_only_named(name: str, options: object) -> bool:
    """Whether of a sink only its name, a type that exists and what all sinks have are said: then the rest is
    said where its records are shipped, and who only writes them needs no more.
    """
    if not isinstance(options, Mapping) or not set(options) <= set(COMMON_OPTIONS):
        return False
    kind = str(options.get("type", name))
    return ":" in kind or kind in known_types()


def known_types() -> list[str]:
    """Return the names that ``type`` may have here: built in, and offered by installed packages."""
    return sorted({*BUILT_IN, *(point.name for point in _entry_points())})


def _entry_points() -> Any:
    from importlib.metadata import entry_points  # 20 ms, and only needed for names that are not ours

    return entry_points(group=GROUP)


def find(name: str, kind: object) -> Any:
    """Return what makes sinks of a type, which ``name`` is the configuration's entry for. Raises ConfigError
    for a type that nobody knows or that cannot be imported.
    """
    if not isinstance(kind, str):
        raise ConfigError(f"type of sink {name!r} is a name or 'package.module:Class', not {shown(kind)}")
    if kind in BUILT_IN:
        return _load(BUILT_IN[kind])
    if ":" in kind:
        try:
            return _load(kind)
        except Exception as error:  # whatever a module does when it is imported
            wrong = NotInstalled if isinstance(error, ModuleNotFoundError) else ConfigError
            raise wrong(
                f"type of sink {name!r}: {kind!r} could not be imported: {error}{_hint(kind, error)}"
            ) from error
    for point in _entry_points():
        if point.name == kind:
            try:
                return point.load()
            except Exception as error:
                raise ConfigError(
                    f"type of sink {name!r}: the entry point {kind!r} is broken: {error}"
                ) from error
    guess = nearest(kind, known_types())
    hint = (
        f"did you mean {guess!r}?"
        if guess
        else f"known: {', '.join(known_types())}, or 'package.module:Class'"
    )
    raise ConfigError(f"unknown type {kind!r} of sink {name!r}; {hint}")


def _load(dotted: str) -> Any:
    module, _, attribute = dotted.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _hint(kind: str, error: Exception) -> str:
    """Say what is missing where the module lies in the working directory, and a command does not see it."""
    top = kind.partition(":")[0].partition(".")[0]
    if getattr(error, "name", None) != top or not any(
        os.path.exists(path) for path in (f"{top}.py", os.path.join(top, "__init__.py"))
    ):
        return ""
    return f"; {top!r} lies in the working directory, where only PYTHONPATH=. makes it be looked for"


def _refuse_coroutines(name: str, kind: str, sink: Sink) -> None:
    from inspect import iscoroutinefunction  # as below

    for method in ("connect", "write", "close"):
        if iscoroutinefunction(getattr(sink, method)):
            raise ConfigError(
                f"sink {name!r}: {method}() of {kind} is a coroutine function; a sink is called in a "
                "thread of its own, where it may block, so write it with def"
            )


def _declared(factory: Any) -> tuple[frozenset[str], list[str], bool]:
    """Return the names of a factory's keyword parameters, those of them without a default, and whether it
    takes any.
    """
    import inspect  # 10 ms, when the first sink is made

    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return frozenset(), [], True
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    needed = [p.name for p in named if p.default is p.empty]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in cast(Any, parameters))
    return frozenset(p.name for p in named), needed, takes_any
