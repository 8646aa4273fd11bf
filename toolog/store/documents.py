"""Record documents become rows, and rows become the very same documents again.

A document's keys and the types of its values decide how its row is made; that decision, a :class:`Plan`, is
made once for each combination and kept. What does not fit its column (a field of another type, a field
unknown to this version) is not squeezed in: the whole document then also stands in ``extra``, and comes back
from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from types import NoneType
from typing import Any

import orjson

from toolog.store.schema import DERIVED, EVENTS, FIELDS, INTEGER, JSON, NUMBER, OTHERS, TEXT, Table

_FITS: dict[str, tuple[type, ...]] = {
    TEXT: (str, NoneType),
    INTEGER: (int, NoneType),
    NUMBER: (int, float, NoneType),
    JSON: (dict, list, str, int, float, bool, NoneType),
}
_MOST_PLANS = 4096
WHOLE = 0
"""The shape of a row whose document stands whole in ``extra``."""


def to_json(value: object) -> str:
    """Return compact JSON text; also for what nests deeper than orjson goes."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def from_json(text: str) -> Any:
    """Return the data of a JSON text written by :func:`to_json`."""
    try:
        return orjson.loads(text)
    except ValueError:
        return json.loads(text)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a document of one shape becomes a row: which value goes to which column, and which of them are
    JSON.
    """

    table: Table
    shape: int
    pick: Callable[[Sequence[Any]], tuple[Any, ...]]
    as_json: tuple[int, ...]
    derived: tuple[tuple[int, Callable[[Mapping[str, Any]], Any]], ...]
    has_attempts: bool


class Shapes:
    """The shapes (lists of field names) that a database knows; new ones are written with the batch that
    brings them.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, ...], int] = {}
        self._fields: dict[int, tuple[str, ...]] = {}
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self.fresh: list[tuple[int, str]] = []

    def load(self, rows: Sequence[tuple[int, str]]) -> None:
        """Take over what stands in the database; what was known and does not stand there is forgotten."""
        self._fields = {number: tuple(from_json(fields)) for number, fields in rows}
        ids = {fields: number for number, fields in self._fields.items()}
        if ids != self._ids:
            self._plans.clear()
        self._ids = ids
        self.fresh = []

    def known(self, shape: int) -> bool:
        """Return whether ``fields_of(shape)`` has an answer."""
        return shape in self._fields

    def fields_of(self, shape: int) -> tuple[str, ...]:
        """Return the field names of a shape, in the order of the document."""
        return self._fields[shape]

    def row(self, number: int, document: Mapping[str, Any]) -> tuple[Plan, tuple[Any, ...]]:
        """Return how a document is stored, and its row with ``number`` as its id."""
        values = list(document.values())
        key = (*document, *map(type, values), document.get("event"))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(document)
            if len(self._plans) < _MOST_PLANS:
                self._plans[key] = plan
        values += (None, number, plan.shape)
        row = list(plan.pick(values))
        for position in plan.as_json:
            row[position] = to_json(row[position])
        for position, take in plan.derived:
            row[position] = take(document)
        if plan.shape == WHOLE:
            row[-1] = to_json(document)
        return plan, tuple(row)

    def _plan(self, document: Mapping[str, Any]) -> Plan:
        event = document.get("event")
        table = EVENTS.get(event, OTHERS) if isinstance(event, str) else OTHERS
        keys = list(document)
        fits = {
            name for name in table.fields if name in document and type(document[name]) in _FITS[FIELDS[name]]
        }
        whole = len(fits) < len(keys)
        nothing, number, shape = len(keys), len(keys) + 1, len(keys) + 2
        sources: list[int] = []
        as_json: list[int] = []
        derived: list[tuple[int, Callable[[Mapping[str, Any]], Any]]] = []
        for position, column in enumerate(table.columns):
            source = nothing
            if column == "id":
                source = number
            elif column == "shape":
                source = shape
            elif column in table.derived:
                field, take = DERIVED[column]
                if isinstance(document.get(field), Mapping):
                    derived.append((position, take))
            elif column in fits:
                source = keys.index(column)
                if FIELDS[column] == JSON and document[column] is not None:
                    as_json.append(position)
            sources.append(source)
        return Plan(
            table,
            WHOLE if whole else self._id_of(tuple(keys)),
            itemgetter(*sources),
            tuple(as_json),
            tuple(derived),
            "attempts" in fits and isinstance(document["attempts"], list),
        )

    def _id_of(self, fields: tuple[str, ...]) -> int:
        found = self._ids.get(fields)
        if found is None:
            found = self._ids[fields] = max(self._fields, default=WHOLE) + 1
            self._fields[found] = fields
            self.fresh.append((found, to_json(fields)))
        return found


def document_of(table: Table, row: Sequence[Any], shapes: Shapes) -> dict[str, Any]:
    """Return the document whose row (all columns of its table) this is, field for field as it came."""
    if row[1] == WHOLE:
        whole: dict[str, Any] = from_json(row[-1])
        return whole
    columns = dict(zip(table.columns, row, strict=True))
    document: dict[str, Any] = {}
    for name in shapes.fields_of(row[1]):
        value = columns[name]
        document[name] = from_json(value) if FIELDS[name] == JSON and value is not None else value
    return document


def attempts_of(document: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of the ``attempts`` table for a call's document."""
    rows: list[tuple[Any, ...]] = []
    for number, attempt in enumerate(document["attempts"], 1):
        if not isinstance(attempt, Mapping):
            continue
        error = attempt.get("error")
        kind = error.get("type") if isinstance(error, Mapping) else None
        rows.append(
            (
                document["record_id"],
                number,
                _scalar(attempt.get("started")),
                _scalar(attempt.get("duration_ms")),
                _scalar(attempt.get("status")),
                _scalar(kind),
                None if error is None else to_json(error),
            )
        )
    return rows


def _scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float | NoneType) else to_json(value)
