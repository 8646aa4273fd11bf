"""The commands that run something: run, doctor, demo, bench."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell
from toolog import store

PROGRAM = """
import sys
import shoptools
print("arguments", sys.argv[1:], __name__)
shoptools.find("lamp", password="not-to-be-seen")
sys.exit(int(sys.argv[1]))
"""
TOOLS = """
def find(word, password=None):
    return {"word": word}
"""


@pytest.fixture
def program(bare_shell: Shell) -> Shell:
    """Return a shell in a folder with a program and the module that holds its tools."""
    (bare_shell.folder / "agent.py").write_text(PROGRAM)
    (bare_shell.folder / "shoptools.py").write_text(TOOLS)
    return bare_shell


def test_run_instruments_and_gives_the_programs_exit_code(program: Shell) -> None:
    """A program runs as it does under python, exit code included, and its tools' calls are in the store."""
    done = program("run", "--instrument", "shoptools", "agent.py", "7", "--order")
    assert (done.code, done.out) == (7, "arguments ['7', '--order'] __main__\n")
    (row,) = program("tail", "--json").rows
    assert (row["tool_name"], row["input"]["word"]) == ("find", "lamp")
    assert "not-to-be-seen" not in json.dumps(row)


def test_run_takes_its_tools_from_the_configuration(program: Shell) -> None:
    """With `instrument` in pyproject.toml nothing has to be said; -m runs a module."""
    (program.folder / "pyproject.toml").write_text('[tool.toolog]\ninstrument = ["shoptools"]\n')
    done = program("run", "-m", "agent", "0")
    assert (done.code, done.out) == (0, "arguments ['0'] __main__\n")
    assert len(program("tail", "--json").rows) == 1


def test_run_json_tells_what_became_of_the_records(program: Shell) -> None:
    """--json ends with the counters on stderr."""
    done = program("run", "-i", "shoptools", "--json", "agent.py", "0")
    stats = json.loads(done.err.splitlines()[-1])
    assert stats["accepted"] == stats["stored"]["store"] == 1


def test_run_instruments_the_processes_that_the_program_spawns(program: Shell) -> None:
    """What multiprocessing starts anew is instrumented before it runs what it was given, also by a child;
    calls keep their parent.
    """
    (program.folder / "pools.py").write_text(
        "import multiprocessing, shoptools\n"
        "def below(word): spawn(shoptools.find, word)\n"
        "def spawn(function, word):\n"
        "    one = multiprocessing.get_context('spawn').Process(target=function, args=(word,))\n"
        "    one.start()\n"
        "    one.join()\n"
        "    assert one.exitcode == 0\n"
        "if __name__ == '__main__':\n"
        "    spawn(below, 'lamp')\n"
    )
    done = program("run", "-i", "shoptools", "-i", "__main__.below", "pools.py")
    assert done.code == 0, done.err
    rows = {row["tool_name"]: row for row in program("tail", "--json").rows}
    assert set(rows) == {"find", "below"}
    assert rows["find"]["parent_id"] == rows["below"]["span_id"]
    assert rows["find"]["process"]["pid"] != rows["below"]["process"]["pid"]


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("--instrument", "shoptools", "missing.py"), 2, "missing.py"),
        (("--instrument", "shoptools", "-m", "missing"), 1, "missing"),
        (("--profile", "test", "agent.py"), 2, "dev"),
        (("-i", "", "agent.py"), 2, "cannot instrument ''"),
    ],
)
def test_run_tells_a_mistake_in_one_line(
    program: Shell, words: tuple[str, ...], code: int, hint: str
) -> None:
    """No such program: a clear line, and no traceback."""
    done = program("run", *words)
    assert done.code == code
    assert hint in done.err
    assert "Traceback" not in done.err
    assert "what may be the cause" not in done.err


def test_run_with_nothing_named_runs_the_program_as_it_is(program: Shell) -> None:
    """Only agent frameworks would be recorded; of a program without any, one line says what to name."""
    done = program("run", "agent.py", "0")
    assert (done.code, done.out) == (0, "arguments ['0'] __main__\n")
    assert "--instrument NAME" in done.err
    assert done.err.count("\n") == 1


def test_run_refuses_an_option_it_does_not_know(program: Shell) -> None:
    """What stands before the program is toolog's: a wrong option is named, and nothing runs."""
    done = program("run", "--tool", "shoptools", "agent.py", "0")
    assert (done.code, done.out) == (2, "")
    assert "No such option '--tool'" in done.err


@pytest.mark.parametrize(
    ("name", "told"),
    [("shoptoolz", True), ("shoptools.found", True), ("colorsys", False), ("shoptools", False)],
)
def test_run_tells_a_name_that_nothing_was_found_for(program: Shell, name: str, told: bool) -> None:
    """A misspelt name is told at the end; a module that the program did not need is no mistake."""
    done = program("run", "-i", name, "agent.py", "0")
    assert (done.code, done.out) == (0, "arguments ['0'] __main__\n")
    assert (f"nothing of {name!r} was recorded" in done.err) is told


def test_run_shows_a_programs_own_error_as_python_does(program: Shell) -> None:
    """A program's uncaught exception has its own traceback, without a frame of ours, and exit code 1."""
    (program.folder / "broken.py").write_text("def go():\n    raise KeyError('lamp')\ngo()\n")
    done = program("run", "-i", "shoptools", "broken.py")
    assert done.code == 1
    assert "KeyError: 'lamp'" in done.err
    assert "runprogram" not in done.err


def test_doctor_tells_what_would_be_wrapped(program: Shell) -> None:
    """doctor imports a module and tells its tools; nothing is wrong with it."""
    done = program("doctor", "shoptools", "--json", PYTHONPATH=str(program.folder))
    assert done.code == 0
    told = {row["subject"]: row for row in done.rows}
    assert "find" in told["shoptools"]["text"]
    assert told["versions"]["text"].startswith("toolog ")


def test_doctor_finds_what_lies_in_the_working_directory(program: Shell) -> None:
    """A module beside the program is found as the program finds it, without PYTHONPATH."""
    done = program("doctor", "shoptools", "--json")
    assert done.code == 0, done.out
    assert "find" in {row["subject"]: row for row in done.rows}["shoptools"]["text"]


def test_doctor_finds_problems(program: Shell) -> None:
    """A wrong name, a level that hides successes and a wrong key are problems, with exit code 1."""
    done = program("doctor", "shoptoolz", "--json", TOOLOG_LEVEL="ERROR")
    assert done.code == 1
    assert {row["subject"] for row in done.rows if row["kind"] == "problem"} == {"shoptoolz", "toolog.calls"}
    (program.folder / "pyproject.toml").write_text("[tool.toolog]\ndurabilty = 'memory'\n")
    done = program("doctor")
    assert done.code == 1
    assert "durability" in done.out
    assert "Traceback" not in done.err


def test_doctor_tells_no_level_that_follows_from_a_wrong_configuration(program: Shell) -> None:
    """With a configuration that cannot be used only that is told, and a level only if somebody said one."""
    for table in ("sinks.mine = {type = 'no_such_package.sinks:Sink'}", "durabilty = 'memory'"):
        (program.folder / "pyproject.toml").write_text(f"[tool.toolog]\n{table}\n")
        done = program("doctor", "shoptools", "--json")
        assert [row["subject"] for row in done.rows if row["kind"] == "problem"] == ["configuration"]
    (program.folder / "pyproject.toml").write_text(
        "[tool.toolog]\nsinks.mine = {type = 'no_such_package:S'}\n"
    )
    done = program("doctor", "shoptools", "--json", TOOLOG_LEVEL="ERROR")
    assert [row["cause"] for row in done.rows if row["kind"] == "problem"] == ["configuration", "level"]


def test_doctor_of_a_module_reads_as_no_fault(program: Shell) -> None:
    """Tools of a module that nothing is wrong with are said to be ready to be instrumented."""
    done = program("doctor", "shoptools")
    assert "1 tool can be instrumented: find" in done.out
    assert "not instrumented" not in done.out
    assert done.out.endswith("no problems found\n")


def test_doctor_names_variables_that_set_nothing(bare_shell: Shell) -> None:
    """A TOOLOG_ variable that is none of toolog's is noted: it may be a name that somebody guessed."""
    done = bare_shell("doctor", TOOLOG_STORE="calls.db")
    assert done.code == 0
    assert "TOOLOG_STORE" in done.out


def test_doctor_looks_into_the_places(bare_shell: Shell) -> None:
    """A file where a directory has to be, and a store of a newer version, are problems."""
    place = bare_shell.folder / ".toolog"
    place.write_text("no directory")
    done = bare_shell("doctor", "--json")
    assert [row["subject"] for row in done.rows if row["kind"] == "problem"] == ["store", "spool"]
    place.unlink()
    (place / "calls.db").mkdir(parents=True)
    done = bare_shell("doctor", "--json")
    assert [row["subject"] for row in done.rows if row["kind"] == "problem"] == ["store"]
    (place / "calls.db").rmdir()
    assert bare_shell("doctor").code == 0
    with store.open(place / "calls.db"):
        pass
    assert bare_shell("doctor").code == 0
    with closing(sqlite3.connect(place / "calls.db")) as database:
        database.execute("PRAGMA user_version = 999")
    done = bare_shell("doctor")
    assert done.code == 1
    assert "newer toolog" in done.out


def test_demo_tells_its_story(bare_shell: Shell) -> None:
    """A tree for each order, the failing one with its error; the number is masked in the trees."""
    done = bare_shell("demo")
    assert done.code == 0, done.err
    prints, _, trees = done.out.partition("as toolog recorded it")
    assert "ring 13812345678 first" in prints
    assert "13812345678" not in trees
    assert [line for line in trees.splitlines() if line.startswith("session ")] == [
        f"session order-{number}" for number in (1001, 1002, 1003)
    ]
    failing = trees.partition("session order-1002")[2].partition("session order-1003")[0]
    assert "ParserError: Unknown string format: ring [MASKED:" in failing
    assert "✗" not in trees.replace(failing, "")
    for hint in ("toolog show ", "toolog tail --tree --session order-1002", "toolog query ParserError"):
        assert hint in trees
        command = next(line for line in trees.splitlines() if hint in line).split("   ")[0]
        assert bare_shell(*command.split()[1:]).code == 0


def test_demo_json_is_one_object(bare_shell: Shell) -> None:
    """With --json stdout is one object; what the tools print goes to stderr."""
    done = bare_shell("demo", "--json")
    (told,) = done.rows
    assert {call["session_id"] for call in told["failed"]} == {"order-1002"}
    assert len(told["traces"]) == 3
    assert "SQL>" in done.err


def test_demo_without_its_packages_names_the_extra(bare_shell: Shell, tmp_path: Path) -> None:
    """A missing package is told with what to install."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'sqlite_utils' else find(name, *rest)\n"
    )
    done = bare_shell("demo", PYTHONPATH=str(tmp_path))
    assert done.code == 2
    assert "sqlite_utils" in done.err
    assert "toolog[demo]" in done.err


def test_bench_measures(bare_shell: Shell) -> None:
    """bench gives a figure for each kind of call and serializer, without a word of trouble, and leaves
    nothing.
    """
    done = bare_shell("bench", "--calls", "100", "--json")
    assert "toolog:" not in done.err
    (told,) = done.rows
    rows: list[dict[str, Any]] = told["calls_us"]
    assert [row["recorder"] for row in rows] == ["closure", "level off", "memory", "process"]
    assert all(row["small"] > 0 and row["4 kB"] > 0 for row in rows)
    assert {"json", "ormsgpack"} <= {row["name"] for row in told["serialization"]["rows"]}
    assert list(bare_shell.folder.iterdir()) == []
