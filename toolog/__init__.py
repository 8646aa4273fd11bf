"""Record every tool call of an AI agent: one line, one masked, schema-valid record a call.

    import toolog, some_tools
    toolog.instrument(some_tools)

A call walks through eight stations, always forward:

    1 call      what happens around the tool function while it runs         call.py, instrumentation/
    2 record    the frozen facts of the call, snapshotted to bytes          record.py, snapshot/
    3 queue     the caller goes home here (in process durability: after 6)  handler.py, pipeline/
    4 sanitize  nothing unmasked passes this door                           sanitize/
    5 serialize JSON or MessagePack                                         serializers/
    6 spool     framed, checksummed, on disk                                spool/
    7 route     the retention policy of the record's level names its sinks  retention.py
    8 sink      Elasticsearch, S3, SQLite, file, console, memory, your own  sinks/

Stations 1 and 2 end in one door (emit.py) that hands a light LogRecord to the logger ``toolog.calls.<tool>``;
stations 3 to 8 begin in a plain ``logging.Handler`` (handler.py). The two halves meet only in `logging`.

Public names are loaded when first used, so that ``import toolog`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolog.all_pipelines import flush, stats
    from toolog.autoconfigure import instrument, tool
    from toolog.context import bind, session
    from toolog.errors import (
        ArgumentsInvalid,
        AttemptsExhausted,
        CallDepthExceeded,
        ConfigError,
        ContextRejected,
        GuardError,
        RecordInvalid,
        SchemaError,
        SegmentCorrupt,
        SerializationError,
        SinkError,
        SinkRejected,
        SinkUnavailable,
        SpoolError,
        SpoolFull,
        ToologError,
        ToolTimeout,
        UnknownTool,
    )
    from toolog.handler import ToologHandler
    from toolog.instances import recreate
    from toolog.instrumentation import Instrumentation, uninstrument
    from toolog.instrumentation.threads import instrument_threads
    from toolog.levels import set_level
    from toolog.profiles import configure, dict_config
    from toolog.propagation import attach, carrier
    from toolog.sanitize import Sanitizer
    from toolog.schema import validate

__version__ = "0.1.0"

_NAMES = {
    "all_pipelines": ("flush", "stats",),
    "autoconfigure": ("instrument", "tool",),
    "context": ("bind", "session",),
    "errors": (
        "ArgumentsInvalid", "AttemptsExhausted", "CallDepthExceeded", "ConfigError", "ContextRejected",
        "GuardError", "RecordInvalid", "SchemaError", "SegmentCorrupt", "SerializationError", "SinkError",
        "SinkRejected", "SinkUnavailable", "SpoolError", "SpoolFull", "ToolTimeout", "ToologError",
        "UnknownTool",
    ),
    "handler": ("ToologHandler",),
    "instances": ("recreate",),
    "instrumentation": ("Instrumentation", "uninstrument",),
    "instrumentation.threads": ("instrument_threads",),
    "levels": ("set_level",),
    "profiles": ("configure", "dict_config",),
    "propagation": ("attach", "carrier",),
    "sanitize": ("Sanitizer",),
    "schema": ("validate",),
}  # fmt: skip
"""Which module holds which public names."""
_WHERE = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ArgumentsInvalid",
    "AttemptsExhausted",
    "CallDepthExceeded",
    "ConfigError",
    "ContextRejected",
    "GuardError",
    "Instrumentation",
    "RecordInvalid",
    "Sanitizer",
    "SchemaError",
    "SegmentCorrupt",
    "SerializationError",
    "SinkError",
    "SinkRejected",
    "SinkUnavailable",
    "SpoolError",
    "SpoolFull",
    "ToolTimeout",
    "ToologError",
    "ToologHandler",
    "UnknownTool",
    "attach",
    "bind",
    "carrier",
    "configure",
    "dict_config",
    "flush",
    "instrument",
    "instrument_threads",
    "recreate",
    "session",
    "set_level",
    "stats",
    "tool",
    "uninstrument",
    "validate",
]


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module 'toolog' has no attribute {name!r}")
    from importlib import import_module

    from toolog.settings.interpreter import refuse_sub_interpreter

    refuse_sub_interpreter()
    value = getattr(import_module(f"toolog.{where}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
