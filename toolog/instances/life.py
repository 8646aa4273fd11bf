"""How an object becomes a known tool instance: its constructor is seen to run, or a call is made on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolog.arguments import Arguments
from toolog.counters import contain
from toolog.forks import after_in_child
from toolog.instances.config import config_from_state, state_of, wants_config
from toolog.instances.factories import complete
from toolog.instances.known import Known, known_objects, look_up, look_up_ended, remember, replace
from toolog.instances.notice import tell
from toolog.snapshot import pack_cut
from toolog.snapshot.state import class_dict_of, mro_of

_building: dict[int, Known] = {}


class Newborn:
    """An object whose outermost constructor is running; ``before``: its state, where it ran before."""

    __slots__ = ("before", "inside", "key", "known", "made")

    def __init__(
        self, key: int, known: Known, inside: bool, made: dict[str, str] | None, before: bytes | None
    ) -> None:
        self.key = key
        self.known = known
        self.inside = inside
        self.made = made
        self.before = before


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
    holder: type,
    package: str,
    inside: bool,
    factories: Mapping[str, str] | None = None,
) -> Newborn | None:
    """Note that an object's constructor starts with these arguments; None when an outer constructor of it
    runs.

    A constructor that runs again on the same object (of a singleton, each time somebody asks for it) sets it
    up anew where it changes the object: told as another instance. ``holder``: the class of the
    constructor, as one of a base that is called later sets up a part only.
    ``inside``: the package makes the object for itself, so it is told about only when it is first called.
    ``factories``: as in `factories_of`; those that were given no argument are looked at in `finish`.
    """
    key = id(instance)
    if key in _building:
        return None
    former = known_objects.get(key)
    if former is not None and not (former.ref is not None and former.ref() is instance):
        former = None
    if former is not None and not (former.told and former.setup is not None and _in_force(holder, instance)):
        return None
    known = Known(instance, package)
    made = None
    if wants_config(type(instance)):
        config = arguments.bind(args, kwargs)
        if factories:
            made = {name: factories[name] for name in factories if arguments.is_default(name, config)}
            config = {name: value for name, value in config.items() if name not in made}
        known.config, known.cuts = pack_cut(config, "config")
        known.setup = hash(known.config)
    if former is None:
        _building[key] = known
        remember(key, known)
        return Newborn(key, known, inside, made, None)
    if known.setup == former.setup:
        return None
    _building[key] = former
    return Newborn(key, known, inside, made, _state(instance))


def _in_force(holder: type, instance: Any) -> bool:
    """Whether the constructor of an object's class is the one that this class holds."""
    return (
        next((base for base in mro_of(type(instance)) if "__init__" in class_dict_of(base)), None) is holder
    )


def _state(instance: Any) -> bytes:
    return pack_cut(state_of(instance), "config")[0]


def finish(newborn: Newborn, instance: Any) -> None:
    """Note that the outermost constructor returned; the object is told about, unless its package made it for
    itself."""
    _building.pop(newborn.key, None)
    known = newborn.known
    try:
        if newborn.before is not None:
            if _state(instance) == newborn.before:
                return  # nothing was set up: a constructor that does its work once only
            replace(newborn.key, known)
        if newborn.made and known.config is not None:
            known.config, cuts = complete(known.config, newborn.made, state_of(instance))
            known.cuts = {**(known.cuts or {}), **(cuts or {})}
        if not newborn.inside and not known.told:
            tell(known)
    except Exception as error:
        contain("instance", error)


def abandon(newborn: Newborn) -> None:
    """Forget an object whose constructor raised; one that was set up before stays what it was."""
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
        known.setup = hash(known.config)
    remember(id(instance), known)
    return known
