"""Parameters of a constructor whose default is made anew for each object: ``field(default_factory=list)``.

The signature of a dataclass or an attrs class has a marker there, which is no configuration. What the factory
made is read from the object once its constructor ran, and told where it is plain data; a lock or a client
that it made is left out, so that `recreate` has another one made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ormsgpack

from toolog.settings import capture
from toolog.snapshot import pack_cut
from toolog.snapshot.modest import is_modest
from toolog.snapshot.state import class_dict_of, loaded

_MOST_NODES = 10_000


def factories_of(cls: type) -> dict[str, str]:
    """Return the parameters of a class's own constructor that a factory fills, with the attributes that keep
    the value; {} for a class that is neither a dataclass nor one of attrs."""
    names = class_dict_of(cls)
    found: dict[str, str] = {}
    fields = names.get("__dataclass_fields__")
    if type(fields) is dict:
        missing = loaded("dataclasses", "MISSING")
        for name, field in fields.items():
            if getattr(field, "default_factory", missing) is not missing:
                found[name] = name
    attributes = names.get("__attrs_attrs__")
    if isinstance(attributes, tuple):
        for one in attributes:
            if type(one.default).__name__ == "Factory":
                found[getattr(one, "alias", None) or one.name.lstrip("_")] = one.name
    return found


def complete(
    packed: bytes, made: Mapping[str, str], state: Mapping[str, Any]
) -> tuple[bytes, dict[str, Any] | None]:
    """Return a packed configuration with what factories made, as far as the object's state shows it, and what
    was cut of it."""
    config = ormsgpack.unpackb(packed)
    cuts: dict[str, Any] = {}
    for parameter, attribute in made.items():
        if attribute in state and _is_plain(state[attribute]):
            value, cut = pack_cut(state[attribute], f"config.{parameter}")
            config[parameter] = ormsgpack.unpackb(value)
            cuts.update(cut or {})
    whole: bytes = ormsgpack.packb(config)
    return (whole, cuts) if len(whole) <= capture.max_bytes else (packed, None)


def _is_plain(value: Any) -> bool:
    try:
        return is_modest([value], capture.max_items, capture.max_nesting, _MOST_NODES, capture.max_bytes)
    except RuntimeError:  # another thread changed a dict meanwhile
        return False
