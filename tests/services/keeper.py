"""Keep one server for a whole test run: keeper.py KIND FOLDER OPTIONS, a process of its own.

Whoever uses the server holds a shared lock on FOLDER/users; the kernel drops it when that process ends,
however it does. Once nobody holds one, the keeper ends the server and removes its data. If the keeper itself
is killed, the server dies with it (see launcher.py). FOLDER/state.json says how to reach the server.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.services.opensearch import OpenSearch
from tests.services.seaweedfs import SeaweedFS
from tests.services.server import Missing, Server

KINDS: dict[str, type[Server]] = {"opensearch": OpenSearch, "seaweedfs": SeaweedFS}


def keep(kind: str, folder: Path, options: dict[str, Any]) -> None:
    """Start a server, say so, and end it when its last user has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the users, and these take us along
    alive = (folder / "alive").open("w")
    fcntl.flock(alive, fcntl.LOCK_EX)  # whoever wants to see the end of us waits for this one
    home = folder / "server"
    home.mkdir()
    try:
        with KINDS[kind](home, **options) as server:
            _tell(folder, {"ports": server.ports, "options": server.options(), "pid": server.pid})
            with (folder / "users").open("r+") as users:
                while not _is_last(users.fileno()):
                    time.sleep(0.2)
                    if not server.is_running():
                        raise ChildProcessError(f"{kind} has ended by itself\n{server.read_log()}")
                # Nobody can come now: the lock is ours until this process has ended.
                (folder / "state.json").unlink()
    except (Missing, OSError, RuntimeError) as error:
        _tell(folder, {"missing": isinstance(error, Missing), "error": str(error)})
        raise
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _tell(folder: Path, state: dict[str, Any]) -> None:
    fresh = folder / "state.new"
    fresh.write_text(json.dumps(state), "utf-8")
    os.replace(fresh, folder / "state.json")


def _is_last(users: int) -> bool:
    try:
        fcntl.lockf(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    keep(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))
