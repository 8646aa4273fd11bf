"""The examples on the frameworks' pages print what the pages say, with the real packages."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.test_examples import blocks_of

PAGES = Path(__file__).parents[2] / "docs" / "how-to" / "frameworks"
NEEDS = {
    "autogen": "autogen_core",
    "google-adk": "google.adk",
    "langchain": "langchain_core",
    "llama-index": "llama_index",
    "mcp": "mcp.server.mcpserver",
    "openai": "openai.lib.responses_tool_runner",
    "openai-agents": "agents",
}
"""The package of a page whose name is another, or the module that only the versions have which it shows."""


def is_here(module: str) -> bool:
    """Whether a module can be imported; only its parents are."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("name", sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "README"))
def test_a_pages_example_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    """Each block of code stands before the block of its output."""
    package = NEEDS.get(name, name.replace("-", "_"))
    if not is_here(package):
        required = os.environ.get("TOOLOG_REQUIRE_FRAMEWORKS", "").split()
        assert package not in required, f"{package} is required here, but not installed"
        pytest.skip(f"{package} (as the page shows it) is not installed")
    page = PAGES / f"{name}.md"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TOOLOG_")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    examples = list(zip(blocks_of(page, "py"), blocks_of(page, "text"), strict=True))
    assert examples
    for code, output in examples:
        (tmp_path / "example.py").write_text(code, "utf-8")
        done = subprocess.run(
            [sys.executable, "example.py"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=110, check=False,
        )  # fmt: skip
        assert (done.stdout, done.returncode) == (output, 0), done.stderr
