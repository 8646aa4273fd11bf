"""`toolog run` says why a program that called tools, or seemed to, left no records."""

from __future__ import annotations

import textwrap

import pytest

from tests.cli.conftest import Done, Shell

TOOLS = """
class Till:
    def charge(self, amount): return amount
def find(word): return word
def walk(n):
    yield from range(n)
"""


def run(shell: Shell, program: str, *options: str, **environment: str) -> Done:
    """Run a program with the module `shoptools` instrumented."""
    (shell.folder / "shoptools.py").write_text(TOOLS)
    (shell.folder / "agent.py").write_text(textwrap.dedent(program))
    return shell("run", *(options or ("-i", "shoptools")), "agent.py", **environment)


@pytest.mark.parametrize(("words", "code"), [(("nowhere.py",), 2), (("-m", "nowhere"), 1)])
def test_a_program_that_is_not_there_is_all_that_is_told(
    bare_shell: Shell, words: tuple[str, ...], code: int
) -> None:
    """Where nothing could be run, no cause is looked for why nothing was recorded."""
    done = bare_shell("run", "-i", "shoptools", *words)
    assert done.code == code
    assert "nowhere" in done.err
    assert len(done.err.splitlines()) == 1, done.err


CAUSES = {
    "imported too early": (
        """
        import functools, shoptools, toolog
        toolog.uninstrument(shoptools)
        class Registry: tools = {"find": shoptools.find}
        toolog.instrument(shoptools)
        Registry.tools["find"]("lamp")
        """,
        "a dict under 'find' holds the plain function",
    ),
    "replaced": (
        """
        import importlib, shoptools
        importlib.reload(shoptools)
        shoptools.find("lamp")
        """,
        "the plain function stands here again",
    ),
    "patched over": (
        """
        import shoptools
        from unittest import mock
        mock.patch.object(shoptools, "find").start()
        shoptools.find("lamp")
        """,
        "a MagicMock stands where our wrapper stood",
    ),
    "disabled logger": (
        """
        import logging, shoptools
        logging.disable(logging.CRITICAL)
        shoptools.find("lamp")
        """,
        "logging.disable(50) is in force",
    ),
    "closed handler": (
        """
        import logging, shoptools
        for handler in logging.getLogger("toolog.calls").handlers: handler.close()
        """,
        "its ToologHandler was closed",
    ),
    "no handler": (
        """
        import logging, shoptools
        calls = logging.getLogger("toolog.calls")
        for handler in list(calls.handlers): calls.removeHandler(handler)
        shoptools.find("lamp")
        """,
        "its handlers were taken away",
    ),
    "left out": (
        """
        import shoptools, toolog
        toolog.uninstrument(shoptools)
        toolog.instrument(shoptools, exclude="find")
        shoptools.find("lamp")
        """,
        "excluded by 'find'",
    ),
    "nested": ("import shoptools", "nested=True"),
    "stream not ended": (
        """
        import shoptools, sys
        sys.kept = shoptools.walk(3)
        """,
        "never started",
    ),
    "other process": (
        """
        import shoptools, subprocess, sys
        subprocess.run([sys.executable, "-c", "import shoptools; shoptools.find('lamp')"], check=True)
        """,
        "not in programs it started",
    ),
    "other handler": (
        """
        import logging, shoptools
        logging.getLogger("toolog.calls").handlers[:] = [logging.StreamHandler()]
        shoptools.find("lamp")
        """,
        "its records go to StreamHandler, and to no store or spool",
    ),
    "not called": ("import shoptools", "3 tools: Till.charge, find, walk"),
}


HIDING = {
    "imported too early",
    "patched over",
    "disabled logger",
    "closed handler",
    "no handler",
    "other handler",
}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_run_without_records_names_the_cause(bare_shell: Shell, cause: str) -> None:
    """Whatever kept the records away is told at the end, by name and with what to do; that tools were not
    called is said only where it can be known, and only of those.
    """
    program, text = CAUSES[cause]
    done = run(bare_shell, program)
    assert done.code == 0, done.err
    told = done.err.partition("toolog run: no call was recorded in this process; what may be the cause:\n")[2]
    assert told, done.err
    lines = [line for line in told.splitlines() if line.startswith(f"  {cause}: ")]
    assert any(text in line for line in lines), told
    uncalled = [line.rpartition(": ")[2] for line in told.splitlines() if line.startswith("  not called: ")]
    if cause in HIDING:
        assert uncalled == []
    elif cause == "stream not ended":
        assert uncalled == ["Till.charge, find"]


@pytest.mark.parametrize(
    ("names", "environment", "cause", "text"),
    [
        (("-i", "shoptools"), {"TOOLOG_LEVEL": "CRITICAL"}, "level", "came from TOOLOG_LEVEL"),
        (("-i", "math"), {}, "C code", "function written in C"),
        (("-i", "numpy"), {}, "lazy module", "names that are not loaded yet"),
        (("-i", "otherpkg"), {}, "waiting", "no such module can be found"),
        (("-i", "wave"), {}, "waiting", "waits for its import"),
    ],
)
def test_a_setting_or_a_target_that_gives_no_records_is_named(
    bare_shell: Shell, names: tuple[str, ...], environment: dict[str, str], cause: str, text: str
) -> None:
    """A level that hides calls, C code, lazy names and modules that were never imported."""
    done = run(bare_shell, "import math, numpy, shoptools\nshoptools.find('lamp')", *names, **environment)
    told = done.err.partition("no call was recorded")[2]
    assert any(line.startswith(f"  {cause}: ") and text in line for line in told.splitlines()), done.err


@pytest.mark.parametrize("writable", [True, False])
def test_a_sink_that_takes_nothing_is_named(bare_shell: Shell, writable: bool) -> None:
    """Records that wait for a sink are told with their number and what becomes of them: where the spool
    cannot be written, that they are lost.
    """
    if not writable:
        (bare_shell.folder / ".toolog").write_text("a file stands where the directory should be")
    (bare_shell.folder / "pyproject.toml").write_text(
        textwrap.dedent("""
            [tool.toolog]
            durability = "process"
            sinks.search = {type = "elasticsearch", hosts = ["http://127.0.0.1:9"]}
            retention.INFO = {sinks = ["search"], keep = "7 days"}
            shutdown_timeout = "1 s"
        """)
    )
    done = run(bare_shell, "import shoptools\nshoptools.find('lamp')")
    assert done.code == 0
    assert f"1 records wait in {'the spool' if writable else 'memory'} for search" in done.err
    assert ("1 records are lost" in done.err) is not writable


def test_a_run_tells_everything_once(bare_shell: Shell) -> None:
    """What both `toolog run` and the program instrument is told once."""
    done = run(bare_shell, "import shoptools, toolog\ntoolog.instrument(shoptools)")
    lines = [line for line in done.err.splitlines() if line.startswith("  ")]
    assert [line.partition(":")[0].strip() for line in lines] == ["nested", "not called"]


def test_a_run_with_records_says_nothing(bare_shell: Shell) -> None:
    """Where calls were recorded and are stored, stderr has the lines of the calls alone."""
    done = run(bare_shell, "import shoptools\nshoptools.find('lamp')")
    assert "toolog run" not in done.err
    assert len(bare_shell("tail", "--json").rows) == 1


def test_records_that_were_dropped_are_named(bare_shell: Shell) -> None:
    """Where memory is full, and neither disk nor sink take any, the program's own diagnosis tells how many
    were given up, and why."""
    program = """
        import shoptools, toolog
        from toolog.instrumentation.doctor import diagnose
        toolog.configure(
            "prod", durability="memory", queue={"max_records": 10}, spool={"path": "/proc/none"},
            shutdown_timeout="1 s",
            sinks={"search": {"type": "elasticsearch", "hosts": ["http://127.0.0.1:9"]}},
            retention={"INFO": {"sinks": ["search"]}},
        )
        toolog.instrument(shoptools)
        for _ in range(500):
            shoptools.find("lamp")
        print([one.text for one in diagnose().problems if one.cause == "dropped"])
    """
    (bare_shell.folder / "shoptools.py").write_text(TOOLS)
    (bare_shell.folder / "agent.py").write_text(textwrap.dedent(program))
    done = bare_shell("run", "agent.py")
    assert "were dropped: " in done.out, done.err


def test_a_program_that_brings_its_own_tools_is_not_silent(bare_shell: Shell) -> None:
    """Where nothing is named and no framework is imported, the calls of the program's own tools are records
    all the same, and nobody says that there are none.
    """
    program = """
    import toolog
    @toolog.tool
    def find(word): return word
    find("lamp")
    """
    (bare_shell.folder / "agent.py").write_text(textwrap.dedent(program))
    done = bare_shell("run", "agent.py")
    assert done.code == 0
    assert "find(word='lamp')" in done.err
    assert "nothing was recorded" not in done.err
    assert bare_shell("query", "--json").rows[0]["tool_name"] == "find"
