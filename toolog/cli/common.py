"""What commands share: their options, where the store is, and how they print."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolog.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from toolog.sinks.lines import Line, Marks
    from toolog.store import Store

FOUND_NOTHING = 1
FOUND_FAULTS = 1
NO_ANSWER = 3

_Command = TypeVar("_Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")


def store_option(function: _Command) -> _Command:
    """Add `--store PATH`."""
    text = "The store to read; by default the one that the configuration names, else .toolog/calls.db."
    return click.option("--store", "store_path", type=click.Path(path_type=Path), help=text)(function)


def filter_options(function: _Command) -> _Command:
    """Add the options that choose calls; `given_filters` reads them."""
    options = (
        click.option("--tool", metavar="GLOB", help="Only tools whose name matches, such as 'payment.*'."),
        click.option(
            "--status",
            metavar="STATUS",
            help="Only this status (success, execution_error, timeout, running ...), or a group: failed, "
            "rejected, error.",
        ),
        click.option("--session", metavar="ID", help="Only this session, such as order-1001."),
        click.option("--level", metavar="LEVEL", help="Only this level and above."),
        click.option("--since", metavar="WHEN", help="Only since then: '10 min', '2 days', or an ISO time."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def reach_options(function: _Command) -> _Command:
    """Add the options by which a bucket is reached; `find_reach` reads them."""
    options = (
        click.option("--endpoint-url", metavar="URL", help="The S3 server, where that is not AWS."),
        click.option("--profile", metavar="NAME", help="The profile in ~/.aws whose credentials to use."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def find_reach(address: str, endpoint_url: str | None, profile: str | None) -> dict[str, Any]:
    """Return how a bucket is reached: as the configured s3 sink of that bucket does, if there is one, and the
    command's own options over that.
    """
    from toolog.archive.bucket import split
    from toolog.sinks.s3.options import ACCESS_KEYS

    bucket, _ = split(address)
    reach: dict[str, Any] = {}
    for name, options in configured("handler", "sinks").items():
        if options.get("type", name) == "s3" and options.get("bucket") == bucket:
            reach = {key: options[key] for key in ACCESS_KEYS if key in options}
            break
    if profile is not None:
        for key in ("access_key_id", "secret_access_key", "session_token"):
            reach.pop(key, None)
        reach["profile"] = profile
    if endpoint_url is not None:
        reach["endpoint_url"] = endpoint_url
    return reach


def check_reach(places: Iterable[str], endpoint_url: str | None, profile: str | None) -> None:
    """Raise ConfigError when a bucket's options are given, and no place is in a bucket."""
    from toolog.archive.bucket import is_address

    if (endpoint_url or profile) and not any(map(is_address, places)):
        raise ConfigError("--endpoint-url and --profile are about s3:// addresses, and there is none")


class Damage:
    """Tells places that cannot be read on stderr, each in one clean line, and counts them: ``places``."""

    def __init__(self) -> None:
        self.places = 0

    def __call__(self, where: str) -> None:
        """Tell one place."""
        from toolog.sinks.lines import visible

        self.places += 1
        click.echo(f"damaged: {visible(where)}", err=True)


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar of bytes on a terminal's stderr, nothing in a pipe; gives what moves it on."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console(err=True), transient=True, disable=not sys.stderr.isatty())
    with bar:
        task = bar.add_task(what, total=total or None)
        yield lambda size: bar.advance(task, size)


def configured(section: str, name: str) -> Any:
    """Return a parameter's value from environment, pyproject.toml or default. Raises ConfigError."""
    from toolog.settings.resolve import resolve

    return resolve((section,), {}, where="arguments")[name]


def find_store(given: Path | None) -> Path:
    """Return the store's file: the given one, else the configured sqlite sink's, else .toolog/calls.db."""
    from toolog.store import DEFAULT_PATH

    if given is not None:
        return given
    for name, options in configured("handler", "sinks").items():
        if options.get("type", name) == "sqlite" and "path" in options:
            return Path(options["path"]).expanduser()
    return Path(DEFAULT_PATH)


def open_store(given: Path | None) -> Store:
    """Open the store to read. Raises ConfigError when there is none, or when it is of a newer version."""
    from toolog import store

    path = find_store(given)
    if not path.exists():
        raise no_store(path)
    return store.open(path, read_only=True)


def no_store(path: Path) -> ConfigError:
    """Return the error for a store that is not there. Where a program said in its own source where it is, no
    command knows of it.
    """
    return ConfigError(
        f"there is no store at {path}; --store names another, such as one that a program configures in its "
        "source; `toolog demo` makes one"
    )


def print_json(document: object) -> None:
    """Print one JSON value on one line, in UTF-8 whatever the terminal's encoding is."""
    import orjson

    sys.stdout.flush()
    sys.stdout.buffer.write(orjson.dumps(document) + b"\n")


def print_json_lines(documents: Iterable[Mapping[str, Any]]) -> int:
    """Print one JSON object a line and return how many there were."""
    count = 0
    for document in documents:
        print_json(document)
        count += 1
    return count


@contextlib.contextmanager
def regardless() -> Iterator[None]:
    """Print in here what a command has done: when nobody reads it any more, the work goes on."""
    try:
        yield
        sys.stdout.flush()
    except OSError:
        forget_output()


def forget_output() -> None:
    """Point stdout at nothing, so that the flush at exit cannot fail a second time."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def print_lines(lines: Iterable[Line], *, fold: int | None = None) -> None:
    """Print lines of pieces: coloured and cut to its width on a terminal (with ``fold``: gone on with in the
    next line, after so many blanks), plain and whole in a pipe.
    """
    from toolog import report

    report.write(lines, sys.stdout, fold=fold)


def print_records(records: Sequence[Mapping[str, Any]], *, indent: bool = True) -> None:
    """Print records, a line each; with their dates, where one of them is not of today (UTC)."""
    from toolog import report
    from toolog.sinks.lines import date

    now = today()
    dated = any(date(record, now) for record in records)
    print_lines(report.line(record, marks=marks(), indent=indent, dated=dated) for record in records)


def today() -> str:
    """Return the date in UTC, by which records tell their times."""
    return datetime.now(UTC).date().isoformat()


def marks() -> Marks:
    """Return the characters for what happened that stdout's encoding can show."""
    from toolog.report.output import marks_for

    return marks_for(sys.stdout)


def console(*, err: bool = False) -> Console:
    """Return a rich console: colours and the terminal's width on a terminal, plain wide lines in a pipe."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else 160, highlight=False, emoji=False)


def read_source(path: str) -> bytes:
    """Return the bytes of a file, or of stdin for `-`."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
