"""Functions that look for their caller on the stack, themselves or by a helper, are told from their code."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tooling import calls, instances, package

from tests.helpers import Collector
from toolog.instrumentation.callers import looks_at_caller
from toolog.instrumentation.entry import instrument

FILES = {
    "_frames.py": """
        import inspect, sys

        def names_of_caller(depth=2):
            return sys._getframe(depth).f_locals

        def two_up():
            return inspect.currentframe().f_back.f_back.f_locals

        def one_up():
            return sys._getframe(1).f_code.co_name

        class Scope:
            def __init__(self, level):
                self.level = level + 1
                self.names = sys._getframe(self.level).f_locals

        def evaluate_at(text, level=0):
            return eval(text, {}, make_scope(level + 1).names)

        def make_scope(level):
            return Scope(level + 1)

        def caller_by(offset):
            frame = inspect.currentframe()
            while offset:
                frame, offset = frame.f_back, offset - 1
            return frame.f_code.co_name

        class Names:
            @classmethod
            def capture(cls, env, reference=0):
                frame = inspect.currentframe()
                for _ in range(env + reference + 1):
                    frame = frame.f_back
                return frame.f_locals

        def level_outside():
            frame, level = sys._getframe(), 0
            while frame.f_globals["__name__"].startswith("peeking"):
                frame, level = frame.f_back, level + 1
            return level
    """,
    "__init__.py": """
        import inspect, sys, warnings
        from . import _frames
        from ._frames import Names, one_up, two_up

        def evaluate(text):
            return eval(text, {}, _frames.names_of_caller())

        def by_two(name):
            return two_up()[name]

        def _helped(name):
            return names_of(name)

        def names_of(name):
            return sys._getframe(3).f_locals[name]

        def deep(name):
            return _helped(name)

        def own_name():
            return one_up()

        def name_at(stack_offset=2):
            return _frames.caller_by(stack_offset)

        def design(name, env=0):
            return Names.capture(env, reference=1)[name]

        def own_frame():
            return sys._getframe(0).f_code.co_name, inspect.currentframe().f_code.co_name

        def told():
            warnings.warn("old", FutureWarning, stacklevel=_frames.level_outside())

        class Model:
            def __init__(self, name):
                self.seen = self._look()
                self.name = name

            @classmethod
            def _look(cls):
                return sorted(_frames.names_of_caller(3))

            def run(self, n):
                return n

            def other(self, thing):
                return thing._look(), thing.names_of_caller()

        class Table:
            def eval(self, text, **options):
                from ._frames import evaluate_at as evaluate

                options["level"] = options.pop("level", 0) + 1
                return evaluate(text, **options)

            def query(self, text, **options):
                options["level"] = options.pop("level", 0) + 1
                return self.eval(text, **options)

            def levels(self, level=0):
                return level + 1

        class StandIn:
            def __init__(self, model):
                self.model = model

            def __getattr__(self, name):
                self.model.build(depth=4)
                return getattr(self.model.core, name)

        class Late:
            def __init__(self, name):
                self.name = name
                self.price = self.core.get("price")

            @classmethod
            def build(cls, depth=2):
                cls.core = dict(_frames.names_of_caller(depth))

            def run(self, n):
                return self.price + n

        Late.core = StandIn(Late)

        class Later(Late):
            def __init__(self, name):
                self.name = name
                self.price = self.core.get("price")
    """,
}


@pytest.fixture
def peeking(tmp_path: Path) -> Iterator[ModuleType]:
    """A package that looks at its callers."""
    with package(tmp_path, "peeking", FILES) as module:
        yield module


def use(module: Any) -> list[Any]:
    """Call everything from here, where a local variable is looked for."""
    price = 42
    made = module.Model("m")
    with pytest.warns(FutureWarning) as warned:
        module.told()
    return [
        module.evaluate("price + 1"), module.by_two("price"), module.deep("price"), module.own_name(),
        module.own_frame(), (warned[0].filename, warned[0].lineno), made.seen, made.run(price),
        module.name_at(), module.design("price"), module.Table().query("price + 2"), module.Table().levels(),
    ]  # fmt: skip


def test_helpers_find_the_caller_and_not_us(seen: Collector, peeking: ModuleType) -> None:
    """What a helper of the package takes from its caller's frame is the same as without us; those functions
    are skipped with the reason, and those are not that only look at their own frame, or blame a warning on
    the first line outside of their package."""
    before = use(peeking)
    made = instrument(peeking, nested=True)
    assert use(peeking) == before
    skipped = {item.name for item in made.skipped if "caller's frame" in item.reason}
    by_a_helper = {"evaluate", "by_two", "deep", "name_at", "design", "Table.eval", "Table.query"}
    itself = {"one_up", "two_up", "names_of", "_frames.Names.capture", "Late.build", "Later.build"}
    assert skipped == {f"peeking.{name}" for name in by_a_helper | itself}
    recorded = {record["tool_name"] for record in calls(seen)}
    assert recorded == {"own_name", "own_frame", "told", "Model.run", "Table.levels"}


def test_a_constructor_that_looks_at_its_caller_is_left_alone(seen: Collector, peeking: ModuleType) -> None:
    """Its objects are captured from their state, at their first call."""
    instrument(peeking.Model)
    made = peeking.Model("m")
    assert "seen" in made.seen
    made.run(1)
    (told,) = instances(seen)
    assert told["config"] == {"name": "m"}


@pytest.mark.parametrize("name", ["Late", "Later"])
def test_a_constructor_is_left_alone_where_frames_are_counted_through_it(
    seen: Collector, peeking: ModuleType, name: str
) -> None:
    """What a constructor sets off may look, from somewhere below, for the names of whoever makes the object:
    it finds them where the class or its base has a method that looks as far up as it is told."""
    price = 42
    instrument(peeking)
    made = getattr(peeking, name)("m")
    assert made.run(1) == price + 1
    (told,) = instances(seen)
    assert told["config"]["name"] == "m"


def test_a_method_that_a_method_of_its_class_calls_is_a_helper(seen: Collector, peeking: ModuleType) -> None:
    """A method of the same name of another object is none."""
    assert looks_at_caller(peeking.Model.__init__)
    assert not looks_at_caller(peeking.Model.other)


def test_help_of_others_is_not_followed() -> None:
    """The standard library's own helpers are no part of a function's package; a loop up the stack in the
    function itself counts, and `inspect.stack` does."""

    def plain(text: str) -> Any:
        return inspect.signature(sys.exit), text

    def walks() -> Any:
        frame: Any = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
        return frame

    def stack() -> Any:
        return inspect.stack()[1]

    def told(depth: int) -> Any:
        return sys._getframe(depth)

    looks: list[Callable[..., Any]] = [walks, stack, told]
    assert [looks_at_caller(one) for one in looks] == [True, True, True]
    assert [looks_at_caller(one) for one in (plain, len, None, Path.exists)] == [False] * 4
