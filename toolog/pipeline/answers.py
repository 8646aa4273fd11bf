"""What a sink answered, checked: a sink may be anybody's, and what it returns decides what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from toolog.errors import SinkUnavailable
from toolog.sanitize import inuse
from toolog.sinks.base import Answer, Batch

_STORED = Answer()


def read_answer(given: object, batch: Batch) -> Answer:
    """Return what a sink's ``write`` returned for a batch as an Answer: None says that all is stored.

    Raises SinkUnavailable for what is no answer. Nobody knows then what is stored, and it is the sink's fault
    and not the records': they are kept, and come again.
    """
    if given is None:
        return _STORED
    if not isinstance(given, Answer):
        raise _no_answer(f"write returned {_kind(given)}; None (all is stored) or an Answer is right")
    if not isinstance(given.rejected, Mapping):
        raise _no_answer(f"rejected is {_kind(given.rejected)}, not a mapping of record_id to reason")
    if not isinstance(given.retry, AbstractSet):
        raise _no_answer(f"retry is {_kind(given.retry)}, not a set of record_ids")
    if isinstance(given.again, bool) or not isinstance(given.again, int) or given.again < 0:
        raise _no_answer(f"again is {_kind(given.again)}, not a number from 0 on")
    named = {*given.rejected, *given.retry}
    if named and not named <= {record.record_id for record in batch}:
        raise _no_answer("it names what is no record_id of the batch (record.record_id)")
    return given


def words_of(said: object) -> str:
    """Return what a sink said (a reason, an error) as text that every encoding can hold, and masked: it may
    quote a record, or the way to the server. Never raises.
    """
    try:
        text = said if isinstance(said, str) else str(said)
    except Exception:
        text = f"{type(said).__name__}, which cannot be shown"
    return str(inuse.mask(text.encode("utf-8", "backslashreplace").decode()))


def _no_answer(what: str) -> SinkUnavailable:
    return SinkUnavailable(f"the sink answered something that is no answer: {what}", tells=True)


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
