"""The commands that ask the store: tail, show, query, stats, instances."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests import documents
from tests.cli.conftest import Shell
from toolog import store
from toolog.cli.tail import LOOK_ON


def test_tail_shows_the_newest_calls_oldest_first(shell: Shell) -> None:
    """Each call is one line; the failing one names its error, masked."""
    done = shell("tail")
    lines = done.out.splitlines()
    assert done.code == 0
    assert [("serve" in line, "Till.charge" in line) for line in lines] == [(False, True), (True, False)] * 3
    assert sum("ValueError" in line for line in lines) == 2
    assert "13812345678" not in done.out


def test_tail_limit_counts_calls(shell: Shell) -> None:
    """-n 2 are the two newest calls."""
    assert [row["session_id"] for row in shell("tail", "-n", "2", "--json").rows] == ["order-1003"] * 2


def test_tail_tree_groups_calls_by_session(shell: Shell) -> None:
    """With --tree each session is one tree: the inner call below the outer, what it printed below that."""
    done = shell("tail", "--tree", "--session", "order-1001")
    outer, inner, printed = (done.out.find(word) for word in ("serve(", "Till.charge(", "charged 39.0"))
    assert done.out.startswith("session order-1001\n")
    assert 0 < outer < inner < printed


def test_tree_of_filtered_calls_shows_whole_traces(shell: Shell) -> None:
    """A filter chooses traces, not single calls: a failed call is seen with those that made it."""
    rows = shell("tail", "--tree", "--status", "failed", "--tool", "Till.charge", "--json").rows
    ends = [row for row in rows if row["event"] == "tool_call_failed"]
    assert {row["session_id"] for row in rows} == {"order-1002"}
    assert {row["tool_name"] for row in ends} == {"serve", "Till.charge"}


def test_a_tree_says_which_calls_the_limit_left_out(shell: Shell) -> None:
    """Below trees stands how many calls are older, and the -n that shows them; in JSON and when all calls
    are shown, nothing.
    """
    cut = shell("tail", "--tree", "-n", "2").out
    assert "order-1003" in cut
    assert "order-1002" not in cut
    assert cut.splitlines()[-1] == "4 more calls; -n 6 shows them"
    whole = shell("tail", "--tree", "-n", "6").out
    assert "order-1001" in whole
    assert "more call" not in whole
    assert "more call" not in shell("tail", "--tree", "-n", "5").out, "the sixth stands in its trace"
    assert len({row["trace_id"] for row in shell("tail", "--tree", "-n", "2", "--json").rows}) == 1


def test_a_tree_counts_older_calls_up_to_a_bound_only(bare_shell: Shell) -> None:
    """In a store with very many older calls the tree says that there are more, and an -n that shows more."""
    with store.open(bare_shell.folder / ".toolog" / "calls.db") as held:
        held.write(documents.call(number, trace_id=f"{number + 1:032x}") for number in range(LOOK_ON + 5))
    cut = bare_shell("tail", "--tree", "-n", "3").out.splitlines()
    assert cut[-1] == f"more calls are older; -n {LOOK_ON + 3} shows more"
    assert bare_shell("tail", "--tree", "-n", str(LOOK_ON + 4)).out.splitlines()[-1] == (
        f"1 more call; -n {LOOK_ON + 5} shows it"
    )


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--tool", "Till.*"), 3),
        (("--tool", "serve"), 3),
        (("--status", "success"), 4),
        (("--status", "failed"), 2),
        (("--session", "order-1002"), 2),
        (("--level", "ERROR"), 2),
        (("--since", "1 hour"), 6),
    ],
)
def test_filters_choose_calls(shell: Shell, words: tuple[str, ...], count: int) -> None:
    """Each filter of tail and query chooses the same calls."""
    assert len(shell("tail", *words, "--json").rows) == count
    assert len(shell("query", *words, "--json").rows) == count


def test_nothing_found_is_exit_code_one(shell: Shell) -> None:
    """A question without an answer says so on stderr and ends with 1."""
    for words in (("tail", "--tool", "nobody"), ("query", "nothing-like-it"), ("show", "0123456789")):
        done = shell(*words)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("tail", "--status", "sucess"), "'success'"),
        (("tail", "--level", "WARNIG"), "'WARNING'"),
        (("tail", "--since", "yesterday-ish"), "15 min"),
        (("query", "--sql", "select * from nowhere"), "nowhere"),
        (("tail", "--store", "elsewhere.db"), "elsewhere.db"),
        (("cat", "missing.jsonl"), "missing.jsonl"),
        (("validate", "missing.jsonl"), "missing.jsonl"),
        (("query", "word", "--sql", "select 1"), "--sql"),
        (("level", "LOUD"), "LOUD"),
    ],
)
def test_a_users_mistake_is_one_clear_line(shell: Shell, words: tuple[str, ...], hint: str) -> None:
    """A wrong value is told with what would be right, without a traceback, and ends with 2."""
    done = shell(*words)
    assert done.code == 2
    assert hint in done.err
    assert "Traceback" not in done.err


def test_unusable_configuration_is_one_clear_line(shell: Shell) -> None:
    """A misspelt key of pyproject.toml is named with the nearest right one."""
    (shell.folder / "pyproject.toml").write_text("[tool.toolog]\ndurabilty = 'memory'\n")
    done = shell("tail")
    assert done.code == 2
    assert "durability" in done.err
    assert done.err.count("\n") == 1


def test_no_store_names_the_way_to_one(bare_shell: Shell) -> None:
    """Without a store the commands say where they looked and how to get one."""
    done = bare_shell("stats")
    assert done.code == 2
    assert ".toolog/calls.db" in done.err
    assert "toolog demo" in done.err


def test_configured_store_is_found(shell: Shell) -> None:
    """The store that pyproject.toml names is the one that is read."""
    (shell.folder / "data").mkdir()
    (shell.folder / ".toolog" / "calls.db").rename(shell.folder / "data" / "mine.db")
    config = '[tool.toolog.sinks.mine]\ntype = "sqlite"\npath = "data/mine.db"\n'
    (shell.folder / "pyproject.toml").write_text(config)
    assert len(shell("tail", "--json").rows) == 6


def test_newer_store_is_refused(shell: Shell) -> None:
    """A database of a later version is not touched; the message says what to do."""
    with sqlite3.connect(shell.folder / ".toolog" / "calls.db") as connection:
        connection.execute("pragma user_version = 9999")
    connection.close()
    done = shell("tail")
    assert done.code == 2
    assert "9999" in done.err or "newer" in done.err


def test_follow_shows_calls_as_they_end(shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """`tail --follow` prints a call that arrives later, and only if it passes the filters."""
    command = [shell.program, "tail", "--follow", "--json", "--session", "order-9"]
    program = subprocess.Popen(
        command, cwd=shell.folder, env=shell.environment, stdout=subprocess.PIPE, text=True
    )
    ended = next(record for record in recorded if record["event"] == "tool_call_success")
    try:
        with store.open(shell.folder / ".toolog" / "calls.db") as held:
            number = 0
            while program.poll() is None:
                # Written until it is seen: the program may not have begun to look yet.
                number += 1
                news = {**ended, "record_id": f"news-{number}", "session_id": "order-9"}
                held.write([{**news, "session_id": "order-8", "record_id": f"other-{number}"}, news])
                if _has_line(program):
                    break
                time.sleep(0.1)
        assert program.stdout is not None
        assert json.loads(program.stdout.readline())["session_id"] == "order-9"
    finally:
        program.kill()
        program.communicate()


def test_follow_may_come_before_the_store(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """`tail --follow` says what it waits for where there is no store yet, and shows what is then recorded."""
    program = subprocess.Popen(
        [bare_shell.program, "tail", "--follow", "--json"],
        cwd=bare_shell.folder,
        env=bare_shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stderr is not None
    try:
        assert "waiting for .toolog/calls.db" in program.stderr.readline()
        with store.open(bare_shell.folder / ".toolog" / "calls.db") as held:
            held.write(recorded)
        assert json.loads(program.stdout.readline())["event"].startswith("tool_call")
    finally:
        program.kill()
        program.communicate()


def test_follow_goes_on_with_a_new_store(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """`tail --follow` outlives the store that is moved away, and shows what is recorded in the one that
    comes in its place, from its beginning.
    """
    path = bare_shell.folder / ".toolog" / "calls.db"
    ended = next(record for record in recorded if record["event"] == "tool_call_success")
    with store.open(path) as held:
        held.write([{**ended, "record_id": "old"}])
    program = subprocess.Popen(
        [bare_shell.program, "tail", "--follow", "--json"],
        cwd=bare_shell.folder,
        env=bare_shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    try:
        assert json.loads(program.stdout.readline())["record_id"] == "old"
        path.parent.rename(bare_shell.folder / "moved")
        with store.open(path) as held:
            held.write([{**ended, "record_id": "new"}])
        assert json.loads(program.stdout.readline())["record_id"] == "new"
    finally:
        program.kill()
        program.communicate()


def _has_line(program: subprocess.Popen[str]) -> bool:
    import select

    return bool(select.select([program.stdout], [], [], 0)[0])


def test_show_takes_the_beginning_of_a_trace(shell: Shell) -> None:
    """A trace is shown as a waterfall, by the beginning of its id; a failed call with input, error, stack."""
    trace = shell("tail", "--status", "failed", "--json").rows[0]["trace_id"]
    done = shell("show", trace)
    assert done.code == 0
    for word in ("serve", "Till.charge", "█", "ValueError", "was declined", "conftest.py", '"amount": 420'):
        assert word in done.out
    assert "13812345678" not in done.out
    assert {row["trace_id"] for row in shell("show", trace[:31], "--json").rows} == {trace}
    done = shell("show", trace[:2])
    assert done.code == 2
    assert "too short" in done.err
    done = shell("show", "zzz")
    assert done.code == 2
    assert "'zzz' is no trace id" in done.err


def test_show_all_tells_of_every_call(shell: Shell) -> None:
    """With --all also calls that went well show what went in and came out."""
    trace = shell("tail", "--session", "order-1001", "--json").rows[0]["trace_id"]
    assert '"paid": 39' not in shell("show", trace).out
    assert '"paid": 39' in shell("show", trace, "--all").out


def test_show_begins_with_when_and_where(shell: Shell) -> None:
    """Above the waterfall stand the trace, its date and time in UTC, the session and the process; capital
    digits of an id are the same digits.
    """
    call = shell("query", "ValueError", "--json").rows[0]
    lines = shell("show", call["trace_id"].upper()).out.splitlines()
    assert lines[0] == f"trace {call['trace_id']}"
    assert lines[1].startswith(f"{call['timestamp'][:10]} {call['timestamp'][11:16]}")
    assert " UTC " in lines[1]
    assert "failed" in lines[1]
    assert f"session {call['session_id']}" in lines[2]
    assert f"process {call['process']['pid']}" in lines[2]


def test_calls_of_another_day_have_their_date(bare_shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """A list in which a call is of another day shows dates, in lines and in trees."""
    ended = next(record for record in recorded if record["event"] == "tool_call_success")
    with store.open(bare_shell.folder / ".toolog" / "calls.db") as held:
        held.write([{**ended, "record_id": "old", "timestamp": "2001-02-03T04:05:06.000007Z"}])
    for words in (("tail",), ("query",), ("tail", "--tree")):
        assert "2001-02-03" in bare_shell(*words).out


def test_query_finds_words_in_errors(shell: Shell) -> None:
    """Text search looks into names, inputs, outputs and errors; several words need no quotes."""
    rows = shell("query", "declined", "--json").rows
    assert shell("query", "declined", "was", "--json").rows == rows
    assert shell("query", "declined", "nowhere").code == 1
    assert [row["tool_name"] for row in rows] == ["serve", "Till.charge"]


def test_query_finds_what_is_on_hold(bare_shell: Shell) -> None:
    """`--hold` takes a glob for the tag; `*` are all calls with one."""
    with store.open(bare_shell.folder / ".toolog" / "calls.db") as held:
        held.write([documents.call(1, tags={"hold": "case 4711"}), documents.call(2, tags={"hold": "audit"})])
        held.write([documents.call(3, tags={"hold": None}), documents.call(4)])
    assert len(bare_shell("query", "--hold", "case *", "--json").rows) == 1
    assert len(bare_shell("query", "--hold", "*", "--json").rows) == 2
    assert bare_shell("query", "--hold", "case 4712").code == 1


def test_query_sql_reads(shell: Shell) -> None:
    """--sql answers a SELECT, as a table or as JSON lines."""
    sql = "select tool_name, count(*) as calls from tool_calls group by 1 order by 1"
    assert shell("query", "--sql", sql, "--json").rows == [
        {"tool_name": "Till.charge", "calls": 3},
        {"tool_name": "serve", "calls": 3},
    ]
    assert shell("query", "--sql", sql).out.splitlines()[1].split() == ["Till.charge", "3"]


def test_query_sql_asks_what_the_reference_shows(shell: Shell) -> None:
    """Each statement of the reference of the store can be asked, the full-text index included, and how a
    table is made.
    """
    page = Path(__file__).parents[2] / "docs" / "reference" / "store.md"
    statements = re.findall(r"```sql\n(.*?)```", page.read_text(), flags=re.DOTALL)
    assert any("MATCH" in statement for statement in statements)
    for statement in (*statements, "pragma table_info(tool_calls)"):
        assert shell("query", "--sql", statement).code < 2
    with store.open(shell.folder / ".toolog" / "calls.db") as held:
        held.index()
    found = shell("query", "--sql", "select count(*) n from search where search match 'declined'", "--json")
    assert found.rows[0]["n"] > 0


@pytest.mark.parametrize(
    "sql",
    [
        "insert into search (search) values ('delete-all')",
        "create temp table t (a)",
        "pragma user_version = 5",
        "delete from tool_calls",
        "update tool_calls set status = 'success'",
        "drop table tool_calls",
        "attach database 'stolen.db' as other",
        "pragma journal_mode = delete",
        "vacuum into 'copy.db'",
        "select 1; delete from tool_calls",
    ],
)
def test_query_sql_changes_nothing(shell: Shell, sql: str) -> None:
    """Whatever stands in --sql, no file is changed or made by it."""
    done = shell("query", "--sql", sql)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert sorted(path.name for path in shell.folder.iterdir()) == [".toolog"]
    assert len(shell("tail", "--json").rows) == 6


def test_stats_counts_each_tool(shell: Shell) -> None:
    """stats tells calls, success rate and error types for each tool."""
    (figures,) = shell("stats", "--json").rows
    tools = {tool["tool_name"]: tool for tool in figures["tools"]}
    assert (figures["calls"], tools["Till.charge"]["calls"]) == (6, 3)
    assert tools["Till.charge"]["errors"] == {"ValueError": 1}
    assert "66.7%" in shell("stats").out


def test_instances_are_listed_masked(shell: Shell) -> None:
    """instances shows how a tool was set up, its secret masked."""
    (row,) = shell("instances", "--json").rows
    assert row["class_name"].endswith("Till")
    assert row["config"]["currency"] == "EUR"
    assert "4eC39HqLyjWDarjtT1zdp7dc" not in json.dumps(row)
    assert "Till" in shell("instances").out


@pytest.mark.parametrize("name", ["tail", "stats", "instances", "query", "query --sql 'select * from calls'"])
def test_a_store_that_cannot_be_used_is_exit_code_two(bare_shell: Shell, name: str) -> None:
    """A file that is no database, or an empty one, is one clear line, the same code for every command."""
    for held in (b"no database at all", b""):
        (bare_shell.folder / "calls.db").write_bytes(held)
        done = bare_shell.pipe(f"toolog {name} --store calls.db")
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1


def test_a_store_that_another_program_holds_is_exit_code_two(shell: Shell) -> None:
    """That is said, with what to do, and is no answer about what stands in it."""
    path = shell.folder / ".toolog" / "calls.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE meta SET value = value")
        done = shell("stats")
    assert done.code == 2
    assert "another program has held it for 5 seconds" in done.err


def test_an_argument_that_is_no_text_is_one_clear_line(shell: Shell) -> None:
    """Bytes that are not UTF-8 are refused where a text is asked for."""
    for line in ("query", "tail --tool", "tail --session", "show", "tail --store"):
        done = shell.pipe(f"toolog {line} $(printf '\\377\\376abcdef')")
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert "\\udcff" in done.err


@pytest.mark.parametrize("line", ["toolog tail >&-", "toolog schema >&-", "toolog stats <&- 2>&-"])
def test_a_closed_stream_changes_nothing(shell: Shell, line: str) -> None:
    """A standard stream that is closed from the start (a daemon's) costs what would stand there only."""
    done = shell.pipe(line)
    assert (done.code, done.err) == (0, "")


def test_closed_pipe_is_quiet(shell: Shell) -> None:
    """A reader that leaves early ends a command without a word."""
    for line in ("toolog tail --json | head -n 1", "toolog schema | head -n 1", "toolog tail --tree | true"):
        done = shell.pipe(line)
        assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("command", ["query --json", "query", "cat calls.jsonl", "convert calls.jsonl -"])
def test_a_reader_that_leaves_early_is_no_failure(shell: Shell, command: str) -> None:
    """What speaks to servers keeps Python's exceptions; a closed pipe still ends it quietly, with code 0."""
    rows = b"".join(orjson.dumps(row) + b"\n" for row in shell("query", "--json").rows)
    Path(shell.folder, "calls.jsonl").write_bytes(rows)
    done = shell.pipe(f"{{ toolog {command}; echo $? >code; }} | true")
    assert (Path(shell.folder, "code").read_text(), done.err) == ("0\n", "")


def test_json_is_utf_8_everywhere(shell: Shell, recorded: list[dict[str, Any]]) -> None:
    """JSON lines are UTF-8 also where the terminal is plain ASCII, and a tree is still readable there."""
    ended = next(record for record in recorded if record["event"] == "tool_call_success")
    with store.open(Path(shell.folder, ".toolog", "calls.db")) as held:
        held.write([{**ended, "record_id": "chinese", "session_id": "订单", "input": {"名": "灯"}}])
    words = ("tail", "--session", "订单")
    assert shell(*words, "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0").rows[0]["input"] == {"名": "灯"}
    assert shell(*words, PYTHONIOENCODING="ascii", PYTHONUTF8="0").code == 0
