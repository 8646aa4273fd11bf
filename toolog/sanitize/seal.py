"""The door that nothing unmasked passes: raw content in, the sanitized document out.

Sealing scans the packed content once and walks the structure only on a hit; of a batch, a few are
scanned as one. It fails closed: when sanitizing breaks, the content is withheld and the record says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ormsgpack

from toolog.breath import breathe, breathing
from toolog.call import _COUNTS
from toolog.context import HOLD_TAG
from toolog.counters import contain
from toolog.levels import watch_filters
from toolog.process import Names
from toolog.record import SuccessRecord, ToolRecord
from toolog.sanitize import Sanitizer, default, inuse
from toolog.sanitize.echoes import Echoes
from toolog.sanitize.policy import Policy
from toolog.snapshot.flat import texts_in

FAILED = "[REDACTION_FAILED]"
#: How many records are scanned as one: one record in thirty is flagged, and then so many are scanned again.
_TOGETHER = 8


def seal(record: ToolRecord, sanitizer: Sanitizer | None = None) -> bytes:
    """Return the sanitized document of a record as one MessagePack map; made once, kept on the record.

    The sanitizer is the one that a filter stamped on the record, else ``sanitizer``, else the default one.
    Never raises.
    """
    sealed = record._sealed
    if sealed is None:
        try:
            rules = record.toolog_sanitizer or sanitizer or default()
            # (`Sanitizer.flags`, two calls shorter: this is on the caller's way)
            policy = rules.policy(_tool(record)) if rules.by_tool else rules.common
            tail, count = record.tail()
            if record._flagged_by is policy or (not _is_cleared(record, policy) and policy.flags(tail)):
                sealed = _walk(record, tail, count, rules)
            else:
                sealed = record.assemble(tail, count)
        except Exception as error:
            contain("seal", error)
            sealed = _withhold(record)
        record._sealed = sealed
    return sealed


def seal_batch(records: Sequence[ToolRecord], sanitizer: Sanitizer | None = None) -> list[bytes]:
    """Seal many records, a few of them with one scan; only where that hits, records are looked at alone."""
    rules = sanitizer or default()
    if not rules.by_tool:
        fresh = [record for record in records if record._sealed is None and record.toolog_sanitizer is None]
        for at in range(0, len(fresh), _TOGETHER):
            breathe()
            try:
                _seal_some(fresh[at : at + _TOGETHER], rules)
            except Exception as error:
                contain("seal", error)
    return [seal(record, sanitizer) for record in breathing(records)]


def _seal_some(some: list[ToolRecord], rules: Sanitizer) -> None:
    records = []
    tails: list[tuple[bytes, int]] = []
    for record in some:
        tail, count = record.tail()
        if record._flagged_by is rules.common:
            record._sealed = _walk(record, tail, count, rules)
        elif _is_cleared(record, rules.common):
            record._sealed = record.assemble(tail, count)
        else:
            records.append(record)
            tails.append((tail, count))
    if not tails:
        return
    if not rules.flags(b"".join([tail for tail, _ in tails])):
        for record, (tail, count) in zip(records, tails, strict=True):
            record._sealed = record.assemble(tail, count)
        return
    hit = False
    for place, (record, (tail, count)) in enumerate(zip(records, tails, strict=True), 1):
        # When all the others are clean, the last one is known to be not.
        if (place == len(records) and not hit) or rules.flags(tail):
            hit = True
            record._sealed = _walk(record, tail, count, rules)
        else:
            record._sealed = record.assemble(tail, count)


def _is_cleared(record: ToolRecord, policy: Policy) -> bool:
    """Tell whether all that is in a record is known to be clean, without a scan; its tail was made before."""
    if type(record) is not SuccessRecord:
        return False
    call, output = record._call, record._output
    given: Any = call.input
    if type(given) is bytes or type(output) is bytes:
        return False
    texts = texts_in(given, output)
    if texts is None:
        return False
    bag = call.bag
    if bag.count and bag.cleared_by is not policy:
        if bag.texts is None or not policy.clears(bag.texts, bag.tags):
            return False
        bag.cleared_by = policy
    return policy.clears(texts, given, output)


def _tool(record: ToolRecord) -> str | None:
    call = record._call
    return None if call is None else call.plan.tool_name


def _walk(record: ToolRecord, tail: bytes, count: int, rules: Sanitizer) -> bytes:
    content: dict[str, Any] = ormsgpack.unpackb(_COUNTS[count] + tail)
    echoes = Echoes()
    parts, masked = _clean(content, rules, _tool(record), echoes)
    if echoes.search(tail):
        parts, masked = _clean(content, rules, _tool(record), echoes)
    return record.assemble(tail if parts is None else parts, count, masked)


def _clean(
    content: dict[str, Any], rules: Sanitizer, tool: str | None, echoes: Echoes
) -> tuple[bytes | None, dict[str, int] | None]:
    """Return the content sanitized and packed, and how many masks of each rule are in it; None for both when
    nothing changed."""
    masked: dict[str, int] = {}
    parts: list[bytes] = []
    changed = False
    for key, value in content.items():
        try:
            if key == "truncated":
                clean, counts = _clean_paths(value, rules, tool, echoes)
            else:
                clean, counts = rules.sanitize_at(value, key, tool, echoes)
        except Exception as error:
            contain("sanitize", error)
            clean, counts = FAILED, {"redaction_failed": 1}
        changed = changed or clean is not value
        for rule, number in counts.items():
            masked[rule] = masked.get(rule, 0) + number
        if not isinstance(clean, dict) and key in ("input", "tags", "error", "attributes", "truncated"):
            clean = {"value": clean}  # the schema wants an object there, also when all of it is a mask
            if key == "tags" and isinstance(value, dict) and value.get(HOLD_TAG) is not None:
                clean[HOLD_TAG] = FAILED  # why is hidden, but on hold it is
        parts += [ormsgpack.packb(key), ormsgpack.packb(clean)]
    return (b"".join(parts), masked) if changed else (None, None)


def _clean_paths(
    notes: dict[str, Any], rules: Sanitizer, tool: str | None, echoes: Echoes
) -> tuple[Any, dict[str, int]]:
    """Sanitize the paths of what was cut. What is noted for each is our own, and says nothing of a value:
    ``output.password[0]`` is no reason to hide how long that was."""
    clean: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for path, note in notes.items():
        shown, found = rules.sanitize_at(path, "truncated", tool, echoes)
        clean[str(shown)] = note
        for rule, number in found.items():
            counts[rule] = counts.get(rule, 0) + number
    return (clean if counts else notes), counts


def _withhold(record: ToolRecord) -> bytes:
    head, count = record.head()
    tail = b"\xa6masked" + ormsgpack.packb({"redaction_failed": 1})
    if _may_be_on_hold(record):
        return _COUNTS[count + 2] + head + tail + b"\xa4tags" + ormsgpack.packb({HOLD_TAG: FAILED})
    return _COUNTS[count + 1] + head + tail


def _may_be_on_hold(record: ToolRecord) -> bool:
    """Whether a record may have the tag ``hold``: a purge must leave it though nothing of it can be shown."""
    call = record._call
    if call is not None:
        return call.bag.tags.get(HOLD_TAG) is not None
    return ormsgpack.packb(HOLD_TAG) in record._tail


def _follow_filters(filters: list[Any]) -> None:
    """Let a sanitizer among the filters of the loggers above all tools count for every record on which no
    other one is stamped.
    """
    given = [one for one in filters if isinstance(one, Sanitizer)]
    ToolRecord.toolog_sanitizer = given[-1] if given else None


ToolRecord.sealer = staticmethod(seal)
watch_filters(_follow_filters)
Names.mask = staticmethod(inuse.mask_name)
