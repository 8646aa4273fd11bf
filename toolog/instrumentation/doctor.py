"""What is and is not instrumented in this process, and why there may be no records.

`diagnose` looks for the usual causes, each told as a `Finding` with what to do about it:

    nothing instrumented      nobody called instrument, and the configuration names nothing
    waiting                   the module was never imported, or its name is misspelt
    imported too early        a list, closure or bound method elsewhere holds the plain function
    patched over              somebody put something else where our wrapper stood (a mock, another tracer)
    replaced                  the module was reloaded or replaced after it was instrumented
    C code                    C types and functions cannot be wrapped
    lazy module               names that are not loaded yet were not looked at
    framework version         the adapter does not know this version of an agent framework
    left out                  globs, private names, other packages' names

What keeps the records of calls that were watched from being seen (a level, a logger, a handler, a stream that
never ended, another process ...) is found by `silence`.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterable, Iterator
from types import FrameType, MethodType, ModuleType
from typing import Any

from toolog.errors import ToologError
from toolog.faults import safe_text
from toolog.instrumentation import frameworks, imports
from toolog.instrumentation.choice import Choice
from toolog.instrumentation.found import Found, Tool
from toolog.instrumentation.frameworks.claims import names_of, sort_by_adapter
from toolog.instrumentation.frameworks.install import Installed, installed
from toolog.instrumentation.instrumented import NAME_IT, Instrumentation, active
from toolog.instrumentation.kinds import module_vars, object_vars
from toolog.instrumentation.silence import Finding, after_the_call, few
from toolog.instrumentation.spots import Spot, spot_at
from toolog.instrumentation.targets import Target, resolve, search


class Diagnosis:
    """What `diagnose` found; its text is ready to be printed."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings

    @property
    def problems(self) -> list[Finding]:
        """The findings that explain why records are missing."""
        return [finding for finding in self.findings if finding.kind == "problem"]

    def __str__(self) -> str:
        marks = {"ok": "+", "note": "-", "problem": "!"}
        lines = []
        for finding in self.findings:
            lines.append(f"{marks[finding.kind]} {finding.subject}: {finding.text}")
            if finding.advice:
                lines.append(f"    {finding.advice}")
        count = len(self.problems)
        lines.append(f"{count} problem{'' if count == 1 else 's'} found" if count else "no problem found")
        return "\n".join(lines)


def diagnose(*targets: Any, load: bool = False) -> Diagnosis:
    """Look for what keeps tool calls from being recorded.

    Without ``targets`` it looks at what is instrumented in this process. With targets (in any shape that
    `instrument` takes) it also tells what each of their tools would be, or is; ``load`` imports those that
    are dotted names. Changes nothing. Raises ConfigError for what cannot be a target.
    """
    findings: list[Finding] = []
    made = active()
    if not made and not targets:
        findings.append(
            Finding(
                "problem", "nothing instrumented", "toolog", "nothing is instrumented in this process",
                "call toolog.instrument(module) early, or start the program by `toolog run` with "
                "[tool.toolog] instrument = [...]",
            )
        )  # fmt: skip
    for item in made:
        findings += _look_at(item)
    for target in targets:
        for resolved in _resolve(target, load, findings):
            findings += _look_ahead(resolved)
    findings += after_the_call(made)
    return Diagnosis(list(dict.fromkeys(findings)))  # what is instrumented twice says everything twice


def _resolve(target: Any, load: bool, findings: list[Finding]) -> list[Target]:
    if load and isinstance(target, str):
        name = target.replace(":", ".")
        while name:
            try:
                importlib.import_module(name)
                break
            except ModuleNotFoundError as error:
                if error.name is None or not name.startswith(error.name):
                    findings.append(_failed(target, error))
                    return []
                name = name.rpartition(".")[0]
            except (Exception, SystemExit) as error:  # a module that is a program ends the process
                findings.append(_failed(target, error))
                return []
    try:
        return resolve(target)
    except ToologError as error:
        findings.append(Finding("problem", "target", str(target), str(error)))
        return []


def _failed(target: str, error: BaseException) -> Finding:
    told = safe_text(lambda: str(error))
    text = f"its import fails with {type(error).__name__}{told and ': '}{told}"
    return Finding("problem", "import", target, text, "it is instrumented once it can be imported")


def _look_at(made: Instrumentation) -> Iterator[Finding]:
    if made.wrapped:
        yield Finding("ok", "wrapped", made.label, f"{len(made.wrapped)} tools: {few(made.wrapped)}")
    elif made.found_nothing:
        yield Finding(
            "problem",
            "nothing found",
            made.label,
            f"holds no tools{'; see below for what was skipped' if made.skipped else ''}",
            NAME_IT,
        )
    for name in made.waiting:
        found = imports.can_be_found(name.partition(".")[0])
        yield Finding(
            "note" if found else "problem", "waiting", name,
            "waits for its import" if found else "waits for its import, but no such module can be found",
            "nothing has imported it yet" if found else "check the name, and that the package is installed",
        )  # fmt: skip
    for held in made.adapted.values():
        yield from _look_at_framework(held)
    spots = made.spots()
    for spot in spots:
        yield from _check_spot(spot)
    yield from _held_elsewhere(spots)
    yield from _skipped(made.skipped)


def _look_at_framework(held: Installed) -> Iterator[Finding]:
    adapter = held.adapter
    version = frameworks.installed_version(adapter)
    title = f"{adapter.distribution} {version or '(not installed)'}"
    if version is None and not frameworks.is_loaded(adapter):
        yield Finding(
            "note", "waiting", adapter.name, f"{adapter.distribution} is not installed",
            "its calls are recorded once it can be imported",
        )  # fmt: skip
        return
    for name, reason in held.complaints():
        yield Finding("problem", "framework version", name, reason, f"tested with {adapter.tested}")
    if held.layers:
        yield Finding("ok", "framework", adapter.name, f"{title}: {len(held.layers)} places are hooked")
    if held.waiting:
        yield Finding(
            "note", "waiting", adapter.name, f"{len(held.waiting)} of its modules are not imported yet"
        )
    for layer in held.layers:
        if not layer.stands():
            now = layer.current()
            place = f"{getattr(layer.holder, '__name__', '?')}.{layer.attribute}"
            yield Finding(
                "problem", "patched over", place, f"a {type(now).__name__} stands where our wrapper stood",
                "instrument after whatever patches it",
            )  # fmt: skip


def _check_spot(spot: Spot) -> Iterator[Finding]:
    name = f"{getattr(spot.holder, '__name__', type(spot.holder).__name__)}.{spot.attribute}"
    now = spot.current()
    if spot.stands():
        if isinstance(spot.holder, ModuleType):
            loaded = sys.modules.get(module_vars(spot.holder).get("__name__", ""))
            if loaded is not None and loaded is not spot.holder:
                yield Finding(
                    "problem", "replaced", name, "its module was imported again under the same name",
                    "call instrument again after whatever replaces modules",
                )  # fmt: skip
        return
    if now is spot.raw or type(now) is type(spot.raw):
        text = "the plain function stands here again: the module was reloaded, or a patch was ended over ours"
        yield Finding("problem", "replaced", name, text, "call instrument again")
    else:
        text = f"a {type(now).__name__} stands where our wrapper stood"
        yield Finding("problem", "patched over", name, text, "instrument after whatever patches it (a mock?)")


def _held_elsewhere(spots: Iterable[Spot]) -> Iterator[Finding]:
    """Tell who holds plain functions that were taken before they were wrapped: one pass of the garbage
    collector."""
    originals = {id(spot.raw): spot for spot in spots if spot.stands()}
    if not originals:
        return
    ours = {id(spot) for spot in originals.values()}
    told = set()
    for holder in gc.get_referrers(*[spot.raw for spot in originals.values()]):
        if id(holder) in ours or isinstance(holder, FrameType) or holder is originals:
            continue
        if type(holder).__module__.startswith("toolog.") or id(holder) in originals:
            continue
        for spot, where in _what_it_holds(holder, originals):
            name = f"{getattr(spot.holder, '__name__', type(spot.holder).__name__)}.{spot.attribute}"
            if (name, where) not in told:
                told.add((name, where))
                yield Finding(
                    "problem", "imported too early", name, f"{where} holds the plain function",
                    "instrument before that is filled: at the top of the program, or by `toolog run`",
                )  # fmt: skip


def _what_it_holds(holder: Any, originals: dict[int, Spot]) -> Iterator[tuple[Spot, str]]:
    kind = type(holder)
    if any(kind is one for one in (list, set, frozenset)):
        for value in list(holder):
            if id(value) in originals:
                yield originals[id(value)], f"a {kind.__name__}"
    elif kind is dict:
        if any(key in holder for key in ("_self_raw", "__wrapped__")):
            return  # a wrapper's own notes
        for key, value in list(holder.items()):
            if id(value) in originals and not _is_namespace(holder):
                yield originals[id(value)], f"a dict under {str(key)[:40]!r}"
    elif kind is MethodType:
        if id(holder.__func__) in originals:
            yield originals[id(holder.__func__)], f"a bound method of {type(holder.__self__).__name__}"
    elif kind.__name__ == "cell" and id(holder.cell_contents) in originals:
        yield originals[id(holder.cell_contents)], "a closure"
    elif kind.__name__ == "partial" and id(holder.func) in originals:
        yield originals[id(holder.func)], "a functools.partial"


def _is_namespace(holder: dict[Any, Any]) -> bool:
    return any(
        object_vars(module) is holder
        for module in list(sys.modules.values())
        if isinstance(module, ModuleType)
    ) or ("__module__" in holder and "__dict__" in holder)


def _look_ahead(target: Target) -> Iterator[Finding]:
    if target.kind == "pending":
        found = imports.can_be_found(target.value.partition(".")[0])
        text = "is not imported yet" if found else "cannot be found"
        advice = (
            "it will be instrumented when it is imported" if found else "check the name and the installation"
        )
        yield Finding("note" if found else "problem", "waiting", target.label, text, advice)
        return
    found_tools = Found()
    search(target, Choice(), found_tools, name=None, nested=None)
    if found_tools.adapted:
        yield from _would_adapt(target, found_tools.adapted)
    elif not found_tools.tools:
        yield Finding("problem", "nothing found", target.label, "holds no tools", NAME_IT)
    if found_tools.tools and target.kind == "module":
        yield Finding(
            "note", "nested", target.label, "its outermost calls would be records, what it calls itself not",
            f"toolog.instrument({target.label}, nested=True) records those, too",
        )  # fmt: skip
    done = [tool.name for tool in found_tools.tools if _is_done(tool)]
    todo = [tool.name for tool in found_tools.tools if not _is_done(tool)]
    if done:
        yield Finding("ok", "wrapped", target.label, f"{len(done)} tools are instrumented: {few(done)}")
    if todo:
        yield Finding(
            "note",
            "not wrapped",
            target.label,
            f"{len(todo)} tool{'' if len(todo) == 1 else 's'} can be instrumented: {few(todo)}",
            "toolog.instrument(NAME), or `toolog run --instrument NAME`, records their calls",
        )
    yield from _skipped(found_tools.skipped)


def _would_adapt(target: Target, values: list[Any]) -> Iterator[Finding]:
    for adapter, pointed_at in sort_by_adapter(values, None):
        which = "every tool" if pointed_at is None else ", ".join(names_of(adapter, pointed_at))
        if any(held.adapter is adapter for held in installed()):
            yield Finding(
                "ok", "framework", target.label, f"{which} is recorded by the adapter {adapter.name}"
            )
            continue
        version = frameworks.installed_version(adapter)
        yield Finding(
            "note", "not wrapped", target.label,
            f"{which} would be recorded by the adapter {adapter.name} "
            f"({adapter.distribution} {version or 'is not installed'})",
            "toolog.instrument would record their calls",
        )  # fmt: skip


def _is_done(tool: Tool) -> bool:
    return spot_at(tool.holder, tool.attribute) is not None


def _skipped(skipped: Iterable[Any]) -> Iterator[Finding]:
    for name, reason in skipped:
        cause = "left out"
        if reason.startswith(("C type", "function written in C")):
            cause = "C code"
        elif reason.startswith("lazy module"):
            cause = "lazy module"
        elif "held by no module" in reason:
            cause = "not reachable"
        yield Finding("problem" if cause == "not reachable" else "note", cause, name, reason)
