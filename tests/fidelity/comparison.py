"""One suite run in one mode, and two runs compared test by test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from tests.fidelity.environments import Environment
from tests.fidelity.packages import Subject

PLUGIN = Path(__file__).parent / "plugin"
MODES = ("package", "nested", "everything")
"""How a package is instrumented: by ``instrument(package)``; with ``nested=True`` and all of its loaded
modules; the same with starts recorded, output captured, threads and log lines followed."""
_KEPT = ("HOME", "LANG", "TMPDIR", "FIDELITY_READING")
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class Run(NamedTuple):
    """What came of one run: each test's outcome, what else the plugin told, how the process ended."""

    outcomes: dict[str, str]
    texts: dict[str, str]
    facts: dict[str, Any]
    ending: str
    seconds: float


class Difference(NamedTuple):
    """A test that did not come out the same; ``text`` is pytest's report of the failure."""

    test: str
    plain: str
    watched: str
    text: str


LIMIT = 1500.0
"""Seconds for one run of a suite."""


def run_suite(
    subject: Subject,
    environment: Environment,
    mode: str,
    *,
    only: tuple[str, ...] = (),
    limit: float = LIMIT,
) -> Run:
    """Run a package's tests in one mode ("plain" or one of MODES); ``only``: tests instead of all; ``limit``:
    seconds after which the run is ended, and says so.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outcomes.jsonl"
        command = [
            str(environment.python), "-m", "pytest", "-q", "-p", "toolog_fidelity", "-p", "no:toolog",
            "-p", "no:cacheprovider", "--tb=short", *subject.arguments, *(only or subject.tests),
        ]  # fmt: skip
        settings = {
            "FIDELITY_MODULE": subject.module, "FIDELITY_INNER": " ".join(subject.inner),
            "FIDELITY_MODE": mode, "FIDELITY_OUT": str(out),
            "PYTHONPATH": str(PLUGIN), "PYTHONHASHSEED": "0", "TOOLOG_AUTOCONFIGURE": "0", "CI": "1",
            "PATH": f"{environment.python.parent}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip
        kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
        settings = {**kept, **subject.variables, **settings}
        began = time.monotonic()
        done = _run(
            command, cwd=environment.source, env=settings, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit,
        )  # fmt: skip
        took = time.monotonic() - began
        lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
    outcomes: dict[str, str] = {}
    texts: dict[str, str] = {}
    facts: dict[str, Any] = {}
    for line in lines:
        if "test" not in line:
            facts = line
            continue
        name = _ADDRESS.sub("0x", line["test"])
        outcomes[name] = f"{outcomes[name]}, {line['outcome']}" if name in outcomes else line["outcome"]
        texts[name] = line["text"]
    ending = "" if facts else _describe_end(done.returncode, done.stdout.decode("utf-8", "replace"))
    return Run(outcomes, texts, facts, ending, took)


def _run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, **options)
    except subprocess.TimeoutExpired as late:
        said = (late.output or b"")[-300:] + f"\nended after {options['timeout']:.0f} s".encode()
        return subprocess.CompletedProcess(command, 124, said)


def _describe_end(code: int, output: str) -> str:
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"{how}: {output[-3000:]}"


def differences(plain: Run, watched: Run) -> list[Difference]:
    """Return the tests that came out differently."""
    found = []
    for test in dict.fromkeys([*plain.outcomes, *watched.outcomes]):
        before, after = plain.outcomes.get(test, "absent"), watched.outcomes.get(test, "absent")
        if before != after:
            found.append(Difference(test, before, after, watched.texts.get(test, "")))
    if watched.ending != plain.ending:
        found.append(Difference("(the whole run)", plain.ending or "ended", watched.ending, watched.ending))
    return found


def unexplained(subject: Subject, found: list[Difference]) -> list[Difference]:
    """Return the differences that the table gives no reason for."""
    return [one for one in found if not any(fnmatchcase(one.test, glob) for glob in subject.by_nature)]
