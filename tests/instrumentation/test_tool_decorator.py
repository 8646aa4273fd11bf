"""`@toolog.tool`: one's own functions, methods and classes as tools."""

from __future__ import annotations

import asyncio
import copy
import enum
import functools
import inspect
import pickle
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, SupportsInt

import pytest
from tooling import calls, instances, names, package

from tests.helpers import Collector
from toolog.errors import ConfigError
from toolog.instrumentation.decorator import tool
from toolog.instrumentation.entry import instrument


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@tool(name="weather")
async def forecast(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


class Kit:
    @tool
    def run(self, n: int) -> int:
        return n

    @tool
    @staticmethod
    def plain(n: int) -> int:
        return n

    @classmethod
    @tool
    def made(cls, n: int) -> str:
        return f"{cls.__name__}{n}"

    @tool(name="kit_build")
    @classmethod
    def build(cls) -> Kit:
        return cls()

    @tool
    async def stream(self, n: int) -> AsyncIterator[int]:
        for i in range(n):
            yield i


class SubKit(Kit):
    pass


def test_a_decorated_function_is_recorded_under_its_name(seen: Collector) -> None:
    """With and without a name, sync and async; arguments by name, defaults filled in."""
    assert add(1) == 3
    assert asyncio.run(forecast("Bern")) == "sunny in Bern"
    first, second = calls(seen)
    assert (first["tool_name"], first["input"], first["output"]) == ("add", {"a": 1, "b": 2}, 3)
    assert (second["tool_name"], second["output"]) == ("weather", "sunny in Bern")


def test_decorated_methods_of_all_kinds(seen: Collector) -> None:
    """Methods are named Class.method, get their own class, and are tied to their instance."""

    async def drain(kit: Kit) -> list[int]:
        return [item async for item in kit.stream(2)]

    kit = SubKit()
    assert (kit.run(1), Kit.plain(2), SubKit.made(3), type(SubKit.build())) == (1, 2, "SubKit3", SubKit)
    assert asyncio.run(drain(kit)) == [0, 1]
    found = calls(seen)
    assert [item["tool_name"] for item in found] == [
        "Kit.run",
        "Kit.plain",
        "Kit.made",
        "kit_build",
        "Kit.stream",
    ]
    assert found[0]["instance_id"] == found[4]["instance_id"]
    assert found[0]["input"] == {"n": 1}
    assert found[2]["input"] == {"n": 3}
    assert [item.get("instance_id") is None for item in found] == [False, True, True, True, False]


def test_the_class_of_a_decorated_method_tells_its_configuration(seen: Collector) -> None:
    """A class whose methods are decorated tells how its objects were set up, subclasses included."""

    class Own:
        def __init__(self, city: str, days: int = 3) -> None:
            self.place = city

        @tool
        def get(self) -> str:
            return self.place

    class Sub(Own):
        pass

    Own("Bern").get()
    Sub("Rome").get()
    made = instances(seen)
    assert [(item["tool"]["qualname"].rpartition(".")[2], item["config"]) for item in made] == [
        ("Own", {"city": "Bern", "days": 3}), ("Sub", {"city": "Rome", "days": 3}),
    ]  # fmt: skip
    assert [call["instance_id"] for call in calls(seen)] == [item["instance_id"] for item in made]


def test_a_decorated_class_is_instrumented_in_place(seen: Collector) -> None:
    """The class stays the very same class; its configuration is captured."""

    class Plain:
        def __init__(self, city: str = "Bern") -> None:
            self.city = city

        def get(self) -> str:
            return self.city

    assert tool(Plain) is Plain
    Plain("Rome").get()
    assert [made["config"] for made in instances(seen)] == [{"city": "Rome"}]
    assert names(seen) == ["Plain.get"]


def test_decorating_twice_and_instrumenting_the_module_makes_one_record(seen: Collector) -> None:
    """What is a tool already stays one; undoing an instrumentation leaves the decorator in force."""
    import sys

    assert tool(add) is add
    made = instrument([sys.modules[__name__].add, Kit])
    add(1)
    Kit().run(1)
    assert names(seen) == ["add", "Kit.run"]
    made.undo()
    add(1)
    assert names(seen) == ["add"]


def test_a_decorated_function_looks_and_copies_like_the_plain_one(seen: Collector) -> None:
    """Signature, docstring, kind, copy and pickle are as before."""
    assert str(inspect.signature(add)) == "(a: 'int', b: 'int' = 2) -> 'int'"
    assert add.__doc__ == "Add two numbers."
    assert inspect.iscoroutinefunction(forecast)
    assert inspect.isasyncgenfunction(Kit.stream)
    assert copy.deepcopy(add) is add
    assert pickle.loads(pickle.dumps(add)) is add


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (3, "takes a function or a class"), ("add", "takes a function or a class"),
        (len, "takes a function or a class, not .*written in C"),
        (None.__class__, "NoneType: C type"), (dict, "dict: C type"),
        (ConfigError, "ConfigError: exception"), (enum.Flag, "Flag: enum"),
        (SupportsInt, "SupportsInt: protocol"),
    ],
)  # fmt: skip
def test_what_can_be_no_tool_is_refused(seen: Collector, wrong: Any, why: str) -> None:
    """The error says what the decorator takes, or why a class holds no tools."""
    with pytest.raises(ConfigError, match=why):
        tool(wrong)
    with pytest.raises(ConfigError, match="name takes a text"):
        tool(name=3)  # type: ignore[call-overload]


def test_there_is_no_guard_option_yet() -> None:
    """An option that would be ignored is not accepted."""
    with pytest.raises(TypeError, match="guard"):
        tool(guard=object())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="guard"):
        instrument(Kit, guard=object())  # type: ignore[call-arg]


def _above(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


class Under:
    """Tools with another decorator above ours."""

    @staticmethod
    @tool
    def shared(amount: int, unit: str = "kg") -> int:
        return amount

    @staticmethod
    @tool
    async def later(amount: int) -> int:
        return amount

    @_above
    @tool
    def method(self, amount: int) -> int:
        return amount

    @classmethod
    @_above
    @tool
    def for_all(cls, amount: int) -> str:
        return cls.__name__

    @functools.singledispatchmethod
    @tool
    def by_type(self, amount: int) -> int:
        return amount

    @functools.lru_cache  # noqa: B019
    @tool
    def kept(self, amount: int) -> int:
        return amount

    of_two = functools.partialmethod(method, 2)


class UnderToo(Under):
    pass


def test_a_decorator_above_ours_changes_nothing(seen: Collector) -> None:
    """``@staticmethod`` above ours takes no object: all arguments are the tool's own, and no instance is
    told; a plain decorator above ours hands the object on."""
    thing = UnderToo()
    assert (Under.shared(3), thing.shared(4, unit="g"), asyncio.run(thing.later(5))) == (3, 4, 5)
    assert (thing.method(6), UnderToo.for_all(7), UnderToo.for_all(amount=8)) == (6, "UnderToo", "UnderToo")
    found = calls(seen)
    assert [(item["tool_name"], item["input"]) for item in found] == [
        ("Under.shared", {"amount": 3, "unit": "kg"}), ("Under.shared", {"amount": 4, "unit": "g"}),
        ("Under.later", {"amount": 5}), ("Under.method", {"amount": 6}), ("Under.for_all", {"amount": 7}),
        ("Under.for_all", {"amount": 8}),
    ]  # fmt: skip
    assert [item.get("instance_id") is not None for item in found] == [False] * 3 + [True] + [False] * 2


def test_a_partial_is_called_by_its_functions_name(seen: Collector) -> None:
    """A partial has no name of its own."""
    assert tool(functools.partial(Under.shared.__wrapped__, unit="t"))(2) == 2
    assert calls(seen)[0]["tool_name"] == "Under.shared"


def test_a_tool_below_other_decorators_makes_one_record_in_an_instrumented_module(
    seen: Collector, tmp_path: Path
) -> None:
    """Whatever stands above the decorator, instrumenting class or module says that it is a tool already."""
    with instrument(Under) as made:
        thing = Under()
        assert (Under.shared(3), thing.method(6), thing.by_type(1), thing.kept(2), thing.of_two()) == (
            3,
            6,
            1,
            2,
            2,
        )
        assert Under.for_all(7) == "Under"
        assert names(seen) == [
            "Under.shared", "Under.method", "Under.by_type", "Under.kept", "Under.method", "Under.for_all",
        ]  # fmt: skip
        assert made.wrapped == []
        assert {item.reason for item in made.skipped} == {"already a tool by @toolog.tool"}
        assert len(made.skipped) == 7
    source = {
        "__init__.py": """
            import functools, toolog
            @toolog.tool
            def search(word, limit=3): return word
            first = functools.partial(search, limit=1)
            """
    }
    with package(tmp_path, "decoratedpkg", source) as module, instrument(module):
        assert module.first("a") == module.search("a") == "a"
        assert names(seen) == ["search"] * 2


def test_a_tool_can_have_another_name_beside_its_own(seen: Collector, tmp_path: Path) -> None:
    """Each name records alone, also of what an instrumentation made a tool, and beyond its undo."""
    with package(tmp_path, "namedpkg", {"__init__.py": "def find(word): return word\n"}) as module:
        with instrument(module):
            plus, look, found = tool(name="plus")(add), tool(name="look")(module.find), tool(module.find)
            run = tool(name="run")(Kit().run)
            assert (plus(1), look("a"), found("b"), run(4), add(1), module.find("c")) == (
                3,
                "a",
                "b",
                4,
                3,
                "c",
            )
            assert names(seen) == ["plus", "look", "find", "run", "add", "find"]
        look("a")
        found("b")
        assert names(seen) == ["look", "find"]
        assert tool(name="add")(add) is add
        assert tool(Kit().run)(5) == 5
        assert names(seen) == ["Kit.run"]
    with pytest.raises(ConfigError, match="belongs where that is made"):
        tool(name="other")(functools.partial(add, 1))
