"""The schema of records, and checking a record against it.

``schemas/toolog-record.v1.schema.json`` is the truth; nothing here knows a field by name. jsonschema takes a
quarter of a second to import, so it is loaded by the first check only. Where ``jsonschema_rs`` is installed
it answers whether a record is valid at all (a hundred times faster); what is wrong with an invalid one
jsonschema always says, so the faults are the same with and without it.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from toolog.errors import Fault, RecordInvalid, SchemaError

__all__ = ["Fault", "iter_faults", "load", "validate"]

_LONGEST = 300


def load() -> dict[str, Any]:
    """Return the schema of records as a dict of the caller's own; raises SchemaError when its file is
    missing."""
    return copy.deepcopy(_schema())


def validate(record: Mapping[str, Any]) -> None:
    """Check a record against its schema.

    ``record``: a dict as `toolog.testing.capture` gives it, or a JSON reader. Raises RecordInvalid, whose
    text names the first faults and whose ``faults`` lists them all, each with ``path``, ``rule`` and
    ``message``. Since 0.1.
    """
    faults = list(iter_faults(record))
    if faults:
        shown = "; ".join(str(fault) for fault in faults[:3])
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise RecordInvalid(f"the record breaks its schema: {shown}{more}", faults)


def iter_faults(record: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield each `Fault` of a record, ordered by path; nothing when it is valid."""
    document: Any = dict(record) if isinstance(record, Mapping) else record
    endless = dict(_endless(document))
    quick = _quick_check()
    if quick is not None and not endless and quick(document):
        return
    faults = {_fault(error) for error in _validator().iter_errors(document)}
    faults = {fault for fault in faults if fault.path not in endless}
    yield from sorted(
        faults | {Fault(path, "finite", f"{value} is no number in JSON") for path, value in endless.items()}
    )


def _endless(document: Any) -> Iterator[tuple[str, float]]:
    """Yield path and value of each NaN and infinity: JSON has none, and a JSON Schema cannot say so."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), document)]  # not by recursion: it may nest deeply
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, float):
            if not math.isfinite(value):
                yield _path(path), value
        elif isinstance(value, dict):
            waiting += [((*path, key), inner) for key, inner in value.items() if not isinstance(inner, str)]
        elif isinstance(value, list):
            waiting += [
                ((*path, place), inner) for place, inner in enumerate(value) if not isinstance(inner, str)
            ]


@cache
def _schema() -> dict[str, Any]:
    from toolog import schemas

    try:
        found: dict[str, Any] = json.loads(schemas.read())
    except (OSError, ValueError) as error:
        raise SchemaError(f"the schema file {schemas.RECORD_V1} cannot be read: {error}") from error
    return found


@cache
def _validator() -> Any:
    """Return jsonschema's validator, made once."""
    import jsonschema

    formats = jsonschema.FormatChecker(formats=())
    formats.checks("date-time")(_is_date_time)
    plain = jsonschema.Draft202012Validator
    kinds = plain.TYPE_CHECKER.redefine("number", _is_number)
    extend: Any = jsonschema.validators.extend
    return extend(plain, type_checker=kinds)(_schema(), format_checker=formats)


@cache
def _quick_check() -> Callable[[Any], bool] | None:
    """Return what tells at once that a record is valid; False from it means "ask jsonschema"."""
    try:
        import jsonschema_rs
    except ImportError:
        return None
    validator = jsonschema_rs.Draft202012Validator(
        _schema(), formats={"date-time": _is_date_time}, validate_formats=True, offline=True
    )

    def check(document: Any) -> bool:
        try:
            return bool(validator.is_valid(document))
        except Exception:  # a value that is no JSON: keys that are no text, huge integers, lone surrogates
            return False

    return check


def _is_number(checker: Any, value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _is_date_time(value: object) -> bool:
    """Whether a text names a real moment (30 February is none); the form of it is the schema's pattern."""
    if not isinstance(value, str):
        return True
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _path(parts: Any) -> str:
    path = "".join([f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts])
    return path.removeprefix(".")


def _fault(error: Any) -> Fault:
    path = _path(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        name = f"{error.instance!s:.100}"
        return Fault(name, "propertyNames", "is no field of version 1.0")
    message = str(error.message)
    if error.validator == "not" and "const" in error.validator_value:
        message = f"{error.validator_value['const']!r} is not allowed"
    if len(message) > _LONGEST:
        message = f"{message[:200]} ... {message[-80:]}"
    return Fault(path, str(error.validator), message)
