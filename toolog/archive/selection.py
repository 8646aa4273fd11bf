"""Questions to an archive: the same ones that the store takes, with the same answers.

What may match is put into a store of its own in a temporary folder, in the order in which it came into the
archive, and that one is asked. Whole objects are left out by what is known without reading them: the hour in
their key (for ``until``), the time at which they were stored (for ``since``), and the highest level in them,
noted when they were stored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from toolog import store
from toolog.archive.bucket import S3Object
from toolog.levels import NAMES, parse_level
from toolog.store import filters

SKEW = timedelta(hours=1)
"""How far the clocks of writers and of the server may be apart before a record is missed."""
_CHUNK = 5000


@dataclass(frozen=True, slots=True)
class Question:
    """The filters of a query, as the command line has them; None where one was not given."""

    text: str | None = None
    tool: str | None = None
    status: str | None = None
    session: str | None = None
    level: str | None = None
    since: str | None = None
    instance: str | None = None
    until: str | None = None
    hold: str | None = None
    limit: int = 100


def select(objects: Sequence[S3Object], question: Question) -> list[S3Object]:
    """Return the objects that a question needs, in the order in which they were stored.

    Raises ConfigError for a filter that makes no sense, SinkUnavailable.
    """
    since = None if question.since is None else _parse(question.since, "since") - SKEW
    until = None if question.until is None else _parse(question.until, "until") + SKEW
    least = None if question.level is None else parse_level(question.level)
    found = [
        one
        for one in objects
        if (since is None or datetime.fromtimestamp(one.modified, UTC) >= since)
        and (until is None or _began(one) < until)
        and (least is None or _may_have(one, least))
    ]
    return sorted(found, key=lambda one: (one.modified, one.key))


def ask(
    objects: Iterable[S3Object], question: Question, tell: Callable[[str], None], read: Callable[[int], None]
) -> list[dict[str, Any]]:
    """Return the calls that match, newest first. ``tell`` is told damage, ``read`` each object's bytes."""
    keep = _filter(question)
    with (
        tempfile.TemporaryDirectory(prefix="toolog-query-") as folder,
        store.open(Path(folder) / "calls.db") as held,
    ):
        for one in objects:
            records = (record for record in one.read(tell) if keep(record))
            while chunk := list(islice(records, _CHUNK)):
                held.write(chunk)
            read(one.size)
        return held.calls(
            text=question.text, tool=question.tool, status=question.status, session=question.session,
            level=question.level, since=question.since, instance=question.instance, until=question.until,
            hold=question.hold, limit=question.limit,
        )  # fmt: skip


def _parse(when: str, where: str) -> datetime:
    return datetime.fromisoformat(filters.moment(when, where))


def _began(one: S3Object) -> datetime:
    """Return when the segment was begun whose records are in an object: none of them is older."""
    if one.facts is None:
        return datetime.min.replace(tzinfo=UTC)
    return datetime.fromisoformat(f"{one.facts.date}T{one.facts.hour}:00:00+00:00")


def _may_have(one: S3Object, least: int) -> bool:
    """Whether an object may have records of a level or above; asks the server only where its policy begins
    below that.
    """
    if one.facts is not None and NAMES.get(one.facts.policy.upper(), -1) >= least:
        return True
    highest = one.highest_level()
    return highest is None or highest >= least


def _filter(question: Question) -> Callable[[Mapping[str, Any]], bool]:
    """Return what leaves out most of what does not match. It never leaves out the end of a call whose start
    matches: only what both have in common is looked at.
    """
    least = None if question.level is None else parse_level(question.level)
    levels = None if least is None else {name for name, number in NAMES.items() if number >= least}
    since = None if question.since is None else filters.moment(question.since, "since")
    equal = {"session_id": question.session, "instance_id": question.instance}
    wanted = {name: value for name, value in equal.items() if value is not None}
    tool = question.tool

    def keep(record: Mapping[str, Any]) -> bool:
        return (
            (levels is None or record.get("level") in levels)
            and (since is None or str(record.get("timestamp", "")) >= since)
            and (tool is None or _is_tool(record.get("tool_name"), tool))
            and all(record.get(name) == value for name, value in wanted.items())
        )

    return keep


def _is_tool(name: object, pattern: str) -> bool:
    # Sets of letters are written differently here and there: those the store decides.
    return "[" in pattern or (isinstance(name, str) and fnmatchcase(name, pattern))
