"""Every shape of target, modules that are imported later, and what is said about a wrong one."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import json
import logging
import logging.handlers
import pickle
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tooling import Namespaces, calls, instances, names, package, write_package

from tests.helpers import Collector
from toolog.errors import ConfigError
from toolog.instances import instance_id
from toolog.instrumentation import doctor, imports
from toolog.instrumentation.decorator import tool
from toolog.instrumentation.entry import instrument, uninstrument

LATE = {
    "__init__.py": "VALUE = 1\ndef early(): return 1\n",
    "tools.py": """
        class Kit:
            def run(self, n): return n
        def work(n): return n
    """,
}


@pytest.fixture
def late(tmp_path: Path) -> Iterator[Path]:
    """A package that is on the path and not imported; it is forgotten afterwards."""
    write_package(tmp_path, "latepkg", LATE)
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "latepkg"]:
        del sys.modules[name]


def test_a_module_is_patched_when_it_is_imported(seen: Collector, late: Path) -> None:
    """A dotted name waits for its import, and neither instrumenting nor waiting imports anything."""
    finders = list(sys.meta_path)
    made = instrument("latepkg.tools")
    assert made.waiting == ["latepkg.tools"]
    assert "latepkg" not in sys.modules
    from latepkg.tools import Kit, work  # type: ignore[import-not-found]

    assert (Kit().run(1), work(2)) == (1, 2)
    assert names(seen) == ["Kit.run", "work"]
    assert made.waiting == []
    assert sys.meta_path == finders
    made.undo()
    assert hasattr(work, "__toolog__")  # held by this very frame, so it passes through
    assert work(3) == 3
    assert names(seen) == []
    assert type(vars(sys.modules["latepkg.tools"])["work"]) is types.FunctionType


def test_a_module_imported_later_looks_as_if_nobody_had_waited(seen: Collector, late: Path) -> None:
    """Its spec and loader are the real ones, also while its code runs."""
    (late / "latepkg" / "selfaware.py").write_text(
        "LOADER = type(__spec__.loader).__name__, type(__loader__).__name__\ndef f(): return 1\n"
    )
    instrument("latepkg.selfaware")
    module = importlib.import_module("latepkg.selfaware")
    assert module.LOADER == ("SourceFileLoader", "SourceFileLoader")
    assert module.__spec__.loader is module.__loader__
    assert importlib.reload(module).f() == 1


def test_undo_before_the_import_forgets_about_it(seen: Collector, late: Path) -> None:
    """Nothing is left on the import path, and the import finds nobody waiting."""
    finders = list(sys.meta_path)
    made = instrument("latepkg")
    assert list(imports._waiting) == ["latepkg"]
    made.undo()
    assert sys.meta_path == finders
    assert not imports._waiting
    assert importlib.import_module("latepkg").early() == 1
    assert names(seen) == []
    instrument("latepkg.tools")
    uninstrument("latepkg.tools")
    assert not imports._waiting


def test_a_class_and_a_function_can_be_named_before_their_import(seen: Collector, late: Path) -> None:
    """`package.module.Class` and `package.module:function` wait for their module."""
    instrument(["latepkg.tools.Kit", "latepkg.tools:work"])
    module = importlib.import_module("latepkg.tools")
    module.Kit().run(1)
    module.work(2)
    assert names(seen) == ["Kit.run", "work"]


def test_a_module_that_fails_to_import_fails_as_it_did(seen: Collector, late: Path) -> None:
    """The error is the module's own; once it is mended, its import is still waited for."""
    broken = late / "latepkg" / "broken.py"
    broken.write_text("raise RuntimeError('broken module')\n")
    instrument("latepkg.broken")
    with pytest.raises(RuntimeError, match="broken module"):
        importlib.import_module("latepkg.broken")
    broken.write_text("def f():\n    return 'mended'\n")
    importlib.invalidate_caches()
    assert importlib.import_module("latepkg.broken").f() == "mended"
    assert names(seen) == ["f"]


def test_a_glob_that_matches_nothing_in_a_later_module_does_not_break_its_import(
    seen: Collector, late: Path
) -> None:
    """By then it is too late to raise: the import goes on, and the result says what happened."""
    made = instrument("latepkg.tools", tools="Kit.rum")
    importlib.import_module("latepkg.tools")
    assert made.wrapped == []
    assert any("Kit.rum" in reason for _, reason in made.skipped)


def test_a_module_that_cannot_be_found_yet_is_waited_for_and_reported(
    seen: Collector, tmp_path: Path
) -> None:
    """A plugin may appear later, so it is no error; the result names the nearest module there is."""
    made = instrument("jsom")
    assert made.skipped == [("jsom", "not found now, waits for its import; did you mean 'json'?")]
    with package(tmp_path, "jsom", {"__init__.py": "def f(): return 1\n"}) as module:
        module.f()
    assert names(seen) == ["f"]
    assert made.skipped == []


def test_a_lazily_loaded_module_does_not_load(seen: Collector, late: Path) -> None:
    """importlib.util.LazyLoader's module stays unloaded; instrumenting it again once it is loaded finds its
    tools."""
    spec = importlib.util.find_spec("latepkg.tools")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["latepkg.tools"] = module
    spec.loader.exec_module(module)
    made = instrument(module)
    assert made.wrapped == []
    assert "lazy" in made.skipped[0].reason
    assert type(module).__name__ == "_LazyModule"
    assert module.work(1) == 1
    assert instrument(module).wrapped == ["Kit.run", "work"]


def test_a_dotted_name_may_lead_into_a_loaded_module(seen: Collector, late: Path) -> None:
    """A class, a method or a function is found behind its module's name; a misspelt one is told."""
    importlib.import_module("latepkg.tools")
    assert instrument("latepkg.tools.Kit").wrapped == ["Kit.run"]
    assert instrument("latepkg.tools.Kit.run").wrapped == ["Kit.run"]
    assert instrument("latepkg.tools.work").wrapped == ["work"]
    with pytest.raises(ConfigError, match=r"latepkg.tools has no 'wrok' to instrument; did you mean 'work'"):
        instrument("latepkg.tools.wrok")
    with pytest.raises(
        ConfigError, match=r"latepkg.tools.Kit has no 'runn' to instrument; did you mean 'run'"
    ):
        instrument("latepkg.tools.Kit.runn")


LAZY = {
    "__init__.py": """
        import importlib

        def __getattr__(name):
            if name not in ("work", "Kit", "fresh"):
                raise AttributeError(name)
            found = getattr(importlib.import_module("lazypkg.inner"), name)
            if name != "fresh":
                globals()[name] = found
            return found
    """,
    "inner.py": """
        def work(n): return n
        def fresh(n): return n
        class Kit:
            def run(self, n): return n
    """,
}


@pytest.mark.parametrize("loaded", [True, False])
def test_a_name_that_a_package_makes_when_it_is_asked_for_is_waited_for(
    seen: Collector, tmp_path: Path, loaded: bool
) -> None:
    """It is instrumented when the program itself asks, nothing is asked for before, and the package's own
    function is back when all have come, or by undo."""
    with package(tmp_path, "lazypkg", LAZY) as lazypkg:
        plain = vars(lazypkg)["__getattr__"]
        if not loaded:
            del sys.modules["lazypkg"]
        made = instrument(["lazypkg.work", "lazypkg.Kit.run", "lazypkg.fresh"])
        unmade = instrument("lazypkg.Kit.stop")
        lazypkg = importlib.import_module("lazypkg")
        hook = plain if loaded else None
        assert "lazypkg.inner" not in sys.modules
        with pytest.raises(AttributeError):
            _ = lazypkg.nothing
        assert (lazypkg.work(1), lazypkg.Kit().run(2), lazypkg.fresh(3), lazypkg.fresh(4)) == (1, 2, 3, 4)
        assert names(seen) == ["work", "Kit.run", "fresh", "fresh"]
        assert made.waiting == unmade.waiting == []
        assert [tuple(item) for item in unmade.skipped] == [
            ("lazypkg.Kit.stop", "lazypkg.Kit has no such name")
        ]
        assert isinstance(vars(lazypkg)["__getattr__"], types.FunctionType)
        assert hook is None or vars(lazypkg)["__getattr__"] is hook
        never = instrument("lazypkg.later")
        assert not isinstance(vars(lazypkg)["__getattr__"], types.FunctionType)
        never.undo()
        made.undo()
        assert isinstance(vars(lazypkg)["__getattr__"], types.FunctionType)
        assert lazypkg.fresh(5) == 5
        assert names(seen) == []


def test_a_dotted_name_may_end_at_a_method_of_an_object(seen: Collector, late: Path) -> None:
    """Of an object that a module holds one method is a tool, for that object alone."""
    tools = importlib.import_module("latepkg.tools")
    tools.kit = tools.Kit()
    assert instrument("latepkg.tools.kit.run").wrapped == ["Kit.run"]
    assert (tools.kit.run(1), tools.Kit().run(2)) == (1, 2)
    assert [call["input"] for call in calls(seen)] == [{"n": 1}]
    assert instrument("latepkg.tools.kit.run").wrapped == ["Kit.run"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tools.work.now", "latepkg.tools.work has no 'now'"),
        ("tools.Kit.runn.now", "latepkg.tools.Kit has no 'runn' to instrument; did you mean 'run'"),
        ("tools.kit.runn", "latepkg.tools.kit has no 'runn' to instrument; did you mean 'run'"),
        ("toolz.Kit.run", "latepkg has no 'toolz' to instrument; did you mean 'tools'"),
    ],
)
def test_what_can_never_come_is_told_at_once(late: Path, path: str, message: str) -> None:
    """A name below something loaded that has no such name is misspelt, however far below: nobody waits."""
    tools = importlib.import_module("latepkg.tools")
    tools.kit = tools.Kit()
    with pytest.raises(ConfigError, match=message):
        instrument(f"latepkg.{path}")


@pytest.mark.parametrize("target", [42, None, b"x", {"a": 1}, 1.5, "not a name!", "a..b"])
def test_what_cannot_be_a_target_is_an_error_that_says_what_can(target: Any) -> None:
    """The error names the shapes that are accepted."""
    with pytest.raises(
        ConfigError,
        match=r"a module, a dotted name .*, a class, an object .*, or a list of these",
    ):
        instrument(target)


def test_a_misspelt_frameworks_name_is_refused_with_the_right_one() -> None:
    """A name that can be no module is compared with the names of the frameworks."""
    with pytest.raises(ConfigError, match="did you mean 'langchain'"):
        instrument("lang-chain")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tools": [1]}, "tools takes globs"), ({"name": 3}, "name takes a text"), ({"name": ""}, "name"),
        ({"nested": "yes"}, "nested takes True or False"), ({"exclude": "zzz"}, "exclude='zzz' matches"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    """No option is accepted and ignored."""
    from email import utils

    before = Namespaces(utils)
    with pytest.raises(ConfigError, match=message):
        instrument(utils, **options)
    assert before.differences() == []


def test_an_empty_list_is_nothing(seen: Collector) -> None:
    """Nothing to instrument is no error."""
    made = instrument([])
    assert (made.wrapped, made.skipped) == ([], [])


def test_importing_toolog_imports_no_framework_and_no_wrapt() -> None:
    """The import stays light: the wrapping machinery is loaded with the first use."""
    program = (
        "import sys, toolog, toolog.instrumentation\n"
        "assert not {'wrapt', 'pydantic', 'boto3', 'requests'} & set(sys.modules), sorted(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_module_in_the_table_of_modules_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extensions put objects without a namespace among the loaded modules; instrumenting goes on."""

    class Library:
        __slots__ = ()

    monkeypatch.setitem(sys.modules, "invented.lib", Library())  # type: ignore[arg-type]
    made = instrument(json)
    made.undo()


@pytest.mark.parametrize(
    "target",
    [logging, "logging", logging.Logger, logging.getLogger("shop"), logging.getLogger("shop").info,
     logging.warning, logging.handlers, threading, threading.Thread],
)  # fmt: skip
def test_what_recording_works_with_is_no_tool(seen: Collector, target: Any) -> None:
    """To record a call of logging or threading would call them again: they are skipped, and it is said."""
    made = instrument(target)
    assert made.wrapped == []
    assert [reason for _, reason in made.skipped] == ["recording itself works with it"]
    logging.getLogger("shop").warning("as ever")
    assert names(seen) == []


def test_a_logger_class_of_a_package_is_no_tool(seen: Collector, tmp_path: Path) -> None:
    """A package with loggers and handlers of its own is instrumented without them, and all go on working."""
    with package(tmp_path, "ownlog", {"__init__.py": """
        import logging
        class Log(logging.Logger):
            def isEnabledFor(self, level): return super().isEnabledFor(level)
            def handle(self, record): return super().handle(record)
        class Out(logging.Handler):
            def emit(self, record): pass
        def work(n): return n
        """}) as module:  # fmt: skip
        before = logging.getLoggerClass()
        logging.setLoggerClass(module.Log)
        try:
            made = instrument(module)
            assert module.work(1) == 1
        finally:
            logging.setLoggerClass(before)
    assert made.wrapped == ["work"]
    assert names(seen) == ["work"]


def test_a_logger_whose_methods_are_tools_is_asked_once(seen: Collector) -> None:
    """Where a logger's own method is decorated, asking the logger for its level does not ask for ever."""

    class Log(logging.Logger):
        @tool
        def isEnabledFor(self, level: int) -> bool:
            return super().isEnabledFor(level)

    before = logging.getLoggerClass()
    logging.setLoggerClass(Log)
    try:

        @tool(name="asks_its_logger")
        def work() -> int:
            return 1

        assert work() == 1
    finally:
        logging.setLoggerClass(before)
    assert "asks_its_logger" in names(seen)


def test_globs_that_are_no_globs_are_told() -> None:
    """What is neither text nor a list of texts is a ConfigError that names the option."""
    with pytest.raises(ConfigError, match="exclude takes globs"):
        instrument(json, exclude=5)  # type: ignore[arg-type]


class Untouchable(type):
    """A metaclass whose classes can be neither compared nor hashed, as those of some query builders."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("compared")

    def __instancecheck__(cls, value: object) -> bool:
        raise RuntimeError("asked")

    __subclasscheck__ = __instancecheck__


class Column(metaclass=Untouchable):
    def __init__(self, name: str = "id") -> None:
        self.name = name

    def alias(self) -> Column:
        return self

    @classmethod
    def make(cls) -> str:
        return "made"


class Key(Column):
    def alias(self) -> Column:
        return super().alias()


SHOWN = Column("shown")


@pytest.mark.parametrize("narrow", [False, True])
def test_classes_that_can_be_neither_compared_nor_hashed_are_instrumented(
    seen: Collector, narrow: bool
) -> None:
    """No code of a metaclass runs, whether the module is the target, a class, an object, or a method; results
    of such a class are recorded.
    """
    made = [instrument(SHOWN), instrument(SHOWN.alias), instrument(Key)]
    if not narrow:
        made.append(instrument(sys.modules[__name__], tools=["Column.*", "Key.*"]))
    assert type(SHOWN.alias()) is Column
    assert type(Key("k").alias()) is Key
    assert Key.make() == "made"
    assert [record["config"] for record in instances(seen)][-1:] == [{"name": "k"}]
    assert names(seen) == ["Column.alias", "Key.alias", "Key.make" if narrow else "Column.make"]
    for one in made:
        one.undo()
    assert type(vars(Key)["alias"]) is types.FunctionType


SHOWN_AS_FUNCTIONS = {
    "__init__.py": """
        import functools
        class Client:
            def __init__(self, base=1): self.base = base
            def get(self, path, times=1): return self.fetch(path) * times
            def fetch(self, path): return path * self.base
            @classmethod
            def make(cls, base): return cls(base)
            @staticmethod
            def clean(path): return path
        class _Hidden:
            def put(self, path): return path
        class Special(Client):
            pass
        _client = Client(2)
        get = _client.get
        make = Client.make
        put = _Hidden().put
        twice = functools.partial(get, times=2)
    """,
    "user.py": "from shownpkg import get\n",
}


def test_bound_methods_that_a_module_shows_as_its_functions_are_tools(
    seen: Collector, tmp_path: Path
) -> None:
    """One record by the function's name, with its arguments and its object, not of what it calls; aliases of
    it and undo are as for functions.
    """
    with package(tmp_path, "shownpkg", SHOWN_AS_FUNCTIONS) as module:
        user = importlib.import_module("shownpkg.user")
        copy.copy(module._client)  # notes names of slots in the class
        before = Namespaces(module, user, module.Client)
        with instrument(module) as made:
            assert {"get", "make", "put", "twice", "Client.get", "Client.make"} <= set(made.wrapped)
            assert (module.get("a"), user.get("b", times=2), module.twice("c")) == ("aa", "bbbb", "cccc")
            assert (module.make(3).base, module.put("d")) == (3, "d")
            first, aliased, *others = calls(seen)
            assert first["input"] == {"path": "a", "times": 1}
            assert first["instance_id"] == aliased["instance_id"] == instance_id(module._client)
            assert [call["tool_name"] for call in (first, aliased, *others)] == [
                "get", "get", "twice", "make", "put",
            ]  # fmt: skip
            assert pickle.loads(pickle.dumps(module.get)).__self__.base == 2
            assert copy.deepcopy(module.get).__self__ is not module._client
            assert "imported too early" not in [one.cause for one in doctor.diagnose().problems]
        assert before.differences() == []
        with instrument(module, nested=True):
            module.get("a")
            assert names(seen) == ["Client.fetch", "get"]
        with instrument(module.get) as made:
            assert module.get("a") == "aa"
            assert module._client.get("a") == "aa"
            module.Client().get("a")
            assert names(seen) == ["get", "Client.get"]
            uninstrument(module.get)
            module.get("a")
            assert names(seen) == []
        assert before.differences() == []


def test_a_partial_is_the_tool_and_not_the_function_in_it(seen: Collector, tmp_path: Path) -> None:
    """Pointed at, it is recorded by its own name and arguments."""
    with package(tmp_path, "shownpkg", SHOWN_AS_FUNCTIONS) as module, instrument(module.twice) as made:
        assert made.wrapped == ["twice"]
        module.twice("c")
        module.get("c")
        (call,) = calls(seen)
        assert (call["tool_name"], call["input"]) == ("twice", {"path": "c", "times": 2})


def test_methods_that_no_object_owns_are_told_apart(seen: Collector, tmp_path: Path) -> None:
    """Of an object its class- and staticmethods are skipped with a reason; of a class an inherited
    staticmethod is recorded, by whatever name it is called."""
    with package(tmp_path, "shownpkg", SHOWN_AS_FUNCTIONS) as module:
        with instrument(module._client) as made:
            assert made.wrapped == ["Client.get", "Client.fetch"]
            assert {item.name.rpartition(".")[2] for item in made.skipped} == {"make", "clean"}
            assert all("instrument the class" in item.reason for item in made.skipped)
        with instrument(module.Special) as made:
            assert "Client.clean" in made.wrapped
            assert (module.Special.clean("a"), module.Special().clean("b")) == ("a", "b")
            assert names(seen) == ["Client.clean"] * 2


def test_a_bound_method_that_an_object_keeps_has_its_arguments_by_name(seen: Collector) -> None:
    """The parameter that it is bound to is none of them; one bound to a tool is recorded by that alone."""

    class Events:
        def __init__(self) -> None:
            self.callback = self.on

        def on(self, event: str) -> str:
            return event

    kept = Events()
    kept.other = types.MethodType(tool(lambda self, event: event, name="other"), kept)  # type: ignore[attr-defined]
    instrument(kept)
    assert (kept.callback("a"), kept.other("b")) == ("a", "b")  # type: ignore[attr-defined]
    assert [(call["tool_name"], call["input"]["event"]) for call in calls(seen)] == [
        ("Events.callback", "a"), ("other", "b"),
    ]  # fmt: skip
