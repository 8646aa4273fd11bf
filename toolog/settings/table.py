"""The table of all parameters: name, kind, default, environment variable, and one sentence for each.

Everything about a parameter stands here once: ``settings.resolve`` reads it to find values,
``settings.checks`` to check them, and ``settings.reference`` writes docs/reference/configuration.md from it.
Names with a dot are keys of a nested table (``queue.max_records`` is ``{"queue": {"max_records": ...}}``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DURABILITIES = ("memory", "process", "power")
WHEN_FULL = ("block", "drop_newest", "drop_oldest", "spill")
SHIP = ("background", "none")
PROFILES = ("dev", "prod")
EVENTS = (
    "tool_call_start", "tool_call_success", "tool_call_failed", "tool_call_rejected", "tool_call_cancelled",
    "tool_instance", "evaluation", "log", "loss",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter.

    ``section`` is handler, capture, profile, run or sink; ``kind`` names the check (see
    ``settings.checks``); ``env`` is its environment variable or empty; ``choices`` are the values of a
    choice or the keys of a table; ``least`` is the smallest number that makes sense; ``optional`` allows
    None.
    """

    section: str
    name: str
    kind: str
    default: Any
    env: str
    doc: str
    choices: tuple[str, ...] = ()
    least: float = 0
    optional: bool = False


TABLE: tuple[Parameter, ...] = (
    # what `configure` and `dict_config` add around the handler
    Parameter("profile", "profile", "choice", "dev", "TOOLOG_PROFILE",
              "The set of defaults to begin with: `dev` or `prod`.", PROFILES),
    Parameter("profile", "level", "level", "INFO", "TOOLOG_LEVEL",
              "The level of the logger `toolog.calls`: INFO shows ends of calls, DEBUG adds their starts. "
              "`LOG_LEVEL` is read when `TOOLOG_LEVEL` is not set."),
    Parameter("profile", "application_logs", "flag", False, "TOOLOG_APPLICATION_LOGS",
              "Ship the application's own log lines too: the handler is also attached to the root logger."),
    Parameter("profile", "autoconfigure", "flag", True, "TOOLOG_AUTOCONFIGURE",
              "Bring up the `dev` profile with the first record when nothing was configured."),
    # the handler
    Parameter("handler", "serializer", "text", "msgpack", "TOOLOG_SERIALIZER",
              "How records are written into the spool: `msgpack`, `json`, or a dotted name."),
    Parameter("handler", "durability", "durability", "process", "TOOLOG_DURABILITY",
              "Where the caller goes home: `memory`, `process` or `power`; or a table of levels, `{INFO = "
              "\"memory\", ERROR = \"process\"}`.",
              DURABILITIES),
    Parameter("handler", "queue.max_records", "count", 10_000, "TOOLOG_QUEUE_MAX_RECORDS",
              "How many records may wait in memory.", least=1),
    Parameter("handler", "queue.when_full", "choice", "drop_newest", "TOOLOG_QUEUE_WHEN_FULL",
              "What happens when that many wait: `block`, `drop_newest`, `drop_oldest`, or `spill` into the "
              "spool. A lower level is always given up first.",
              WHEN_FULL),
    Parameter("handler", "queue.timeout", "duration", "100 ms", "TOOLOG_QUEUE_TIMEOUT",
              "How long `block` waits for room before it drops. In a thread that runs an event loop it "
              "never waits."),
    Parameter("handler", "spool.path", "path", ".toolog/spool", "TOOLOG_SPOOL_PATH",
              "The directory of the spool. When it cannot be written, records are kept in memory and one "
              "warning is printed."),
    Parameter("handler", "spool.max_size", "size", "1 GiB", "TOOLOG_SPOOL_MAX_SIZE",
              "How large all segments of the directory may be together.", least=64 * 1024),
    Parameter("handler", "spool.segment_size", "size", "16 MiB", "TOOLOG_SPOOL_SEGMENT_SIZE",
              "How large one segment file grows.", least=4096),
    Parameter("handler", "sinks", "table", {"store": {"type": "sqlite", "path": ".toolog/calls.db"}},
              "TOOLOG_SINKS",
              "Name of a sink -> its options (`type` says which kind); the options of all sinks are below."),
    Parameter("handler", "retention", "table", {}, "TOOLOG_RETENTION",
              "Level -> `{sinks = [...], keep = \"7 days\"}`. A level's policy covers it up to the next "
              "named one; below the lowest named level nothing is shipped. Left out: every sink gets every "
              "record and nothing is purged."),
    Parameter("handler", "purge_every", "duration", "10 min", "TOOLOG_PURGE_EVERY",
              "How often what is past its `keep` is deleted: from the store and from files by the process "
              "that ships; from search clusters with the engine `toolog` (OpenSearch's default) by `toolog "
              "ship`.",
              least=0.1),
    Parameter("handler", "sanitizer", "table", {}, "TOOLOG_SANITIZER",
              "Options of the sanitizer (`keys_add`, `safe_keys`, `rules_add`, `style` ...), or a "
              "`toolog.Sanitizer`."),
    Parameter("handler", "ship", "choice", "background", "TOOLOG_SHIP",
              "`background`: threads of this process write to the sinks. `none`: only the spool is written, "
              "and another process with the same `spool.path` ships it, such as `toolog ship`."
              " Clients and secrets of sinks are needed there only.",
              SHIP),
    Parameter("handler", "shutdown_timeout", "duration", "5 s", "TOOLOG_SHUTDOWN_TIMEOUT",
              "How long the end of the process waits for sinks. What is not shipped by then stays in the "
              "spool."),
    Parameter("handler", "handle_signals", "flag", False, "TOOLOG_HANDLE_SIGNALS",
              "Flush on SIGTERM and SIGINT before the process ends as it would have (only memory durability "
              "needs it)."),
    Parameter("handler", "dead_letters.max_size", "size", "64 MiB", "TOOLOG_DEAD_LETTERS_MAX_SIZE",
              "How large the dead-letter file of one sink may grow."),
    # capture
    Parameter("capture", "capture_output", "flag", False, "TOOLOG_CAPTURE_OUTPUT",
              "Collect what a tool prints during its call. On in the `dev` profile."),
    Parameter("capture", "capture_config", "flag", True, "TOOLOG_CAPTURE_CONFIG",
              "Record the constructor arguments of tool instances."),
    Parameter("capture", "hash_key", "key", None, "TOOLOG_HASH_KEY",
              "A key of at least 8 characters, for `config_hash`: it then covers secrets, too, and nobody "
              "without the key can try configurations until one fits. Give it by the environment.",
              optional=True),
    Parameter("capture", "max_depth", "count", 10, "TOOLOG_MAX_DEPTH",
              "Calls nested deeper than this are WARNINGs that name the chain of tools."),
    Parameter("capture", "on_max_depth", "choice", "record", "TOOLOG_ON_MAX_DEPTH",
              "`raise`: such a call raises CallDepthExceeded instead.", ("record", "raise")),
    Parameter("capture", "slow_ms", "number", None, "TOOLOG_SLOW_MS",
              "A successful call that took longer (milliseconds) is a WARNING.", optional=True),
    Parameter("capture", "max_bytes", "size", "64 KiB", "TOOLOG_MAX_BYTES",
              "A field of a record above this size is cut at its leaves.", least=256),
    Parameter("capture", "max_items", "count", 1000, "TOOLOG_MAX_ITEMS",
              "How many items of a collection or a stream are kept.", least=1),
    Parameter("capture", "max_nesting", "count", 32, "TOOLOG_MAX_NESTING",
              "How deep values are followed.", least=1),
    Parameter("capture", "levels", "levels", {}, "TOOLOG_LEVELS",
              "Event -> level, for example `{tool_call_start = \"INFO\"}`.", EVENTS),
    Parameter("capture", "repr_types", "names", (), "TOOLOG_REPR_TYPES",
              "Types whose `repr` may be asked, for example `[\"decimal.*\", \"mypkg.Order\"]`."),
    Parameter("capture", "service", "strings", {}, "TOOLOG_SERVICE",
              "`name`, `version` and `environment` of the service, in every record.",
              ("name", "version", "environment")),
    Parameter("capture", "threads", "flag", False, "TOOLOG_THREADS",
              "Keep the parent of calls made in threads and pools. On in both profiles."),
    # `toolog run`
    Parameter("run", "instrument", "names", (), "TOOLOG_INSTRUMENT",
              "What `toolog run` instruments: dotted names of modules, classes or functions."),
    # every sink
    Parameter("sink", "type", "text", None, "",
              "`console`, `file`, `memory`, `sqlite`, `elasticsearch`, `opensearch`, `s3`, `otlp`, or "
              "`package.module:Class`. Left out: the sink's name.",
              optional=True),
    Parameter("sink", "batch.max_records", "count", None, "TOOLOG_BATCH_MAX_RECORDS",
              "A batch is full at this many records; each sink has its own default.", least=1, optional=True),
    Parameter("sink", "batch.max_bytes", "size", None, "TOOLOG_BATCH_MAX_BYTES",
              "... or at this size.", least=1, optional=True),
    Parameter("sink", "batch.max_age", "duration", None, "TOOLOG_BATCH_MAX_AGE",
              "... or when its oldest record waited this long.", optional=True),
    Parameter("sink", "timeout", "duration", None, "TOOLOG_SINK_TIMEOUT",
              "How long a request may stay unanswered; a sink that is silent for longer counts as hung.",
              optional=True),
    Parameter("sink", "retry.max_backoff", "duration", None, "TOOLOG_RETRY_MAX_BACKOFF",
              "The longest pause between two tries. Tries never end; the spool's bound decides.",
              optional=True),
)  # fmt: skip


def section(*names: str) -> tuple[Parameter, ...]:
    """Return the parameters of these sections, in the order of the table."""
    return tuple(parameter for parameter in TABLE if parameter.section in names)
