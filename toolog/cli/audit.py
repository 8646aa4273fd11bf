"""`toolog audit`: look for known secrets in whatever was written, in all their spellings."""

from __future__ import annotations

from pathlib import Path

import click

from toolog.cli.common import FOUND_FAULTS, Damage, console, find_store, json_option, print_json, read_source
from toolog.errors import ConfigError


@click.command("audit", short_help="Look for known secrets in files, spools and stores.")
@click.argument("places", metavar="[DIR|FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--store", "in_store", is_flag=True, help="Also the configured store, else .toolog/calls.db.")
@click.option(
    "--secrets", "lists", metavar="FILE|-", multiple=True, help="A file of secrets, one a line; `-` is stdin."
)
@click.option(
    "--env", "names", metavar="NAME", multiple=True, help="An environment variable that holds a secret."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    places: tuple[Path, ...],
    in_store: bool,
    lists: tuple[str, ...],
    names: tuple[str, ...],
    as_json: bool,
) -> None:
    """Look in every DIR and FILE for secrets that you know, and tell where one got out, never which text
    it is.

    Anything may lie there: logs, spools, dead letters, databases, JSON lines, MessagePack, Parquet,
    compressed by zstd or gzip or not. Each secret is looked for as it is, escaped for JSON, Python and HTML,
    quoted for URLs, in base64, hexadecimal and UTF-16, in pieces (in quoted source code, over several
    values), and, when it is long, half of it. Secrets come from files, stdin or the environment, never from
    the command line, which others can see.

    Exit code 0: all was read and no secret is there. 1: one is there, or something could not be read
    (stderr tells).

    \b
    Example:
      toolog audit .toolog app.log --env DB_PASSWORD
      vault-tool list | toolog audit --store --secrets - --json
    """
    from toolog.audit import Secrets, audit_path
    from toolog.audit.given import read_environment, read_lines
    from toolog.audit.search import Needles
    from toolog.audit.units import files

    if not places and not in_store:
        raise click.UsageError("name a DIR or FILE to look into, or --store", ctx)
    if not lists and not names:
        raise click.UsageError("give the secrets to look for by --secrets or --env", ctx)
    given = read_environment(names)
    for name in lists:
        given |= read_lines("stdin" if name == "-" else name, read_source(name))
    needles = Needles(Secrets(given))
    chosen = [*places]
    if in_store:
        store = find_store(None)
        if not store.exists():
            raise ConfigError(f"there is no store at {store}; name the file to look into")
        chosen += [path for path in (store, Path(f"{store}-wal")) if path.exists()]
    unread = Damage()
    paths = list(dict.fromkeys(path for place in chosen for path in files(place)))
    leaks = [leak for path in paths for leak in audit_path(path, needles, unread)]
    if as_json:
        for leak in leaks:
            print_json(
                {"place": leak.place, "where": leak.where, "secret": leak.secret, "spelling": leak.spelling}
            )
    elif leaks:
        from rich.table import Table

        table = Table("place", "where", "secret", "spelling", box=None, pad_edge=False, header_style="bold")
        for leak in leaks:
            table.add_row(leak.place, leak.where, leak.secret, leak.spelling)
        console().print(table)
    else:
        click.echo(f"no leak of {_counted(len(given), 'secret')} in {_counted(len(paths), 'file')}")
    if leaks or unread.places:
        ctx.exit(FOUND_FAULTS)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
