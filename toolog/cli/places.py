"""Where a command's records are read from: the local store, a search cluster or an archive, as configured."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from toolog.cli.common import configured, store_option
from toolog.errors import ConfigError, nearest

if TYPE_CHECKING:
    from toolog.sinks.search.options import SearchOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])

KINDS = {"store": ("sqlite",), "search": ("elasticsearch", "opensearch"), "s3": ("s3",)}
"""Kind of place -> the types of the sinks that write there."""


class Place(NamedTuple):
    """One place: its kind (a key of KINDS), the name of the configured sink that writes there, or "", and
    that sink's options. ``store``: the file of a store, where it was given.
    """

    kind: str
    sink: str
    options: dict[str, Any]
    store: Path | None = None


def from_options(*kinds: str) -> Callable[[_Command], _Command]:
    """Add `--from` for these kinds of places, and how a search cluster is reached that is not configured;
    `find_place` reads them.
    """
    return lambda function: _add_from(function, "|".join((*kinds, "SINK")))


def _add_from(function: _Command, metavar: str) -> _Command:
    options = (
        click.option(
            "--from",
            "source",
            metavar=metavar,
            help="Where to read: the kind of place, or the name of a configured sink.",
        ),
        click.option("--hosts", metavar="URL", multiple=True, help="The search servers, not the configured."),
        click.option("--namespace", metavar="NAME", help="The namespace of the data streams there."),
        click.option("--dialect", metavar="NAME", help="Whose client asks: elasticsearch or opensearch."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def find_place(
    source: str | None, hosts: tuple[str, ...] = (), namespace: str | None = None, dialect: str | None = None
) -> Place:
    """Return where to read from. Raises ConfigError when no such place is configured, or several are."""
    own = {"hosts": list(hosts) or None, "namespace": namespace, "dialect": dialect}
    given = {key: value for key, value in own.items() if value is not None}
    if source is None and not given:
        return Place("store", "", {})
    place = _find(source or "search", may_be_new=bool(hosts))
    if given and place.kind != "search":
        raise ConfigError("--hosts, --namespace and --dialect are about a search cluster: --from search")
    return Place(place.kind, place.sink, {**place.options, **given})


def place_options(function: _Command) -> _Command:
    """Add `--from` with its own options, and `--store`: the command gets the ``place`` that they mean.

    For commands that know the store and a search cluster. Those raise ConfigError for any other place.
    """

    @functools.wraps(function)
    def asked(
        *words: Any,
        source: str | None,
        hosts: tuple[str, ...],
        namespace: str | None,
        dialect: str | None,
        store_path: Path | None,
        **others: Any,
    ) -> Any:
        place = _find_one(find_place(source, hosts, namespace, dialect), source, store_path)
        return function(*words, place=place, **others)

    return cast(_Command, from_options("store", "search")(store_option(asked)))


def _find_one(place: Place, source: str | None, store: Path | None) -> Place:
    """Return the place that was asked for, where ``store`` is what was given as --store."""
    if store is not None and (source is not None or place.kind != "store"):
        raise ConfigError("--from and --store are two ways to say where; give one of them")
    if place.kind == "s3":
        raise ConfigError("an archive is asked by `toolog query` alone; ask a store or a search cluster")
    return place._replace(store=store)


def search_options(place: Place) -> SearchOptions:
    """Return how a search cluster is reached. Raises ConfigError."""
    from toolog.sinks.search.options import SearchOptions

    where = f"sink {place.sink!r}" if place.sink else "--from search"
    return SearchOptions.from_table(place.options, where)


def store_path(place: Place) -> Path | None:
    """Return the store's file, or None where that is the usual one."""
    if place.store is not None:
        return place.store
    return Path(place.options["path"]).expanduser() if "path" in place.options else None


def archive_address(place: Place) -> str:
    """Return the address of an archive. Raises ConfigError for a sink without a bucket."""
    if not place.options.get("bucket"):
        raise ConfigError(f"sink {place.sink!r} names no bucket")
    return f"s3://{place.options['bucket']}/{place.options.get('prefix', '')}".rstrip("/")


def _find(source: str, *, may_be_new: bool) -> Place:
    sinks = {
        name: {**options, "type": options.get("type", name)}
        for name, options in configured("handler", "sinks").items()
    }
    kind_of = {kind: name for name, kinds in KINDS.items() for kind in kinds}
    there = {name: options for name, options in sinks.items() if options["type"] in kind_of}
    if source in there:
        return Place(kind_of[there[source]["type"]], source, there[source])
    if source not in KINDS:
        guess = nearest(source, [*KINDS, *there])
        hint = f"did you mean {guess!r}?" if guess else f"there are: {', '.join([*KINDS, *there])}"
        raise ConfigError(f"--from {source!r}: there is no such place; {hint}")
    fitting = [name for name, options in there.items() if kind_of[options["type"]] == source]
    if len(fitting) > 1:
        raise ConfigError(f"--from {source}: there are several ({', '.join(fitting)}); name one of them")
    if fitting:
        return Place(source, fitting[0], there[fitting[0]])
    if source == "store" or may_be_new:
        return Place(source, "", {})
    hint = "configure one, or give --hosts" if source == "search" else "configure one"
    raise ConfigError(
        f"--from {source}: no sink of the type {' or '.join(KINDS[source])} is configured; {hint}"
    )
