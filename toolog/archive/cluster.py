"""Questions to a search cluster: the same ones that the store takes, with the same answers.

The cluster is asked for what may match, newest first, and what it gives is put into a store of its own in a
temporary folder, page by page, until there is enough: that store has the last word, so that every filter
means the same everywhere. What a cluster cannot decide as the store does is left to it alone: the words of a
text, and the value of a hold.

A record that was stored twice (a rollover between a request and its repetition) is given once.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from toolog import store
from toolog.archive.question import Question
from toolog.errors import SinkDenied, SinkUnavailable
from toolog.levels import NAMES, parse_level
from toolog.sinks.search.clients import connect_search
from toolog.sinks.search.document import from_search
from toolog.sinks.search.names import stream_pattern
from toolog.sinks.search.options import SearchOptions
from toolog.sinks.search.refusals import NO_REASON, reason_of, refusal
from toolog.sinks.search.wire import Wire
from toolog.store import filters

Tell = Callable[[str], None]
Record = dict[str, Any]

_PAGE = 500
START = "tool_call_start"
ENDS = ("tool_call_success", "tool_call_failed", "tool_call_rejected", "tool_call_cancelled")
_EARLIEST, _LATEST = "1970-01-01T00:00:00.000000Z", "2262-01-01T00:00:00.000000Z"
_NEWEST_FIRST = [
    {"@timestamp": {"order": "desc", "numeric_type": "date_nanos", "unmapped_type": "date_nanos"}},
    {"record_id": {"order": "desc", "unmapped_type": "keyword"}},
]
_WANTED = "hits.hits._source,hits.hits.sort,aggregations,_shards,error"


def ask(options: SearchOptions, question: Question, tell: Tell) -> list[Record]:
    """Return the calls that match, newest first; ``tell`` is told what cannot be read.

    Raises SinkUnavailable when the cluster does not answer, and SinkDenied when it does not let us read.
    """
    found: dict[str, Record] = {}
    with reach(options) as cluster:
        for page in cluster.pages(conditions_of(question), tell):
            page += cluster.ends_of(page, tell)
            for call in _answer(page, lambda held: held.calls(**asdict(question))):
                found.setdefault(str(call.get("record_id")), call)
            if len(found) >= question.limit:
                break
    return list(found.values())[: question.limit]


def read_trace(options: SearchOptions, beginning: str, tell: Tell) -> list[Record]:
    """Return all records of a trace by time; a unique beginning of its id (6 digits or more) will do.

    Raises ConfigError where several traces begin so, else as `ask`.
    """
    if len(beginning) < 6:
        return []
    with reach(options) as cluster:
        pages = list(cluster.pages([{"prefix": {"trace_id": beginning}}], tell))
    records = [record for page in pages for record in page]
    return _answer(records, lambda held: held.trace(beginning))


def _answer(records: list[Record], ask_store: Callable[[store.Store], list[Record]]) -> list[Record]:
    """Return what a store answers to which these records came in the order of their times."""
    with (
        tempfile.TemporaryDirectory(prefix="toolog-query-") as folder,
        store.open(Path(folder) / "calls.db") as held,
    ):
        held.write(sorted(records, key=_arrival))
        return ask_store(held)


def _arrival(record: Mapping[str, Any]) -> tuple[str, bool, str]:
    """Return by what records are ordered: their time, and a call's start before its end."""
    return str(record.get("timestamp")), record.get("event") != START, str(record.get("record_id"))


class Cluster:
    """The data streams of one namespace, to be read; see `ask` for what it raises."""

    def __init__(self, wire: Wire, options: SearchOptions) -> None:
        self._wire = wire
        self._options = options
        self._pattern = stream_pattern(options.namespace)

    def pages(self, conditions: list[Mapping[str, Any]], tell: Tell) -> Iterator[list[Record]]:
        """Yield the records for which all conditions hold, newest first, some hundred at a time."""
        body: dict[str, Any] = {
            "size": _PAGE,
            "query": {"bool": {"filter": conditions}},
            "sort": _NEWEST_FIRST,
            "track_total_hits": False,
        }
        while True:
            hits = self._hits(body, tell)
            if hits:
                yield list(_records(hits, tell))
            if len(hits) < _PAGE:
                return
            body["search_after"] = hits[-1]["sort"]

    def ends_of(self, page: Iterable[Record], tell: Tell) -> list[Record]:
        """Return the ends of those calls on a page that only have a start there, wherever they are."""
        ended = {record.get("span_id") for record in page if record.get("event") != START}
        starts = {record.get("span_id") for record in page if record.get("event") == START}
        spans = sorted(span for span in starts - ended if isinstance(span, str))
        if not spans:
            return []
        conditions: list[Mapping[str, Any]] = [
            {"terms": {"span_id": spans}},
            {"terms": {"event.action": list(ENDS)}},
        ]
        return [record for found in self.pages(conditions, tell) for record in found]

    def count(self, body: Mapping[str, Any], tell: Tell) -> Mapping[str, Any]:
        """Return the aggregations of a search that wants no documents."""
        found = self._search({"size": 0, "track_total_hits": False, **body}, tell).get("aggregations", {})
        return found if isinstance(found, Mapping) else {}

    def _hits(self, body: Mapping[str, Any], tell: Tell) -> list[dict[str, Any]]:
        hits = self._search(body, tell).get("hits", {}).get("hits", [])
        if not isinstance(hits, list):
            raise SinkUnavailable(f"{self._options.where}: an answer without hits", tells=True)
        return hits

    def _search(self, body: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        params = {"ignore_unavailable": "true", "allow_no_indices": "true", "filter_path": _WANTED}
        path = f"/{quote(self._pattern, safe='*')}/_search"
        reply = self._wire.request("POST", path, body=body, params=params)
        if reply.status == 403 and (reason := reason_of(reply.body)) != NO_REASON:
            raise SinkDenied(
                f"{self._options.where}: a right is missing (403) when reading: {reason}; "
                f"reading needs `read` on {self._pattern}"
            )
        if reply.status == 404:
            return {}
        if reply.status != 200:
            raise refusal(reply, f"reading {self._pattern}", self._options)
        shards = reply.body.get("_shards", {})
        if shards.get("failed"):
            tell(
                f"{self._options.where}: {shards['failed']} of {shards.get('total')} shards did not answer; "
                "what they hold is missing here"
            )
        return reply.body


@contextmanager
def reach(options: SearchOptions) -> Iterator[Cluster]:
    """Give the data streams that a sink's options name. Raises ConfigError and SinkDenied."""
    with closing(Wire(connect_search(options), options)) as wire:
        yield Cluster(wire, options)


def _records(hits: Iterable[Mapping[str, Any]], tell: Tell) -> Iterator[Record]:
    for hit in hits:
        try:
            yield from_search(hit["_source"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            tell(f"a document that is no record ({type(error).__name__}: {error})")


def conditions_of(question: Question) -> list[Mapping[str, Any]]:
    """Return what holds for every document that may match: the cluster leaves out the others."""
    found: list[Mapping[str, Any]] = [{"terms": {"event.action": [START, *ENDS]}}]
    for field, value in (("session_id", question.session), ("instance_id", question.instance)):
        if value is not None:
            found.append({"term": {field: value}})
    if question.tool is not None:
        found.append({"regexp": {"tool_name": {"value": _regexp(question.tool), "flags": "NONE"}}})
    if question.level is not None:
        least = parse_level(question.level)
        found.append({"terms": {"level": [name for name, number in NAMES.items() if number >= least]}})
    if question.status is not None:
        found.append(_of_status(question.status))
    if question.hold is not None:
        found.append({"exists": {"field": "tags.hold"}})
    # What lies outside of the times that a cluster holds stands there at their ends (see `to_search`).
    bounds: dict[str, str] = {}
    if question.since is not None:
        bounds["gte"] = min(max(filters.moment(question.since, "since"), _EARLIEST), _LATEST)
    if question.until is not None:
        bounds["lte"] = min(max(filters.moment(question.until, "until"), _EARLIEST), _LATEST)
    if bounds:
        found.append({"range": {"@timestamp": bounds}})
    return found


def _of_status(asked: str) -> Mapping[str, Any]:
    wanted = filters.statuses(asked)
    either: list[Mapping[str, Any]] = [
        {"terms": {"status": [one for one in wanted if one != filters.RUNNING]}}
    ]
    if filters.RUNNING in wanted:
        either.append({"term": {"event.action": START}})
    return {"bool": {"should": either, "minimum_should_match": 1}}


def _regexp(glob: str) -> str:
    """Return the regular expression of a cluster's that matches what a glob does in the store."""
    parts: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "*":
            parts.append(".*")
        elif char == "?":
            parts.append(".")
        elif char == "[" and (end := glob.find("]", at + 1 + (glob[at : at + 1] == "^"))) > 0:
            inner = glob[at:end]
            negation = "^" if inner.startswith("^") else ""
            letters = re.sub(r"([^\w-])", r"\\\1", inner[len(negation) :])
            parts.append(f"[{negation}{letters}]")
            at = end + 1
        else:
            parts.append(re.sub(r"(\W)", r"\\\1", char))
    return "".join(parts)
