"""What a pipeline is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolog.retention import Policies
from toolog.sanitize import Sanitizer
from toolog.sinks import Sink


@dataclass(frozen=True)
class Options:
    """The options of one pipeline; sizes in bytes, durations in seconds.

    ``directory`` is the spool's. ``durability``: level number -> memory, process or power, each up to the
    next named level. ``sinks``: name -> options of ``toolog.sinks.create``, or a ready sink. The others are
    those of the same meaning in docs/reference/configuration.md.
    """

    directory: Path
    sinks: Mapping[str, Mapping[str, Any] | Sink] = field(repr=False)  # secrets may stand in them
    policies: Policies
    durability: Mapping[int, str] = field(default_factory=lambda: {0: "process"})
    serializer: str = "msgpack"
    sanitizer: Sanitizer | None = None
    max_records: int = 10_000
    when_full: str = "drop_newest"
    block_timeout: float = 0.1
    max_size: int = 1 << 30
    segment_size: int = 16 << 20
    ship: str = "background"
    shutdown_timeout: float = 5.0
    purge_every: float = 600.0
    dead_letters_size: int = 64 << 20
