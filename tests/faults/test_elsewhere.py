"""The rows of the matrix that other tests are."""

from __future__ import annotations

import pytest

from tests.faults.elsewhere import ELSEWHERE, Elsewhere
from tests.services.shared import ROOT


@pytest.mark.parametrize("row", ELSEWHERE, ids=lambda row: row.name)
def test_tests_are_there(row: Elsewhere) -> None:
    """Each test that a row names exists, and reads what makes it thorough."""
    for name in row.tests:
        file, _, function = name.partition("::")
        assert (ROOT / file).exists(), name
        assert not function or f"def {function}(" in (ROOT / file).read_text("utf-8"), name
    sources = "".join((ROOT / name.partition("::")[0]).read_text("utf-8") for name in row.tests if row.more)
    assert all(variable in sources for variable in row.more)
