"""What a user calls: ``instrument`` and ``uninstrument``."""

from __future__ import annotations

from typing import Any

from toolog.counters import tell
from toolog.errors import ConfigError
from toolog.instrumentation import frameworks
from toolog.instrumentation.choice import Choice, Globs
from toolog.instrumentation.found import Found
from toolog.instrumentation.frameworks.table import Adapter
from toolog.instrumentation.instrumented import NAME_IT, Instrumentation, covering, put_on
from toolog.instrumentation.patch import lock, release
from toolog.instrumentation.spots import spot_at
from toolog.instrumentation.targets import as_adapted, resolve, search


def instrument(
    target: Any,
    /,
    *,
    tools: Globs = None,
    exclude: Globs = None,
    adapter: Adapter | str | None = None,
    name: str | None = None,
    nested: bool | None = None,
) -> Instrumentation:
    """Record every call of the tools in ``target``: one line, and each call becomes one record.

    ``target``: a module, a dotted name (instrumented when it is imported, if it is not yet), a framework's
    name ("langchain"; "frameworks" for all), a class, an object, a function, a bound method, or a list of
    these. ``tools`` and ``exclude``: globs over names such as ``Class.method`` or a function's name; of a
    framework's tools over the names that the model knows. ``adapter``: by which framework's table the target
    is recorded, where that cannot be told from its class: a framework's name, or a table of one's own.
    ``name``: what a single function is called in the records, or a prefix for the names of several.
    ``nested``: whether calls that the target's package makes into itself are records too; False by default
    for a module, True for anything smaller.

    Returns an `Instrumentation`: what was wrapped and skipped, and the way to undo it. Doing it twice changes
    nothing; a ``name`` or ``nested`` given for what is instrumented already holds. Raises ConfigError for a
    target that cannot be one and for a glob that matches nothing. Since 0.1.
    """
    if name is not None and not (isinstance(name, str) and name):
        raise ConfigError(f"name takes a text, not {name!r}")
    if nested is not None and not isinstance(nested, bool):
        raise ConfigError(f"nested takes True or False, not {nested!r}")
    choice = Choice(tools, exclude)
    table = frameworks.wanted(adapter)
    targets = resolve(target)
    if table is not None:
        targets = [as_adapted(item, table) for item in targets]
    label = ", ".join(item.label for item in targets) or "nothing"
    made = Instrumentation(targets, label, choice=choice, name=name, nested=nested, adapter=table)
    put_on(made, targets)
    if made.found_nothing:
        tell(f"nothing found: {label}", f"{label} holds no tools, so nothing of it is recorded; {NAME_IT}")
    return made


def uninstrument(target: Any, /) -> None:
    """Undo what `instrument` did to a target, whichever call did it; a target that is not instrumented is
    left alone, and so are others that were instrumented together with it.

    ``target`` takes the same shapes as in `instrument`; a class or function of an instrumented module is
    taken out of it. Raises ConfigError for what cannot be a target. Since 0.1.
    """
    with lock:
        for item in resolve(target):
            for made in covering(item):
                made.leave(item)
            found = Found()
            if item.kind != "pending":
                search(item, Choice(), found, name=None, nested=None)
            for tool in found.tools:
                spot = spot_at(tool.holder, tool.attribute)
                if spot is None:
                    continue
                for held in list(spot.grants):
                    if tool.gate is None or held.tool.gate is None or held.tool.gate.same(tool.gate):
                        release(held.owner, [spot])
