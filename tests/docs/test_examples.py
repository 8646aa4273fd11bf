"""Every example in README.md and docs/ runs, and every link in them leads somewhere.

A fenced block marked `python` is run, and what it shows after a prompt is compared; the blocks of one page
share their names, in order, in a fresh process and an empty folder. `toml` and `json` blocks are parsed.
Other blocks (`sh`, `text`) are for reading.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")


def blocks_of(page: Path, kind: str) -> list[str]:
    """Return the fenced blocks of one kind."""
    return [text for found, text in FENCE.findall(page.read_text("utf-8")) if found == kind]


def as_code(block: str) -> str:
    """Return a block as code of a script; one with prompts also compares what it shows."""
    if not block.startswith(">>>"):
        return block
    return (
        "import doctest\n"
        f"example = doctest.DocTestParser().get_doctest({block!r}, globals(), 'example', None, 0)\n"
        "doctest.DebugRunner().run(example, clear_globs=False)\n"
        "globals().update(example.globs)\n"
    )


@pytest.mark.parametrize(
    "name", [name for name, page in zip(NAMES, PAGES, strict=True) if blocks_of(page, "python")]
)
def test_python_examples_of_a_page_run(name: str, tmp_path: Path) -> None:
    """The python blocks of a page run one after the other, without an error; the tutorial's, which its reader
    adds to one program, once more in the same folder.
    """
    script = tmp_path / "example.py"
    script.write_text("\n\n".join(map(as_code, blocks_of(ROOT / name, "python"))), "utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TOOLOG_")}
    for _ in range(2 if name == "docs/tutorial.md" else 1):
        done = subprocess.run(
            [sys.executable, "-W", "error", str(script)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_configuration_examples_are_well_formed(name: str) -> None:
    """A toml or json block of a page can be read by a program."""
    for text in blocks_of(ROOT / name, "toml"):
        tomllib.loads(text)
    for text in blocks_of(ROOT / name, "json"):
        json.loads(text)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_files_that_exist(name: str) -> None:
    """A relative link of a page names a file of the repository; what looks like one in an example is none."""
    page = ROOT / name
    text = FENCE.sub("", page.read_text("utf-8"))
    targets = [target for target, _ in LINK.findall(text) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize(
    ("folder", "index"),
    [("how-to", "how-to/README.md"), ("decisions", "decisions/README.md"), ("reference", "index.md")],
)
def test_every_page_stands_in_the_list_of_its_folder(folder: str, index: str) -> None:
    """A page that nobody links to is not found."""
    targets = {target for target, _ in LINK.findall((ROOT / "docs" / index).read_text("utf-8"))}
    linked = {(ROOT / "docs" / index).parent / target for target in targets}
    pages = {page for page in (ROOT / "docs" / folder).glob("*.md") if page.name != "README.md"}
    assert {page.name for page in pages - linked} == set()
