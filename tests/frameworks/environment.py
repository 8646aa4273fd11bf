"""Virtual environments for the frameworks, made when they are asked for and kept in a cache.

    python -m tests.frameworks.environment current            run tests/frameworks in that environment
    python -m tests.frameworks.environment before -k mcp      with arguments for pytest
    python -m tests.frameworks.environment make before        only make it

An environment is a file in ``environments/``: requirements as pip takes them, and a comment
``# requires: packages`` that names the root packages whose tests must not be skipped. It lies in
``TOOLOG_FRAMEWORKS_CACHE`` (by default ``~/.cache/toolog-frameworks``) under its name and a hash of what it
installs, so a change makes a new one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

TESTING = ["pytest>=8.3", "pytest-asyncio>=0.25", "pytest-timeout>=2.3", "pytest-xdist>=3.6",
           "hypothesis>=6.112", "aiohttp>=3.11", "trustme>=1.2"]  # fmt: skip
"""What the tests themselves need."""


def names() -> list[str]:
    """Return the names of the environments."""
    return sorted(file.stem for file in (HERE / "environments").glob("*.txt"))


def required(name: str) -> str:
    """Return the root packages that an environment promises, with spaces between."""
    lines = (HERE / "environments" / f"{name}.txt").read_text().splitlines()
    return " ".join(line.partition(":")[2].strip() for line in lines if line.startswith("# requires:"))


def requirements(name: str) -> list[str]:
    """Return what an environment installs: its own list, toolog's dependencies, and the tests'."""
    lines = (HERE / "environments" / f"{name}.txt").read_text().splitlines()
    own = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*own, *project["dependencies"], *TESTING]


def make(name: str) -> Path:
    """Return the Python of an environment, making it when it is not in the cache."""
    wanted = requirements(name)
    digest = hashlib.sha256("\n".join([sys.version, str(ROOT), *wanted]).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("TOOLOG_FRAMEWORKS_CACHE") or Path.home() / ".cache" / "toolog-frameworks")
    folder = cache / f"{name}-{digest}"
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True)
    with (ROOT / "pyproject.toml").open("rb") as held:  # a build leaves files in the tree: one at a time
        fcntl.flock(held, fcntl.LOCK_EX)
        subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
    (folder / "ready").touch()
    return python


def main(arguments: list[str]) -> int:
    """Run the tests in one environment, or only ``make`` some; returns pytest's exit code."""
    if arguments[:1] == ["make"] and set(arguments[1:]) <= set(names()):
        for name in arguments[1:]:
            make(name)
        return 0
    if not arguments or arguments[0] not in names():
        print(f"name an environment: {', '.join(names())}", file=sys.stderr)
        return 2
    name, *rest = arguments
    python = make(name)
    environment = {**os.environ, "TOOLOG_REQUIRE_FRAMEWORKS": required(name)}
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        "tests/frameworks",
        *rest,
    ]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
