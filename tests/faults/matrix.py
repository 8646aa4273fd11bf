"""All rows of the matrix in the order in which they are run, and how long each may take."""

from __future__ import annotations

import argparse
import tempfile
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults import rows
from tests.faults.elsewhere import ELSEWHERE, Elsewhere
from tests.faults.outages import OUTAGES, SOAK, Outage, soak
from tests.faults.places import Place, S3Place, SearchPlace
from tests.services.opensearch import OpenSearch
from tests.services.s3_proxy import S3Proxy
from tests.services.search_proxy import SearchProxy
from tests.services.seaweedfs import SeaweedFS

MOST = 600.0
"""Seconds that a row may take, those aside that last longer by their nature."""
MOST_A_KILL = 10.0


class Servers:
    """An OpenSearch node and an S3 server, started when a row first needs them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._search: OpenSearch | None = None
        self._s3: SeaweedFS | None = None

    @property
    def search(self) -> OpenSearch:
        """The search server."""
        if self._search is None:
            self._search = self._stack.enter_context(OpenSearch())
        return self._search

    @property
    def s3(self) -> SeaweedFS:
        """The S3 server."""
        if self._s3 is None:
            self._s3 = self._stack.enter_context(SeaweedFS())
        return self._s3

    def end(self) -> None:
        """End both; whoever needs one again gets a new one."""
        self._search = self._s3 = None
        self._stack.close()

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


@dataclass(frozen=True)
class Part:
    """A row to run: its name as the table shows it, the seconds it may take, and what runs it."""

    name: str
    limit: float
    run: Callable[[Servers], dict[str, Any]]


def parts(options: argparse.Namespace) -> list[Part]:
    """Return the rows that ``options`` of the command line ask for, those first that take the least time."""
    tier = rows.SHORT_TIER
    if not options.short:
        tier = [*rows.SEARCH, *rows.S3, *rows.kills(options.kills, options.each, long=True)]
    found = [_of_server(row) for row in tier]
    if options.short:
        return found
    found += [_of_tests(one) for one in ELSEWHERE]
    found += [_of_outage(one) for one in OUTAGES]
    if options.soak:
        name = f"{SOAK}, {options.soak:g} min"
        found.append(Part(name, options.soak * 60 + MOST, partial(_soak, options.soak)))
    return sorted(found, key=lambda part: part.limit)


def _of_server(row: rows.Row) -> Part:
    name = f"{row.place}: {row.name}"
    return Part(name, MOST + row.kills * MOST_A_KILL, partial(_run_row, row, name))


def _run_row(row: rows.Row, name: str, servers: Servers) -> dict[str, Any]:
    """Run one row with a place of its own."""
    own = f"f{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory() as folder:
        place: Place
        if row.place == "search":
            with SearchProxy(servers.search.url) as search_proxy:
                place = SearchPlace(servers.search, search_proxy, own)
                kept, wrong = row.run(place, Path(folder))
        else:
            with S3Proxy(servers.s3.endpoint_url) as s3_proxy:
                place = S3Place(servers.s3, s3_proxy, servers.s3.make_bucket(own))
                kept, wrong = row.run(place, Path(folder))
    return {"row": name, **kept.figures(), "wrong": wrong}


def _of_tests(other: Elsewhere) -> Part:
    def run(servers: Servers) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            last, seconds, wrong = other.run(Path(folder))
        return {"row": other.name, "notes": last, "seconds": round(seconds, 1), "wrong": wrong}

    return Part(other.name, 2 * MOST, run)


def _of_outage(outage: Outage) -> Part:
    def run(servers: Servers) -> dict[str, Any]:
        servers.end()  # it has one of its own, and the machine
        return outage.run()

    return Part(outage.name, 3 * outage.seconds + MOST, run)


def _soak(minutes: float, servers: Servers) -> dict[str, Any]:
    servers.end()
    return soak(minutes)
