"""The page of all options."""

from __future__ import annotations

from pathlib import Path

from toolog.settings import reference
from toolog.settings.table import TABLE

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"


def test_page_is_what_the_table_says() -> None:
    """docs/reference/configuration.md is what `python -m toolog.settings.reference` writes today."""
    assert PAGE.read_text("utf-8") == reference.write()


def test_page_names_every_option_and_variable() -> None:
    """No parameter is missing on the page."""
    page = reference.write()
    for parameter in TABLE:
        assert f"| `{parameter.name}` |" in page
        assert not parameter.env or f"`{parameter.env}`" in page
