"""Environments of the packages: the source distribution unpacked, installed with its tests' needs and toolog.

Made once in a cache folder (``TOOLOG_FIDELITY_CACHE``, else ``~/.cache/toolog-fidelity``) and used again
until the table or the Python changes. toolog itself is installed in place, so it is always the one beside.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.fidelity.packages import Subject

REPOSITORY = Path(__file__).parents[2]


class Environment(NamedTuple):
    """Where a package's Python and its unpacked source distribution are."""

    python: Path
    source: Path


class CannotPrepare(Exception):
    """An environment cannot be made; the text tells the command and its output."""


def cache_folder() -> Path:
    """Return the folder that environments are kept in."""
    return Path(os.environ.get("TOOLOG_FIDELITY_CACHE") or Path.home() / ".cache" / "toolog-fidelity")


def find_python(version: str) -> str | None:
    """Return a Python of this version ("3.12") on this machine, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
    for candidate in candidates:
        try:
            asked = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
            done = subprocess.run(asked, capture_output=True, text=True, timeout=60)
        except OSError:
            continue
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    return None


def prepare(subject: Subject, version: str) -> Environment:
    """Return a package's environment for a Python version, made now unless it is there.

    Raises CannotPrepare when the machine has no such Python, or an installation fails.
    """
    base = find_python(version)
    if base is None:
        raise CannotPrepare(f"no Python {version} on this machine")
    wanted = repr((subject.name, subject.version, subject.requires, str(REPOSITORY)))
    key = hashlib.sha256(wanted.encode()).hexdigest()[:10]
    folder = cache_folder() / f"{subject.name}-{subject.version}-py{version}-{key}"
    python = folder / "venv" / "bin" / "python"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _run([base, "-m", "venv", str(folder / "venv")])
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        source = _download(subject, pip, folder)
        _run([*pip, "install", "-q", str(source), "pytest", *subject.requires])
        _run([*pip, "install", "-q", "-e", str(REPOSITORY)])
        (folder / "ready").write_text(wanted, "utf-8")
    (source,) = _unpacked(folder)
    return Environment(python, source)


def _download(subject: Subject, pip: list[str], folder: Path) -> Path:
    pinned = f"{subject.name}=={subject.version}"
    _run([*pip, "download", "-q", "--no-deps", "--no-binary", subject.name, "-d", str(folder), pinned])
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "source", filter="data")
    (source,) = _unpacked(folder)
    return source


def _unpacked(folder: Path) -> Iterator[Path]:
    return (path for path in (folder / "source").iterdir() if path.is_dir())


def _run(command: list[str]) -> None:
    clean = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(command, capture_output=True, text=True, env=clean, timeout=900)
    if done.returncode != 0:
        raise CannotPrepare(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-3000:]}")
