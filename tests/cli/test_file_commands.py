"""The commands that look into files: validate, cat, sanitize, schema; and level, which writes one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zstandard

import toolog
from tests.cli.conftest import Shell
from toolog import schema, serializers, spool, store


def write_lines(path: Path, documents: list[dict[str, Any]]) -> str:
    """Write JSON lines and return the file's name."""
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), "utf-8")
    return str(path)


def test_schema_is_the_one_that_checks(bare_shell: Shell) -> None:
    """`toolog schema` prints the schema itself, readable or on one line."""
    printed = bare_shell("schema").out
    assert json.loads(printed) == schema.load()
    assert printed.count("\n") > 100
    assert bare_shell("schema", "--json").out.count("\n") == 1


@pytest.mark.parametrize("form", ["jsonl", "msgpack", "jsonl.zst", "msgpack.zst"])
def test_valid_records_pass_in_every_form(
    bare_shell: Shell, recorded: list[dict[str, Any]], form: str
) -> None:
    """validate and cat read JSON lines and MessagePack, compressed or not, also from stdin."""
    lines = "".join(json.dumps(record) + "\n" for record in recorded).encode()
    data = lines if form.startswith("jsonl") else b"".join(map(msgpack.packb, recorded))
    data = zstandard.compress(data) if form.endswith("zst") else data
    (bare_shell.folder / f"calls.{form}").write_bytes(data)
    done = bare_shell("validate", f"calls.{form}")
    assert (done.code, done.out) == (0, f"{len(recorded)} records, no faults\n")
    assert bare_shell("validate", "-", given=data).code == 0
    assert bare_shell("cat", f"calls.{form}", "--json").rows == recorded
    assert bare_shell("cat", "-", "--json", given=data).rows == recorded


def test_faults_name_line_path_and_rule(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """Each fault is one line with its place and the rule that it breaks; the exit code is 1."""
    wrong = {**recorded[0], "span_id": "short"}
    missing = {key: value for key, value in recorded[0].items() if key != "timestamp"}
    file = write_lines(bare_shell.folder / "bad.jsonl", [recorded[0], wrong, missing])
    with open(file, "a") as stream:
        stream.write("{not json\n")
    done = bare_shell("validate", file, "--json")
    assert done.code == 1
    assert [(row["line"], row["path"], row["rule"]) for row in done.rows[:1]] == [(2, "span_id", "pattern")]
    assert [row["line"] for row in done.rows] == [2, 3, 4]
    assert done.rows[1]["rule"] == "required"
    plain = bare_shell("validate", file)
    assert "line 2: span_id: pattern:" in plain.out
    assert "3 faults" in plain.err


def test_a_file_without_records_is_exit_code_one(bare_shell: Shell) -> None:
    """Nothing that was checked is nothing that is valid; one record is said in the singular."""
    done = bare_shell("validate", "-", given="\n")
    assert (done.code, done.out) == (1, "0 records, no faults\n")
    assert bare_shell("validate", "-", given='{"event": "log"}').err.startswith("1 record, 6 faults")


def test_cat_reads_a_spool_and_what_is_pending(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """cat prints every frame of a spool; --pending those that a sink has not acknowledged."""
    folder = bare_shell.folder / "spool"
    code = serializers.get("msgpack").code
    writer = spool.SpoolWriter(folder)
    for record in recorded:
        writer.append(20, code, msgpack.packb(record))
    reader = spool.SpoolReader(folder, "store")
    first, *_ = reader.read(1)
    reader.ack(first)
    assert bare_shell("cat", "spool", "--json").rows == recorded
    assert bare_shell("cat", "spool", "--json", "--pending", "store").rows == recorded[1:]
    assert len(bare_shell("cat", "spool").out.splitlines()) == len(recorded)
    writer.close()


def test_cat_tells_damage_and_goes_on(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """A damaged line is told on stderr and costs only itself."""
    file = write_lines(bare_shell.folder / "torn.jsonl", recorded)
    text = Path(file).read_text("utf-8").splitlines()
    Path(file).write_text("\n".join([text[0], text[1][:40], *text[2:]]) + "\n", "utf-8")
    done = bare_shell("cat", file, "--json")
    assert done.code == 1
    assert done.rows == [recorded[0], *recorded[2:]]
    assert "torn.jsonl, 2" in done.err


def test_pending_of_a_sink_that_nobody_serves_is_told(bare_shell: Shell) -> None:
    """A name that is none of a spool's sinks is a mistake that names the nearest, not an empty answer."""
    folder = bare_shell.folder / "spool"
    spool.SpoolWriter(folder).append(20, 1, b"\x80")
    spool.Spool(folder).reserve("store")
    assert bare_shell("cat", "spool", "--pending", "store").code == 0
    done = bare_shell("cat", "spool", "--pending", "stroe")
    assert done.code == 2
    assert "did you mean 'store'" in done.err


def test_pending_is_of_the_levels_that_a_sink_takes(
    bare_shell: Shell, recorded: list[dict[str, Any]]
) -> None:
    """--pending prints as many records as `ship --status` counts: those of the levels that the sink's
    policies cover, for a sink that is not configured all.
    """
    (bare_shell.folder / "pyproject.toml").write_text(
        "[tool.toolog]\n"
        "sinks.all = {type = 'jsonl', path = 'all.jsonl'}\n"
        "sinks.bad = {type = 'jsonl', path = 'bad.jsonl'}\n"
        "retention.INFO = {sinks = ['all']}\n"
        "retention.ERROR = {sinks = ['all', 'bad']}\n"
    )
    folder = bare_shell.folder / "spool"
    code = serializers.get("msgpack").code
    writer = spool.SpoolWriter(folder)
    for level, record in zip((10, 20, 30, 40, 50), recorded, strict=False):
        writer.append(level, code, msgpack.packb(record))
    for sink in ("all", "bad", "former"):
        spool.Spool(folder).reserve(sink)
    (status,) = bare_shell("ship", "spool", "--status", "--json").rows
    assert {name: status["in_spool"][name] for name in ("all", "bad")} == {"all": 4, "bad": 2}
    assert bare_shell("cat", "spool", "--json", "--pending", "all").rows == recorded[1:5]
    assert bare_shell("cat", "spool", "--json", "--pending", "bad").rows == recorded[3:5]
    assert bare_shell("cat", "spool", "--json", "--pending", "former").rows == recorded[:5]
    assert bare_shell("cat", "spool", "--json").rows == recorded[:5]
    writer.close()


def test_status_of_a_spool_needs_no_sinks(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """Where no configuration names a sink, the spool's own cursors say for which ones it holds records."""
    folder = bare_shell.folder / "spool"
    writer = spool.SpoolWriter(folder)
    writer.append(20, serializers.get("msgpack").code, msgpack.packb(recorded[0]))
    spool.Spool(folder).reserve("store")
    writer.close()
    (status,) = bare_shell("ship", "spool", "--status", "--json").rows
    assert (status["in_spool"], status["unserved"]) == ({"store": 1}, ["store"])
    done = bare_shell("ship", "spool", "--once")
    assert done.code == 2
    assert "TOOLOG_PROFILE=dev" in done.err


def test_pending_is_about_a_spool(bare_shell: Shell) -> None:
    """--pending with a file is a mistake that is told."""
    (bare_shell.folder / "calls.jsonl").write_text("")
    done = bare_shell("cat", "calls.jsonl", "--pending", "store")
    assert done.code == 2
    assert "--pending" in done.err


def test_explain_names_rules_and_never_values(bare_shell: Shell) -> None:
    """sanitize --explain lists line, path, rule and length; the value itself stands nowhere."""
    secret = "correct-" + "horse-battery"
    file = write_lines(bare_shell.folder / "in.jsonl", [{"name": "lamp"}, {"customer": {"password": secret}}])
    done = bare_shell("sanitize", "--explain", file, "--json")
    assert done.code == 1
    assert [(row["line"], row["path"], row["length"]) for row in done.rows] == [
        (2, "customer.password", len(secret))
    ]
    assert secret not in bare_shell("sanitize", "--explain", file).out


def test_sanitize_prints_the_masked_file(bare_shell: Shell) -> None:
    """Without --explain the file comes out as it would leave the process: JSON as JSON, text as text."""
    secret = "correct-" + "horse-battery"
    done = bare_shell(
        "sanitize", "-", given=json.dumps({"password": secret, "author": "Ada"}) + "\nplain words\n"
    )
    first, second = done.out.splitlines()
    assert json.loads(first)["author"] == "Ada"
    assert secret not in first
    assert second == "plain words"
    assert done.code == 0


def test_sanitize_keeps_lines_as_they_are(bare_shell: Shell) -> None:
    """A line ends with a line feed and nothing else, values that are odd text come out as they went in, and
    the output is UTF-8 whatever the terminal's encoding.
    """
    odd = '{"a": "x\u2028y", "password": "invented-word"}'
    done = bare_shell(
        "sanitize", "-", given=f'{odd}\nform\x0cfeed é\n{{"b": "\\ud800"}}', PYTHONIOENCODING="ascii"
    )
    assert (done.code, done.err) == (0, "")
    assert done.out.split("\n") == [
        '{"a": "x\u2028y", "password": "[MASKED:password]"}', "form\x0cfeed é", '{"b": "\\ud800"}', ""
    ]  # fmt: skip
    assert bare_shell("sanitize", "--explain", "--json", "-", given=f"a\x0cb\n{odd}\n").rows[0]["line"] == 2


def test_nothing_to_hide_is_exit_code_zero(bare_shell: Shell) -> None:
    """A clean file ends with 0."""
    assert bare_shell("sanitize", "--explain", "-", given="plain words").code == 0


def test_level_changes_a_running_process(bare_shell: Shell) -> None:
    """`toolog level` is obeyed by a process that is running, for the tools that it names."""
    source = """
import sys, time, toolog
sinks = {"store": {"type": "sqlite", "path": "calls.db"}}
toolog.configure("dev", level="ERROR", spool={"path": "spool"}, sinks=sinks)
@toolog.tool(name="shop.find")
def find(): return 1
@toolog.tool(name="bank.pay")
def pay(): return 1
print("ready", flush=True)
while not sys.stdin.closed:
    find(); pay(); toolog.flush(5)
    time.sleep(0.05)
"""
    program = subprocess.Popen(
        [sys.executable, "-c", source],
        cwd=bare_shell.folder,
        env=bare_shell.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        done = bare_shell("level", "INFO", "--tool", "shop.*", "--spool", "spool", "--json")
        assert done.rows == [{"level": "INFO", "tool": "shop.*", "told": [program.pid]}]
        found: list[dict[str, Any]] = []
        while not found and program.poll() is None:
            found = bare_shell("tail", "--store", "calls.db", "--json").rows
        assert {row["tool_name"] for row in found} == {"shop.find"}
    finally:
        program.kill()
        program.communicate()


def test_level_without_a_process_is_exit_code_one(bare_shell: Shell) -> None:
    """When nobody is there to obey, the command says so."""
    done = bare_shell("level", "DEBUG", "--spool", "spool")
    assert (done.code, done.out) == (1, "")
    assert "spool" in done.err


def test_recorded_records_are_valid(recorded: list[dict[str, Any]]) -> None:
    """The records that these tests use are real ones."""
    assert len(recorded) > 6
    for record in recorded:
        toolog.validate(record)


@pytest.mark.parametrize("command", ["cat", "validate"])
def test_a_store_is_no_file_of_records(bare_shell: Shell, command: str) -> None:
    """A database is not torn into damaged lines: one line tells what reads it."""
    with store.open(bare_shell.folder / "calls.db"):
        pass
    done = bare_shell(command, "calls.db")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("toolog: calls.db is a SQLite database")
    assert "--store" in done.err
