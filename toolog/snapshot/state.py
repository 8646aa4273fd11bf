"""Reading an object's state without running any of its code.

A class may define ``__getattribute__``, ``__class__``, ``__dict__``, ``__len__``, ``__hash__`` ... as it
likes; its metaclass too. So nothing here asks the object: everything is read through descriptors of the
interpreter itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

_type_slots: Mapping[str, Any] = type.__dict__
mro_of = _type_slots["__mro__"].__get__
"""The classes an object's type inherits from, whatever its metaclass says."""
inherits: Any = type.__subclasscheck__
"""``inherits(base, cls)``: whether a class has a base; ``base in mro`` would ask its metaclass."""
class_dict_of = _type_slots["__dict__"].__get__
"""The genuine namespace of a class, read only."""
qualname_of = _type_slots["__qualname__"].__get__
module_of = _type_slots["__module__"].__get__


def type_name(cls: type) -> str:
    """Return ``module.qualname`` of a class, the bare name for builtins; never more than 200 characters."""
    try:
        module, qualname = module_of(cls), qualname_of(cls)
    except AttributeError:
        return "?"
    if type(qualname) is not str:
        return "?"
    if type(module) is not str or module == "builtins":
        return qualname[:200]
    return f"{module}.{qualname}"[:200]


def root_module(cls: type) -> str:
    """Return the first part of the name of the module that a class says it comes from ("" when it does not
    say)."""
    try:
        module = module_of(cls)
    except AttributeError:
        return ""
    return module.partition(".")[0] if type(module) is str else ""


def loaded(module: str, name: str) -> Any:
    """Return an attribute of a module that is already imported, else None; imports nothing, runs no module
    hook."""
    found = sys.modules.get(module)
    if found is None:
        return None
    namespace = instance_dict(found)
    return None if namespace is None else namespace.get(name)


def is_genuine(cls: type, module: str, name: str) -> bool:
    """Whether a class that claims to be ``module.name`` is the very object found there."""
    return loaded(module, name) is cls


def instance_dict(value: object) -> dict[str, Any] | None:
    """Return the real ``__dict__`` of an object, or None; a property of that name is not asked."""
    for cls in mro_of(type(value)):
        descriptor = class_dict_of(cls).get("__dict__")
        if type(descriptor) is GetSetDescriptorType or type(descriptor) is MemberDescriptorType:
            try:
                found = descriptor.__get__(value)
            except (AttributeError, TypeError):
                return None
            return found if type(found) is dict else None
    return None


def slots(value: object) -> Iterator[tuple[str, Any]]:
    """Yield the filled slots of an object, base class first."""
    for cls in reversed(mro_of(type(value))):
        for name, descriptor in islice(class_dict_of(cls).items(), 500):
            if type(descriptor) is MemberDescriptorType and name[:2] != "__":
                try:
                    yield name, descriptor.__get__(value)
                except (AttributeError, TypeError):
                    continue  # an empty slot


def state(value: object, limit: int) -> list[tuple[Any, Any]]:
    """Return the first ``limit`` items of an object's slots and ``__dict__``."""
    found: list[tuple[Any, Any]] = list(islice(slots(value), limit))
    namespace = instance_dict(value)
    if namespace and len(found) < limit:
        found += head(namespace, limit - len(found))
    return found


def head(mapping: dict[Any, Any], limit: int) -> list[tuple[Any, Any]]:
    """Return the first items of a dict (or of what inherits from dict), although other threads may change
    it."""
    for _ in range(5):
        try:
            return list(islice(dict.items(mapping), limit))
        except RuntimeError:  # changed size meanwhile
            continue
    return [("...", "changed while it was read")]


def find_in_mro(cls: type, name: str) -> Any:
    """Return what a class or its bases define under a name, unbound, or None."""
    for base in mro_of(cls):
        found = class_dict_of(base).get(name)
        if found is not None:
            return found
    return None
