"""Shapes of the standard library's types, found by name so that nothing is imported for their sake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolog.snapshot import state
from toolog.snapshot.shapes import (
    NAMED,
    NAMED_LEAVES,
    ListShape,
    MapShape,
    Shape,
    described,
    unknown_object,
)

if TYPE_CHECKING:
    from toolog.snapshot.walk import Walk


def _slot(module: str, cls: str, name: str, value: Any) -> Any:
    """Read an attribute through the descriptor of the class that defines it."""
    return state.class_dict_of(state.loaded(module, cls))[name].__get__(value)


def _exact_str(value: Any, walk: Walk) -> Shape:
    """``str`` of a library's very own class; a subclass is described instead, for it may have its own
    ``__str__``."""
    kind = type(value)
    if state.is_genuine(kind, state.module_of(kind), state.qualname_of(kind)):
        return str(value)
    return unknown_object(value, kind, walk, 0)


# -- time


def _zone(value: Any) -> str:
    """The name of a time zone whose code is not the standard library's."""
    return f" [{state.type_name(type(value))}]"


def _is_own_zone(zone: Any) -> bool:
    kind = type(zone)
    own = (state.loaded("datetime", "timezone"), state.loaded("zoneinfo", "ZoneInfo"))
    return zone is None or any(kind is cls for cls in own)


def _datetime(value: Any, walk: Walk | None) -> Shape:
    module: Any = __import__("datetime")
    days, moments = module.date.__dict__, module.datetime.__dict__
    date = [days[name].__get__(value) for name in ("year", "month", "day")]
    time = [moments[name].__get__(value) for name in ("hour", "minute", "second", "microsecond")]
    zone = moments["tzinfo"].__get__(value)
    own = _is_own_zone(zone)
    fold = moments["fold"].__get__(value)
    plain = module.datetime(*date, *time, tzinfo=zone if own else None, fold=fold)
    return str(plain.isoformat()) + ("" if own else _zone(zone))


def _date(value: Any, walk: Walk) -> Shape:
    module: Any = __import__("datetime")
    parts = [module.date.__dict__[name].__get__(value) for name in ("year", "month", "day")]
    return str(module.date(*parts).isoformat())


def _time(value: Any, walk: Walk) -> Shape:
    module: Any = __import__("datetime")
    parts = module.time.__dict__
    zone = parts["tzinfo"].__get__(value)
    own = type(zone) is module.timezone or zone is None  # the offset of other zones depends on the day
    clock = [parts[name].__get__(value) for name in ("hour", "minute", "second", "microsecond")]
    return str(module.time(*clock, tzinfo=zone if own else None).isoformat()) + ("" if own else _zone(zone))


def _timedelta(value: Any, walk: Walk) -> Shape:
    names = ("days", "seconds", "microseconds")
    days, seconds, micros = (_slot("datetime", "timedelta", name, value) for name in names)
    total = (days * 86400 + seconds) * 1_000_000 + micros
    sign, total = ("-", -total) if total < 0 else ("", total)
    rest, micros = divmod(total, 1_000_000)
    minutes, seconds = divmod(rest, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    clock = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes)
    clock += f"{seconds}{fraction}S" * bool(seconds or micros or not total)
    return f"{sign}P" + f"{days}D" * bool(days) + f"T{clock}" * bool(clock)


# -- numbers, names, places


def _decimal(value: Any, walk: Walk) -> Shape:
    return str(state.loaded("decimal", "Decimal").__str__(value))


def _fraction(value: Any, walk: Walk) -> Shape:
    parts = [_slot("fractions", "Fraction", name, value) for name in ("_numerator", "_denominator")]
    if all(type(part) is int and part.bit_length() < 13_000 for part in parts):
        return f"{parts[0]}/{parts[1]}"
    return MapShape([("type", "fractions.Fraction"), ("numerator", parts[0]), ("denominator", parts[1])])


def _uuid(value: Any, walk: Walk | None) -> Shape:
    digits = f"{_slot('uuid', 'UUID', 'int', value):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _path(value: Any, walk: Walk) -> Shape:
    kind = type(value)
    names = ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
    if any(kind is state.loaded("pathlib", name) for name in names):
        return str(value)
    held = dict(state.slots(value))
    if type(held.get("_str")) is str:
        return held["_str"]
    raw = held.get("_raw_paths")
    if type(raw) is list:
        return "/".join([part for part in raw if type(part) is str])
    drive, root, parts = (held.get(name) for name in ("_drv", "_root", "_parts"))
    if type(drive) is str and type(root) is str and type(parts) is list:
        start = drive + root
        rest = [part for part in (parts[1:] if start else parts) if type(part) is str]
        return start + "/".join(rest)
    return unknown_object(value, kind, walk, 0)


def _split_url(value: Any, walk: Walk) -> Shape:
    """A split URL is written as one again, so that whatever masks passwords in URLs finds it."""
    kind = type(value)
    if state.is_genuine(kind, "urllib.parse", state.qualname_of(kind)) and all(
        type(part) is str for part in tuple.__iter__(value)
    ):
        return str(value.geturl())
    return ListShape(list(tuple.__iter__(value))[: walk.limits.max_items], tuple.__len__(value))


def _zone_info(value: Any, walk: Walk) -> Shape:
    key = _slot("zoneinfo", "ZoneInfo", "key", value)
    return key if type(key) is str else described("zoneinfo.ZoneInfo")


def _pattern(value: Any, walk: Walk) -> Shape:
    return described("re.Pattern", pattern=value.pattern, flags=value.flags)


def _match(value: Any, walk: Walk) -> Shape:
    text = value.string
    start, end = value.span()
    found = text[start:end] if type(text) is str or type(text) is bytes else None
    return described("re.Match", span=[start, end], match=found)


def _array(value: Any, walk: Walk) -> Shape:
    kind: Any = state.loaded("array", "array")
    items = kind.__getitem__(value, slice(0, walk.limits.max_items))
    return ListShape(kind.tolist(items), kind.__len__(value))


def _row(value: Any, walk: Walk) -> Shape:
    kind: Any = state.loaded("sqlite3", "Row")
    limit = walk.limits.max_items
    pairs = list(zip(kind.keys(value)[:limit], kind.__iter__(value), strict=False))
    return MapShape(pairs, kind.__len__(value))


def _weakref(value: Any, walk: Walk) -> Shape:
    kind: Any = state.loaded("weakref", "ReferenceType")
    target = kind.__call__(value)
    return described("weakref", to=None if target is None else state.type_name(type(target)))


def _file(value: Any, walk: Walk) -> Shape:
    """A file object: its name and mode as `open` left them, read from the innermost layer; never its
    content."""
    kind, inner = type(value), value
    text, raw = state.loaded("_io", "TextIOWrapper"), state.loaded("_io", "FileIO")
    if state.inherits(text, type(inner)):
        inner = state.class_dict_of(text)["buffer"].__get__(inner)
    for buffered in ("BufferedReader", "BufferedWriter", "BufferedRandom"):
        layer = state.loaded("_io", buffered)
        if state.inherits(layer, type(inner)):
            inner = state.class_dict_of(layer)["raw"].__get__(inner)
    if not state.inherits(raw, type(inner)):
        return described(state.type_name(kind))
    slots = state.class_dict_of(raw)
    name = (state.instance_dict(inner) or {}).get("name")
    own = (state.instance_dict(value) or {}).get("mode")  # of a text file, whose layers below are binary
    mode = own if type(own) is str else slots["mode"].__get__(inner)
    closed = slots["closed"].__get__(inner)
    return described(state.type_name(kind), name=name, mode=mode, closed=closed)


def _mock(value: Any, walk: Walk) -> Shape:
    held = state.instance_dict(value) or {}
    name = held.get("_mock_name")
    kind = next((state.type_name(cls) for cls in state.mro_of(type(value))[1:]), "unittest.mock.Mock")
    return described(kind, name=name if type(name) is str else None)


NAMED.update(
    {
        "datetime.datetime": _datetime,
        "datetime.date": _date,
        "datetime.time": _time,
        "datetime.timedelta": _timedelta,
        "datetime.timezone": _exact_str,
        "decimal.Decimal": _decimal,
        "fractions.Fraction": _fraction,
        "uuid.UUID": _uuid,
        "pathlib.PurePath": _path,
        "pathlib._local.PurePath": _path,
        "zoneinfo.ZoneInfo": _zone_info,
        "re.Pattern": _pattern,
        "re.Match": _match,
        "array.array": _array,
        "sqlite3.Row": _row,
        "weakref.ReferenceType": _weakref,
        "unittest.mock.NonCallableMock": _mock,
        **{
            f"ipaddress.IPv{version}{kind}": _exact_str
            for version in "46"
            for kind in ("Address", "Network", "Interface")
        },
        **{
            f"urllib.parse.{name}": _split_url
            for name in (
                "SplitResult",
                "ParseResult",
                "DefragResult",
                "SplitResultBytes",
                "ParseResultBytes",
                "DefragResultBytes",
            )
        },
        **{
            f"_io.{name}": _file
            for name in ("TextIOWrapper", "BufferedReader", "BufferedWriter", "BufferedRandom", "FileIO")
        },
    }
)


def _own_datetime(value: Any) -> str:
    return str(value.isoformat() if _is_own_zone(value.tzinfo) else _datetime(value, None))


NAMED_LEAVES.update(
    {
        "datetime.datetime": _own_datetime,
        "datetime.date": lambda value: str(value.isoformat()),
        "decimal.Decimal": str,
        "uuid.UUID": lambda value: str(_uuid(value, None)),
    }
)
