"""The chore of `toolog ship`: only clusters that toolog itself has to purge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolog.errors import SinkUnavailable
from toolog.pipeline import Options
from toolog.retention import Policies
from toolog.shipper.retention import purge_clusters

NOBODY = "http://127.0.0.1:9"


def options(folder: Path, sinks: dict[str, Any]) -> Options:
    """Return the options of a shipper with these sinks."""
    policies = Policies.from_config({"INFO": {"keep": "7 days"}}, sinks)
    return Options(folder / "spool", sinks, policies)


def test_only_the_clusters_that_need_it_are_asked(tmp_path: Path) -> None:
    """Stores and files are purged by their own threads, and servers with engines of their own by those."""
    sinks = {
        "store": {"type": "sqlite", "path": str(tmp_path / "calls.db")},
        "search": {"type": "elasticsearch", "hosts": [NOBODY]},
        "plugin": {"type": "opensearch", "hosts": [NOBODY], "lifecycle": "ism"},
    }
    assert purge_clusters(options(tmp_path, sinks)) is None


def test_a_cluster_that_does_not_answer_is_told_with_its_name(tmp_path: Path) -> None:
    """Each one is tried; what is told quotes no record, so it may stand in a log."""
    sinks = {name: {"type": "opensearch", "hosts": [NOBODY]} for name in ("first", "second")}
    with pytest.raises(SinkUnavailable) as caught:
        purge_clusters(options(tmp_path, sinks))
    assert "'first'" in str(caught.value)
    assert "'second'" in str(caught.value)
    assert caught.value.tells


def test_a_cluster_in_which_nothing_ends_is_not_asked(tmp_path: Path) -> None:
    """Whoever only ships needs no right to look: without a keep nothing is looked at."""
    sinks = {name: {"type": "opensearch", "hosts": [NOBODY]} for name in ("kept", "ending")}
    table: dict[str, Any] = {"INFO": {"sinks": ["kept"]}, "ERROR": {"sinks": ["kept", "ending"]}}
    assert purge_clusters(Options(tmp_path / "spool", sinks, Policies.from_config(table, sinks))) is None
    table["ERROR"] = {"sinks": ["ending"], "keep": "7 days"}
    with pytest.raises(SinkUnavailable) as caught:
        purge_clusters(Options(tmp_path / "spool", sinks, Policies.from_config(table, sinks)))
    assert "'kept'" not in str(caught.value)
