"""A wrapped tool behaves as the plain one: copies, pickles, identity, introspection."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import logging
import pickle
import subprocess
import sys
import textwrap
import types
import typing
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
import wrapt
from tooling import calls, names, package, watching

from tests.helpers import Collector
from toolog.instrumentation.entry import instrument


class Tools:
    def __init__(self, city: str = "Bern") -> None:
        self.city = city

    def run(self, n: int, *, unit: str = "m") -> str:
        """Run some way."""
        return f"{n}{unit} in {self.city}"

    async def wait(self, n: int) -> int:
        return n

    def count(self, n: int) -> Iterator[int]:
        yield from range(n)

    async def stream(self, n: int) -> AsyncIterator[int]:
        for i in range(n):
            yield i

    @staticmethod
    def plain(n: int) -> int:
        return n

    @classmethod
    def build(cls) -> Tools:
        return cls("built")


class Inheriting(Tools):
    pass


PLAIN: dict[str, Any] = dict(vars(Tools))
BEFORE = {
    name: (inspect.signature(getattr(Tools, name)), inspect.signature(getattr(Tools(), name)))
    for name in ("run", "wait", "count", "stream", "plain", "build")
}
SPECS = {name: inspect.getfullargspec(getattr(Tools, name)) for name in BEFORE}


def greet(name: str, /, greeting: str = "hello", *rest: int, **more: Any) -> str:
    """Greet somebody."""
    return f"{greeting} {name}"


PLAIN_GREET = {"plain": [greet]}  # two levels deep: names, lists, tuples and dicts of modules are repaired


@pytest.fixture
def seen() -> Iterator[Collector]:
    """The records that a test makes; whatever it instruments is undone."""
    with watching() as collector:
        instrument([Tools, sys.modules[__name__].greet])
        yield collector


COPIES = [
    pytest.param(copy.copy, id="copy"),
    pytest.param(copy.deepcopy, id="deepcopy"),
    pytest.param(lambda value: pickle.loads(pickle.dumps(value)), id="pickle"),
    pytest.param(lambda value: pickle.loads(pickle.dumps(value, 0)), id="pickle-0"),
    pytest.param(lambda value: cloudpickle.loads(cloudpickle.dumps(value)), id="cloudpickle"),
]


@pytest.mark.parametrize("duplicate", COPIES)
def test_functions_methods_and_bound_methods_can_be_copied(
    seen: Collector, duplicate: Callable[[Any], Any]
) -> None:
    """A copy or pickle of any of them calls the tool, and is recorded as the tool is."""
    tools = Tools("Rome")
    assert duplicate(greet)("Ann") == "hello Ann"
    assert duplicate(Tools.run)(tools, 3) == duplicate(tools.run)(3) == "3m in Rome"
    assert duplicate(Tools.plain)(4) == duplicate(tools.plain)(4) == 4
    assert duplicate(Tools.build)().city == duplicate(tools.build)().city == "built"
    assert names(seen) == [
        "greet", "Tools.run", "Tools.run", "Tools.plain", "Tools.plain", "Tools.build", "Tools.build",
    ]  # fmt: skip


def test_a_deepcopy_of_a_bound_method_is_bound_to_a_copy(seen: Collector) -> None:
    """As with plain methods: the copy acts on its own object, and a memo is honoured."""
    tools = Tools("Rome")
    held = copy.deepcopy({"tools": tools, "run": tools.run})
    tools.city = "changed"
    assert held["run"].__self__ is held["tools"]
    assert held["run"](1) == "1m in Rome"


def test_objects_with_instrumented_methods_can_be_copied_and_pickled(seen: Collector) -> None:
    """Frameworks deep-copy their tools: the copies are tools of their own."""
    tools = Tools("Rome")
    for twin in (copy.copy(tools), copy.deepcopy(tools), pickle.loads(pickle.dumps(tools))):
        assert twin.run(1) == "1m in Rome"
    assert vars(tools) == {"city": "Rome"}
    assert len({record["instance_id"] for record in calls(seen)}) == 3


def test_a_pickle_is_readable_where_toolog_was_never_imported(seen: Collector, tmp_path: Path) -> None:
    """What is pickled names the tool's own module only, so the other side needs nothing of ours."""
    with package(
        tmp_path, "farside", {"__init__.py": "class T:\n    def run(self, n): return n\ndef f(n): return n\n"}
    ) as module:
        instrument(module)
        blob = pickle.dumps([module.f, module.T.run, module.T().run])
    program = f"""
        import pickle, sys
        f, unbound, bound = pickle.loads({blob!r})
        assert f(1) == bound(1) == unbound(bound.__self__, 1) == 1
        assert not [name for name in sys.modules if name.split(".")[0] in ("toolog", "wrapt")]
    """
    done = subprocess.run(
        [sys.executable, "-S", "-c", textwrap.dedent(program)],
        env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_pool_runs_a_tools_method(tmp_path: Path) -> None:
    """`ProcessPoolExecutor(spawn).submit(tool.run)` works: method and result cross the border."""
    with (
        watching(),
        package(
            tmp_path, "pooled", {"__init__.py": "class T:\n    def run(self, n): return n * 2\n"}
        ) as module,
    ):
        instrument(module)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            assert pool.submit(module.T().run, 21).result(timeout=60) == 42


def test_a_class_pickled_by_value_goes_without_our_wrappers(seen: Collector) -> None:
    """cloudpickle sends classes of __main__ by value: the copy holds plain functions."""
    here = types.ModuleType("by_value")
    exec(
        "class T:\n    def run(self, n): return n\n    @staticmethod\n    def s(n): return n\n"
        "    @classmethod\n    def c(cls): return cls",
        vars(here),
    )
    here.T.__module__ = "__main__"
    instrument(here.T)
    program = f"""
        import pickle, sys
        T = pickle.loads({cloudpickle.dumps(here.T)!r})
        class Sub(T): pass
        assert (Sub().run(1), T.s(2), Sub.c()) == (1, 2, Sub)
        assert not [name for name in sys.modules if name.split(".")[0] in ("toolog", "wrapt")]
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_method_is_the_same_object_each_time(seen: Collector) -> None:
    """Code asks `type(x).method is not Base.method` to learn whether a method is overridden."""
    assert Tools.run is Tools.run is Inheriting.run
    assert Tools.plain is Tools.plain is Inheriting.plain is Tools().plain
    assert Tools.wait is Tools.wait is Inheriting.wait
    tools = Tools()
    assert tools.run == tools.run
    assert hash(tools.run) == hash(tools.run)
    assert tools.run != Tools().run
    assert tools.run.__self__ is tools
    assert greet is sys.modules[__name__].greet


def test_an_inherited_classmethod_gets_the_subclass(seen: Collector) -> None:
    """`cls` is the class it was called on."""
    assert type(Inheriting.build()) is type(Inheriting().build()) is Inheriting
    assert type(Tools.build()) is Tools


@pytest.mark.parametrize("name", BEFORE)
def test_introspection_answers_as_before(seen: Collector, name: str) -> None:
    """Signature, name, docstring, hints, code and kind are those of the plain function."""
    plain = inspect.unwrap(PLAIN[name].__func__ if name in ("plain", "build") else PLAIN[name])
    unbound, bound = getattr(Tools, name), getattr(Tools(), name)
    assert (inspect.signature(unbound), inspect.signature(bound)) == BEFORE[name]
    for tool in (unbound, bound):
        assert tool.__name__ == plain.__name__
        assert tool.__qualname__ == plain.__qualname__
        assert tool.__module__ == plain.__module__
        assert tool.__doc__ == plain.__doc__
        assert typing.get_type_hints(tool) == typing.get_type_hints(plain)
        assert inspect.unwrap(tool).__code__ is plain.__code__
        assert inspect.iscoroutinefunction(tool) == inspect.iscoroutinefunction(plain)
        assert asyncio.iscoroutinefunction(tool) == asyncio.iscoroutinefunction(plain)
        assert inspect.isgeneratorfunction(tool) == inspect.isgeneratorfunction(plain)
        assert inspect.isasyncgenfunction(tool) == inspect.isasyncgenfunction(plain)
        assert inspect.getsource(tool) == inspect.getsource(plain)
        assert tool.__code__ is plain.__code__
    assert inspect.getfullargspec(unbound) == SPECS[name]
    assert repr(getattr(Tools, name)).startswith("<bound method" if name == "build" else "<function")


def test_kinds_of_callables_are_told_apart_as_before(seen: Collector) -> None:
    """isfunction, ismethod, isroutine, and members found by them."""
    assert inspect.isfunction(Tools.run)
    assert inspect.ismethod(Tools().run)
    assert inspect.isfunction(greet)
    assert isinstance(vars(Tools)["plain"], staticmethod)
    assert isinstance(vars(Tools)["build"], classmethod)
    found = {name for name, _ in inspect.getmembers(Tools, inspect.isfunction) if not name.startswith("_")}
    assert found == {"run", "wait", "count", "stream", "plain"}


def test_defaults_and_attributes_pass_through(seen: Collector) -> None:
    """What frameworks read from or hang on a function goes to the function itself."""
    assert greet.__defaults__ == ("hello",)
    assert greet.__kwdefaults__ is None
    assert greet.__globals__ is globals()
    assert greet.__annotations__ is PLAIN_GREET["plain"][0].__annotations__
    greet.schema = {"type": "object"}  # type: ignore[attr-defined]
    assert PLAIN_GREET["plain"][0].schema == {"type": "object"}  # type: ignore[attr-defined]
    del PLAIN_GREET["plain"][0].schema  # type: ignore[attr-defined]


def test_singledispatch_takes_a_wrapped_function(seen: Collector) -> None:
    """A wrapped function can be registered with functools.singledispatch and dispatched to."""

    @functools.singledispatch
    def show(value: Any) -> str:
        return "any"

    show.register(str)(greet)
    assert show("Ann") == "hello Ann"
    assert names(seen) == ["greet"]


def test_our_marker_is_there_and_only_there(seen: Collector) -> None:
    """`__toolog__` tells that a callable is instrumented; plain ones and foreign wrappers have none."""
    assert greet.__toolog__ is not None  # type: ignore[attr-defined]
    assert Tools.run.__toolog__ is Tools().run.__toolog__  # type: ignore[attr-defined]
    assert not hasattr(PLAIN_GREET["plain"][0], "__toolog__")


def test_a_warning_names_the_line_that_called_the_tool(seen: Collector, tmp_path: Path) -> None:
    """`warnings.warn(stacklevel=2)` and logging's caller are those of the plain function."""
    files = {
        "__init__.py": """
            import logging, warnings
            class T:
                def old(self): warnings.warn('old', stacklevel=2)
                def log(self): logging.getLogger('x').warning('m', stacklevel=2)
        """
    }
    with package(tmp_path, "warning", files) as module:
        instrument(module.T())  # the longest way there is: through a gate
        instrument(module)
        thing = module.T()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            thing.old()
        assert caught[0].filename == __file__
        lines: list[logging.LogRecord] = []
        logger, handler = logging.getLogger("x"), logging.Handler()
        handler.emit = lines.append  # type: ignore[method-assign]
        logger.addHandler(handler)
        thing.log()
        logger.removeHandler(handler)
        assert lines[0].pathname == __file__


def test_a_method_called_past_its_binding_is_recorded_with_its_object(seen: Collector) -> None:
    """`vars(cls)["run"](obj, 3)` and a MethodType around it: the object is not an argument."""
    tools = Tools("Rome")
    assert vars(Tools)["run"](tools, 3) == types.MethodType(vars(Tools)["run"], tools)(3) == "3m in Rome"
    found = calls(seen)
    assert [item["input"] for item in found] == [{"n": 3, "unit": "m"}] * 2
    assert found[0]["instance_id"] == found[1]["instance_id"]


@pytest.mark.skipif(not hasattr(wrapt, "BaseObjectProxy"), reason="wrapt 1 takes the object by position only")
def test_a_methods_object_may_be_given_by_name(seen: Collector) -> None:
    """`Class.run(self=obj)` and `vars(cls)["run"](self=obj)` are calls as any other: it is no argument."""
    tools = Tools("Rome")
    assert Tools.run(self=tools, n=3) == vars(Tools)["run"](self=tools, n=3) == "3m in Rome"
    assert [item["input"] for item in calls(seen)] == [{"n": 3, "unit": "m"}] * 2


def test_wrong_arguments_fail_as_they_did_and_are_recorded(seen: Collector) -> None:
    """The function itself refuses a wrong call, in its own words; the failure is a record."""
    with pytest.raises(TypeError, match=r"Tools.run\(\) missing 1 required positional argument: 'n'"):
        Tools().run()  # type: ignore[call-arg]
    (record,) = calls(seen)
    assert record["status"] == "execution_error"
    assert record["error"]["type"] == "TypeError"
