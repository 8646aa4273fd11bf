"""What independent sources say of the records of one row, and whether that agrees.

A record's message is a number and its proof; so what is spurious or damaged shows without asking toolog.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


def message(number: int, padding: int = 0) -> str:
    """Return the message of a number: nobody can make it but who knows how."""
    proof = hashlib.sha256(str(number).encode()).hexdigest()[:12]
    return f"{number} {proof}{'x' * padding}"


def read_message(text: object) -> int | None:
    """Return the number of a message, or None when it is not as it was made."""
    number, _, proof = str(text).partition(" ")
    if not number.isdigit():
        return None
    return int(number) if text == message(int(number), len(proof) - 12) else None


def count(messages: Iterable[object]) -> tuple[Counter[int], int]:
    """Return how often each number is there, and how many messages are not as they were made."""
    found: Counter[int] = Counter()
    corrupt = 0
    for text in messages:
        number = read_message(text)
        if number is None:
            corrupt += 1
        else:
            found[number] += 1
    return found, corrupt


@dataclass
class Books:
    """The accounts of one row at rest.

    ``accepted``: the producers' ledgers, written after each call returned. ``stored`` and ``corrupt``: what
    the server has. ``wire``: what came to the proxy. ``dead``: the dead-letter file. ``dropped``: the
    producers' own count. ``waiting``: the spool. ``unsure`` is how many records may have been accepted
    without a line in the ledger: one for each killed thread.
    """

    accepted: set[int] = field(default_factory=set)
    stored: Counter[int] = field(default_factory=Counter)
    wire: Counter[int] = field(default_factory=Counter)
    dead: set[int] = field(default_factory=set)
    waiting: set[int] = field(default_factory=set)
    dropped: int = 0
    corrupt: int = 0
    unsure: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """How many accepted records are nowhere, those aside that the producers dropped and counted."""
        return len(self.accepted - self.stored.keys() - self.dead - self.waiting) - self.dropped

    @property
    def twice(self) -> int:
        """How many records are stored more than once."""
        return sum(number > 1 for number in self.stored.values())

    @property
    def spurious(self) -> int:
        """How many stored records nobody accepted, beyond those that a kill leaves unsure."""
        return max(0, len(self.stored.keys() - self.accepted) - self.unsure)

    @property
    def again(self) -> int:
        """How many records came more than once on the wire: replay was exercised."""
        return sum(number > 1 for number in self.wire.values())

    def faults(self) -> list[str]:
        """Return what is wrong with the books; nothing when they balance."""
        wrong = []
        if self.lost:
            wrong.append(f"lost {self.lost}: {sorted(self.accepted - self.stored.keys())[:5]} ...")
        if self.twice:
            wrong.append(f"stored twice {self.twice}: {[n for n, m in self.stored.items() if m > 1][:5]} ...")
        if self.spurious:
            wrong.append(f"spurious {self.spurious}: {sorted(self.stored.keys() - self.accepted)[:5]} ...")
        if self.corrupt:
            wrong.append(f"corrupt {self.corrupt}")
        if self.dead & self.stored.keys():
            wrong.append(f"stored and dead letters too: {len(self.dead & self.stored.keys())}")
        if not self.accepted:
            wrong.append("nothing was accepted")
        return wrong

    def figures(self) -> dict[str, float | str]:
        """Return the row of the table."""
        return {
            "accepted": len(self.accepted),
            "stored": len(self.stored),
            "dead letters": len(self.dead),
            "dropped": self.dropped,
            "in spool": len(self.waiting),
            "lost": self.lost,
            "twice": self.twice,
            "spurious": self.spurious,
            "corrupt": self.corrupt,
            "again on the wire": self.again,
            "seconds": round(self.seconds, 1),
            "notes": "; ".join(self.notes),
        }
