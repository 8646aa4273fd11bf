"""The commands that read archives: cat, query --s3, convert; as a user calls them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import ormsgpack
import pytest

from tests.cli.conftest import Shell
from tests.sinks.s3.bucket import SEGMENT, Archive
from tests.sinks.s3.bucket import archive as archive
from tests.sinks.s3.bucket import read_models_once as read_models_once
from toolog.levels import NAMES
from toolog.sinks import SinkRecord


@pytest.fixture
def reached(archive: Archive, recorded: list[dict[str, Any]]) -> dict[str, str]:
    """Store the records in the archive, ERROR by a policy of its own; return the environment to reach it."""
    batch = [
        SinkRecord(
            ormsgpack.packb(one),
            level=NAMES[one["level"]],
            policy="error" if one["level"] == "ERROR" else "info",
            segment=SEGMENT,
            seq=seq,
        )
        for seq, one in enumerate(recorded, 1)
    ]
    assert archive.sink(prefix="calls", format="jsonl").write(batch) is None
    return {
        "AWS_ACCESS_KEY_ID": archive.server.access_key,
        "AWS_SECRET_ACCESS_KEY": archive.server.secret_key,
        "AWS_REGION": archive.server.region,
        "AWS_ENDPOINT_URL": archive.server.endpoint_url,
    }


def test_cat_reads_a_bucket(
    bare_shell: Shell, archive: Archive, reached: dict[str, str], recorded: list[dict[str, Any]]
) -> None:
    """cat prints the records of a whole archive, of a policy, of one object."""
    address = f"s3://{archive.bucket}"
    done = bare_shell("cat", f"{address}/calls", "--json", **reached)
    assert (done.code, done.err) == (0, "")
    order = sorted(recorded, key=lambda one: one["level"] != "ERROR")
    assert done.rows == order
    failed = bare_shell("cat", f"{address}/calls/policy=error", "--json", **reached).rows
    assert failed == [one for one in recorded if one["level"] == "ERROR"]
    key = archive.list_keys()[-1]
    assert len(bare_shell("cat", f"{address}/{key}", **reached).out.splitlines()) == len(archive.records(key))


def test_the_configured_sink_tells_how_a_bucket_is_reached(
    bare_shell: Shell, archive: Archive, reached: dict[str, str], recorded: list[dict[str, Any]]
) -> None:
    """Endpoint and secrets come from the sink that ships to the bucket, and options go over them."""
    options = archive.options()
    (bare_shell.folder / "pyproject.toml").write_text(
        f"""
        [tool.toolog.sinks.archive]
        type = "s3"
        bucket = "{archive.bucket}"
        endpoint_url = "{options["endpoint_url"]}"
        region = "us-east-1"
        access_key_id = "{options["access_key_id"]}"
        secret_access_key = {{ env = "ARCHIVE_SECRET" }}
        """
    )
    words = ("cat", f"s3://{archive.bucket}/calls", "--json")
    assert len(bare_shell(*words, ARCHIVE_SECRET=archive.server.secret_key).rows) == len(recorded)
    done = bare_shell(*words, ARCHIVE_SECRET="wrong")
    assert (done.code, done.out) == (3, "")
    assert "SignatureDoesNotMatch: check secret_access_key" in done.err
    done = bare_shell(*words, "--endpoint-url", "http://127.0.0.1:1", ARCHIVE_SECRET="x")
    assert "http://127.0.0.1:1 cannot be reached: nobody answers" in done.err
    assert done.err.count("\n") == 1
    assert "profile" in bare_shell(*words, "--profile", "not-there", ARCHIVE_SECRET="x").err


def test_query_asks_an_archive_as_it_asks_the_store(
    shell: Shell, archive: Archive, reached: dict[str, str]
) -> None:
    """The same filters give the same calls; without any the exit code is 1."""
    address = f"s3://{archive.bucket}/calls"
    words = ("query", "--status", "failed", "--level", "ERROR", "declined", "--json")
    there, here = shell(*words, "--s3", address, **reached), shell(*words)
    assert (there.code, here.code, there.err) == (0, 0, "")
    assert by_id(there.rows) == by_id(here.rows)
    assert there.rows
    done = shell("query", "nowhere", "--s3", address, **reached)
    assert (done.code, done.out) == (1, "")


def by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return records by id."""
    return {row["record_id"]: row for row in rows}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("query", "--s3", "bucket/prefix"), "s3://bucket/prefix"),
        (("query", "--s3", "s3://b-1/x", "--sql", "select 1"), "other places take filters only"),
        (("query", "--s3", "s3://b-1/x", "--store", "y"), "two places"),
        (("query", "--s3", "s3://b-1/x", "--since", "soon"), "since"),
        (("cat", "s3:///x"), "names no bucket"),
        (("cat", "x.jsonl", "--profile", "p"), "about s3:// addresses"),
        (("query", "--endpoint-url", "http://x"), "about s3:// addresses"),
        (("convert", "x.jsonl", "y.jsonl", "--profile", "p"), "about s3:// addresses"),
        (("cat", "none.jsonl"), "none.jsonl"),
        (("convert", "-", "out.parqet"), ".parquet"),
        (("convert", "none.jsonl", "out.jsonl"), "none.jsonl"),
    ],
)
def test_mistakes_are_one_line(bare_shell: Shell, words: tuple[str, ...], hint: str) -> None:
    """A wrong address, option or file is told, with exit code 2."""
    done = bare_shell(*words, AWS_ENDPOINT_URL="http://127.0.0.1:1", AWS_ACCESS_KEY_ID="a",
                      AWS_SECRET_ACCESS_KEY="b")  # fmt: skip
    assert (done.code, done.out) == (2, "")
    assert hint in done.err


@pytest.mark.parametrize("words", [("cat", "NAME"), ("convert", "NAME", "-"), ("query", "--s3", "NAME")])
def test_a_mistake_is_told_in_a_clean_line(bare_shell: Shell, words: tuple[str, ...]) -> None:
    """A name with an escape sequence in it is told so that no terminal acts on it."""
    done = bare_shell(*("no\x1b[31mne.jsonl" if word == "NAME" else word for word in words))
    assert done.code == 2
    assert "\x1b" not in done.err
    assert "no\\x1b[31mne.jsonl" in done.err


def test_convert_there_and_back(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """Records go from form to form unchanged; figures are printed, and as JSON with --json."""
    lines = "".join(json.dumps(one) + "\n" for one in recorded)
    done = bare_shell("convert", "-", "a.msgpack.zst", given=lines)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{len(recorded)} records from 1 file to a.msgpack.zst\n"
    done = bare_shell("convert", "a.msgpack.zst", "b.jsonl", "--json")
    assert done.rows == [{"records": len(recorded), "files": 1, "repeated": 0, "damaged": 0, "to": "b.jsonl"}]
    assert bare_shell("convert", "b.jsonl", "-").rows == recorded
    assert bare_shell("validate", "b.jsonl").code == 0


def test_convert_a_bucket_to_parquet(
    bare_shell: Shell, archive: Archive, reached: dict[str, str], recorded: list[dict[str, Any]]
) -> None:
    """An archive becomes one Parquet file, which DuckDB reads."""
    done = bare_shell("convert", f"s3://{archive.bucket}/calls", "calls.parquet", **reached)
    assert done.out == f"{len(recorded)} records from 2 files to calls.parquet\n"
    file = bare_shell.folder / "calls.parquet"
    found = duckdb.sql(f"SELECT record_id, tool_name, input->>'$.amount' FROM '{file}'").fetchall()
    assert {(one["record_id"], one.get("tool_name")) for one in recorded} == {row[:2] for row in found}
    assert "420.0" in {row[2] for row in found}


def test_convert_tells_damage_and_goes_on(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """A damaged place is told on stderr and costs only itself; the exit code is 1."""
    lines = [json.dumps(one) for one in recorded]
    done = bare_shell("convert", "-", "out.jsonl", given="\n".join([lines[0], "{half", *lines[1:]]))
    assert done.code == 1
    assert "damaged: -, 2" in done.err
    assert len((bare_shell.folder / "out.jsonl").read_text().splitlines()) == len(recorded)


def test_what_is_there_twice_is_read_once(
    bare_shell: Shell, archive: Archive, reached: dict[str, str], recorded: list[dict[str, Any]]
) -> None:
    """Records that came into the archive twice leave it once: by cat, convert and query."""
    body = b"".join(ormsgpack.packb(one) for one in recorded)
    archive.client.put_object(Bucket=archive.bucket, Key="calls/twice.msgpack", Body=body)
    address = f"s3://{archive.bucket}/calls"
    wanted = sorted(one["record_id"] for one in recorded)
    done = bare_shell("cat", address, "--json", **reached)
    assert sorted(one["record_id"] for one in done.rows) == wanted
    done = bare_shell("convert", address, "out.jsonl", **reached)
    number = len(recorded)
    assert done.out == f"{number} records from 3 files to out.jsonl, without {number} that came twice\n"
    assert len((bare_shell.folder / "out.jsonl").read_text().splitlines()) == number
    found = bare_shell("query", "--s3", address, "--json", "--limit", "1000", **reached).rows
    assert len({one["record_id"] for one in found}) == len(found)
    done = bare_shell("cat", "out.jsonl", "out.jsonl", "--json")
    assert sorted(one["record_id"] for one in done.rows) == wanted


@pytest.mark.parametrize(
    "words", [("cat", "ADDRESS"), ("convert", "ADDRESS", "out.jsonl"), ("query", "--s3", "ADDRESS")]
)
def test_damage_in_a_bucket_is_told_in_clean_lines(
    bare_shell: Shell, archive: Archive, reached: dict[str, str], words: tuple[str, ...]
) -> None:
    """Whatever an object's name holds, a damaged one is told in one line that no terminal acts on, and the
    exit code is 1 although records were found.
    """
    archive.client.put_object(Bucket=archive.bucket, Key="calls/\x1b[31mred.jsonl", Body=b'{"half')
    address = f"s3://{archive.bucket}/calls"
    done = bare_shell(*(address if word == "ADDRESS" else word for word in words), **reached)
    assert done.code == 1
    assert done.out
    assert "\x1b" not in done.err
    (line,) = done.err.splitlines()
    assert line.startswith(f"damaged: {address}/\\x1b[31mred.jsonl, 1: ")


def test_duckdb_reads_the_partitions(
    archive: Archive, reached: dict[str, str], recorded: list[dict[str, Any]], tmp_path: Path
) -> None:
    """DuckDB reads objects of JSON lines as Hive partitions: policy, date and hour are columns."""
    for key in archive.list_keys():
        file = tmp_path / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(archive.body(key))
    found = duckdb.sql(
        f"SELECT policy, \"date\"::VARCHAR, count(*) FROM read_json('{tmp_path}/calls/**/*.jsonl.zst',"
        " hive_partitioning = true, union_by_name = true) GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    errors = sum(one["level"] == "ERROR" for one in recorded)
    assert found == [("error", "2026-11-30", errors), ("info", "2026-11-30", len(recorded) - errors)]


def test_long_work_shows_a_bar_on_a_terminal(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """On a terminal there is a progress bar on stderr, and none in a pipe."""
    (bare_shell.folder / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in recorded))
    ours, theirs = pty.openpty()
    command = [bare_shell.program, "convert", "in.jsonl", "out.msgpack"]
    environment = {**bare_shell.environment, "TERM": "xterm"}
    done = subprocess.run(
        command, cwd=bare_shell.folder, env=environment, stderr=theirs, timeout=60, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert done.returncode == 0
    assert b"converting" in shown
    assert bare_shell("convert", "in.jsonl", "out.msgpack").err == ""
