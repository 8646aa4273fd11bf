"""`toolog run`: the program cannot tell the difference, and its tools are recorded."""

from __future__ import annotations

import json
import os
import py_compile
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tooling import write_package

REPOSITORY = Path(__file__).parent.parent.parent

RUN = """
import json, logging, os, sys
from toolog.instrumentation.runprogram import run_program

class Show(logging.Handler):
    def handle(self, record):
        if record.toolog_event != "tool_instance":
            document = record.document()
            print("RECORD", document["tool_name"], document["input"], document["status"])
        return True

logger = logging.getLogger("toolog.calls")
logger.addHandler(Show())
logger.propagate = False
logger.setLevel(logging.INFO)


# Importing all this takes longer than the programs: one process does it, and a fork of it runs each of them.
for line in sys.stdin:
    folder, output, errors, tools, module, program, *arguments = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.chdir(folder)
for number, name in ((0, os.devnull), (1, output), (2, errors)):
    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
sys.exit(run_program(program, arguments, module=module == "-m", tools=tools.split(",") if tools else ()))
"""

SELF = """
import __main__, sys, json
print(json.dumps([
    sys.argv, sys.path[0], __name__, __file__, __package__, __spec__ and __spec__.name,
    type(__loader__).__name__, __cached__, __main__.__dict__ is globals(), type(__builtins__).__name__,
    sorted(k for k in globals() if k[0] == "_"),
]))
"""


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TOOLOG_AUTOCONFIGURE": "0"}
Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Run a program by our engine: ``start(folder, "-m" or "", program, *arguments, tools="a,b")``."""
    place = tmp_path_factory.mktemp("runner")
    (place / "runner.py").write_text(RUN)
    output, errors = place / "stdout", place / "stderr"
    runner = subprocess.Popen(
        [sys.executable, str(place / "runner.py")], env=ENVIRONMENT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert runner.stdin is not None
    assert runner.stdout is not None
    asked, answered = runner.stdin, runner.stdout

    def run(folder: Path, *arguments: str, tools: str = "") -> subprocess.CompletedProcess[str]:
        for file in (output, errors):
            file.write_text("")
        print(json.dumps([str(folder), str(output), str(errors), tools, *arguments]), file=asked, flush=True)
        code = int(answered.readline())
        return subprocess.CompletedProcess(arguments, code, output.read_text(), errors.read_text())

    with runner:
        yield run
        asked.close()
    assert runner.returncode == 0


def plain(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the same program by python."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, env=ENVIRONMENT
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a script, a package that can be run, and tools."""
    write_package(
        tmp_path,
        "work",
        {
            "app.py": SELF,
            "deep/app.py": SELF,
            "pkg/__init__.py": "",
            "pkg/__main__.py": SELF,
            "pkg/sub.py": SELF,
            "shop.py": "class Shop:\n    def buy(self, item, n=1): return n\ndef price(item): return 3\n",
            "use.py": "import sys\nfrom shop import Shop, price\nprint(price('a') + Shop().buy('b'))\n",
        },
    )
    with zipfile.ZipFile(tmp_path / "work" / "app.zip", "w") as archive:
        archive.writestr("__main__.py", SELF)
    return tmp_path / "work"


@pytest.mark.parametrize(
    ("flags", "program"),
    [("", "app.py"), ("", "deep/app.py"), ("-m", "pkg"), ("-m", "pkg.sub"), ("", "pkg"), ("", "app.zip")],
)
def test_the_program_finds_everything_as_python_lays_it(
    start: Start, folder: Path, flags: str, program: str
) -> None:
    """sys.argv, sys.path and every name of __main__ are the same as without us."""
    expected = plain(folder, *flags.split(), program, "one", "--two")
    found = start(folder, flags, program, "one", "--two")
    assert expected.returncode == 0
    assert (found.stdout, found.returncode, found.stderr) == (expected.stdout, 0, "")


@pytest.mark.parametrize(
    "source",
    [
        "import sys, atexit; atexit.register(print, 'bye'); sys.exit(7)", "raise SystemExit('words')",
        "def f():\n    raise ExceptionGroup('deep', [OSError(1)])\nf()", "syntax error here",
        "import absent_module",
    ],
)  # fmt: skip
def test_exit_codes_and_errors_are_pythons(start: Start, folder: Path, source: str) -> None:
    """Exit code, output and traceback are those of python itself."""
    (folder / "ends.py").write_text(source + "\n")
    expected = plain(folder, "ends.py")
    found = start(folder, "", "ends.py")
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    assert found.stderr.replace("\r", "") == expected.stderr.replace("\r", "")


def test_ctrl_c_ends_with_130(start: Start, folder: Path) -> None:
    """A KeyboardInterrupt is shown as python shows it, and the exit code is the shell's for it."""
    (folder / "ends.py").write_text("raise KeyboardInterrupt\n")
    found = start(folder, "", "ends.py")
    assert found.returncode == 130
    assert found.stderr.endswith("KeyboardInterrupt\n")


@pytest.mark.parametrize(
    ("flags", "program", "code", "words"),
    [
        ("", "absent.py", 2, "absent.py': No such file"),
        ("-m", "absent_module", 1, "no module named absent_module"),
    ],
)
def test_a_program_that_is_not_there(
    start: Start, folder: Path, flags: str, program: str, code: int, words: str
) -> None:
    """The exit code is python's, and one line says what is missing."""
    found = start(folder, flags, program)
    assert found.returncode == code
    assert words in found.stderr
    assert found.stderr.count("\n") == 1


def test_tools_are_instrumented_before_the_program_imports_them(start: Start, folder: Path) -> None:
    """`from shop import price` in the program gets what is recorded already."""
    found = start(folder, "", "use.py", tools="shop")
    assert found.stdout.splitlines() == [
        "RECORD price {'item': 'a'} success",
        "RECORD Shop.buy {'item': 'b', 'n': 1} success",
        "4",
    ]
    assert (found.returncode, found.stderr) == (0, "")
    only = start(folder, "", "use.py", tools="shop.Shop.buy")
    assert only.stdout.splitlines() == ["RECORD Shop.buy {'item': 'b', 'n': 1} success", "4"]


def test_objects_of_main_can_be_pickled_and_sent_to_processes(start: Start, folder: Path) -> None:
    """__main__ stays in place, so classes and functions of the program pickle, also for spawned processes."""
    (folder / "pickles.py").write_text(
        textwrap.dedent("""
            import multiprocessing, pickle
            class Thing: pass
            def twice(n): return 2 * n
            if __name__ == "__main__":
                assert type(pickle.loads(pickle.dumps(Thing()))) is Thing
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    print(pool.map(twice, [1, 2]))
        """)
    )
    found = start(folder, "", "pickles.py")
    assert (found.stdout, found.stderr, found.returncode) == ("[2, 4]\n", "", 0)


OWN = """
    '''What it is.'''
    from __future__ import annotations
    import inspect, sys
    def search(word: Nowhere): return word
    class Shop:
        def pay(self, n):
            if n < 0:
                raise ValueError("n")
            return search(n)
    TOOLS = [search]
    "no docstring"
    def main():
        print(TOOLS[0]("a"), Shop().pay(1), __doc__, inspect.getsource(search).strip())
        print(search.__annotations__)
        Shop().pay(-1)
    if __name__ == "__main__":
        main()
"""


@pytest.mark.parametrize("how", ["script", "module", "folder"])
def test_a_programs_own_tools_are_recorded(start: Start, folder: Path, how: str) -> None:
    """`__main__`, or the program's own name, means what its file defines, before it is called there;
    docstring, annotations and the lines of a traceback are as without it.
    """
    (folder / "own.py").write_text(textwrap.dedent(OWN))
    (folder / "box").mkdir()
    (folder / "box" / "__main__.py").write_text(textwrap.dedent(OWN))
    words = {"script": ("", "own.py"), "module": ("-m", "own"), "folder": ("", "box")}[how]
    bare = plain(folder, *filter(None, words))
    found = start(folder, *words, tools="__main__")
    lines = found.stdout.splitlines()
    records = [line.removeprefix("RECORD ") for line in lines if line.startswith("RECORD ")]
    assert records == [
        "search {'word': 'a'} success",
        "search {'word': 1} success",
        "Shop.pay {'n': 1} success",
        "Shop.pay {'n': -1} execution_error",
        "main {} execution_error",
    ]
    assert [line for line in lines if not line.startswith("RECORD ")] == bare.stdout.splitlines()
    told, usual = found.stderr.splitlines(), bare.stderr.splitlines()
    assert (found.returncode, told[0]) == (bare.returncode, usual[0])
    assert told[1:] == usual[1 - len(told) :]  # without python's own frames
    if how != "folder":
        some = start(folder, *words, tools="own.Shop.pay,__main__.serach")
        assert [line.split()[1] for line in some.stdout.splitlines() if "RECORD" in line] == ["Shop.pay"] * 2
        assert some.stderr == found.stderr + "toolog run: '__main__.serach' was not defined\n"


def test_a_program_without_source_says_that_its_own_tools_cannot_be_had(start: Start, folder: Path) -> None:
    """A compiled file runs, but asked for its own tools there is a message instead of a run without them."""
    (folder / "own.py").write_text("def search(word): return word\nprint(search(1))\n")
    compiled = py_compile.compile(str(folder / "own.py"), str(folder / "bare.pyc"))
    assert start(folder, "", str(compiled)).stdout == "1\n"
    found = start(folder, "", str(compiled), tools="__main__")
    assert (found.returncode, found.stdout) == (1, "")
    assert "without its source" in found.stderr
