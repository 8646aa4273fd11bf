"""How the clients turn bodies into bytes, and bytes into answers: as they do it, in less time.

Bodies of bulk requests are bytes already, which elasticsearch-py's own copies twice to see how they end. An
answer names each record; the standard library, which both clients use, takes three times as long to read it.
"""

from __future__ import annotations

from typing import Any

import orjson

from toolog.sinks.extras import load


def elasticsearch_serializers() -> dict[str, Any]:
    """Return what elasticsearch-py takes as ``serializers``."""
    transport = load("elastic_transport")
    json: Any = transport.JsonSerializer
    ndjson: Any = transport.NdjsonSerializer

    class Answers(json):  # type: ignore[misc]
        def json_loads(self, data: bytes) -> Any:
            try:
                return orjson.loads(data)
            except ValueError:  # the standard library reads more than JSON
                return super().json_loads(data)

    class Lines(ndjson):  # type: ignore[misc]
        def dumps(self, data: Any) -> Any:
            return data if type(data) is bytes else super().dumps(data)

    return {
        f"application/{vendor}{kind}": codec
        for kind, codec in (("json", Answers()), ("x-ndjson", Lines()))
        for vendor in ("", "vnd.elasticsearch+")
    }


def opensearch_serializer() -> Any:
    """Return what opensearch-py takes as ``serializer``."""
    json: Any = load("opensearchpy.serializer").JSONSerializer

    class Answers(json):  # type: ignore[misc]
        def loads(self, s: str) -> Any:
            try:
                return orjson.loads(s)
            except ValueError:
                return super().loads(s)

    return Answers()
