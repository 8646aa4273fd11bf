"""A sink as retention sees it: it is looked at, its settings are changed, and what is too old is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from toolog.expiry.plan import Change, SinkPlan

Tell = Callable[[str], None]
"""Told in a sentence what was done, as it is done."""


class Target(Protocol):
    """One sink. Every method raises SinkUnavailable when its server does not answer or refuses us, and
    SinkRejected when it does not take what we asked for.
    """

    name: str

    def blank(self) -> SinkPlan:
        """Return a plan that says which sink this is, and nothing else."""

    def examine(self, now: float) -> SinkPlan:
        """Return what holds and what is to be done at ``now`` (seconds of the Unix epoch)."""

    def doubt(self, now: float) -> str:
        """Return why a purge at ``now`` might be a wrong clock's work; empty where nothing speaks for it, or
        where the server has a clock of its own.
        """

    def apply(self, plan: SinkPlan, tell: Tell) -> None:
        """Make the settings of the server what the plan says."""

    def purge(self, now: float, tell: Tell) -> int:
        """Delete what is past its age and not on hold; return how many records went, or files
        where records are not counted."""


def carry_out(changes: Iterable[Change], tell: Tell) -> None:
    """Carry out changes one by one, each before the next one is looked for."""
    for change in changes:
        if change.carry_out is not None:
            change.carry_out()
        tell(f"{_DONE[change.action]} {change.what}")


_DONE = {"create": "created", "change": "changed", "remove": "removed"}
