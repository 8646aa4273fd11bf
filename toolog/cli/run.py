"""`toolog run`: a Python program with its tools instrumented, its source untouched."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from toolog.cli.common import configured

if TYPE_CHECKING:
    import toolog


@click.command(
    "run",
    short_help="Run a Python program with its tools instrumented, its source untouched.",
    context_settings={"allow_interspersed_args": False},  # what follows PROGRAM is the program's own
)
@click.option("-m", "module", is_flag=True, help="PROGRAM is a module, as with `python -m`.")
@click.option(
    "--instrument",
    "-i",
    "names",
    multiple=True,
    metavar="NAME",
    help="What to instrument: a module, class or function by its dotted name, or an agent framework by its "
    "name; may be repeated.",
)
@click.option(
    "--profile", type=click.Choice(["dev", "prod"]), help="The profile, instead of the configured one."
)
@click.option("--json", "as_json", is_flag=True, help="At the end print toolog.stats() on stderr, as JSON.")
@click.argument("program", metavar="PROGRAM")
@click.argument("arguments", metavar="[ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
def command(
    module: bool,
    names: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    program: str,
    arguments: tuple[str, ...],
) -> int:
    """Run PROGRAM as python would, and record the calls of its tools.

    What is instrumented is said by --instrument, by `instrument` in [tool.toolog] of pyproject.toml, or by
    TOOLOG_INSTRUMENT; where nothing is said, the tools of every agent framework that the program imports. A
    name that is not imported yet is instrumented when the program imports it; `__main__` means what PROGRAM
    itself defines. Processes that its `multiprocessing` starts are instrumented, too. The exit code is the
    program's own.

    \b
    Example:
      toolog run --instrument requests agent.py --order 1001
      toolog run -m myagent
    """
    import toolog
    from toolog.errors import ConfigError
    from toolog.instrumentation.frameworks import EVERYTHING
    from toolog.instrumentation.heirs import leave_to_children
    from toolog.instrumentation.runprogram import NoProgram, instrument_named, run_program
    from toolog.settings.place import remember

    tools = names or tuple(configured("run", "instrument")) or (EVERYTHING,)
    made: list[toolog.Instrumentation] = []
    toolog.configure(profile, handle_signals=True)
    leave_to_children(partial(_begin_in_child, profile, tools, remember()))
    try:
        code = run_program(
            program,
            arguments,
            module=module,
            tools=tools,
            instrument=lambda name: made.append(instrument_named(name)),
        )
    except (NoProgram, ConfigError):  # that is all there is to say
        raise
    except BaseException:
        _report(tools, made, as_json)
        raise
    _report(tools, made, as_json)
    return code


def _begin_in_child(profile: str | None, tools: Sequence[str], directory: str | None) -> None:
    """Do what `toolog run` did, in a process that the program's `multiprocessing` started anew.

    What the program itself configured there, as it does where it is imported, is left alone.
    """
    import toolog
    from toolog.all_pipelines import pipelines
    from toolog.errors import ToologError
    from toolog.instrumentation.ownprogram import own_names
    from toolog.instrumentation.runprogram import instrument_named
    from toolog.settings.place import begun_in

    if not pipelines():
        with begun_in(directory):
            toolog.configure(profile, handle_signals=True)
    main = sys.modules["__main__"]
    program = os.path.splitext(os.path.basename(getattr(main, "__file__", None) or ""))[0]
    spec = getattr(main, "__spec__", None)
    for name in dict.fromkeys([*tools, *own_names(tools, program if spec is None else spec.name)]):
        with contextlib.suppress(ToologError):  # told by the process that began
            instrument_named(name)


def _report(tools: Sequence[str], made: Sequence[toolog.Instrumentation], as_json: bool) -> None:
    """Say at the end what was not recorded, and why."""
    import toolog
    from toolog.instrumentation.frameworks import EVERYTHING, adapters, is_loaded
    from toolog.instrumentation.instrumented import active

    _name_the_missing(made)
    own = {id(item) for item in made}
    has_tools = any(item.wrapped for item in active() if id(item) not in own)  # by the program itself
    is_idle = not has_tools and not toolog.stats()["accepted"]
    if is_idle and tuple(tools) == (EVERYTHING,) and not any(map(is_loaded, adapters().values())):
        click.echo(
            "toolog run: nothing was recorded: the program imported no agent framework that toolog "
            "knows, and nothing else is named (--instrument NAME, or instrument in [tool.toolog])",
            err=True,
        )
    else:
        _explain()
    if as_json:
        _tell()


def _name_the_missing(made: Sequence[toolog.Instrumentation]) -> None:
    """Tell which names nothing can be found for: a misspelt one should not go unnoticed.

    A module that exists and was not needed this time is no mistake.
    """
    from toolog.instrumentation.imports import can_be_found

    for name in (name for one in made for name in one.waiting):
        if name.rpartition(".")[0] in sys.modules or not can_be_found(name.partition(".")[0]):
            click.echo(f"toolog run: nothing of {name!r} was recorded: there is no such name", err=True)


_SHOWN = 4
"""How many findings of one cause are shown."""
_HIDING = {
    "level", "disabled logger", "no handler", "closed handler", "other handler", "retention",
    "imported too early", "patched over", "replaced", "dropped", "troubles", "reentrant",
}  # fmt: skip
"""Causes by which a call that was made leaves no record."""
_PATIENCE = 1.0
"""Seconds to wait for the sinks before what still waits for them is told; closing waits in any case."""


def _explain() -> None:
    """Tell why nothing was recorded, when nothing was, and which records are not where they belong yet."""
    import toolog

    if not toolog.stats()["accepted"]:
        click.echo("toolog run: no call was recorded in this process; what may be the cause:", err=True)
        _name_causes()
        return
    from toolog.all_pipelines import pipelines

    for pipeline in pipelines():
        pipeline.wait_ready()
    delivered = toolog.flush(_PATIENCE)
    stats = toolog.stats()
    for reason, levels in stats["dropped"].items():
        click.echo(f"toolog run: {sum(levels.values())} records were dropped: {reason}", err=True)
    in_memory = any(pipeline.outlet.degraded for pipeline in pipelines())
    for sink, number in stats["in_spool"].items():
        if number and not delivered:
            where, then = "in the spool", "the next run sends them, or `toolog ship`"
            if in_memory:
                where, then = "in memory", "they will be lost, as the spool cannot be written"
            click.echo(
                f"toolog run: {number} records wait {where} for {sink}, which does not take them; {then}",
                err=True,
            )


def _name_causes() -> None:
    """Tell what may keep calls from being recorded; the last of it that tools were not called."""
    from toolog.instrumentation.doctor import diagnose
    from toolog.instrumentation.silence import few

    findings = diagnose().findings
    seen: dict[str, int] = {}
    for finding in sorted(findings, key=lambda one: one.kind != "problem"):
        seen[finding.cause] = seen.get(finding.cause, 0) + 1
        if finding.kind != "ok" and seen[finding.cause] <= _SHOWN:
            advice = f" ({finding.advice})" if finding.advice else ""
            click.echo(f"  {finding.cause}: {finding.subject}: {finding.text}{advice}", err=True)
    if any(finding.cause in _HIDING for finding in findings):
        return  # whether a tool was called cannot be known then
    called = {finding.subject for finding in findings if finding.cause == "stream not ended"}
    for label, tools in _uncalled(called):
        text = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}: {few(tools)}"
        click.echo(f"  not called: {label}: {text}", err=True)


def _uncalled(called: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the tools that were not called, under what was instrumented, each once."""
    from toolog.instrumentation.instrumented import active

    named = set(called)
    for item in active():
        tools = [name for name in item.wrapped if name not in named]
        named.update(tools)
        if tools:
            yield item.label, tools


def _tell() -> None:
    """Print what became of the records, once all of them are where they belong or time is up."""
    import json

    import toolog

    toolog.flush()
    click.echo(json.dumps(toolog.stats(), default=str), err=True)
    sys.stderr.flush()
