"""Sinks that write to Elasticsearch and OpenSearch. Nothing of a client is imported before it is needed."""

from __future__ import annotations

from toolog.sinks.search.document import from_search, to_search
from toolog.sinks.search.sink import ElasticsearchSink, OpenSearchSink

__all__ = ["ElasticsearchSink", "OpenSearchSink", "from_search", "to_search"]
