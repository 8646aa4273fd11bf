"""Shapes of third-party types that tools return most: numpy, pandas, pydantic, wrapt. None is imported here.

Only a class that the loaded library itself holds gets here, so what is called is the library's own code, on
its own classes; of subclasses only the base's descriptors are used.
"""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from toolog.snapshot import state
from toolog.snapshot.shapes import (
    NAMED,
    PLACES,
    ListShape,
    MapShape,
    Shape,
    described,
    maker_of,
    shape_of,
)

if TYPE_CHECKING:
    from toolog.snapshot.walk import Walk

HEAD_ROWS = 5  # rows of a data frame that are shown
HEAD_COLUMNS = 50
HEAD_ITEMS = 100  # elements of an array or series too large to be shown whole

PLAIN = (bool, int, float, complex, str, bytes)


# -- numpy


def _scalar(value: Any, walk: Walk) -> Shape:
    generic: Any = state.loaded("numpy", "generic")
    item = generic.item(value)
    if any(type(item) is each for each in PLAIN):
        return shape_of(item, walk) if type(item) is not bool else item
    if type(item) is tuple:
        return ListShape(list(item))
    kind = type(value)  # datetime64, timedelta64, longdouble
    if state.is_genuine(kind, "numpy", state.qualname_of(kind)):
        return str(value)
    return described(state.type_name(kind))


def _ndarray(value: Any, walk: Walk) -> Shape:
    kind: Any = state.loaded("numpy", "ndarray")
    plain = kind.view(value, kind)  # without a subclass' own slicing
    shape, size = plain.shape, plain.size
    pairs: list[tuple[Any, Any]] = [
        ("type", state.type_name(type(value))),
        ("dtype", str(plain.dtype)[:200]),
        ("shape", list(shape)),
    ]
    if size <= walk.limits.max_items:
        pairs.append(("values", plain.tolist()))
    else:
        pairs.append(("head", ListShape(plain.flat[:HEAD_ITEMS].tolist(), size)))
    return MapShape(pairs)


# -- pandas


def _column(series: Any) -> list[Any]:
    """The values of a short series; what pandas made of them, no code of theirs."""
    return list(series.array)


def _frame(value: Any, walk: Walk) -> Shape:
    kind = type(value)
    held = state.instance_dict(value) or {}
    manager = held.get("_mgr")
    name = state.type_name(kind)
    if kind is not state.loaded("pandas", "DataFrame"):  # a subclass builds its slices by code of its own
        return described(name, shape=list(reversed(manager.shape)) if manager is not None else None)
    rows, columns = value.shape
    if held.get("_attrs"):  # pandas copies them deeply into every slice, by whatever code they have
        return described(name, shape=[rows, columns])
    top = value.iloc[:HEAD_ROWS]
    names = list(value.columns[:HEAD_COLUMNS])
    cells = [_column(top.iloc[:, index]) for index in range(len(names))]
    lines = [
        MapShape([(column, cells[at][row]) for at, column in enumerate(names)], columns)
        for row in range(min(rows, HEAD_ROWS))
    ]
    shown, head = ListShape(names, columns), ListShape(lines, rows)
    return described(name, shape=[rows, columns], columns=shown, head=head)


def _series(value: Any, walk: Walk) -> Shape:
    kind = type(value)
    name = state.type_name(kind)
    if kind is not state.loaded("pandas", "Series"):
        return described(name)
    size = len(value)
    shown = size if size <= walk.limits.max_items else HEAD_ITEMS
    values = ListShape(_column(value.iloc[:shown]), size)
    return described(name, name=value.name, dtype=str(value.dtype)[:200], values=values)


def _index(value: Any, walk: Walk) -> Shape:
    kind = type(value)
    name = state.type_name(kind)
    if not state.is_genuine(kind, "pandas", state.qualname_of(kind)):
        return described(name)
    size = len(value)
    shown = size if size <= walk.limits.max_items else HEAD_ITEMS
    return described(name, values=ListShape(list(value[:shown]), size))


# -- pydantic, wrapt


def _model(value: Any, walk: Walk) -> Shape:
    """A pydantic model (1 or 2): its fields and extra fields, read from where pydantic keeps them."""
    limit = walk.limits.max_items
    held = state.instance_dict(value) or {}
    root = state.loaded("pydantic.root_model", "RootModel") or state.loaded("pydantic", "RootModel")
    if root is not None and state.inherits(root, type(value)) and "root" in held:
        return shape_of(held["root"], walk) if held["root"] is not None else None
    pairs = state.head(held, limit)
    for base in state.mro_of(type(value)):
        slot = state.class_dict_of(base).get("__pydantic_extra__")
        if type(slot) is MemberDescriptorType:
            extra = slot.__get__(value)
            if type(extra) is dict:
                pairs += state.head(extra, limit)
            break
    return MapShape(pairs)


def _proxy(value: Any, walk: Walk) -> Shape:
    """A wrapt proxy: what it wraps, unless it would have to be made first."""
    kind = type(value)
    mro = state.mro_of(kind)
    name = state.type_name(kind)
    if any(state.qualname_of(cls) == "LazyObjectProxy" for cls in mro):
        return described(name)
    for cls in mro:
        held = state.class_dict_of(cls).get("__wrapped__")
        if type(held) is GetSetDescriptorType and maker_of(cls) is not None:
            wrapped = held.__get__(value)
            if wrapped is None or type(wrapped) is bool:
                return wrapped
            return shape_of(wrapped, walk)
    return described(name)


NAMED.update(
    {
        "numpy.generic": _scalar,
        "numpy.ndarray": _ndarray,
        "pandas.DataFrame": _frame,
        "pandas.Series": _series,
        "pandas.Index": _index,
        "pandas.core.frame.DataFrame": _frame,
        "pandas.core.series.Series": _series,
        "pandas.core.indexes.base.Index": _index,
        "pandas._libs.tslibs.nattype.NaTType": lambda value, walk: "NaT",
        "pandas._libs.missing.NAType": lambda value, walk: "NA",
        "pandas.api.typing.NaTType": lambda value, walk: "NaT",
        "pandas.api.typing.NAType": lambda value, walk: "NA",
        "pydantic.main.BaseModel": _model,
        "pydantic.v1.main.BaseModel": _model,
        "_wrappers.ObjectProxy": _proxy,
        "wrapt._wrappers.ObjectProxy": _proxy,
    }
)
PLACES.update({"_wrappers.ObjectProxy": "wrapt._wrappers"})
