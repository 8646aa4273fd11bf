"""The reference page of the store names what is there, and its SQL runs."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from tests import documents
from toolog import store
from toolog.store.schema import DERIVED, TABLES

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "store.md").read_text("utf-8")


def test_the_page_names_every_table_view_and_derived_column(tmp_path: Path) -> None:
    """Nothing in the database that users may query is missing on the page."""
    store.open(tmp_path / "calls.db").close()
    connection = sqlite3.connect(tmp_path / "calls.db")
    names = {
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
        if not name.startswith(("search_", "sqlite_"))
    }
    connection.close()
    missing = {name for name in {*names, *DERIVED} if f"`{name}`" not in PAGE}
    assert missing == set()
    assert {table.name for table in TABLES} <= names


def test_every_example_runs_and_answers(tmp_path: Path) -> None:
    """Each SQL example of the page runs on a store and finds the rows that were put there for it."""
    with store.open(tmp_path / "calls.db") as opened:
        opened.write(
            [
                documents.instance(1, {"top_k": 5}, "sha256:five"),
                documents.call(1, tool_name="shop.search", instance_id="i1", session_id="order-17"),
                documents.failed(2, "CardError", "refused by the bank"),
                documents.started(3),
            ]
        )
        opened.index()
    connection = sqlite3.connect(tmp_path / "calls.db")
    examples = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 5
    for example in examples:
        assert len(connection.execute(example).fetchall()) == 1, example
    connection.close()
