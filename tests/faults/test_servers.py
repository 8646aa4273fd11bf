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


@pytest.fixture
def search(opensearch: OpenSearch, search_proxy: SearchProxy, namespace: str) -> Place:
    """A namespace of the run's OpenSearch, behind a proxy."""
    return SearchPlace(opensearch, search_proxy, namespace)


@pytest.fixture
def s3(seaweedfs: SeaweedFS, s3_proxy: S3Proxy, bucket: str) -> Place:
    """A bucket of the run's S3 server, behind a proxy."""
    return S3Place(seaweedfs, s3_proxy, bucket)


@pytest.mark.parametrize("row", rows.SHORT_TIER, ids=lambda row: f"{row.place}: {row.name}")
def test_row(row: rows.Row, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Whatever the server, the way to it or a SIGKILL does: nothing lost, nothing twice, nothing made up."""
    kept, wrong = row.run(request.getfixturevalue(row.place), tmp_path)
    assert not wrong, (row.name, wrong, kept.figures(), (tmp_path / "stderr").read_text()[-2000:])
