"""Every exception that toolog raises.

    ToologError
    ├── ConfigError                 a setting is wrong; raised at once, names the nearest right key
    │   └── NotInstalled            it asks for what is not installed here
    ├── SchemaError                 a record and the schema disagree
    │   └── RecordInvalid           raised by ``toolog.validate(record)``
    ├── GuardError                  a check around a call said no
    │   ├── ArgumentsInvalid
    │   ├── ContextRejected
    │   ├── ToolTimeout
    │   ├── AttemptsExhausted
    │   └── CallDepthExceeded       (also a RecursionError) names the chain of tools
    ├── UnknownTool
    ├── SerializationError
    ├── SpoolError                  the on-disk queue cannot do what was asked
    │   ├── SpoolFull
    │   └── SegmentCorrupt
    └── SinkError
        ├── SinkUnavailable         try all of it again later
        │   ├── SinkDenied          ... when somebody has put right what it says
        │   └── StoreUnavailable    the file of a local store: locked, full, damaged
        └── SinkRejected            never try again: dead letters

Only ConfigError, guard errors, UnknownTool, and what a user called by name (validate, flush, ...) reach the
application. Everything else is contained and counted (see ``counters.contain``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class ToologError(Exception):
    """The root of all errors of toolog."""


class ConfigError(ToologError):
    """A setting is wrong: says what, where it stood, and what would be right."""


class NotInstalled(ConfigError):
    """A setting asks for a library or a module that is not installed here."""


class SchemaError(ToologError):
    """The record schema could not be used."""


class Fault(NamedTuple):
    """One fault of a record: where it is (``tool.type``, "" for the record itself), the rule, and what is
    wrong.
    """

    path: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or '(record)'}: {self.rule}: {self.message}"


class RecordInvalid(SchemaError):
    """A record breaks its schema; ``faults`` lists every `Fault`: ``path``, ``rule`` and ``message``."""

    def __init__(self, message: str, faults: Sequence[Fault] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class GuardError(ToologError):
    """A check around a call refused it or its result."""


class ArgumentsInvalid(GuardError):
    """The arguments of a call do not fit the tool's schema."""


class ContextRejected(GuardError):
    """A context hook refused the call."""


class ToolTimeout(GuardError):
    """A tool took longer than it may."""


class AttemptsExhausted(GuardError):
    """Every attempt of a call failed."""


class CallDepthExceeded(GuardError, RecursionError):
    """Tool calls are nested deeper than ``max_depth``; ``chain`` names the tools from the root inwards."""

    def __init__(self, message: str, chain: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.chain = tuple(chain)


class UnknownTool(ToologError):
    """No tool has that name."""


class SerializationError(ToologError):
    """Bytes could not be written or read by a serializer."""


class SpoolError(ToologError):
    """The spool cannot do what was asked; the cause is chained."""


class SpoolFull(SpoolError):
    """The spool has reached its bound."""


class SegmentCorrupt(SpoolError):
    """A segment, or a frame in it, is damaged."""


class SinkError(ToologError):
    """A sink failed."""


class SinkUnavailable(SinkError):
    """The sink cannot take records now: all of the batch is tried again later.

    ``tells``: the text quotes no record, so that it may stand in a log. ``retry_after``: in how many seconds
    the sink asked to be tried again (None: it did not say).
    """

    def __init__(self, message: str = "", *, tells: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.tells = tells
        self.retry_after = retry_after


class SinkDenied(SinkUnavailable):
    """The sink refuses us, not the records (a wrong secret, a missing right): the breaker opens at once,
    everything is kept, and it is tried again now and then. The text says what to do and quotes no record.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, tells=True)


class StoreUnavailable(SinkUnavailable):
    """The file of a local store cannot be read or written now: another program has it, the disk is full, it
    is damaged.
    """


class SinkRejected(SinkError):
    """The sink refuses these records for good: they go to the dead letters."""


def shown(value: object) -> str:
    """Return a wrong value as an error may show it: a table or list only by its kind, for secrets may stand
    in it.
    """
    if value is None or isinstance(value, (str, int, float)):
        return repr(value)
    return kind_of(value)


def kind_of(value: object) -> str:
    """Return what kind of value something is, in words."""
    kinds = ((str, "a text"), (bool, "true or false"), ((int, float), "a number"), (Mapping, "a table"))
    for kind, words in (*kinds, ((list, tuple), "a list")):
        if isinstance(value, kind):
            return words
    return "nothing" if value is None else f"a {type(value).__name__}"


CLOSE = 0.75
"""How like a word a candidate must be to be offered, where the candidates are not ours: all modules, all of
an environment."""


def nearest(word: str, candidates: Iterable[str], *, cutoff: float = 0.5) -> str | None:
    """Return the candidate that a misspelt word most likely meant, or None when nothing is close.

    ``cutoff``: from 0 (anything) to 1 (the same), how like the word it must be.
    """
    import difflib  # only on the way to an error message

    names = {name.casefold(): name for name in candidates}
    found = difflib.get_close_matches(word.casefold(), names, n=1, cutoff=cutoff)
    return names[found[0]] if found else None


def unknown_key(word: object, candidates: Iterable[str], where: str) -> ConfigError:
    """Return the ConfigError for a key nobody knows: names the key, where it stood, and the nearest right
    one.
    """
    known = sorted(candidates)
    guess = nearest(str(word), known)
    hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(known)}"
    return ConfigError(f"unknown key {word!r} in {where}; {hint}")
