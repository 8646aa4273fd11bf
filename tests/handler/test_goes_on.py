"""A handler that somebody else's ``logging.config`` closed, and that still hangs at its logger, goes on."""

from __future__ import annotations

import json
from pathlib import Path

from tests.pipeline.programs import arrived, assert_complete, complain, documents, run, waiting
from toolog.spool import pending

TOOL = """
OUT = {"out": {"type": "file", "path": "out.jsonl", "batch": {"max_age": 0.01}}}
FOREIGN = {"version": 1, "disable_existing_loggers": True, "root": {"level": "INFO"}}
@toolog.tool
def double(number):
    return 2 * number
"""


def _answers(folder: Path, name: str = "out.jsonl") -> list[int]:
    found = [one for one in documents(folder, name) if one["event"] == "tool_call_success"]
    return sorted(int(str(one["output"])) for one in found)


def test_foreign_configurations_between_calls_cost_nothing(tmp_path: Path) -> None:
    """Calls before, between and after three dictConfigs of others are each stored once, without a word."""
    program = (
        TOOL
        + """
toolog.configure("dev", durability="process", sinks=OUT)
for number in range(12):
    if number % 3 == 2:
        logging.config.dictConfig(FOREIGN)
    double(number)
assert toolog.flush(30), stats()
assert stats()["late"] == 0 and stats()["stored"] == {"out": 12}, stats()
double(12)
"""
    )
    assert complain(program, tmp_path) == ""
    assert _answers(tmp_path) == [2 * number for number in range(13)]


def test_the_development_profile_that_came_up_by_itself_goes_on(tmp_path: Path) -> None:
    """After a dictConfig of the program's, the store still gets every call of the profile nobody chose."""
    run(
        TOOL
        + """
import sqlite3
double(1)
logging.config.dictConfig(FOREIGN)
double(2)
assert toolog.flush(30), stats()
rows = sqlite3.connect(".toolog/calls.db").execute("SELECT output FROM tool_calls").fetchall()
assert sorted(rows) == [("2",), ("4",)], rows
""",
        tmp_path,
    )


def test_threads_that_call_meanwhile_lose_nothing(tmp_path: Path) -> None:
    """Twenty dictConfigs of others while four threads log: all that was accepted arrives, each once."""
    run(
        """
        made = attach(handler("memory"))
        stop, counts = False, [0] * 4
        def load(thread):
            while not stop:
                made.info("%d", thread * 1_000_000 + counts[thread])
                counts[thread] += 1
                time.sleep(0.0005)
        threads = [threading.Thread(target=load, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            before = sum(counts)
            logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})
            wait(lambda: sum(counts) > before + 8)
        stop = True
        for thread in threads:
            thread.join()
        assert flush(40), stats()
        open("counts", "w").write(json.dumps(counts))
        """,
        tmp_path,
    )
    counts: list[int] = json.loads((tmp_path / "counts").read_text())
    expected = [thread * 1_000_000 + number for thread in range(4) for number in range(counts[thread])]
    assert_complete(tmp_path, expected)
    assert not waiting(tmp_path)


def test_a_handler_in_the_dict_takes_the_place_of_the_former(tmp_path: Path) -> None:
    """A dictConfig that puts a handler of its own there ends the configured one, spool and sinks included."""
    run(
        TOOL
        + """
first = toolog.configure("dev", sinks=OUT, spool={"path": "spool"})
double(1)
logging.config.dictConfig(toolog.dict_config(
    "dev", sinks={"two": {"type": "file", "path": "two.jsonl"}}, spool={"path": "spool-2"}))
double(2)
first.handle(logging.LogRecord("app", 20, "", 0, "late", (), None))
assert toolog.flush(30), stats()
assert first.pipeline.closed and stats()["late"] == 1, stats()
""",
        tmp_path,
    )
    assert _answers(tmp_path) == [2]
    assert _answers(tmp_path, "two.jsonl") == [4]


def test_close_by_hand_is_the_end(tmp_path: Path) -> None:
    """A handler that the program closed stays closed, also when a dictConfig comes after or before that."""
    run(
        """
        one, two = attach(handler(), "one"), attach(handler(), "two")
        one.info("1")
        one.handlers[0].close()
        one.info("2")
        logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})
        one.info("3")
        assert stats()["late"] == 2, stats()
        two.handlers[0].close()
        two.info("4")
        assert stats()["late"] == 3, stats()
        """,
        tmp_path,
    )
    assert sorted((arrived(tmp_path) + waiting(tmp_path)).items()) == [(1, 1), (2, 1), (3, 1), (4, 1)]


def test_the_signal_flushes_what_came_after_a_foreign_configuration(tmp_path: Path) -> None:
    """With ``handle_signals`` the handler that went on is flushed by SIGTERM as it was before."""
    run(
        """
        out = {"out": {"type": "file", "path": "out.jsonl", "batch": {"max_age": 30}}}
        log = attach(handler("memory", handle_signals=True, sinks=out))
        log.info("1")
        logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})
        log.info("2")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
        """,
        tmp_path,
        code=-15,
    )
    assert_complete(tmp_path, [1, 2])


def test_the_first_call_in_memory_durability_does_not_make_the_scans(tmp_path: Path) -> None:
    """Bringing the development profile up runs nothing of what makes scans on the caller's thread."""
    run(
        TOOL
        + """
ran = set()
sys.setprofile(lambda frame, event, argument: ran.add(frame.f_code.co_filename))
double(1)
sys.setprofile(None)
assert toolog.flush(40), stats()
made = [file for file in ran if file.endswith(("prefilter.py", "engine.py"))]
assert any(file.endswith("profiles.py") for file in ran) and not made, made
""",
        tmp_path,
    )


def test_a_program_that_ends_with_its_first_call_waits_for_the_scans(tmp_path: Path) -> None:
    """However short the shutdown timeout, what the only call recorded is not lost while scans are made."""
    run(
        TOOL
        + """
toolog.configure("dev", sinks=OUT, spool={"path": "spool"}, shutdown_timeout="10 ms")
double(1)
""",
        tmp_path,
    )
    assert _answers(tmp_path) == [2] or len(list(pending(tmp_path / "spool", "out"))) == 1
