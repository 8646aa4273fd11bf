"""What `toolog ship` ships where: the same configuration as the application's, with a process of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from toolog.errors import ConfigError
from toolog.pipeline import Options
from toolog.pipeline_options import make_options
from toolog.profiles import handler_options
from toolog.settings.files import read_config
from toolog.settings.resolve import look_up, read_project

LONGEST_END = 3.5
"""Seconds that the end of the process waits for sinks at most: who stops it may kill it after five."""


def read_options(directory: Path | None, file: Path | None, *, to_look: bool = False) -> Options:
    """Return the options to ship by.

    ``directory`` is the spool's (None: the configured one). Sinks and policies come from the environment,
    from ``file`` (None: that of ``TOOLOG_CONFIG``, else pyproject.toml), and from the profile that is named
    there. ``to_look``: nothing is to be shipped, so there may be no sinks.

    Raises ConfigError, also when nobody names any sink: what is shipped to a place that nobody chose is
    deleted from the spool all the same.
    """
    project = read_project() if file is None else read_config(file)
    found = look_up(("profile", "handler"), {}, where="arguments", project=project)
    profiled = not found["profile"].is_default
    nowhere = found["sinks"].is_default and not profiled
    if nowhere and not to_look:
        raise ConfigError(
            f"{project[0]} names no sinks to ship to; name them there, in the file of --config, or in"
            " TOOLOG_SINKS, for example sinks = { store = { type = 'sqlite', path = 'calls.db' } };"
            " for the sinks that the program's profile has by itself, say TOOLOG_PROFILE=dev"
        )
    options = make_options(handler_options(project))
    if nowhere:
        options = replace(options, sinks={})
    if directory is not None:
        options = replace(options, directory=directory.absolute())
    return replace(options, ship="background", shutdown_timeout=min(options.shutdown_timeout, LONGEST_END))
