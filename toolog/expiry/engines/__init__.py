"""The four ways in which a search cluster can let go of old records.

``data_stream`` and ``ilm`` are Elasticsearch's own, ``ism`` is OpenSearch's plugin; ``toolog`` is ours and
needs nothing but the core interface, so every cluster has it.
"""

from __future__ import annotations

import importlib

from toolog.expiry.cluster import Cluster
from toolog.expiry.engines.base import Engine

ENGINES = {
    "data_stream": "toolog.expiry.engines.data_stream:DataStreamEngine",
    "ilm": "toolog.expiry.engines.ilm:IlmEngine",
    "ism": "toolog.expiry.engines.ism:IsmEngine",
    "toolog": "toolog.expiry.engines.rollover:RolloverEngine",
}
"""Value of the option ``lifecycle`` -> the engine."""


def load(name: str, cluster: Cluster) -> Engine:
    """Return the engine of that name."""
    module, _, attribute = ENGINES[name].partition(":")
    engine: Engine = getattr(importlib.import_module(module), attribute)(cluster)
    return engine
