"""What is a tool in an unknown module: exactly the public callables that its package defines, and nothing is
run."""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, Protocol, TypedDict

import pytest
from tooling import calls, names, package

from tests.helpers import Collector
from toolog.errors import ConfigError
from toolog.instrumentation.entry import instrument


class Weather:
    """A plain tool class with one of each kind of attribute."""

    evaluated: ClassVar[list[str]] = []

    def forecast(self, city: str, days: int = 3) -> dict[str, Any]:
        """Tell the weather of the next days."""
        return {"city": city, "days": days}

    @classmethod
    def nearest(cls, city: str) -> str:
        return f"{cls.__name__}:{city}"

    @staticmethod
    def convert(celsius: float) -> float:
        return celsius * 1.8 + 32

    tomorrow = functools.partialmethod(forecast, days=1)

    @functools.lru_cache  # noqa: B019 - it is what the test is about
    def cached(self, city: str) -> str:
        return city.upper()

    @functools.singledispatchmethod
    def render(self, value: Any) -> str:
        return "other"

    @render.register
    def _(self, value: int) -> str:
        return "number"

    def __call__(self, city: str) -> str:
        return f"called {city}"

    @property
    def page(self) -> str:
        self.evaluated.append("page")
        raise RuntimeError("a property that fetches a page")

    @functools.cached_property
    def slow(self) -> str:
        self.evaluated.append("slow")
        return "slow"

    def _private(self) -> str:
        return "private"

    def __enter__(self) -> Weather:
        return self

    class Nested:
        def method(self) -> None: ...


def test_each_kind_of_method_is_a_tool(seen: Collector) -> None:
    """Functions, class- and staticmethods, __call__ and what functools makes of them are tools; nothing else
    is."""
    made = instrument(Weather)
    assert sorted(made.wrapped) == [
        "Weather.__call__", "Weather.cached", "Weather.convert", "Weather.forecast", "Weather.nearest",
        "Weather.render", "Weather.tomorrow",
    ]  # fmt: skip


def test_a_call_of_each_kind_makes_one_record_with_arguments_by_name(seen: Collector) -> None:
    """One call, one record: names and defaults as the caller sees them, and the tool's own result."""
    instrument(Weather)
    weather = Weather()
    assert weather.forecast("Bern") == {"city": "Bern", "days": 3}
    assert Weather.nearest("Bern") == weather.nearest("Bern") == "Weather:Bern"
    assert weather.convert(0) == Weather.convert(0) == 32
    assert weather.tomorrow("Bern") == {"city": "Bern", "days": 1}
    assert weather.cached("Bern") == "BERN"
    assert (weather.render(1), weather.render("x")) == ("number", "other")
    assert weather("Bern") == "called Bern"
    assert Weather.forecast(weather, "Rome", days=1) == {"city": "Rome", "days": 1}
    assert [(made["tool_name"], made["input"]) for made in calls(seen)] == [
        ("Weather.forecast", {"city": "Bern", "days": 3}),
        ("Weather.nearest", {"city": "Bern"}),
        ("Weather.nearest", {"city": "Bern"}),
        ("Weather.convert", {"celsius": 0}),
        ("Weather.convert", {"celsius": 0}),
        ("Weather.tomorrow", {"city": "Bern", "days": 1}),
        ("Weather.cached", {"city": "Bern"}),
        ("Weather.render", {"value": 1}),
        ("Weather.render", {"value": "x"}),
        ("Weather.__call__", {"city": "Bern"}),
        ("Weather.forecast", {"city": "Rome", "days": 1}),
    ]


def test_no_property_is_evaluated(seen: Collector) -> None:
    """A property can fetch a page, so none is read; it is listed among the skipped."""
    Weather.evaluated.clear()
    made = instrument(Weather)
    assert Weather.evaluated == []
    skipped = {name.rpartition(".")[2]: reason for name, reason in made.skipped}
    assert skipped == {
        "page": "property: never evaluated", "slow": "property: never evaluated", "Nested": "nested class",
    }  # fmt: skip


class Colour(enum.Enum):
    RED = 1

    def paint(self) -> str:
        return self.name


class Pair(NamedTuple):
    a: int

    def swap(self) -> int:
        return self.a


class Options(TypedDict):
    a: int


class Runner(Protocol):
    def run(self) -> None: ...


class Trouble(Exception):
    def explain(self) -> str:
        return "trouble"


class Meta(type):
    def build(cls) -> None: ...


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        (Colour, "enum"), (Pair, "named tuple"), (Options, "TypedDict"), (Runner, "protocol"),
        (Trouble, "exception"), (Meta, "metaclass"), (dict, "C type"),
    ],
)  # fmt: skip
def test_classes_that_are_no_tools_are_skipped_with_the_reason(cls: type, reason: str) -> None:
    """Exceptions, enums, named tuples, TypedDicts, protocols, metaclasses and C types hold no tools."""
    made = instrument(cls)
    assert made.wrapped == []
    assert made.skipped[0].reason.startswith(reason)
    made.undo()


@dataclasses.dataclass
class Search:
    """A dataclass whose fields have a function as default."""

    limit: int = 3
    score: typing.Callable[[str], int] = len
    rank: typing.Callable[[str], str] = str.upper
    order: typing.Callable[[Any], Any] = lambda value: value

    def find(self, text: str) -> list[str]:
        return [text] * self.limit


def test_a_dataclass_is_a_tool_class_and_its_fields_are_not_tools(seen: Collector) -> None:
    """Five frameworks' tools are dataclasses; a callable that is a field's default is data."""
    made = instrument(Search)
    assert made.wrapped == ["Search.find"]
    assert Search(limit=1).find("x") == ["x"]
    assert [record["input"] for record in calls(seen)] == [{"text": "x"}]


REEXPORTING = {
    "__init__.py": """
        import json
        from json import dumps
        from os import path
        from .core import Agent, run, _hidden, Problem
        from .core import Agent as Assistant

        def __getattr__(name):
            raise RuntimeError(f"lazy name {name} was touched")

        __all__ = ["Agent", "run", "LazyThing"]
    """,
    "core.py": """
        class Problem(Exception):
            def explain(self): return "no"
        class Agent:
            def ask(self, question): return self.think(question)
            def think(self, question): return question.upper()
        class Beside:
            def help(self): return "beside"
        class _Hidden:
            def help(self): return "hidden"
        def run(agent, question): return agent.ask(question)
        def unexported(): return None
        def _hidden(): return None
        def make_beside(): return Beside()
    """,
    "deep/__init__.py": "class Deep:\n    def dive(self): ...\n",
    "other.py": "class Other:\n    def help(self): ...\n",
}


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[ModuleType]:
    """A package that only re-exports, and must not be touched beyond that."""
    with package(tmp_path, "reexporting", REEXPORTING) as module:
        yield module


def test_a_package_that_only_reexports_is_covered_once(seen: Collector, agents: ModuleType) -> None:
    """Classes and functions count by root package and identity; lazy names, foreign and private ones do
    not."""
    made = instrument(agents)
    assert sorted(made.wrapped) == ["Agent.ask", "Agent.think", "Beside.help", "run"]
    reasons = dict(made.skipped)
    assert reasons["reexporting.dumps"] == "defined by json, not by reexporting"
    assert reasons["reexporting.*"].startswith("lazy module")


LAYERED = {
    "__init__.py": "from .client import Client\nfrom .storage import Storage\n",
    "storage.py": "class Storage:\n    def read(self): return [1]\n",
    "index.py": "def look(storage): return storage.read()\n",
    "table.py": """
        from . import index
        class Table:
            def __init__(self, storage): self.storage = storage
            def rows(self): return self.storage.read()
            def __len__(self): return len(index.look(self.storage))
        class Row:
            def show(self): return "row"
    """,
    "client.py": """
        from __future__ import annotations
        from .storage import Storage
        from .table import Row, Table
        class Client:
            def __init__(self): self.storage = Storage()
            def table(self) -> Table: return Table(self.storage)
            def nothing(self) -> NotThere: return None
    """,
    "main.py": "from layered.client import Client\ndef run(client): return client.storage.read()\n",
}


def test_what_a_tool_says_it_returns_is_covered_and_what_it_is_built_on_is_quiet(
    seen: Collector, tmp_path: Path
) -> None:
    """A class that a client hands out has tools, though nobody exports it. What the modules below the tools
    call is no record; what the application's main module calls, above them, is one.
    """
    import importlib

    with package(tmp_path, "layered", LAYERED) as module:
        main = importlib.import_module("layered.main")
        made = instrument(module)
        assert sorted(made.wrapped) == ["Client.nothing", "Client.table", "Storage.read", "Table.rows"]
        client = module.Client()
        table = client.table()
        assert table.rows() == [1]
        assert names(seen) == ["Client.table", "Table.rows"]
        assert len(table) == 1  # a subscript, a length or a property is no call, nor what it calls
        assert names(seen) == []
        assert main.run(client) == [1]
        assert names(seen) == ["Storage.read"]


def test_no_submodule_is_entered(seen: Collector, agents: ModuleType) -> None:
    """What the package does not export from, loaded or not, is left alone."""
    import importlib
    import sys

    other = importlib.import_module("reexporting.other")
    instrument(agents)
    assert "reexporting.deep" not in sys.modules
    other.Other().help()
    assert names(seen) == []


def test_a_package_that_offers_nothing_itself_names_its_modules(seen: Collector, tmp_path: Path) -> None:
    """Those that are loaded and public; none is entered."""
    files = {"__init__.py": "from . import later, now, _inner\n", "now.py": "def go(): ...\n",
             "later.py": "", "_inner.py": ""}  # fmt: skip
    with package(tmp_path, "parted", files) as module:
        made = instrument(module)
        assert made.wrapped == []
        assert made.skipped == [
            ("parted", "offers no tools itself; name a module of it: parted.later, parted.now")
        ]


def test_only_the_outermost_call_of_a_package_is_a_record(seen: Collector, agents: ModuleType) -> None:
    """What a plain client does inside itself is not a tool call of the agent."""
    instrument(agents)
    assert agents.run(agents.Agent(), "why") == "WHY"
    assert names(seen) == ["run"]
    agents.Agent().ask("why")
    assert names(seen) == ["Agent.ask"]


def test_nested_true_makes_children_of_inner_calls(seen: Collector, agents: ModuleType) -> None:
    """With nested=True each inner call is a record, and a child of the call around it."""
    instrument(agents, nested=True)
    agents.run(agents.Agent(), "why")
    inner, middle, outer = calls(seen)
    assert [item["tool_name"] for item in (outer, middle, inner)] == ["run", "Agent.ask", "Agent.think"]
    assert middle["parent_id"] == outer["span_id"]
    assert inner["parent_id"] == middle["span_id"]


def test_a_class_is_nested_by_default(seen: Collector, agents: ModuleType) -> None:
    """In a class of tools, one tool that calls another makes a parent and a child."""
    instrument(agents.Agent)
    agents.Agent().ask("why")
    assert names(seen) == ["Agent.think", "Agent.ask"]


def test_globs_choose_and_exclude(seen: Collector, agents: ModuleType) -> None:
    """tools= and exclude= are globs over Class.method names and function names."""
    assert sorted(instrument(agents, tools="Agent.*").wrapped) == ["Agent.ask", "Agent.think"]
    other = instrument(agents, tools=["Agent.*", "run"], exclude=["*.think"])
    assert sorted(other.wrapped) == ["Agent.ask", "run"]
    assert ("reexporting.core.Agent.think", "excluded by '*.think'") in other.skipped


@pytest.mark.parametrize("option", ["tools", "exclude"])
def test_a_glob_that_matches_nothing_is_an_error_that_names_the_nearest(
    agents: ModuleType, option: str
) -> None:
    """A misspelt glob is told at once, with what it may have meant; nothing stays instrumented."""
    before = dict(vars(agents.Agent))
    with pytest.raises(ConfigError, match=rf"{option}='Agent.aks'.*did you mean 'Agent.ask'"):
        instrument(agents, **{option: "Agent.aks"})
    assert dict(vars(agents.Agent)) == before


def test_a_private_method_is_a_tool_only_when_a_glob_names_it(seen: Collector) -> None:
    """Private names are left out, unless a glob asks for one by its underscore."""
    made = instrument(Weather, tools=["Weather._priv*", "Weather.forecast"])
    assert sorted(made.wrapped) == ["Weather._private", "Weather.forecast"]


def test_a_name_replaces_the_class_or_names_the_function(seen: Collector, agents: ModuleType) -> None:
    """name= is a function's name, and the prefix of the methods of a class or object."""
    instrument(Weather, tools="Weather.forecast", name="weather")
    Weather().forecast("Bern")
    instrument(agents.run, name="ask_agent")
    agents.run(agents.Agent(), "why")
    assert names(seen) == ["weather.forecast", "ask_agent"]


def test_functions_written_in_c_are_not_wrapped(seen: Collector, tmp_path: Path) -> None:
    """A C function cannot be wrapped without harm (inherited ones have no signature): it is skipped."""
    files = {
        "__init__.py": """
            from math import sqrt
            class Box(dict):
                def put(self, k): self[k] = 1
                copy = dict.copy
        """
    }
    with package(tmp_path, "withc", files) as module:
        made = instrument(module)
        assert made.wrapped == ["Box.put"]
        reasons = dict(made.skipped)
        assert reasons["withc.sqrt"] == reasons["withc.Box.copy"] == "function written in C"
        made.undo()
    assert instrument(len).skipped[0].reason == "function written in C"


def test_a_function_that_a_framework_wrapped_is_still_a_tool(seen: Collector, tmp_path: Path) -> None:
    """Decorators of frameworks (wrapt's, or a class with __wrapped__) do not hide the function they
    decorate."""
    files = {
        "__init__.py": """
            import functools, wrapt

            @wrapt.decorator
            def passing(wrapped, instance, args, kwargs):
                return wrapped(*args, **kwargs)

            class Registered:
                def __init__(self, function):
                    functools.update_wrapper(self, function)
                def __call__(self, *args, **kwargs):
                    return self.__wrapped__(*args, **kwargs)

            @passing
            def first(a): return a

            @Registered
            def second(a): return a

            third = functools.partial(first, 3)
            fourth = functools.lru_cache(maxsize=2)(lambda a: a)

            class Tools:
                @passing
                def method(self, a): return a
        """
    }
    with package(tmp_path, "decorated", files) as module:
        instrument(module, exclude=["passing", "Registered.*"])
        assert (module.first(1), module.second(2), module.third(), module.fourth(4)) == (1, 2, 3, 4)
        assert module.Tools().method(5) == 5
        assert [(item["tool_name"], item["input"]) for item in calls(seen)] == [
            ("first", {"a": 1}), ("second", {"a": 2}), ("third", {}), ("fourth", {"a": 4}),
            ("Tools.method", {"a": 5}),
        ]  # fmt: skip
        assert module.fourth.cache_info().misses == 1


def test_a_property_of_a_package_that_calls_its_own_methods_makes_no_record(
    seen: Collector, tmp_path: Path
) -> None:
    """Subscripts and properties call a client's public methods outside any recorded call: not the agent's
    doing."""
    files = {
        "__init__.py": "from .db import Database",
        "db.py": """
            class Table:
                def __init__(self, db): self.db = db
                def insert(self, row): return self.db.execute("insert")
                @property
                def count(self): return self.db.execute("count")
            class Database:
                def __init__(self): self.execute("pragma")
                def execute(self, sql): return sql
                def __getitem__(self, name): self.execute("look"); return Table(self)
        """,
    }
    with package(tmp_path, "dbclient", files) as module:
        instrument(module)
        table = module.Database()["x"]
        assert table.count == "count"
        assert names(seen) == []
        table.insert({})
        module.Database().execute("select")
        assert names(seen) == ["Table.insert", "Database.execute"]


Item = typing.TypeVar("Item")


class Store(typing.Generic[Item]):
    def get(self, key: str) -> str:
        return key


def test_a_parametrized_generic_means_its_class(seen: Collector) -> None:
    """`Store[int]` as target is Store."""
    assert instrument(Store[int]).wrapped == ["Store.get"]
    Store[int]().get("k")
    assert names(seen) == ["Store.get"]
