"""Where the wrappers go and how they come off: one record a call whatever covers a tool, and an exact
undo."""

from __future__ import annotations

import abc
import dataclasses
import gc
import importlib
import logging
import sys
import textwrap
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from unittest import mock

import pydantic
import pytest
from tooling import Namespaces, calls, names, package

from tests.helpers import Collector
from toolog.instrumentation.entry import instrument, uninstrument
from toolog.instrumentation.spots import spot_at


class Base:
    def __init__(self, city: str = "Bern") -> None:
        self.city = city

    def run(self, n: int) -> int:
        return n

    def stay(self) -> str:
        return self.city

    @staticmethod
    def plain(n: int) -> int:
        return n

    @classmethod
    def build(cls) -> Base:
        return cls()


class Sub(Base):
    def run(self, n: int) -> int:
        return super().run(n) + 1


class Left(Base):
    def run(self, n: int) -> int:
        return super().run(n) * 2


class Diamond(Left, Sub):
    pass


class Other:
    def work(self) -> str:
        return "other"


ALL = (Base, Sub, Left, Diamond)


@pytest.mark.parametrize("target", [Base, Sub, Diamond, [Base, Sub], Sub(), Sub().run, Sub.build, Base.run])
def test_undo_leaves_every_namespace_exactly_as_it_was(seen: Collector, target: Any) -> None:
    """Keys, their order and the very objects are back in all classes and objects."""
    thing = Diamond()
    before = Namespaces(*ALL, thing, sys.modules[__name__])
    made = instrument(target)
    assert made.wrapped
    thing.run(1)
    made.undo()
    assert before.differences() == []
    seen.records.clear()
    thing.run(1)
    Sub().run(1)
    assert calls(seen) == []


@pytest.mark.parametrize(
    "targets",
    [
        [Base], [Sub], [Base, Sub], [Sub, Base], [Base, Sub, "instance"], ["instance", Sub], ["instance"],
        ["instance", Base], ["instance", Base, "method"], [Sub, "method", Base.run, "instance", Base],
    ],
)  # fmt: skip
def test_base_subclass_and_instance_together_make_one_record_a_call(
    seen: Collector, targets: list[Any]
) -> None:
    """However many targets cover a tool, and with super() in the chain, a call is one record."""
    thing = Sub()
    for target in targets:
        instrument({"instance": thing, "method": thing.run}.get(target) or target)
    assert thing.run(1) == 2
    (record,) = calls(seen)
    assert (record["tool_name"], record["input"], record["output"]) == ("Sub.run", {"n": 1}, 2)
    thing.stay()
    assert len(calls(seen)) == 1


def test_a_diamond_keeps_its_method_order(seen: Collector) -> None:
    """An inherited method stays on the class that holds it, so the other branch of a diamond is not
    hidden."""
    instrument(list(ALL))
    assert Diamond().run(1) == 4
    assert names(seen) == ["Left.run"]


def test_true_recursion_is_recorded(seen: Collector) -> None:
    """A tool that calls itself makes a child a level, also when its class overrides an instrumented
    method."""

    class Tree(Base):
        def run(self, n: int) -> int:
            return n if n == 0 else self.run(n - 1) + super().run(0)

    instrument([Base, Tree])
    Tree().run(2)
    found = calls(seen)
    assert [(item["tool_name"], item["depth"]) for item in found] == [
        ("Tree.run", 2), ("Tree.run", 1), ("Tree.run", 0),
    ]  # fmt: skip


def test_a_composite_that_calls_the_same_method_of_another_object_has_a_child(seen: Collector) -> None:
    """Only super() of the same object belongs to a call; the same method of another object is a call of its
    own."""

    class Composite(Base):
        def run(self, n: int) -> int:
            return Base().run(n) + super().run(n)

    instrument([Base, Composite])
    Composite().run(1)
    assert names(seen) == ["Base.run", "Composite.run"]


def test_instrumenting_twice_changes_nothing(seen: Collector) -> None:
    """The second time finds everything done: one record a call, and the same objects in place."""
    gc.collect()  # other tests' subclasses of it
    first = instrument(Base)
    held = dict(vars(Base))
    second = instrument(Base)
    assert dict(vars(Base)) == held
    assert second.wrapped == first.wrapped
    Base().run(1)
    assert names(seen) == ["Base.run"]
    second.undo()
    Base().run(1)
    assert names(seen) == ["Base.run"]
    first.undo()
    Base().run(1)
    assert names(seen) == []


def test_undo_twice_and_out_of_order_is_harmless(seen: Collector) -> None:
    """Undoing again changes nothing, and the order of undoing does not matter."""
    before = Namespaces(*ALL)
    first, second, third = instrument(Base), instrument(Sub), instrument(Sub())
    first.undo()
    first.undo()
    Sub().run(1)
    assert names(seen) == ["Sub.run"]
    third.undo()
    second.undo()
    assert before.differences() == []


def test_the_result_is_a_context_manager_and_prints_well(seen: Collector) -> None:
    """Inside the block it is in force; its text lists what was wrapped and what was skipped and why."""
    with instrument(Base, exclude="*.stay") as made:
        Base().run(1)
        assert repr(made).startswith("<Instrumentation of test_patch.Base: ")
        assert "  + Base.run\n" in str(made)
        assert "  - test_patch.Base.stay: excluded by '*.stay'" in str(made)
    Base().run(1)
    assert names(seen) == ["Base.run"]
    assert "undone" in repr(made)


def test_one_target_of_a_list_is_undone_alone(seen: Collector) -> None:
    """`uninstrument` of one of several targets leaves the others as they are, until undo or its own turn."""
    before = Namespaces(Base, Sub, Other)
    made = instrument([Base, Other, "nosuchpkg.later"])
    uninstrument(Base)
    assert (Base().run(1), Other().work()) == (1, "other")
    assert names(seen) == ["Other.work"]
    assert made.wrapped == ["Other.work"]
    assert made.waiting == ["nosuchpkg.later"]
    assert made.active
    uninstrument(Other)
    assert made.active
    uninstrument("nosuchpkg.later")
    assert not made.active
    assert before.differences() == []


def test_uninstrument_tells_targets_of_one_name_apart(seen: Collector) -> None:
    """Objects of one class, their methods, and classes and functions of the same name are undone alone."""

    def make() -> type:
        class Twin:
            def run(self) -> str:
                return "twin"

        return Twin

    one, two = make(), make()
    instrument(one)
    instrument(two)
    uninstrument(one)
    assert (one().run(), two().run()) == ("twin", "twin")
    assert names(seen) == ["Twin.run"]
    uninstrument(two)
    first, second = one(), one()
    for target, other in ((first, second), (first.run, second.run)):
        instrument(target)
        instrument(other)
        uninstrument(target)
        first.run()
        second.run()
        assert len(calls(seen)) == 1
        uninstrument(other)
        second.run()
        assert calls(seen) == []


def test_what_is_asked_for_by_name_decides(seen: Collector) -> None:
    """A name or `nested` given for a target that is instrumented already holds, the newest of several, until
    its undo."""
    plain = instrument(Other)
    named = instrument(Other, name="shop")
    again = instrument(Other)
    newer = instrument(Other, name="market")
    for made in (newer, again, named, plain):
        Other().work()
        made.undo()
    Other().work()
    assert names(seen) == ["market.work", "shop.work", "shop.work", "Other.work"]


def test_uninstrument_does_what_undo_does(seen: Collector) -> None:
    """The target alone is enough to undo; a target that is not instrumented is left alone."""
    before = Namespaces(*ALL)
    for target in (Base, [Base, Sub], "test_patch.Sub"):
        instrument(target)
    uninstrument(Sub)
    uninstrument(Base)
    uninstrument(Diamond)
    assert before.differences() == []


def test_only_the_instance_itself_is_recorded(seen: Collector) -> None:
    """An object as target: other objects of its class are not recorded, nor are its copies."""
    import copy

    one, other = Base("Rome"), Base("Oslo")
    instrument(one)
    assert (one.stay(), other.stay(), copy.copy(one).stay()) == ("Rome", "Oslo", "Rome")
    found = calls(seen)
    assert [item["tool_name"] for item in found] == ["Base.stay"]
    assert vars(one) == {"city": "Rome"}


def test_a_subclass_as_target_leaves_its_siblings_alone(seen: Collector) -> None:
    """A method that a base class holds is recorded for the subclass that was named, under its name."""
    instrument(Sub, tools="Sub.stay")
    Sub().stay()
    Left().stay()
    Base().stay()
    assert names(seen) == ["Sub.stay"]


def test_a_bound_method_as_target_is_that_method_of_that_object(seen: Collector) -> None:
    """Nothing else of the object or its class is recorded."""
    one = Base()
    instrument(one.run)
    one.run(1)
    one.stay()
    Base().run(2)
    assert names(seen) == ["Base.run"]


def test_an_instance_is_not_kept_alive(seen: Collector) -> None:
    """Instrumenting an object holds it weakly."""
    one = Base()
    gone = weakref.ref(one)
    instrument(one)
    one.run(1)
    del one
    gc.collect()
    assert gone() is None


class Slotted:
    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n

    def get(self) -> int:
        return self.n


class Frozen(pydantic.BaseModel, frozen=True):
    n: int = 1

    def get(self) -> int:
        return self.n


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    n: int = 1

    def get(self) -> int:
        return self.n


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def get(self) -> int:
        return 1


class Abstract(abc.ABC):
    @abc.abstractmethod
    def get(self) -> int: ...


class Registering(type):
    def __setattr__(cls, name: str, value: Any) -> None:
        raise RuntimeError("this metaclass lets nobody set anything")

    def __getattribute__(cls, name: str) -> Any:
        return super().__getattribute__(name)


class ByMeta(metaclass=Registering):
    def get(self) -> int:
        return 1


@pytest.mark.parametrize(
    "thing", [Slotted(1), Frozen(), FrozenSlots(), Unhashable(), ByMeta()], ids=lambda t: type(t).__name__
)
@pytest.mark.parametrize("as_class", [True, False])
def test_slots_frozen_unhashable_and_metaclass_tools_are_recorded(
    seen: Collector, thing: Any, as_class: bool
) -> None:
    """Objects that take no attribute, and classes that refuse setattr, are tools like any other."""
    before = Namespaces(type(thing))
    with instrument(type(thing) if as_class else thing, tools="*.get"):
        assert thing.get() == 1
    assert names(seen) == [f"{type(thing).__name__}.get"]
    assert before.differences() == []


def test_an_abstract_class_stays_abstract(seen: Collector) -> None:
    """Wrapping an abstract method changes nothing about which classes can be made."""
    instrument(Abstract)
    with pytest.raises(TypeError, match="abstract"):
        Abstract()  # type: ignore[abstract]

    class Concrete(Abstract):
        def get(self) -> int:
            return 2

    assert Concrete().get() == 2
    assert names(seen) == ["Concrete.get"]


def test_a_subclass_defined_later_is_instrumented_and_undone(seen: Collector) -> None:
    """An override in a subclass that is defined after instrumentation is recorded; undo restores it, too."""
    before = Namespaces(Base)
    made = instrument(Base)

    class Later(Base):
        def run(self, n: int) -> int:
            return n * 10

        def extra(self) -> int:
            return 1

    original = vars(Later)["run"].__wrapped__
    assert Later().run(2) == 20
    Later().stay()
    Later().extra()
    assert names(seen) == ["Later.run", "Base.stay"]
    made.undo()
    assert before.differences() == []
    assert vars(Later)["run"] is original
    Later().run(2)
    assert names(seen) == []


def test_objects_that_are_gone_leave_nothing_behind(seen: Collector) -> None:
    """Objects instrumented one by one do not pile up, nor do their wrappers; each that lives is recorded."""

    def shout(text: str) -> str:
        return text.upper()

    class Client:
        def __init__(self, number: int) -> None:
            self.number = number
            self.shout = shout

        def run(self) -> int:
            return self.number

    before = Namespaces(Client)
    kept = [Client(number) for number in range(3)]
    made = [instrument(client) for client in kept]
    gone = []
    for number in range(140):
        client = Client(number)
        gone.append(weakref.ref(client))
        made.append(instrument([client, client.run]))
        assert (client.run(), client.shout("a")) == (number, "A")
        del client
    assert len(names(seen)) == 280
    gc.collect()
    assert not any(ref() for ref in gone)
    spot = spot_at(Client, "run")
    assert spot is not None
    assert len(spot.grants) < 120
    assert len(spot.placings) == 1
    assert [client.run() for client in kept] == [0, 1, 2]
    assert Client(5).run() == 5
    assert [call["output"] for call in calls(seen)] == [0, 1, 2]
    uninstrument(kept[0])
    assert [client.run() for client in kept] == [0, 1, 2]
    assert [call["output"] for call in calls(seen)] == [1, 2]
    for one in made:
        one.undo()
    assert before.differences() == []


def test_an_init_subclass_of_the_class_itself_still_runs(seen: Collector) -> None:
    """Keywords reach the class's own hook, in order, and a hook that calls no super() hides nothing."""
    told: list[tuple[str, int]] = []

    class Plugin:
        def __init_subclass__(cls, weight: int = 0) -> None:
            told.append((cls.__name__, weight))

        def run(self) -> str:
            return "plugin"

    before = Namespaces(Plugin)
    with instrument(Plugin):

        class Heavy(Plugin, weight=5):
            def run(self) -> str:
                return "heavy"

        assert Heavy().run() == "heavy"
    assert told == [("Heavy", 5)]
    assert names(seen) == ["Heavy.run"]
    assert before.differences() == []
    with pytest.raises(TypeError):

        class Wrong(Base, weight=1):  # type: ignore[call-arg]
            pass


def test_classes_that_a_decorator_makes_again_are_instrumented_once(seen: Collector) -> None:
    """dataclass(slots=True) builds a second class from the first one's namespace: still one record, still
    undone."""
    made = instrument(Base)

    @dataclasses.dataclass(slots=True)
    class Data(Base):
        n: int = 3

        def run(self, n: int) -> int:
            return n + self.n

    assert Data().run(1) == 4
    assert names(seen) == ["Data.run"]
    made.undo()
    assert type(vars(Data)["run"]) is FunctionType
    Data().run(1)
    assert names(seen) == []


def test_subclasses_made_at_run_time_are_not_kept_alive(seen: Collector) -> None:
    """A program that makes classes as it goes does not leak them."""
    instrument(Base)
    made: Any = type("Made", (Base,), {"run": lambda self, n: n})
    made().run(1)
    assert names(seen) == ["Made.run"]
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


ALIASED = {
    "__init__.py": "from .core import search, Index\n",
    "core.py": """
        def search(text): return text.upper()
        def twice(text): return search(text) + search(text)
        class Index:
            def look(self): return search("x")
    """,
}


@pytest.fixture
def aliased(tmp_path: Path) -> Iterator[ModuleType]:
    """A package whose function is imported by name inside it."""
    with package(tmp_path, "aliased", ALIASED) as module:
        yield module


def test_subclasses_made_on_the_way_leave_nothing_behind(
    seen: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each override that appears and goes is a tool of its own; the base's method stays one object, and keeps
    nothing of them."""

    class Root:
        def run(self, n: int) -> int:
            return n

    made = instrument(Root)

    def override() -> int:
        class Late(Root):
            def run(self, n: int) -> int:
                return super().run(n) + Root().run(n)

        return Late().run(1)

    assert override() == 2
    assert names(seen) == ["Root.run", "Late.run"]
    method = Root.run
    handed: list[str] = []
    monkeypatch.setattr(logging.Logger, "callHandlers", lambda *of: handed.append(of[0].name))
    for _ in range(20):
        override()
    assert Root.run is method
    assert handed[:4] == ["toolog.calls", "toolog.calls", "toolog.calls.Root.run", "toolog.calls.Late.run"]
    assert handed == handed[:4] * 20
    (spot,) = made._spots.values()
    gc.collect()
    assert len(spot.placings) <= 2
    assert len(spot.overriding) == len(spot.above) <= 1  # pytest may keep the records of the first
    made.undo()
    assert type(vars(Root)["run"]) is FunctionType


def test_names_imported_before_are_repaired_and_restored(seen: Collector, aliased: ModuleType) -> None:
    """`from x import f` in another module is recorded, too, and is the original again after undo."""
    user = ModuleType("user_of_aliased")
    exec("from aliased import search as look_up\nfrom aliased.core import search", vars(user))
    sys.modules["user_of_aliased"] = user
    try:
        before = Namespaces(user, aliased, sys.modules["aliased.core"])
        made = instrument(aliased)
        assert user.look_up("a") == user.search("a") == aliased.search("a") == "A"
        exec("from aliased import search as later", vars(user))
        assert user.later("b") == "B"
        assert names(seen) == ["search"] * 4
        made.undo()
        later = vars(user).pop("later")
        assert later is aliased.search
        assert before.differences() == []
    finally:
        del sys.modules["user_of_aliased"]


def test_tuples_and_staticmethods_that_hold_a_function_are_replaced(
    seen: Collector, aliased: ModuleType
) -> None:
    """`TOOLS = (search, pay)` and `find = staticmethod(search)` hold the tool, one tuple stays one; undo in
    any order puts the very objects back."""
    user = ModuleType("user_of_aliased")
    source = """
        from aliased import search
        TOOLS = (len, search)
        SAME = TOOLS
        class Agent:
            find = staticmethod(search)
    """
    exec(textwrap.dedent(source), vars(user))
    sys.modules["user_of_aliased"] = user
    try:
        before = Namespaces(user, user.Agent, aliased)
        for first in (0, 1):
            made = [instrument(aliased), instrument(aliased.search, name="look")]
            assert user.TOOLS is user.SAME
            assert (user.TOOLS[1]("a"), user.Agent.find("b"), user.Agent().find("c")) == ("A", "B", "C")
            assert names(seen) == ["look"] * 3
            made[first].undo()
            user.TOOLS[1]("a")
            user.Agent.find("b")
            assert names(seen) == [("look", "search")[first]] * 2
            made[1 - first].undo()
            assert before.differences() == []
    finally:
        del sys.modules["user_of_aliased"]


def test_a_function_as_target_is_recorded_with_its_recursion(seen: Collector, aliased: ModuleType) -> None:
    """A function's home and its aliases are patched, so a call from inside its module is seen as well."""
    before = Namespaces(aliased, sys.modules["aliased.core"])
    with instrument(aliased.search):
        sys.modules["aliased.core"].twice("a")
        aliased.search("b")
        assert names(seen) == ["search"] * 3
    assert before.differences() == []


def test_a_function_that_no_module_holds_is_skipped_with_advice(seen: Collector) -> None:
    """A closure cannot be patched anywhere: the result says so and names the decorator."""

    def local() -> int:
        return 1

    made = instrument(local)
    assert made.wrapped == []
    assert "@toolog.tool" in made.skipped[0].reason


def test_what_is_still_held_after_undo_passes_through(seen: Collector, aliased: ModuleType) -> None:
    """A wrapper that somebody kept records nothing once it is undone."""
    made = instrument([aliased, Base])
    search, bound, unbound = aliased.search, Base().run, Base.run
    made.undo()
    assert (search("a"), bound(1), unbound(Base(), 2)) == ("A", 1, 2)
    assert calls(seen) == []


def test_mock_patch_over_an_instrumented_method(seen: Collector) -> None:
    """A patch over ours keeps working; when it ends ours is back, and undoing meanwhile leaves the
    original."""
    before = Namespaces(Base)
    made = instrument(Base)
    with mock.patch.object(Base, "run", return_value="mocked"):
        assert Base().run(1) == "mocked"
    assert Base().run(1) == 1
    assert names(seen) == ["Base.run"]
    with mock.patch.object(Base, "run", return_value="mocked"):
        made.undo()
        assert Base().run(1) == "mocked"
    assert Base().run(1) == 1
    assert names(seen) == []
    del before
    instrument(Base)
    assert Base().run(1) == 1
    assert names(seen) == ["Base.run"]


def test_mock_patch_under_an_instrumented_method(seen: Collector) -> None:
    """Instrumented while a patch was in force: the end of the patch wins, and undo does not bring the mock
    back."""
    before = Namespaces(Base)
    with mock.patch.object(Base, "run", new=lambda self, n: -n):
        made = instrument(Base)
        assert Base().run(1) == -1
        assert names(seen) == ["Base.run"]
    assert Base().run(1) == 1
    made.undo()
    assert before.differences() == []


def test_a_reloaded_module_is_instrumented_again_on_request(seen: Collector, aliased: ModuleType) -> None:
    """After reload the new functions are bare; instrumenting again makes one record a call, not two."""
    core = sys.modules["aliased.core"]
    made = instrument(core)
    importlib.reload(core)
    again = instrument(core)
    core.search("a")
    core.Index().look()
    assert names(seen) == ["search", "Index.look"]
    fresh = core.search.__wrapped__
    made.undo()
    again.undo()
    assert core.search is fresh


def test_functions_in_an_objects_own_namespace_are_its_tools(seen: Collector) -> None:
    """A callable that an object carries itself is wrapped there, and put back in its place."""

    class Holder:
        def __init__(self) -> None:
            self.first = 1
            self.run = lambda n: n + 1
            self.last = 2

    thing = Holder()
    before = Namespaces(thing)
    with instrument(thing) as made:
        assert made.wrapped == ["Holder.run"]
        assert thing.run(1) == 2
    assert names(seen) == ["Holder.run"]
    assert before.differences() == []


def test_the_most_specific_target_decides_how_a_tool_is_recorded(
    seen: Collector, aliased: ModuleType
) -> None:
    """A class named beside its package is nested, although the package is not; its name counts."""
    instrument(aliased)
    with instrument(aliased.Index, name="index"):
        aliased.Index().look()
        assert names(seen) == ["index.look"]
    aliased.Index().look()
    assert names(seen) == ["Index.look"]
