"""What is asked of records that lie elsewhere than in the local store, in the words of `toolog query`."""

from __future__ import annotations

from dataclasses import dataclass

from toolog.store import filters


@dataclass(frozen=True, slots=True)
class Question:
    """The filters of a query, as the command line has them; None where one was not given. Raises ConfigError
    for one that makes no sense.
    """

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

    def __post_init__(self) -> None:
        filters.build(level=self.level, since=self.since, until=self.until)
        if self.status is not None:
            filters.statuses(self.status)
