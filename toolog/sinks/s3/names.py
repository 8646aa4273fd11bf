"""The keys of objects, Hive-style, so that readers and lifecycle rules find their part by prefix:

    <prefix>/policy=<policy>/date=YYYY-MM-DD/hour=HH/<host>-<pid>-<segment>-<first>-<last>.msgpack.zst

Host, process id, date and hour are those of the spool's segment and its writer, whoever uploads it and
whenever; ``segment`` is the rest of its name (when it was created, a random part, its number), ``first`` and
``last`` are the serial numbers of the first and last record. A record is in one object only, so no two keys
are alike. A key with one part more, eight hex digits before the suffix, holds what was missing in an object
that stood under the key without it.
"""

from __future__ import annotations

import functools
import os
import re
import secrets
from dataclasses import dataclass
from urllib.parse import quote, unquote

FORMATS = ("msgpack", "jsonl")
"""What an object may hold inside its zstd frame: MessagePack maps one behind the other, or JSON lines."""

NO_POLICY = "none"
"""The policy of records that have none."""

_SEGMENT = re.compile(r"(\d{8}T\d{12}Z)_([A-Za-z0-9.-]+)_(\d+)_([0-9a-f]+)_(\d+)(?:_to-.+)?", re.ASCII)
_KEY = re.compile(
    r"(?:(?P<prefix>.*)/)?policy=(?P<policy>[^/]+)/date=(?P<date>\d{4}-\d\d-\d\d)/hour=(?P<hour>\d\d)/"
    r"(?P<host>[A-Za-z0-9.-]+)-(?P<pid>\d+)-(?P<segment>\d{8}T\d{12}Z_[0-9a-f]+_\d+)"
    r"-(?P<first>\d+)-(?P<last>\d+)(?:-(?P<part>[0-9a-f]{8}))?\.(?P<format>msgpack|jsonl)\.zst",
    re.ASCII | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The facts that stand in a key. ``part`` is "" in a key without one."""

    prefix: str
    policy: str
    date: str
    hour: str
    host: str
    pid: int
    segment: str
    first: int
    last: int
    format: str
    part: str = ""


@functools.lru_cache(maxsize=1024)
def origin(segment: str) -> tuple[str, ...]:
    """Return what stays of a segment's name when some of its records are carried over to a new one.

    Raises ValueError when it is no such name.
    """
    match = _SEGMENT.fullmatch(segment)
    if match is None:
        raise ValueError(f"{segment!r} is no segment's name")
    stamp, host, pid, _, number = match.groups()
    return stamp, host, pid, number


def is_segment(segment: str) -> bool:
    """Return whether a text is a segment's name, from which a key can be made."""
    return _SEGMENT.fullmatch(segment) is not None


def was_on_disk(segment: str) -> bool:
    """Return whether a segment is one of the spool's, and not the name of what was held in memory."""
    return int(origin(segment)[3]) > 0


def invented_segment(stamp: str) -> str:
    """Return the name of a segment for records that stood in no spool. Its number is 0, which none on disk
    has.

    ``stamp``: the time, like "20261130T120000000000Z".
    """
    host = re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename)[:40] or "host"
    return f"{stamp}_{host}_{os.getpid()}_{secrets.token_hex(6)}_000000"


def policy_prefix(prefix: str, policy: str) -> str:
    """Return what all keys of one policy begin with: with a ``/`` at its end, as a lifecycle rule needs."""
    start = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    return f"{start}policy={quote(policy or NO_POLICY, safe='')}/"


def key(prefix: str, policy: str, segment: str, first: int, last: int, form: str) -> str:
    """Return the key of an object; raises ValueError when ``segment`` is no segment's name.

    ``first`` and ``last``: the serial numbers of its first and last record; ``form``: one of FORMATS.
    """
    match = _SEGMENT.fullmatch(segment)
    if match is None:
        raise ValueError(f"{segment!r} is no segment's name")
    stamp, host, pid, random, number = match.groups()
    place = f"date={stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}/hour={stamp[9:11]}"
    name = f"{host}-{pid}-{stamp}_{random}_{number}-{first}-{last}"
    return f"{policy_prefix(prefix, policy)}{place}/{name}.{form}.zst"


def with_part(found: str, part: str) -> str:
    """Return the key for what is missing in the object under ``found``; ``part``: eight hex digits."""
    stem, form, zst = found.rsplit(".", 2)
    return f"{stem}-{part}.{form}.{zst}"


def parse(found: str) -> ObjectName | None:
    """Return the facts in a key, or None when it is none of ours."""
    match = _KEY.fullmatch(found)
    if match is None:
        return None
    return ObjectName(
        prefix=match["prefix"] or "",
        policy=unquote(match["policy"]),
        date=match["date"],
        hour=match["hour"],
        host=match["host"],
        pid=int(match["pid"]),
        segment=match["segment"],
        first=int(match["first"]),
        last=int(match["last"]),
        format=match["format"],
        part=match["part"] or "",
    )
