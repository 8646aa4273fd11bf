"""The JSON Schema files as package data: ``toolog.schemas`` in the wheel, ``schemas/`` in the repository."""

from __future__ import annotations

from importlib.resources import files

RECORD_V1 = "toolog-record.v1.schema.json"
"""File name of the schema of records of version 1."""


def read(name: str = RECORD_V1) -> str:
    """Return the text of a schema file; raises FileNotFoundError for a name that is not there."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")  # also out of a zip
