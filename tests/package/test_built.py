"""What is built works where nothing else is: the wheel, and the wheel that pip makes from the sdist."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("toolog", "schemas", "README.md", "LICENSE", "pyproject.toml", "setup.cfg")


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_built_package_works_in_an_empty_environment(kind: str, tmp_path: Path) -> None:
    """What is built carries everything (schemas, entry points) and records a call, without the tree."""
    tree = copy_tree(tmp_path / "tree")
    run([sys.executable, "-m", "build", f"--{kind}", "--outdir", str(tmp_path / "dist"), str(tree)])
    (built,) = (tmp_path / "dist").iterdir()
    shutil.rmtree(tree)
    run([sys.executable, "-m", "venv", str(tmp_path / "venv")])
    python = str(tmp_path / "venv" / "bin" / "python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(built)])
    folder = tmp_path / "empty"
    folder.mkdir()
    shutil.copy(ROOT / "tests" / "package" / "smoke.py", folder)
    assert run([python, "smoke.py"], folder) == "smoke: ok"


def copy_tree(target: Path) -> Path:
    """Copy what a build needs, so that no build leaves its folders in the source tree."""
    target.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, target / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / part)
    return target


def run(command: list[str], folder: Path | None = None) -> str:
    """Run a command and return what it printed; what it said is the failure's text."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()
