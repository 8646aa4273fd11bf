"""Questions to an archive: the same ones that the store takes, with the same answers.

What may match is put into a store of its own in a temporary folder, in the order in which it came into the
archive, and that one is asked. Whole objects are left out by what is known without reading them: for
``since`` the time at which they were stored, for ``until`` and ``level`` the policy and the hour in their
key, and where these do not settle it, the oldest time and the highest level that were noted with the object.
(The hour alone says too little: what a failing disk held up, or dead letters sent again, are older.)
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from toolog import store
from toolog.archive.bucket import S3Object
from toolog.archive.question import Question
from toolog.levels import NAMES, parse_level
from toolog.store import filters

SKEW = timedelta(hours=1)
"""How far a writer's clock may be ahead of the server's before a record is missed."""
_AT_ONCE = 16
_CHUNK = 5000
_BYTES = 4 << 20  # of records; storing them takes several times as much


def select(objects: Sequence[S3Object], question: Question) -> list[S3Object]:
    """Return the objects that a question needs, in the order in which they were stored.

    Raises SinkUnavailable.
    """
    since = None if question.since is None else _parse(question.since, "since") - SKEW
    until = None if question.until is None else filters.moment(question.until, "until")
    least = None if question.level is None else parse_level(question.level)
    recent = [one for one in objects if since is None or datetime.fromtimestamp(one.modified, UTC) >= since]
    open_ones = [one for one in recent if not _is_settled(one, until, least)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        noted = zip(open_ones, pool.map(S3Object.notes, open_ones), strict=True)
        unneeded = {one.key for one, notes in noted if not _may_match(notes, until, least)}
    return sorted((one for one in recent if one.key not in unneeded), key=_arrival)


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
            for chunk in _chunks(record for record in one.read(tell) if keep(record)):
                held.write(chunk)
            read(one.size)
        return held.calls(**asdict(question))


def _chunks(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield records some thousand at a time, and fewer where they are long."""
    chunk: list[dict[str, Any]] = []
    size = 0
    for record in records:
        chunk.append(record)
        size += _weight(record)
        if len(chunk) >= _CHUNK or size >= _BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _weight(value: Any) -> int:
    """Return about how many bytes of memory a record takes."""
    size, open_ones = 0, [value]
    while open_ones:
        one = open_ones.pop()
        size += sys.getsizeof(one)
        if isinstance(one, dict):
            open_ones += one.values()
        elif isinstance(one, list):
            open_ones += one
    return size


def _parse(when: str, where: str) -> datetime:
    return datetime.fromisoformat(filters.moment(when, where))


def _arrival(one: S3Object) -> tuple[float, str, int, str]:
    """Return by what objects are ordered: when they were stored (in seconds), and then their segments."""
    if one.facts is None:
        return one.modified, "", 0, one.key
    return one.modified, one.facts.segment, one.facts.first, one.key


def _is_settled(one: S3Object, until: str | None, least: int | None) -> bool:
    """Whether an object's key says that it may have what is asked for: then it is read in any case."""
    if until is None and least is None:
        return True
    if one.facts is None:
        return True
    return (until is None or f"{one.facts.date}T{one.facts.hour}" < until) and (
        least is None or NAMES.get(one.facts.policy.upper(), -1) >= least
    )


def _may_match(notes: Mapping[str, str], until: str | None, least: int | None) -> bool:
    """Whether an object may have what is asked for, by what was noted with it."""
    level = notes.get("toolog-level", "")
    return (until is None or notes.get("toolog-oldest", "") < until) and (
        least is None or not level.isdigit() or int(level) >= least
    )


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
