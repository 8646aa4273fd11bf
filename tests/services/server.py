"""A server in a process of its own: started, stopped, killed, hung and started again, by its process id."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Self

# Below what Linux gives to outgoing connections (32768 and up), so that nobody takes a server's port while it
# is down; and so low that port + 10000, which SeaweedFS takes too, is below that as well.
PORTS = range(15_000, 22_700)
GRPC = 10_000
LAUNCHER = Path(__file__).with_name("launcher.py")

# A launched program dies with the thread that started it (see launcher.py), so all are started by one thread
# that lives as long as this process.
_starter = ThreadPoolExecutor(1, "server-starter")
# Tests seed `random`; two of them must not choose the same ports.
_random = random.SystemRandom()


class Missing(Exception):
    """Something that a server needs is not on this machine; the text names it and says how to get it."""


def find_ports(count: int) -> list[int]:
    """Return free ports of 127.0.0.1, each with port + 10000 free too."""
    found: list[int] = []
    for port in _random.sample(PORTS, len(PORTS)):
        if _is_free(port) and _is_free(port + GRPC):
            found.append(port)
            if len(found) == count:
                return found
    raise Missing(f"{count} free ports of 127.0.0.1 in {PORTS}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


class Server:
    """One server process; a subclass says by which command it starts and when it is ready.

    A server is private to whoever made it, or `shared`: then it was started by another process for the whole
    test run, and whatever would disturb its other users raises.
    """

    name: ClassVar[str]
    port_count: ClassVar[int]
    start_seconds: ClassVar[float] = 90.0

    def __init__(
        self, folder: Path | None = None, *, ports: list[int] | None = None, shared: bool = False
    ) -> None:
        self._temporary = (
            tempfile.TemporaryDirectory(prefix=f"toolog-{self.name}-") if folder is None else None
        )
        self.folder = Path(self._temporary.name) if self._temporary else Path(folder or "")
        self.ports = ports or []
        self.shared = shared
        self._process: subprocess.Popen[bytes] | None = None

    # What a subclass says of itself.

    def command(self) -> list[str]:
        """Return the program's path and its arguments."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Return what is added to the environment."""
        return {}

    def is_ready(self) -> bool:
        """Whether it answers as it should; may raise OSError when it does not answer at all."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """Return the constructor's other arguments, for a handle in another process."""
        return {}

    # What tests do with it.

    def start(self) -> Self:
        """Start it and wait until it is ready; takes other ports when somebody else took one meanwhile."""
        self._own()
        chosen = bool(self.ports)
        for attempt in range(3):
            if not chosen:
                self.ports = find_ports(self.port_count)
            try:
                self._launch()
                return self
            except ChildProcessError:
                if chosen or attempt == 2:
                    raise
        raise AssertionError("never here")

    @property
    def pid(self) -> int:
        """The process id."""
        process = self._own()
        if process is None:
            raise RuntimeError(f"{self.name} is not running")
        return process.pid

    def is_running(self) -> bool:
        """Whether its process is there, hung or not."""
        return self._process is not None and self._process.poll() is None

    def stop(self, timeout: float = 30.0) -> None:
        """End it by SIGTERM, and by SIGKILL when it takes longer than ``timeout`` seconds."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        self._end(timeout)

    def kill(self) -> None:
        """End it by SIGKILL: a crash."""
        self._signal(signal.SIGKILL)
        self._end(10.0)

    def hang(self) -> None:
        """Stop it from running (SIGSTOP): connections are accepted by the kernel, and nobody answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it run again after `hang`."""
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        """Start it again on the same folder and the same ports; a running one is stopped first."""
        if self._process:
            self.stop()
        self.start()

    def close(self) -> None:
        """End it, however it is, and remove its folder if that was made here."""
        if self._process:
            self._signal(signal.SIGKILL)
            self._end(10.0)
        if self._temporary:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self if self._process else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # How it is done.

    def _launch(self) -> None:
        with (self.folder / f"{self.name}.log").open("ab") as log:
            words = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *self.command()]
            environment = {**os.environ, **self.environment()}
            self._process = _starter.submit(
                subprocess.Popen,
                words,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            ).result()
        deadline = time.monotonic() + self.start_seconds
        while time.monotonic() < deadline:
            code = self._process.poll()
            if code is not None:
                self._process = None
                raise ChildProcessError(f"{self.name} ended with {code} at its start\n{self.read_log()}")
            try:
                if self.is_ready():
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.kill()
        raise TimeoutError(f"{self.name} was not ready after {self.start_seconds} s\n{self.read_log()}")

    def read_log(self, lines: int = 40) -> str:
        """Return the last lines that it printed."""
        text = (self.folder / f"{self.name}.log").read_text("utf-8", "replace")
        return "\n".join(text.splitlines()[-lines:])

    def _own(self) -> subprocess.Popen[bytes] | None:
        if self.shared:
            raise RuntimeError(
                f"this {self.name} is shared by the whole test run: use the fixture own_{self.name}"
            )
        return self._process

    def _signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def _end(self, timeout: float) -> None:
        process = self._process
        assert process is not None
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._process = None


def fetch(url: str, *, timeout: float = 5.0) -> bytes:
    """Return what a GET of a URL answers; raises OSError for anything but success."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=timeout) as answer:
        body: bytes = answer.read()
        return body
