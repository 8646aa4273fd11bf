"""How an object was set up: its constructor's arguments, or what its state shows of them, and their hash."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

from toolog.arguments import read_signature
from toolog.settings import capture
from toolog.snapshot.state import class_dict_of, instance_dict, mro_of

_opaque: set[str] = set()


def leave_config_out(module: str, qualname: str) -> None:
    """Never capture the configuration of a class and its subclasses: it is made of machinery, not of
    settings."""
    _opaque.add(f"{module}.{qualname}")


def wants_config(cls: type) -> bool:
    """Whether the configuration of a class's objects is captured; ``serializable = False`` in it says no."""
    if not capture.capture_config:
        return False
    if _opaque and any(
        f"{class_dict_of(base).get('__module__')}.{base.__qualname__}" in _opaque for base in mro_of(cls)
    ):
        return False
    for base in mro_of(cls):
        if "serializable" in class_dict_of(base):
            return class_dict_of(base)["serializable"] is not False
    return True


def state_of(instance: Any) -> dict[str, Any]:
    """Return an object's attributes without running any of its code: slots, then its namespace."""
    state: dict[str, Any] = {}
    for base in reversed(mro_of(type(instance))):
        slots = class_dict_of(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            mangled = (
                f"_{base.__name__.lstrip('_')}{name}" if name[:2] == "__" and name[-2:] != "__" else name
            )
            descriptor = class_dict_of(base).get(mangled)
            if inspect.ismemberdescriptor(descriptor):
                try:
                    state[mangled] = descriptor.__get__(instance)
                except AttributeError:  # never set
                    continue
    names = instance_dict(instance)
    if names is not None:
        state.update((key, value) for key, value in names.items() if isinstance(key, str))
    for name in (
        "__dict__",
        "__weakref__",
        "__orig_class__",  # `Tool[int]()`: what typing notes, which is no setting
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    ):
        state.pop(name, None)
    return state


def config_from_state(instance: Any) -> dict[str, Any]:
    """Return a configuration from an object's state: the constructor's parameters as far as they were kept.

    When the state does not hold all parameters, the whole state is the configuration.
    """
    state = state_of(instance)
    cls = type(instance)
    for base in mro_of(cls):
        if "__init__" in class_dict_of(base):
            signature = read_signature(class_dict_of(base)["__init__"]) if base is not object else None
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


_digests: dict[bytes, str] = {}
_MOST_DIGESTS = 1000


def digest_of(packed: bytes, config: Mapping[str, Any]) -> str:
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

    With the setting ``hash_key`` all of the configuration is hashed, by that key (``hmac:...``): who has no
    key cannot try secrets until one fits. Without a key only what records show is hashed (``sha256:...``):
    every sanitizer of a handler masks the configuration before.
    """
    import orjson

    if capture.hash_key is not None:
        import hmac  # OpenSSL: only where a key is set

        data = orjson.dumps(dict(config), option=orjson.OPT_SORT_KEYS)
        return "hmac:" + hmac.new(capture.hash_key.encode(), data, hashlib.sha256).hexdigest()[:32]

    from toolog.sanitize import inuse

    masked = orjson.dumps(inuse.mask(dict(config), "config"), option=orjson.OPT_SORT_KEYS)
    return "sha256:" + hashlib.sha256(masked).hexdigest()[:32]
