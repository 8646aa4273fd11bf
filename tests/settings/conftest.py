"""A place where nobody configured anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolog.settings.table import TABLE


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no variables of toolog's."""
    for parameter in TABLE:
        if parameter.env:
            monkeypatch.delenv(parameter.env, raising=False)
    monkeypatch.delenv("LOG_LEVEL", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path
