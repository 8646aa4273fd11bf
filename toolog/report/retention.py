"""Plans of retention as tables: what holds, what would change, what would be deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolog.expiry import Change, Piece, SinkPlan, Term
from toolog.report.tables import table
from toolog.sinks.lines import Line, visible

_DAY = 86_400.0
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_STYLES = {"create": "good", "change": "warn", "remove": "bad"}


def plan_lines(plans: Sequence[SinkPlan], *, purge: bool = True) -> Iterator[Line]:
    """Yield the lines that show plans: a table of policies for each sink, then its changes, what a purge
    would do (unless ``purge`` is False), and notes.
    """
    for number, plan in enumerate(plans):
        if number:
            yield []
        yield [
            ("tool", visible(plan.sink)),
            ("text", f"  {visible(plan.kind)}, {visible(plan.place)}"),
            ("dim", f"  deletes: {visible(plan.engine)}"),
        ]
        if plan.trouble:
            yield [("bad", f"  {visible(plan.trouble)}")]
            continue
        if plan.terms:
            yield from table(_TERMS, [_term(term) for term in plan.terms], widest=140)
        for change in plan.changes:
            yield _change(change)
        if purge and plan.pieces:
            yield from table(_PIECES, [_piece(piece) for piece in plan.pieces], right=(3, 4), widest=140)
        for sentence in plan.foreign:
            yield [("bad", f"  {visible(sentence)}")]
        yield from _notes(plan)
        if not plan.changes and not (purge and plan.pieces):
            yield [("dim", "  nothing to do")]


def drift_lines(plans: Sequence[SinkPlan]) -> Iterator[Line]:
    """Yield a line for each sink, one for each thing that is not as the policies say, and the notes."""
    for plan in plans:
        name = ("tool", f"{visible(plan.sink)}  ")
        if plan.trouble:
            yield [name, ("bad", f"could not be asked: {visible(plan.trouble)}")]
        elif not plan.drift:
            yield [name, ("good", "as the policies say")]
        for sentence in plan.drift:
            yield [name, ("bad", visible(sentence))]
        yield from _notes(plan)


def _notes(plan: SinkPlan) -> Iterator[Line]:
    for note in plan.notes:
        yield [("warn", f"  note: {visible(note)}")]


_TERMS = ("policy", "keep", "where", "a record lives", "counted")
_PIECES = ("purge", "policy", "what", "records", "size", "why")


def _term(term: Term) -> list[str]:
    keep = "no end" if term.keep is None else period(term.keep)
    return [visible(term.policy), keep, visible(term.target), _life(term), visible(term.bounds.counted)]


def _life(term: Term) -> str:
    earliest, latest = term.bounds.earliest, term.bounds.latest
    if earliest is None:
        return "no end"
    if latest is None:
        return f"at least {period(earliest)}"
    return period(earliest) if earliest == latest else f"{period(earliest)} to {period(latest)}"


def _change(change: Change) -> Line:
    text = f"  {change.action} {visible(change.what)}"
    if change.action == "change" and isinstance(change.before, str | None):
        text += f": {visible(change.before or 'none')} -> {visible(change.after)}"
    return [(_STYLES[change.action], text)]


def _piece(piece: Piece) -> list[str]:
    held = f" ({piece.held} on hold)" if piece.action == "hold" and piece.records != piece.held else ""
    return [
        {"hold": "keep: on hold"}.get(piece.action, piece.action) + (" (overdue)" if piece.overdue else ""),
        visible(piece.policy),
        visible(piece.what),
        ("" if piece.records is None else str(piece.records)) + held,
        "" if piece.bytes is None else size(piece.bytes),
        visible(piece.why),
    ]


def period(seconds: float) -> str:
    """Return a duration in the largest unit that says it: ``7 days``, ``36 hours``, ``90 s``; a long one that
    none says in two: ``1 day 1 s``.
    """
    rest = seconds % _DAY
    if seconds > _DAY and rest % 3600.0:
        return f"{period(seconds - rest)} {period(rest)}"
    for unit, name in ((_DAY, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= unit and seconds % unit == 0:
            number = int(seconds / unit)
            return f"{number} {name}{'' if number == 1 else 's'}"
    return f"{seconds:g} s"


def size(number: int) -> str:
    """Return a number of bytes with its unit."""
    for unit, name in _SIZES:
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number} B"
