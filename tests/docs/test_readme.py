"""README.md shows what a newcomer will see."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_demo_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """The demo prints what README.md shows, but for times, ids, ports and the order of concurrent work."""
    spec = importlib.util.spec_from_file_location("docs_readme", DOCS / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    readme = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(readme)
    assert readme.outline(readme.run_demo(tmp_path)) == readme.outline(readme.shown())
