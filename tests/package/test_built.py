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
def test_built_packages_work_in_an_empty_environment(tmp_path: Path) -> None:
    """What is built carries everything (schemas, entry points, dependencies) and records a call, without the
    tree: the wheel, and then in its place the wheel that pip makes from the sdist.
    """
    tree = copy_tree(tmp_path / "tree")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(tree)]
    run([*build, "--wheel", "--sdist"])
    shutil.rmtree(tree)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")])
    python = str(tmp_path / "venv" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python]
    install = [*pip, "install", "--quiet", "--disable-pip-version-check"]
    folder = tmp_path / "empty"
    folder.mkdir()
    shutil.copy(ROOT / "tests" / "package" / "smoke.py", folder)
    run([*install, str(wheel)])
    assert run([python, "smoke.py"], folder) == "smoke: ok"
    shutil.rmtree(folder / ".toolog")
    run([*install, "--force-reinstall", "--no-deps", str(sdist)])
    run([*pip, "check"])
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
