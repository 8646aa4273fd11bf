"""A tool built again from its ``tool_instance`` record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolog.arguments import read_signature
from toolog.errors import ConfigError, nearest
from toolog.instances.known import look_up, recreating
from toolog.instances.life import meet
from toolog.instances.notice import tell

Maker = Callable[..., Any]
Registry = Mapping[str, Maker] | Iterable[type]


def recreate(instance_record: Mapping[str, Any], registry: Registry, /) -> Any:
    """Build a tool again from its ``tool_instance`` record, for a continued conversation.

    ``registry`` is a mapping from a class's name ("Weather", or "weather.tools.Weather") to the class or to a
    function that takes the configuration as keywords, or simply the classes themselves. Where the
    configuration holds values that are masked or were cut, a class cannot be called: give a function that
    fills them in.
    The new object's record names the old one in ``recreated_from``. Raises ConfigError when the record, the
    class or a value is missing. Since 0.1.
    """
    if not isinstance(instance_record, Mapping):
        raise ConfigError(f"recreate takes a tool_instance record, not {type(instance_record).__name__}")
    if instance_record.get("event") not in (None, "tool_instance"):
        raise ConfigError(f"recreate takes a tool_instance record, not {instance_record.get('event')!r}")
    if "instance_id" not in instance_record:
        raise ConfigError("recreate takes a tool_instance record, and this one has no instance_id")
    config = instance_record.get("config")
    tool = instance_record.get("tool") or {}
    qualname, module = str(tool.get("qualname", "")), str(tool.get("module", ""))
    if not isinstance(config, Mapping):
        raise ConfigError(
            f"the record of {qualname or 'the tool'} holds no configuration (capture_config was off)"
        )
    maker = _find_maker(registry, module, qualname)
    if isinstance(maker, type):
        lost = _lost(config, instance_record.get("truncated"))
        if lost:
            named = ", ".join(f"{name} of {qualname} {why}" for name, why in lost.items())
            raise ConfigError(
                f"{named} in the record: give the registry a function that fills it in, "
                f"for example {{{qualname!r}: lambda **config: ...}}"
            )
    args, kwargs = _as_call(maker, dict(config))
    token = recreating.set(str(instance_record["instance_id"]))
    try:
        instance = maker(*args, **kwargs)
    finally:
        recreating.reset(token)
    known = look_up(instance)
    if known is None:
        known = meet(instance)
    known.recreated_from = str(instance_record["instance_id"])
    if not known.told:
        tell(known)
    return instance


def _lost(config: Mapping[str, Any], truncated: Any) -> dict[str, str]:
    """Return the arguments that are not in a configuration as they were given, each with the reason."""
    cut = [path for path in truncated if isinstance(path, str)] if isinstance(truncated, Mapping) else []
    lost = {}
    for name, value in config.items():
        place = f"config.{name}"
        if _has_mask(value):
            lost[name] = "is masked"
        elif any(path == place or path.startswith((f"{place}.", f"{place}[")) for path in cut):
            lost[name] = "was cut"
    return lost


def _has_mask(value: Any) -> bool:
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            if "[MASKED" in value:
                return True
        elif isinstance(value, Mapping):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            todo += value
    return False


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
