"""Retention policies: which sinks take the records of a level, and how long they are kept there.

    {"INFO":  {"sinks": ["search"],            "keep": "7 days"},
     "ERROR": {"sinks": ["search", "archive"], "keep": "30 days"}}

A level's policy covers it up to the next named one (WARNING records go by INFO's policy here); below the
lowest named level nothing is shipped. Each policy has a name, its level in small letters, under which stores
keep its records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolog.errors import ConfigError, kind_of, nearest, shown, unknown_key
from toolog.levels import NAMES, parse_level
from toolog.units import parse_duration

_KEYS = ("sinks", "keep")
LONGEST_KEEP = 36_500 * 86_400.0
"""Seconds of a hundred years: beyond them not every server can count back, and nobody means a number."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How the records of one level are kept.

    ``name`` is the level's name in small letters, ``levelno`` the lowest level it covers, ``sinks`` where its
    records go, ``keep`` for how many seconds (None: until somebody removes them).
    """

    name: str
    levelno: int
    sinks: tuple[str, ...]
    keep: float | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """How long records of some levels are kept in one sink: ``keep`` seconds. ``policies`` are the names of
    the policies that say so; where several share a level's name, the longest ``keep`` counts.
    """

    policies: tuple[str, ...]
    levels: tuple[str, ...]
    keep: float


class Policies:
    """All policies of one handler, asked for each record by level number."""

    def __init__(self, policies: Collection[Policy]) -> None:
        self._policies = sorted(policies, key=lambda policy: policy.levelno)
        self._bounds = [policy.levelno for policy in self._policies]
        self._known: dict[int, Policy | None] = {}

    @classmethod
    def from_config(
        cls, table: Mapping[str, Any], sinks: Collection[str], where: str = "retention"
    ) -> Policies:
        """Return the policies of a configuration's ``retention`` table.

        ``sinks`` are the names that may stand in it. An empty table means: every sink takes every record, and
        nothing is purged. Raises ConfigError for an unknown level, key or sink (naming the nearest), or an
        impossible ``keep``.
        """
        if not table:
            return cls([Policy("all", 0, tuple(sinks))])
        policies: dict[int, Policy] = {}
        for level in table:
            number = parse_level(level if not isinstance(level, str) else level.strip(), f"level in {where}")
            name = str(level).strip().lower()
            if number in policies:
                raise ConfigError(f"{where} names the level {level!r} twice")
            policies[number] = _policy(name, number, table[level], sinks, f"{level} in {where}")
        return cls(list(policies.values()))

    def policy(self, levelno: int) -> Policy | None:
        """Return the policy that covers a level, or None when its records are not shipped."""
        try:
            return self._known[levelno]
        except KeyError:
            position = bisect_right(self._bounds, levelno)
            found = self._policies[position - 1] if position else None
            if len(self._known) < 256:  # level numbers are the application's to choose
                self._known[levelno] = found
            return found

    def route(self, levelno: int) -> tuple[str, ...]:
        """Return the names of the sinks that take a record of this level; empty when it is not shipped."""
        found = self.policy(levelno)
        return () if found is None else found.sinks

    def of_sink(self, name: str) -> list[Policy]:
        """Return the policies whose records go to one sink."""
        return [policy for policy in self._policies if name in policy.sinks]

    def limits(self, sink: str) -> list[Limit]:
        """Return how long a sink that knows records by the names of their levels keeps each of them.

        A record carries the standard name at or below its level number, so those from 20 to 29 are all INFO
        there. A level that a policy without ``keep`` covers has no limit.
        """
        found: dict[tuple[Policy, ...], list[str]] = {}
        for name, sharing in self._sharing(sink):
            if sharing and all(one.keep is not None for one in sharing):
                found.setdefault(tuple(sharing), []).append(name)
        return [
            Limit(tuple(one.name for one in sharing), tuple(levels), max(one.keep or 0.0 for one in sharing))
            for sharing, levels in found.items()
        ]

    def kept(self, policy: Policy, sink: str) -> list[float | None]:
        """Return how many seconds a policy's records are kept in a sink that knows records by the names of
        their levels, once for each name that they can have there (None: no end).
        """
        return [
            None if any(one.keep is None for one in sharing) else max(one.keep or 0.0 for one in sharing)
            for _, sharing in self._sharing(sink)
            if policy in sharing
        ]

    def uncovered(self, sink: str) -> list[str]:
        """Return the names of the levels of which no policy sends anything to one sink."""
        return [name for name, sharing in self._sharing(sink) if not sharing]

    def _sharing(self, sink: str) -> Iterator[tuple[str, list[Policy]]]:
        """Yield each level's name with the policies that send records of that name to one sink."""
        bounds = [0, *sorted(NAMES.values())[1:]]
        for name, low, high in zip(NAMES, bounds, [*bounds[1:], None], strict=True):
            covering = {self.policy(low), *(one for one in self._policies if _is_within(one, low, high))}
            yield name, [one for one in self._policies if one in covering and sink in one.sinks]

    def __iter__(self) -> Iterator[Policy]:
        return iter(self._policies)

    def __len__(self) -> int:
        return len(self._policies)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policies) and self._policies == other._policies

    def __hash__(self) -> int:
        return hash(tuple(self._policies))

    def __repr__(self) -> str:
        return f"Policies({self._policies!r})"


def _is_within(policy: Policy, low: int, high: int | None) -> bool:
    return low <= policy.levelno and (high is None or policy.levelno < high)


def _policy(name: str, number: int, table: object, sinks: Collection[str], where: str) -> Policy:
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where} is a table of {{sinks, keep}}, not {kind_of(table)}")
    for key in table:
        if key not in _KEYS:
            raise unknown_key(key, _KEYS, where)
    wanted = table["sinks"] if "sinks" in table else list(sinks)
    if isinstance(wanted, str) or not isinstance(wanted, (list, tuple)):
        raise ConfigError(f"sinks of {where} is a list of sink names, not {shown(wanted)}")
    for sink in wanted:
        if sink not in sinks:
            guess = nearest(str(sink), sinks)
            hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(sorted(sinks)) or 'none'}"
            raise ConfigError(f"unknown sink {sink!r} in {where}; {hint}")
    keep = None if table.get("keep") is None else _keep(table["keep"], f"keep of {where}")
    return Policy(name, number, tuple(dict.fromkeys(wanted)), keep)


def _keep(value: object, where: str) -> float:
    """Return how many seconds records are kept. Raises ConfigError, which says how they are kept for ever."""
    endless = "without an end leave it out"
    try:
        keep = parse_duration(value, where)
    except ConfigError as error:
        raise ConfigError(f"{error}; to keep records {endless}") from None
    if keep < 1:
        raise ConfigError(f"{where} is at least one second; to keep records {endless}")
    if keep > LONGEST_KEEP:
        raise ConfigError(f"{where} is at most 36,500 days, not {shown(value)}; to keep records {endless}")
    return keep
