"""Tool instances: which configured object a call ran on, and how that object was set up.

Each live object whose methods are tools has one ``instance_id``. Its configuration is the snapshot of its
constructor's arguments, taken before the constructor ran; of an object that was made before instrumentation,
or without a constructor of its own (pydantic), it is read from the object's state. One ``tool_instance``
record tells both, when the object is first seen.

Objects are known by ``id()`` through weak references: no object is kept alive, hashed or compared. Of an
object that takes no weak reference (``__slots__`` without ``__weakref__``) only the id and the type are
known.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import os
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from toolog.arguments import Arguments, read_signature
from toolog.context import getrandbits
from toolog.counters import contain
from toolog.emit import emit_event, level_of
from toolog.errors import ConfigError, nearest
from toolog.levels import ROOT
from toolog.settings import capture
from toolog.snapshot import pack

_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__


class _Ref(weakref.ref[Any]):
    """A weak reference that knows the id it stands under; its callback only moves a dict item, safe in the
    GC."""

    __slots__ = ("key",)
    key: int


class Known:
    """What is known of one live object."""

    __slots__ = (
        "cls_name", "config", "created", "instance_id", "package", "packed", "recreated_from", "ref",
        "steady", "told", "type_id",
    )  # fmt: skip

    def __init__(self, instance: Any, package: str | None) -> None:
        cls = type(instance)
        self.instance_id = f"{getrandbits(64):016x}"
        self.packed = pack(self.instance_id)
        self.cls_name = (str(_namespace(cls).get("__module__", "")), cls.__qualname__)
        self.type_id = id(cls)
        self.package = package or self.cls_name[0].partition(".")[0] or None
        self.config: bytes | None = None
        self.created = time.time_ns()
        self.recreated_from: str | None = _recreating.get()
        self.told = False
        self.steady = False  # told, and its end will be told to us: nothing is left to look at on later calls
        self.ref: _Ref | None = None
        try:
            ref = _Ref(instance, _forget)
        except TypeError:
            return
        ref.key = id(instance)
        self.ref = ref


class Newborn:
    """An object whose outermost constructor is running."""

    __slots__ = ("inside", "key", "known")

    def __init__(self, key: int, known: Known, inside: bool) -> None:
        self.key = key
        self.known = known
        self.inside = inside


_recreating: ContextVar[str | None] = ContextVar("toolog_recreating", default=None)
known_objects: dict[int, Known] = {}
_unweak: dict[int, None] = {}
"""Keys of objects without weak references, oldest first: their number is bounded, since nothing tells of
their end."""
MAX_UNWEAK = 10_000
_building: dict[int, Known] = {}
_lineage: dict[tuple[str, str, str], str] = {}
MAX_LINEAGE = 4096
_live: dict[str, int] = {}
_gone: dict[int, Known] = {}
"""The last objects that ended: one in a cycle loses its weak references before its ``__del__`` runs, which
may call a tool once more."""
MAX_GONE = 256


def _forget(ref: weakref.ref[Any], is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
    if is_ending():  # the names of this module are gone already; objects that outlive it end now
        return
    key = ref.key  # type: ignore[attr-defined]
    known = known_objects.get(key)
    if known is not None and known.ref is ref:
        del known_objects[key]
        _live.pop(known.instance_id, None)
        while len(_gone) >= MAX_GONE:
            try:
                del _gone[next(iter(_gone))]
            except (KeyError, RuntimeError, StopIteration):  # another thread was faster
                break
        _gone[key] = known


def _after_fork() -> None:
    _building.clear()


os.register_at_fork(after_in_child=_after_fork)


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
        known = _lookup(instance)
        if known is None:
            known = _meet(instance)
        if id(instance) not in _building:
            if not known.told:
                _tell(known, instance)
            known.steady = known.told and known.ref is not None
        return known.packed
    except Exception as error:
        contain("instance", error)
        return None


def instance_id(instance: Any) -> str | None:
    """Return the ``instance_id`` of an object that was seen, or None."""
    known = _lookup(instance)
    return None if known is None else known.instance_id


def _lookup(instance: Any) -> Known | None:
    known = known_objects.get(id(instance))
    if known is not None and known.ref is None and known.type_id != id(type(instance)):
        return None  # another object at the same address
    return known


def begin(
    instance: Any,
    arguments: Arguments,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    package: str,
    inside: bool,
) -> Newborn | None:
    """Note that an object's constructor starts with these arguments; None when an outer constructor of it
    runs.

    ``inside``: the package makes the object for itself, so it is told about only when it is first called.
    """
    key = id(instance)
    if key in _building:
        return None
    known = known_objects.get(key)
    if known is not None and known.ref is not None and known.ref() is instance:
        return None  # __init__ called again on the same object: it stays what it was first
    known = Known(instance, package)
    if _wants_config(type(instance)):
        known.config = pack(arguments.bind(args, kwargs))
    _building[key] = known
    _remember(key, known)
    return Newborn(key, known, inside)


def finish(newborn: Newborn, instance: Any) -> None:
    """Note that the outermost constructor returned; the object is told about, unless its package made it for
    itself."""
    _building.pop(newborn.key, None)
    if not newborn.inside:
        try:
            if not newborn.known.told:
                _tell(newborn.known, instance)
        except Exception as error:
            contain("instance", error)


def abandon(newborn: Newborn) -> None:
    """Forget an object whose constructor raised."""
    _building.pop(newborn.key, None)
    if known_objects.get(newborn.key) is newborn.known:
        del known_objects[newborn.key]


def _remember(key: int, known: Known) -> None:
    known_objects[key] = known
    if known.ref is None:
        _unweak[key] = None
        while len(_unweak) > MAX_UNWEAK:
            oldest = next(iter(_unweak))
            del _unweak[oldest]
            known_objects.pop(oldest, None)


_opaque: set[str] = set()


def leave_config_out(module: str, qualname: str) -> None:
    """Never capture the configuration of a class and its subclasses: it is made of machinery, not of
    settings."""
    _opaque.add(f"{module}.{qualname}")


def _wants_config(cls: type) -> bool:
    if not capture.capture_config:
        return False
    if _opaque and any(
        f"{_namespace(base).get('__module__')}.{base.__qualname__}" in _opaque for base in _mro(cls)
    ):
        return False
    for base in _mro(cls):
        if "serializable" in _namespace(base):
            return _namespace(base)["serializable"] is not False
    return True


def _meet(instance: Any) -> Known:
    """Learn of an object that existed before: its configuration is what its state shows."""
    if gc.is_finalized(instance):
        ended = _gone.get(id(instance))
        if ended is not None and ended.type_id == id(type(instance)):
            return ended  # its own __del__ calls: it is the object it was
    known = Known(instance, None)
    if _wants_config(type(instance)):
        known.config = pack(_state_config(instance))
    _remember(id(instance), known)
    return known


def _state(instance: Any) -> dict[str, Any]:
    """Return an object's attributes without running any of its code: slots, then its namespace."""
    state: dict[str, Any] = {}
    for base in reversed(_mro(type(instance))):
        slots = _namespace(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            mangled = (
                f"_{base.__name__.lstrip('_')}{name}" if name[:2] == "__" and name[-2:] != "__" else name
            )
            descriptor = _namespace(base).get(mangled)
            if inspect.ismemberdescriptor(descriptor):
                try:
                    state[mangled] = descriptor.__get__(instance)
                except AttributeError:  # never set
                    continue
    try:
        names = object.__getattribute__(instance, "__dict__")
    except (AttributeError, TypeError):
        names = None
    if type(names) is dict:
        state.update((key, value) for key, value in names.items() if isinstance(key, str))
    for name in (
        "__dict__",
        "__weakref__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    ):
        state.pop(name, None)
    return state


def _state_config(instance: Any) -> dict[str, Any]:
    """Return a configuration from an object's state: the constructor's parameters as far as they were kept.

    When the state does not hold all parameters, the whole state is the configuration.
    """
    state = _state(instance)
    cls = type(instance)
    for base in _mro(cls):
        if "__init__" in _namespace(base):
            signature = read_signature(_namespace(base)["__init__"]) if base is not object else None
            break
    else:
        signature = None
    if signature is None:
        return state
    config: dict[str, Any] = {}
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return state
        for name in (parameter.name, f"_{parameter.name}", f"_{cls.__name__.lstrip('_')}__{parameter.name}"):
            if name in state:
                config[parameter.name] = state[name]
                break
        else:
            return state
    return config


def _tell(known: Known, instance: Any) -> None:
    import logging

    level = level_of("tool_instance")
    if not logging.getLogger(ROOT).isEnabledFor(level):
        return
    known.told = True
    packed = known.config or b""
    config = None if known.config is None else _unpack(known.config)
    known.config = None  # told once, so no longer needed
    module, qualname = known.cls_name
    tool: dict[str, Any] = {"module": module, "qualname": qualname, "type": "function"}
    if known.package:
        tool["package"] = known.package
    facts: dict[str, Any] = {
        "instance_id": known.instance_id,
        "tool": tool,
        "created_at": datetime.fromtimestamp(known.created / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    if config is not None:
        try:
            digest = _digest(packed, config)
            facts["config_hash"] = digest
            _link(known, (module, qualname, digest))
        except Exception as error:
            contain("config_hash", error)
    if known.recreated_from is not None:
        facts["recreated_from"] = known.recreated_from
    emit_event(
        "tool_instance", levelno=level, facts=facts, content=None if config is None else {"config": config}
    )


def _link(known: Known, lineage: tuple[str, str, str]) -> None:
    """Link an object to the one before it of the same class and configuration, if that one lives no more."""
    before = _lineage.pop(lineage, None)
    if known.recreated_from is None and before is not None and before not in _live:
        known.recreated_from = before
    _lineage[lineage] = known.instance_id
    if known.ref is not None:
        _live[known.instance_id] = known.ref.key
    while len(_lineage) > MAX_LINEAGE:
        del _lineage[next(iter(_lineage))]


def _unpack(packed: bytes) -> Any:
    import ormsgpack

    return ormsgpack.unpackb(packed)


_digests: dict[bytes, str] = {}
_MOST_DIGESTS = 1000


def _digest(packed: bytes, config: Mapping[str, Any]) -> str:
    """Return `config_hash`, remembered: many packages make short-lived objects of one configuration."""
    from toolog.sanitize import inuse

    how = f"{capture.hash_key}/{inuse.enlisted()}".encode()
    key = hashlib.sha256(how + packed).digest()  # not the bytes themselves: they may hold a secret
    digest = _digests.get(key)
    if digest is None:
        if len(_digests) >= _MOST_DIGESTS:
            _digests.clear()
        digest = _digests[key] = config_hash(config)
    return digest


def config_hash(config: Mapping[str, Any]) -> str:
    """Return a hash of a configuration, the same in every process that has the same settings.

    With the setting ``hash_key`` all of the configuration is hashed, by that key (``hmac:...``): who has
    no key
    cannot try secrets until one fits. Without a key only what records show is hashed (``sha256:...``): every
    sanitizer of a handler masks the configuration before.
    """
    import orjson

    if capture.hash_key is not None:
        import hmac  # OpenSSL: only where a key is set

        data = orjson.dumps(dict(config), option=orjson.OPT_SORT_KEYS)
        return "hmac:" + hmac.new(capture.hash_key.encode(), data, hashlib.sha256).hexdigest()[:32]

    from toolog.sanitize import inuse

    masked = orjson.dumps(inuse.mask(dict(config), "config"), option=orjson.OPT_SORT_KEYS)
    return "sha256:" + hashlib.sha256(masked).hexdigest()[:32]


Maker = Callable[..., Any]
Registry = Mapping[str, Maker] | Iterable[type]


def recreate(instance_record: Mapping[str, Any], registry: Registry, /) -> Any:
    """Build a tool again from its ``tool_instance`` record, for a continued conversation.

    ``registry`` is a mapping from a class's name ("Weather", or "weather.tools.Weather") to the class or to a
    function that takes the configuration as keywords, or simply the classes themselves. Where the
    configuration holds masked values, a class cannot be called: give a function that fills the secrets in.
    The new object's record names the old one in ``recreated_from``. Raises ConfigError when the record, the
    class or a value is missing. Since 0.1.
    """
    if instance_record.get("event") not in (None, "tool_instance") or "instance_id" not in instance_record:
        raise ConfigError(f"recreate takes a tool_instance record, not {instance_record.get('event')!r}")
    config = instance_record.get("config")
    tool = instance_record.get("tool") or {}
    qualname, module = str(tool.get("qualname", "")), str(tool.get("module", ""))
    if not isinstance(config, Mapping):
        raise ConfigError(
            f"the record of {qualname or 'the tool'} holds no configuration (capture_config was off)"
        )
    maker = _find_maker(registry, module, qualname)
    if isinstance(maker, type):
        masked = [name for name, value in config.items() if isinstance(value, str) and "[MASKED" in value]
        if masked:
            raise ConfigError(
                f"{', '.join(masked)} of {qualname} is masked in the record: give the registry a function "
                f"that fills it in, for example {{{qualname!r}: lambda **config: ...}}"
            )
    args, kwargs = _as_call(maker, dict(config))
    token = _recreating.set(str(instance_record["instance_id"]))
    try:
        instance = maker(*args, **kwargs)
    finally:
        _recreating.reset(token)
    known = _lookup(instance)
    if known is None:
        known = _meet(instance)
    known.recreated_from = str(instance_record["instance_id"])
    if not known.told:
        _tell(known, instance)
    return instance


def _find_maker(registry: Registry, module: str, qualname: str) -> Maker:
    if isinstance(registry, Mapping):
        makers: dict[str, Maker] = dict(registry)
    else:
        makers = {}
        for cls in registry:
            makers[f"{cls.__module__}.{cls.__qualname__}"] = cls
            makers.setdefault(cls.__qualname__, cls)
    short = qualname.rpartition(".")[2]
    for name in (f"{module}.{qualname}", f"{module}:{qualname}", qualname, short):
        if name in makers:
            return makers[name]
    guess = nearest(short, makers)
    hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(sorted(makers)) or 'nothing'}"
    raise ConfigError(f"the registry has no {module}.{qualname}; {hint}")


def _as_call(maker: Maker, config: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments from a configuration by name: ``*args`` and ``**kwargs`` are
    spread."""
    signature = read_signature(maker)
    args: list[Any] = []
    if signature is None:
        return args, config
    for parameter in signature.parameters.values():
        if parameter.name not in config:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            args.append(config.pop(parameter.name))
        elif parameter.kind is parameter.VAR_POSITIONAL:
            rest = config.pop(parameter.name)
            if rest:  # what stands before *args must then go by position, too
                before = [
                    p.name for p in signature.parameters.values()
                    if p.kind is p.POSITIONAL_OR_KEYWORD and p.name in config
                ]  # fmt: skip
                args += [config.pop(name) for name in before]
                args += list(rest)
        elif parameter.kind is parameter.VAR_KEYWORD and isinstance(config[parameter.name], dict):
            config.update(config.pop(parameter.name))
    return args, config
