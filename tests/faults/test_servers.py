"""The short tier of the fault matrix: what ships to real servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import rows
from tests.faults.places import Place, S3Place, SearchPlace
from tests.services.opensearch import OpenSearch
from tests.services.s3_proxy import S3Proxy
from tests.services.search_proxy import SearchProxy
from tests.services.seaweedfs import SeaweedFS


def short(found: list[rows.Row]) -> list[rows.Row]:
    """Return the rows that are part of the suite."""
    return [row for row in found if not row.long]


@pytest.fixture
def search(opensearch: OpenSearch, search_proxy: SearchProxy, namespace: str) -> Place:
    """A namespace of the run's OpenSearch, behind a proxy."""
    return SearchPlace(opensearch, search_proxy, namespace)


@pytest.fixture
def s3(seaweedfs: SeaweedFS, s3_proxy: S3Proxy, bucket: str) -> Place:
    """A bucket of the run's S3 server, behind a proxy."""
    return S3Place(seaweedfs, s3_proxy, bucket)


def check(row: rows.Row, place: Place, folder: Path) -> None:
    """Run a row; its books must balance."""
    kept, wrong = row.run(place, folder)
    assert not wrong, (row.name, wrong, kept.figures(), (folder / "stderr").read_text()[-2000:])


@pytest.mark.parametrize("row", short(rows.SEARCH), ids=lambda row: row.name)
def test_search(row: rows.Row, search: Place, tmp_path: Path) -> None:
    """Whatever the cluster or the way to it does: nothing lost, nothing twice, nothing made up."""
    check(row, search, tmp_path)


@pytest.mark.parametrize("row", short(rows.KILLS), ids=lambda row: f"{row.place}: {row.name}")
def test_kills(row: rows.Row, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Wherever a process dies by SIGKILL, the next one goes on where it was."""
    check(row, request.getfixturevalue(row.place), tmp_path)


@pytest.mark.parametrize("row", short(rows.S3), ids=lambda row: row.name)
def test_s3(row: rows.Row, s3: Place, tmp_path: Path) -> None:
    """Whatever the bucket or the way to it does: nothing lost, nothing twice, nothing made up."""
    check(row, s3, tmp_path)
