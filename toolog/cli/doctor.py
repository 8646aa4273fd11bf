"""`toolog doctor`: what is and is not instrumented in this environment, and why."""

from __future__ import annotations

import logging
import os
import platform
import sqlite3
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolog.cli.common import FOUND_FAULTS, configured, find_store, json_option, print_json_lines, print_lines
from toolog.errors import ConfigError, ToologError
from toolog.levels import ROOT, set_level
from toolog.sinks import lines

if TYPE_CHECKING:
    from toolog.instrumentation.silence import Finding
    from toolog.sinks.lines import Line

_STYLES = {"ok": ("good", "+"), "note": ("dim", "-"), "problem": ("bad", "!")}
_SHOWN = 12
"""How many notes of one cause are shown before the rest is only counted."""


@click.command("doctor", short_help="Tell what is and is not instrumented in this environment, and why.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Show every note, however many there are.")
@json_option
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], every: bool, as_json: bool) -> None:
    """Check the configuration, and tell what `toolog.instrument(NAME)` would and would not wrap, and why.

    NAMEs are modules, classes or functions by their dotted names; left out, those that the configuration says
    `toolog run` instruments. They are imported for it, also from the working directory. Inside a running
    program, ask `toolog.instrumentation.doctor.diagnose()`. The exit code is 1 when there is a problem.

    \b
    Example:
      toolog doctor requests sqlite_utils
    """
    found = [*_environment(), *_configuration()]
    targets = names or _configured_tools()
    if targets:
        from toolog.instrumentation.doctor import diagnose

        if not sys.flags.safe_path and "" not in sys.path:  # what a program here would import, is found
            sys.path.insert(0, "")
        # Which handlers there are is true of this process only, which runs no tools.
        found += [one for one in diagnose(*targets, load=True).findings if not one.cause.endswith(" handler")]
    if as_json:
        print_json_lines(finding._asdict() for finding in found)
    else:
        shown = found if every else list(_few(found))
        print_lines(line for finding in shown for line in _lines(finding))
    problems = [finding for finding in found if finding.kind == "problem"]
    if not as_json:
        count = len(problems)
        click.echo(f"{count or 'no'} problem{'' if count == 1 else 's'} found")
    if problems:
        ctx.exit(FOUND_FAULTS)


def _configured_tools() -> tuple[str, ...]:
    try:
        return tuple(configured("run", "instrument"))
    except ConfigError:  # told among the findings
        return ()


def _environment() -> Iterator[Finding]:
    from toolog.instrumentation.silence import Finding

    version = metadata.version
    text = f"toolog {version('toolog')}, wrapt {version('wrapt')}, Python {platform.python_version()}"
    yield Finding("ok", "environment", "versions", text)


def _configuration() -> Iterator[Finding]:
    """Yield whether the configuration can be used, and whether what it writes to can be written."""
    from toolog.instrumentation.silence import Finding, find_unshipped
    from toolog.retention import Policies
    from toolog.settings.environment import unknown_variables

    try:
        from toolog.profiles import dict_config

        config = dict_config()
    except ConfigError as error:
        yield Finding(
            "problem", "configuration", "configuration", str(error), "nothing is recorded until it is right"
        )
        set_level(_level_said())
        return
    options, level = config["handlers"]["toolog"], config["loggers"][ROOT]["level"]
    set_level(level)  # what the program would have; whether it hides calls is told below
    sinks = ", ".join(options["sinks"]) or "none"
    yield Finding(
        "ok", "configuration", "configuration", f"can be used; its level is {level}, its sinks are {sinks}"
    )
    if finding := find_unshipped(Policies.from_config(options.get("retention", {}), options["sinks"]).route):
        yield finding
    for variable in unknown_variables():
        yield Finding(
            "note",
            "variable",
            variable,
            "sets nothing",
            "the variables are in docs/reference/configuration.md",
        )
    for subject, path in (("store", find_store(None)), ("spool", Path(configured("handler", "spool.path")))):
        place = next((one for one in (path, *path.absolute().parents) if one.exists()), path)
        is_file = subject == "store" and place == path
        if os.access(place, os.W_OK) and (place.is_file() if is_file else place.is_dir()):
            yield Finding("ok", subject, subject, f"{path} can be written")
        else:
            advice = "records are kept in memory until it can; give the process its own directory"
            yield Finding("problem", subject, subject, f"{path} cannot be written", advice)
    yield from _store_of_another(find_store(None))


def _level_said() -> int:
    """Return the level that a configuration says which cannot be used, so that no other is told; where it
    says none that is right, the one that hides nothing.
    """
    try:
        return int(configured("profile", "level"))
    except ConfigError:
        return logging.INFO


def _store_of_another(path: Path) -> Iterator[Finding]:
    """Yield why a store that is there cannot be used: it is a newer toolog's, or no store at all."""
    from toolog import store
    from toolog.instrumentation.silence import Finding

    if path.is_file() and os.access(path, os.R_OK):
        try:
            store.open(path, read_only=True).close()
        except (ToologError, sqlite3.Error) as error:
            yield Finding("problem", "store", "store", f"cannot be used as it is: {error}")


def _few(found: list[Finding]) -> Iterator[Finding]:
    """Yield everything but the long tails of notes with one cause, which are counted instead."""
    seen: dict[str, int] = {}
    for finding in found:
        seen[finding.cause] = seen.get(finding.cause, 0) + 1
        if finding.kind != "note" or seen[finding.cause] <= _SHOWN:
            yield finding
    for cause, count in seen.items():
        if count > _SHOWN and any(finding.kind == "note" and finding.cause == cause for finding in found):
            from toolog.instrumentation.silence import Finding

            yield Finding("note", cause, cause, f"{count - _SHOWN} more; --all shows them")


def _lines(finding: Finding) -> Iterator[Line]:
    style, mark = _STYLES[finding.kind]
    subject, text = lines.visible(finding.subject), lines.visible(finding.text)
    yield [(style, f"{mark} "), ("tool", subject), ("text", f": {text}")]
    if finding.advice:
        yield [("dim", f"    {lines.visible(finding.advice)}")]
