"""Join the one server of a kind that a test run has; the first who comes has it started."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.services.keeper import KINDS
from tests.services.server import Missing, Server

ROOT = Path(__file__).parents[2]
SECONDS = 110.0


class Run:
    """The servers of one test run, by its id; `leave` lets go of them, `end` waits until they are gone."""

    def __init__(self, run_id: str) -> None:
        self.folder = Path(tempfile.gettempdir()) / f"toolog-servers-{os.getuid()}-{run_id}"
        self._joined: dict[str, tuple[Server, Any]] = {}

    def join(self, kind: str) -> Server:
        """Return a handle of the run's server of this kind; raises Missing when it cannot be had."""
        if kind not in self._joined:
            folder = self.folder / kind
            folder.mkdir(parents=True, exist_ok=True)
            users = (folder / "users").open("a+")
            # Waits while a keeper that saw no user is ending its server. Not inherited by a fork, unlike
            # flock: a child that a test leaves behind keeps no server alive.
            fcntl.lockf(users, fcntl.LOCK_SH)
            with (folder / "start").open("w") as start:
                fcntl.flock(start, fcntl.LOCK_EX)
                state = self._read(folder) or self._start(kind, folder)
            if "error" in state:
                users.close()
                raise (Missing if state["missing"] else RuntimeError)(state["error"])
            server = KINDS[kind](folder / "server", ports=state["ports"], shared=True, **state["options"])
            self._joined[kind] = (server, users)
        return self._joined[kind][0]

    def _read(self, folder: Path) -> dict[str, Any] | None:
        try:
            state: dict[str, Any] = json.loads((folder / "state.json").read_text("utf-8"))
        except FileNotFoundError:
            return None
        return state

    def _start(self, kind: str, folder: Path) -> dict[str, Any]:
        with (folder / "keeper.log").open("ab") as log:
            keeper = subprocess.Popen(
                [sys.executable, "-m", "tests.services.keeper", kind, str(folder), "{}"],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the test run; the keeper sees its end by the lock
            )
        deadline = time.monotonic() + SECONDS
        while (state := self._read(folder)) is None:
            if keeper.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"no {kind}:\n" + (folder / "keeper.log").read_text("utf-8", "replace")[-4000:]
                )
            time.sleep(0.05)
        keeper.returncode = 0  # it outlives this object on purpose, which subprocess would warn of
        return state

    def leave(self) -> None:
        """Let go of every server."""
        for _, users in self._joined.values():
            users.close()
        self._joined.clear()

    def end(self) -> None:
        """Wait until every keeper of the run has ended its server, and remove what they left."""
        self.leave()
        for alive in self.folder.glob("*/alive"):
            with alive.open("w") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
        shutil.rmtree(self.folder, ignore_errors=True)
