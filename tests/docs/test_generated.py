"""The reference pages say what the code says."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def load_pages() -> dict[str, Callable[[], str]]:
    """Return the table of pages of docs/generate.py, which is a script and no package."""
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: dict[str, Callable[[], str]] = module.PAGES
    return pages


@pytest.mark.parametrize("name", sorted(load_pages()))
def test_page_is_up_to_date(name: str) -> None:
    """A page that comes from the code is the one that `python docs/generate.py` writes today."""
    assert (DOCS / name).read_text("utf-8") == load_pages()[name]()
