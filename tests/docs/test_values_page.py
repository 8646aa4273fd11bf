"""The reference pages of values and of the record say what the code does."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from toolog.snapshot import plain

DOCS = Path(__file__).parents[2] / "docs"
VALUES = (DOCS / "reference" / "values.md").read_text("utf-8")
ROW = re.compile(r"^\| `(?P<value>[^`]+)` \| `(?P<becomes>[^`]+)` \|$", re.MULTILINE)
ROWS = [(row["value"], row["becomes"]) for row in ROW.finditer(VALUES)]


def namespace() -> dict[str, Any]:
    """Return what the page's own lines of Python define."""
    lines = VALUES.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(lines, names)
    return names


NAMES = namespace()


@pytest.mark.parametrize(("value", "becomes"), ROWS)
def test_example(value: str, becomes: str) -> None:
    """Each example of the page gives what stands beside it."""
    thing = eval(value, NAMES)
    assert plain(thing) == json.loads(becomes)


def test_page_has_its_examples() -> None:
    """The examples are found: a change of the page's form does not silently skip them."""
    assert len(ROWS) > 55


def test_record_page_is_up_to_date() -> None:
    """The page of the record is the one that `python docs/record_page.py` writes today."""
    spec = importlib.util.spec_from_file_location("docs_record_page", DOCS / "record_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text("utf-8") == module.write_record()
