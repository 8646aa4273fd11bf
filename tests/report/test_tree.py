"""Records as trees: grouping, order, gaps, and output that would like to be more than text."""

from __future__ import annotations

import io
import itertools
import json
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import documents
from toolog import report
from toolog.sinks import lines

ROOT, SEARCH, PAY, HTTP = "1" * 16, "2" * 16, "3" * 16, "4" * 16


def order() -> list[dict[str, Any]]:
    """Return the records of one order: a plan that searches and pays; paying fails while it fetches
    something.
    """
    inside: dict[str, Any] = {"session_id": "order-1"}
    return [
        documents.started(0, span_id=ROOT, tool_name="plan", input={"order": "o-1"}, **inside),
        documents.call(
            0,
            span_id=ROOT,
            tool_name="plan",
            input={"order": "o-1"},
            output={"ok": True},
            stdout="a\nb\n",
            **inside,
        ),
        documents.call(1, span_id=SEARCH, parent_id=ROOT, depth=1, output=[1, 2], **inside),
        documents.failed(
            2,
            "CardError",
            "refused\nby bank",
            span_id=PAY,
            parent_id=ROOT,
            depth=1,
            tool_name="pay",
            **inside,
        ),
        documents.log(2, "trying card", trace_id=documents.TRACE, span_id=PAY),
        documents.started(3, span_id=HTTP, parent_id=PAY, depth=2, tool_name="http", **inside),
        documents.call(
            4,
            event="tool_call_rejected",
            status="validation_error",
            span_id="5" * 16,
            parent_id="9" * 16,
            tool_name="ship",
            input={},
            **inside,
        ),
        documents.call(
            5,
            event="evaluation",
            span_id=SEARCH,
            evaluation={"overall_score": 0.2, "passed": False},
        ),
        documents.loss(6, 3),
    ]


GOLDEN = """\
no session
  12:00:00.000 ‼ 3 records dropped: queue_full
session order-1
  trace 0af7651916cd43dd8448eb211c80319c 5 calls 2 failed
12:00:00.000   ├─ ✓ plan(order='o-1') → {'ok': True} 12.5 ms
               │  │ a
               │  │ b
12:00:01.000   │  ├─ ✓ search(query='shoes 1') → [1, 2] 12.5 ms
12:00:05.000   │  │  └─ ★ search not passed, score 0.2
12:00:02.000   │  └─ ✗ pay 12.5 ms CardError: refused\\nby bank (query='shoes 2')
12:00:02.500   │     ├─ │ shop: trying card
12:00:03.000   │     └─ ▶ http(query='shoes 3') running
12:00:04.000   └─ ⊘ ship validation_error 12.5 ms (called by 9999999999999999, which is not here)
"""


def test_the_tree_of_an_order() -> None:
    """Sessions hold traces, traces calls, calls what they called, said and printed; failures say why."""
    golden = GOLDEN.replace("by 9999999999999999", "by " + "9" * 16)
    shown = report.text(report.tree(order()))
    assert shown.replace(" → [{'id': 4, 'name': 'Läufer 日本 🥿'}]", "") == golden


@given(st.randoms(use_true_random=False), st.sets(st.integers(0, 8)))
def test_the_order_of_arrival_does_not_matter(shuffle: random.Random, twice: set[int]) -> None:
    """Records in any order, some of them twice, give the same tree."""
    records = order() + [order()[number] for number in twice]
    shuffle.shuffle(records)
    assert report.text(report.tree(records)) == report.text(report.tree(order()))


@given(st.permutations(range(8)))
def test_traces_of_a_session_come_in_the_order_of_time(arrival: list[int]) -> None:
    """However records arrive, the traces of a session come in the order in which their first calls began."""
    records = [
        documents.call(
            second, trace_id=f"{number % 4 + 1:032x}", span_id=f"{second + 1:016x}", session_id="s"
        )
        for number, second in enumerate(arrival)
    ]
    (session,) = report.forest(records)
    begun = [min(call.record["timestamp"] for call in trace.all_calls()) for trace in session.traces]
    assert begun == sorted(begun)


@pytest.mark.parametrize("missing", range(9))
def test_a_missing_record_hides_no_other(missing: int) -> None:
    """Whichever record is missing, every other call is still shown."""
    records = [record for number, record in enumerate(order()) if number != missing]
    shown = report.text(report.tree(records))
    for tool in ("search", "pay", "http", "ship"):
        kept = any(
            record.get("tool_name") == tool and record["event"].startswith("tool_call") for record in records
        )
        assert bool(re.search(rf"[✓✗⊘▶] {tool}\b", shown)) == kept


def test_plain_ascii_is_possible() -> None:
    """With the ASCII marks no other character than ASCII is drawn."""
    records = [record for record in order() if record["record_id"] != f"{4:032x}"]
    shown = report.text(report.tree(records, marks=report.ASCII))
    assert shown.isascii()
    assert "`- " in shown
    assert "|- " in shown


def test_the_failing_call_stands_out() -> None:
    """Every piece of a failed call's line has the style ``bad``, and no piece of a good one."""
    for pieces in report.tree(order()):
        styles = {style for style, text in pieces if text.strip() and style not in ("time", "dim")}
        if any("CardError" in text for _, text in pieces):
            assert styles == {"bad"}
        elif any("plan" in text for _, text in pieces):
            assert "bad" not in styles


def test_calls_that_claim_to_call_each_other_end() -> None:
    """Parents in a circle, or a call that is its own parent, are all shown once."""
    records = [
        documents.call(1, span_id="a" * 16, parent_id="b" * 16),
        documents.call(2, span_id="b" * 16, parent_id="c" * 16),
        documents.call(3, span_id="c" * 16, parent_id="a" * 16),
        documents.call(4, span_id="d" * 16, parent_id="d" * 16),
    ]
    shown = report.text(report.tree(records))
    assert [shown.count(f"shoes {number}'") for number in (1, 2, 3, 4)] == [1, 1, 1, 1]


def test_a_very_deep_trace_is_shown() -> None:
    """Thousands of nested calls are no recursion here, neither as lines nor as data."""
    records = [
        documents.call(n, span_id=f"{n + 1:016x}", parent_id=f"{n:016x}" if n else None) for n in range(3000)
    ]
    assert sum(1 for _ in report.tree(records)) == 3002
    data = report.forest(records)[0].data()
    depth = 0
    calls = data["traces"][0]["calls"]
    while calls:
        depth, calls = depth + 1, calls[0]["calls"]
    assert depth == 3000


def test_the_same_tree_is_there_as_data() -> None:
    """``forest`` gives plain data for --json with everything that the tree shows."""
    data = json.loads(json.dumps([session.data() for session in report.forest(order())]))
    assert [session["session_id"] for session in data] == [None, "order-1"]
    plan, ship = data[1]["traces"][0]["calls"]
    assert [call["tool_name"] for call in plan["calls"]] == ["search", "pay"]
    assert plan["calls"][1]["calls"][0]["status"] == "running"
    assert [note["event"] for note in plan["calls"][0]["notes"]] == ["evaluation"]
    assert ship["parent_id"] == "9" * 16


HOSTILE = [
    "\x1b[2J\x1b[1;1H",
    "\x1b]8;;http://x\x07click\x1b]8;;\x07",
    "[bold red]markup[/bold red]",
    "a\nb\rc\td",
    "\x00\x08\x7f\x9b31m",
    "\u202egnp.exe\u2066",
    "\u2028\u2029\u0085",
    "\ud800",
    "日本語" * 50,
    "e\u0301" * 30,
    "👩‍👩‍👧" * 20,
    "{" * 500,
]


@pytest.mark.parametrize("evil", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_output_stays_text(evil: str) -> None:
    """Whatever stands in any field, a line stays one line of harmless characters, as wide as it claims to
    be.
    """
    record = {
        key: ({evil: evil} if isinstance(value, dict) else evil)
        for key, value in documents.failed(1, stdout=evil, stderr=evil, output=evil, session_id=evil).items()
        if key not in ("event", "depth")
    }
    records = [
        {**record, "event": event, "record_id": str(number), "message": evil, "logger": evil, "config": evil}
        for number, event in enumerate([*lines._DESCRIBE, "other"])
    ]
    shown = [
        report.text([pieces]) for pieces in itertools.chain(report.tree(records), report.waterfall(records))
    ]
    for line in shown:
        assert line.endswith("\n")
        assert all(char.isprintable() or char in "\u200d\u200c" for char in line[:-1])
        cut = report.text([[("text", line[:-1])]], 60)
        assert lines.width_of(cut[:-1]) <= 60
    assert "\x1b[" not in "".join(shown)


@given(st.text(max_size=80), st.integers(4, 100))
def test_a_cut_text_fits_and_a_visible_text_is_printable(text: str, columns: int) -> None:
    """``cut`` never exceeds its width, ``visible`` leaves nothing that a terminal acts on, and both keep
    plain text.
    """
    seen = report.line({"event": "log", "message": text})
    assert "\n" not in report.text([seen])[:-1]
    safe = lines.visible(text)
    assert all(char.isprintable() or char in "\u200d\u200c" for char in safe)
    assert lines.width_of(lines.cut(safe, columns)) <= columns
    assert lines.cut("plain", columns) == ("plain" if columns > 4 else "pla…")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=30),
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner, max_size=6),
        max_leaves=40,
    ),
    st.integers(10, 60),
)
def test_any_value_is_short(data: Any, columns: int) -> None:
    """A value takes no more columns than it may, however large it is."""
    assert lines.width_of(lines.value(data, columns)) <= columns


def test_a_huge_value_costs_nothing() -> None:
    """Only so much of a value is read as can be shown."""

    class Counting(list[int]):
        read = 0

        def __iter__(self) -> Any:
            for item in super().__iter__():
                Counting.read += 1
                yield item

    lines.value(Counting(range(100_000)))
    assert Counting.read < 100


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours_and_lines_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal lines are cut to its width and coloured; in a pipe they are whole and plain."""
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    terminal, pipe = Terminal(), io.StringIO()
    report.write(report.tree(order()), terminal)
    report.write(report.tree(order()), pipe)
    assert "\x1b[1;31m" in terminal.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    report.write(report.tree(order()), plain)
    assert max(lines.width_of(line) for line in plain.getvalue().splitlines()) == 50
    assert pipe.getvalue() == report.text(report.tree(order()))
    assert "…" in plain.getvalue()


@pytest.mark.parametrize("text", ["word " * 40, "x" * 300, "漢" * 150, ""])
def test_a_line_that_goes_on_loses_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `fold` a line too wide for the terminal goes on below, behind its margin, between words where it
    can.
    """
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    report.write([[("dim", "  error     "), ("bad", text)]], terminal, fold=12)
    first, *others = terminal.getvalue().splitlines()
    assert max(map(lines.width_of, [first, *others])) <= 50
    assert all(other.startswith(" " * 12) for other in others)
    joined = "".join([first, *(other[12:] for other in others)])
    assert joined.replace(" ", "") == f"error{text}".replace(" ", "")
    if text.startswith("word"):
        assert all(row.rstrip().endswith("word") for row in [first, *others])


def test_a_trace_of_another_day_tells_its_date() -> None:
    """Where it is said which day is today, the traces of others stand with their dates."""
    day = order()[0]["timestamp"][:10]
    assert day not in report.text(report.tree(order(), today=day))
    assert day not in report.text(report.tree(order()))
    assert day in report.text(report.tree(order(), today="1999-01-01"))
    assert report.text([report.line(order()[0], dated=True)]).startswith(day)
