"""The servers as pytest fixtures; tests/conftest.py loads this module as a plugin.

`opensearch` and `seaweedfs` are one server for the whole run, also for several workers: tests keep apart by
`namespace` and `bucket`. `own_opensearch` and `own_seaweedfs` are private to one test, which may hang and
kill them. `search_proxy` and `s3_proxy` stand in front of the shared ones; `make_search_proxy` and
`make_s3_proxy` make others.

Where something is missing the test is skipped and the reason names it; with TOOLOG_REQUIRE_SERVICES=1 it
fails.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pytest

from tests.services.opensearch import OpenSearch, fetch_jars
from tests.services.s3_proxy import S3Proxy
from tests.services.search_proxy import SearchProxy
from tests.services.seaweedfs import SeaweedFS
from tests.services.server import Missing
from tests.services.shared import Run

if TYPE_CHECKING:
    from tests.sinks.search.cluster import Cluster

RUN = pytest.StashKey[Run]()
Kind = TypeVar("Kind", OpenSearch, SeaweedFS)


def pytest_configure(config: pytest.Config) -> None:
    """Give the run its id: all workers have the same."""
    worker = getattr(config, "workerinput", None)
    config.stash[RUN] = Run(worker["testrunuid"] if worker else _main_id(config))


def _main_id(config: pytest.Config) -> str:
    # The controller of several workers shares their id; a run without workers has one of its own.
    given: str | None = getattr(config.option, "testrunuid", None)
    if given is None:
        given = uuid.uuid4().hex
        if hasattr(config.option, "testrunuid"):
            config.option.testrunuid = given
    return given


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fetch what must be fetched once before the first test's time begins to run."""
    if any("opensearch" in name for item in session.items for name in getattr(item, "fixturenames", ())):
        try:
            fetch_jars()
        except Missing:
            pass  # each test will say so


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of the servers; the last process of the run waits until they are gone."""
    run = config.stash[RUN]
    if hasattr(config, "workerinput"):
        run.leave()
    else:
        run.end()


def give_up(error: Missing) -> NoReturn:
    """Skip the test, or fail it where the servers are required."""
    if os.environ.get("TOOLOG_REQUIRE_SERVICES") == "1":
        pytest.fail(f"missing: {error}", pytrace=False)
    pytest.skip(f"missing: {error}")


def shared(request: pytest.FixtureRequest, kind: type[Kind]) -> Kind:
    """Return the run's server of a kind."""
    try:
        server = request.config.stash[RUN].join(kind.__name__.lower())
    except Missing as error:
        give_up(error)
    assert isinstance(server, kind)
    return server


def own(kind: type[Kind]) -> Iterator[Kind]:
    """Yield a server of a kind for one test alone."""
    try:
        server = kind()
        server.start()
    except Missing as error:
        give_up(error)
    with server:
        yield server


@pytest.fixture(scope="session")
def opensearch(request: pytest.FixtureRequest) -> OpenSearch:
    """The run's OpenSearch node."""
    return shared(request, OpenSearch)


@pytest.fixture(scope="session")
def seaweedfs(request: pytest.FixtureRequest) -> SeaweedFS:
    """The run's S3 server."""
    return shared(request, SeaweedFS)


@pytest.fixture
def own_opensearch() -> Iterator[OpenSearch]:
    """An OpenSearch node of this test alone."""
    yield from own(OpenSearch)


@pytest.fixture
def own_seaweedfs() -> Iterator[SeaweedFS]:
    """An S3 server of this test alone."""
    yield from own(SeaweedFS)


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test has."""
    return f"t{uuid.uuid4().hex[:12]}"


@pytest.fixture
def streams(opensearch: OpenSearch, namespace: str) -> Iterator[Cluster]:
    """The test's own data streams on the shared server, gone after the test."""
    from tests.sinks.search.cluster import Cluster

    found = Cluster(opensearch.url, namespace)
    yield found
    found.ask("DELETE", f"/_data_stream/{found.streams}")
    found.ask("DELETE", f"/_index_template/toolog-{namespace}")


@pytest.fixture
def bucket(seaweedfs: SeaweedFS) -> Iterator[str]:
    """An empty bucket of the shared S3 server that no other test has. It goes with the test: the server has
    room for some sixty.
    """
    name = seaweedfs.make_bucket(f"t{uuid.uuid4().hex[:12]}")
    yield name
    seaweedfs.client().delete_bucket(Bucket=name)


@pytest.fixture
def make_search_proxy(opensearch: OpenSearch) -> Iterator[Callable[..., SearchProxy]]:
    """Makes a proxy with these arguments of `SearchProxy`, in front of the shared node or another."""
    with ExitStack() as stack:

        def make(upstream: str = opensearch.url, **options: Any) -> SearchProxy:
            return stack.enter_context(SearchProxy(upstream, **options))

        yield make


@pytest.fixture
def make_s3_proxy(seaweedfs: SeaweedFS) -> Iterator[Callable[..., S3Proxy]]:
    """Makes a proxy with these arguments of `S3Proxy`, in front of the shared server or another."""
    with ExitStack() as stack:

        def make(upstream: str = seaweedfs.endpoint_url, **options: Any) -> S3Proxy:
            return stack.enter_context(S3Proxy(upstream, **options))

        yield make


@pytest.fixture
def search_proxy(make_search_proxy: Callable[..., SearchProxy]) -> SearchProxy:
    """A proxy in front of the shared OpenSearch node."""
    return make_search_proxy()


@pytest.fixture
def s3_proxy(make_s3_proxy: Callable[..., S3Proxy]) -> S3Proxy:
    """A proxy in front of the shared S3 server."""
    return make_s3_proxy()
