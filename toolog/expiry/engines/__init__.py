"""The four ways in which a search cluster can let go of old records.

``data_stream`` and ``ilm`` are Elasticsearch's own, ``ism`` is OpenSearch's plugin; ``toolog`` is ours and
needs nothing but the core interface, so every cluster has it.
"""

from __future__ import annotations

import importlib

from toolog.errors import ConfigError, nearest
from toolog.expiry.cluster import Cluster
from toolog.expiry.engines.base import Engine

ENGINES = {
    "data_stream": "toolog.expiry.engines.data_stream:DataStreamEngine",
    "ilm": "toolog.expiry.engines.ilm:IlmEngine",
    "ism": "toolog.expiry.engines.ism:IsmEngine",
    "toolog": "toolog.expiry.engines.rollover:RolloverEngine",
}
"""Value of the option ``lifecycle`` -> the engine."""

OF_DIALECT = {
    "elasticsearch": ("data_stream", "ilm", "toolog"),
    "opensearch": ("toolog", "ism"),
}
"""Which engines a server may have; the first is its default."""


def choose(lifecycle: object, dialect: str, where: str) -> str:
    """Return the engine's name for a sink's option ``lifecycle`` (None: the dialect's default).

    Raises ConfigError for an engine that nobody knows, or that this kind of server does not have.
    """
    known = OF_DIALECT[dialect]
    if lifecycle is None:
        return known[0]
    if lifecycle in known:
        return str(lifecycle)
    if lifecycle in ENGINES:
        raise ConfigError(
            f"lifecycle of {where} is {lifecycle!r}, which {dialect} does not have; choose one of {', '.join(known)}"
        )
    guess = nearest(str(lifecycle), known)
    hint = f"did you mean {guess!r}?" if guess else f"choose one of {', '.join(known)}"
    raise ConfigError(f"lifecycle of {where}: {lifecycle!r} is not known; {hint}")


def load(name: str, cluster: Cluster) -> Engine:
    """Return the engine of that name."""
    module, _, attribute = ENGINES[name].partition(":")
    engine: Engine = getattr(importlib.import_module(module), attribute)(cluster)
    return engine
