"""Files that are written: the form follows from the name, and a file is whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sinks.contract import ODD
from toolog.archive import outputs
from toolog.errors import ConfigError
from toolog.readers import read_records


@pytest.mark.parametrize("end", outputs.FORMS)
def test_every_form_is_read_back(end: str, tmp_path: Path) -> None:
    """What is written in any form is read as it was, and only its owner may read it."""
    file = tmp_path / f"calls{end}"
    with outputs.create(str(file)) as write:
        for record in ODD:
            write(record)
    assert [record for _, record in read_records(file)] == ODD
    assert file.stat().st_mode & 0o777 == 0o600
    assert (file.read_bytes()[:4] == b"\x28\xb5\x2f\xfd") == end.endswith(".zst")


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """When the writing ends early, an older file stays as it was, and nothing else is left."""
    file = tmp_path / "calls.jsonl"
    file.write_text("old")

    def fail() -> None:
        with outputs.create(str(file)) as write:
            write({"a": 1})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [one.name for one in tmp_path.iterdir()] == ["calls.jsonl"]
    assert file.read_text() == "old"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("calls.parqet", "'.parquet'"), ("calls", "known: "), ("calls.jsonl.gz", "'.jsonl.zst'")],
)
def test_another_name_says_what_it_could_be(name: str, hint: str) -> None:
    """A name that says no form is a ConfigError with the nearest one."""
    with pytest.raises(ConfigError, match=hint):
        outputs.check(name)
