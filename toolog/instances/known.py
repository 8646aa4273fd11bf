"""What is known of the objects that are alive, under their ``id()`` and through weak references."""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from toolog.context import getrandbits
from toolog.snapshot import pack
from toolog.snapshot.state import class_dict_of

recreating: ContextVar[str | None] = ContextVar("toolog_recreating", default=None)
"""The instance_id of the object that is being built again, while `recreate` runs."""
known_objects: dict[int, Known] = {}
_unweak: dict[int, None] = {}
"""Keys of objects without weak references, oldest first: their number is bounded, since nothing tells of
their end."""
MAX_UNWEAK = 10_000
live: dict[str, int] = {}
"""Keys of the objects that were told about and live, by instance_id."""
_gone: dict[int, Known] = {}
"""The last objects that ended: one in a cycle loses its weak references before its ``__del__`` runs, which
may call a tool once more."""
MAX_GONE = 256


class _Ref(weakref.ref[Any]):
    """A weak reference that knows the id it stands under; its callback only moves a dict item, safe in the
    GC."""

    __slots__ = ("key",)
    key: int


class Known:
    """What is known of one live object."""

    __slots__ = (
        "cls_name", "config", "created", "cuts", "instance_id", "package", "packed", "recreated_from", "ref",
        "setup", "steady", "told", "type_id",
    )  # fmt: skip

    def __init__(self, instance: Any, package: str | None) -> None:
        cls = type(instance)
        self.instance_id = f"{getrandbits(64):016x}"
        self.packed = pack(self.instance_id)
        self.cls_name = (str(class_dict_of(cls).get("__module__", "")), cls.__qualname__)
        self.type_id = id(cls)
        self.package = package or self.cls_name[0].partition(".")[0] or None
        self.config: bytes | None = None
        self.cuts: dict[str, Any] | None = None  # what was cut from it, as in a record's ``truncated``
        self.setup: int | None = (
            None  # a hash of what the constructor was given; the configuration is not kept
        )
        self.created = time.time_ns()
        self.recreated_from: str | None = recreating.get()
        self.told = False
        self.steady = False  # told, and its end will be told to us: nothing is left to look at on later calls
        self.ref: _Ref | None = None
        try:
            ref = _Ref(instance, _forget)
        except TypeError:
            return
        ref.key = id(instance)
        self.ref = ref


def _forget(ref: weakref.ref[Any], is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
    if is_ending():  # the names of this module are gone already; objects that outlive it end now
        return
    key = ref.key  # type: ignore[attr-defined]
    known = known_objects.get(key)
    if known is not None and known.ref is ref:
        del known_objects[key]
        live.pop(known.instance_id, None)
        while len(_gone) >= MAX_GONE:
            try:
                del _gone[next(iter(_gone))]
            except (KeyError, RuntimeError, StopIteration):  # another thread was faster
                break
        _gone[key] = known


def look_up(instance: Any) -> Known | None:
    """Return what is known of an object, or None for one that was not seen."""
    known = known_objects.get(id(instance))
    if known is not None and known.ref is None and known.type_id != id(type(instance)):
        return None  # another object at the same address
    return known


def remember(key: int, known: Known) -> None:
    """Keep what is known of the object with that id, for as long as it lives."""
    known_objects[key] = known
    if known.ref is None:
        _unweak[key] = None
        while len(_unweak) > MAX_UNWEAK:
            oldest = next(iter(_unweak))
            del _unweak[oldest]
            known_objects.pop(oldest, None)


def replace(key: int, known: Known) -> None:
    """Keep what is known of an object that was set up anew, in place of what was known of it."""
    before = known_objects.get(key)
    if before is not None:
        live.pop(before.instance_id, None)
    remember(key, known)


def look_up_ended(instance: Any) -> Known | None:
    """Return what was known of an object that is in its own ``__del__`` and lost its weak references."""
    if not gc.is_finalized(instance):
        return None
    known = _gone.get(id(instance))
    return known if known is not None and known.type_id == id(type(instance)) else None
