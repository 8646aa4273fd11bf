"""How an object becomes a known tool instance: its constructor is seen to run, or a call is made on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolog.arguments import Arguments
from toolog.counters import contain
from toolog.forks import after_in_child
from toolog.instances.config import config_from_state, state_of, wants_config
from toolog.instances.factories import complete
from toolog.instances.known import Known, known_objects, look_up, look_up_ended, remember
from toolog.instances.notice import tell
from toolog.snapshot import pack_cut

_building: dict[int, Known] = {}


class Newborn:
    """An object whose outermost constructor is running."""

    __slots__ = ("inside", "key", "known", "made")

    def __init__(self, key: int, known: Known, inside: bool, made: dict[str, str] | None) -> None:
        self.key = key
        self.known = known
        self.inside = inside
        self.made = made


def _after_fork() -> None:
    _building.clear()


after_in_child(_after_fork)


def identify(instance: Any) -> bytes | None:
    """Return the MessagePack of an object's instance_id, and tell about the object when it is first seen.

    Called on the caller's thread for each recorded call; never raises.
    """
    known = known_objects.get(id(instance))
    if known is not None and known.steady:
        return known.packed
    if issubclass(type(instance), type):
        return None  # a classmethod's: a class is no configured object
    try:
        known = look_up(instance)
        if known is None:
            known = meet(instance)
        if id(instance) not in _building:
            if not known.told:
                tell(known)
            known.steady = known.told and known.ref is not None
        return known.packed
    except Exception as error:
        contain("instance", error)
        return None


def instance_id(instance: Any) -> str | None:
    """Return the ``instance_id`` of an object that was seen, or None."""
    known = look_up(instance)
    return None if known is None else known.instance_id


def begin(
    instance: Any,
    arguments: Arguments,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    package: str,
    inside: bool,
    factories: Mapping[str, str] | None = None,
) -> Newborn | None:
    """Note that an object's constructor starts with these arguments; None when an outer constructor of it
    runs.

    ``inside``: the package makes the object for itself, so it is told about only when it is first called.
    ``factories``: as in `factories_of`; those that were given no argument are looked at in `finish`.
    """
    key = id(instance)
    if key in _building:
        return None
    known = known_objects.get(key)
    if known is not None and known.ref is not None and known.ref() is instance:
        return None  # __init__ called again on the same object: it stays what it was first
    known = Known(instance, package)
    made = None
    if wants_config(type(instance)):
        config = arguments.bind(args, kwargs)
        if factories:
            made = {name: factories[name] for name in factories if arguments.is_default(name, config)}
            config = {name: value for name, value in config.items() if name not in made}
        known.config, known.cuts = pack_cut(config, "config")
    _building[key] = known
    remember(key, known)
    return Newborn(key, known, inside, made)


def finish(newborn: Newborn, instance: Any) -> None:
    """Note that the outermost constructor returned; the object is told about, unless its package made it for
    itself."""
    _building.pop(newborn.key, None)
    known = newborn.known
    try:
        if newborn.made and known.config is not None:
            known.config, cuts = complete(known.config, newborn.made, state_of(instance))
            known.cuts = {**(known.cuts or {}), **(cuts or {})}
        if not newborn.inside and not known.told:
            tell(known)
    except Exception as error:
        contain("instance", error)


def abandon(newborn: Newborn) -> None:
    """Forget an object whose constructor raised."""
    _building.pop(newborn.key, None)
    if known_objects.get(newborn.key) is newborn.known:
        del known_objects[newborn.key]


def meet(instance: Any) -> Known:
    """Learn of an object that existed before: its configuration is what its state shows."""
    ended = look_up_ended(instance)
    if ended is not None:
        return ended  # its own __del__ calls: it is the object it was
    known = Known(instance, None)
    if wants_config(type(instance)):
        known.config, known.cuts = pack_cut(config_from_state(instance), "config")
    remember(id(instance), known)
    return known
