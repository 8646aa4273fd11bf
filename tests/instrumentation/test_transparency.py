"""What libraries and people look at: an instrumented package shows them what the plain one would."""

from __future__ import annotations

import asyncio
import contextlib
import doctest
import functools
import inspect
import json
import pickle
import pydoc
import sys
import traceback
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from tooling import Namespaces, calls, names, package

from tests.helpers import Collector
from toolog.instrumentation.entry import instrument

FILES = {
    "__init__.py": """
        '''Weather for everybody.'''
        import abc
        import functools
        from typing import Annotated, Iterator

        def forecast(city: str, days: int = 3, *, unit: 'str' = "C") -> dict[str, int]:
            '''Tell the weather.

            >>> forecast("Bern")
            {'Bern': 3}
            '''
            return {city: days}

        def fail(city: str) -> None:
            '''Always fail.'''
            raise LookupError(city)

        TOOLS = [forecast, fail]
        BY_NAME = {"forecast": forecast, "inner": {"not": "looked at"}}
        KEPT = (forecast,)

        class Base(abc.ABC):
            '''A source of weather.'''

            def __init__(self, place: str = "here") -> None:
                if place == "nowhere":
                    raise LookupError(place)
                self.place = place

            @abc.abstractmethod
            def ask(self, city: str) -> str:
                '''Ask somebody.'''

            def run(self, n: int, *, unit: str = "C") -> str:
                '''Run.

                >>> Source().run(2)
                '2C'
                '''
                return f"{n}{unit}"

            def fail(self, n: int) -> None:
                raise LookupError(n)

            def stream(self, n: int) -> Iterator[int]:
                yield from range(n)
                raise LookupError(n)

            async def wait(self, n: int) -> int:
                raise LookupError(n)

            @staticmethod
            def plain(a: int, b: int = 2) -> int:
                return a + b

            @classmethod
            def build(cls, place: str) -> "Base":
                return cls(place)

            @functools.singledispatchmethod
            def show(self, value): return "object"

            @show.register
            def _(self, value: int): return "int"

            @functools.lru_cache
            def cached(self, n): return n

        class Source(Base):
            def ask(self, city: str) -> str:
                return f"{city} from {self.place}"

            def fail(self, n: int) -> None:
                super().fail(n)

        @functools.singledispatch
        def tell(value): return "object"

        @tell.register
        def _(value: int): return "int"
    """,
}


@pytest.fixture
def weather(tmp_path: Path) -> Iterator[ModuleType]:
    """A package that is not instrumented yet."""
    with package(tmp_path, "weatherpkg", FILES) as module:
        yield module


def test_help_and_the_members_of_a_class_are_the_same(seen: Collector, weather: ModuleType) -> None:
    """`help`, `dir`, `inspect.classify_class_attrs` and `getmembers` show the same, but for the hook that
    sees new subclasses."""

    def look() -> dict[str, Any]:
        shown: dict[str, Any] = {"dir": dir(weather)}
        for cls in (weather.Base, weather.Source):
            name = cls.__name__
            text = pydoc.render_doc(cls, renderer=pydoc.plaintext)  # type: ignore[arg-type]
            shown[f"help {name}"] = [
                line for line in text.splitlines() if line.strip(" |-") and "subclass" not in line
                and "default implementation" not in line and "overridden to extend" not in line
            ]  # fmt: skip
            shown[f"dir {name}"] = dir(cls)
            shown[f"kinds {name}"] = [
                (item.name, item.kind) for item in inspect.classify_class_attrs(cls)
                if item.name != "__init_subclass__"
            ]  # fmt: skip
            for test in (inspect.isfunction, inspect.isroutine, inspect.ismethod):
                shown[f"{test.__name__} {name}"] = [
                    key for key, _ in inspect.getmembers(cls, test) if key != "__init_subclass__"
                ]
            shown[f"abstract {name}"] = inspect.isabstract(cls)
        return shown

    before = look()
    instrument(weather, nested=True)
    assert look() == before


def test_the_hook_for_subclasses_is_named_as_what_it_does(seen: Collector, weather: ModuleType) -> None:
    """`__init_subclass__` keeps its name and docstring, with and without one of the class's own."""
    plain = weather.Base.__init_subclass__
    before = plain.__name__, inspect.getdoc(plain)
    instrument(weather)
    hooked = weather.Base.__init_subclass__
    assert (hooked.__name__, inspect.getdoc(hooked)) == before
    assert "__init_subclass__" in repr(hooked)


def test_doctests_are_found_and_pass(seen: Collector, weather: ModuleType) -> None:
    """The doctest module finds the examples in wrapped functions and methods, and runs them."""
    before = sorted(found.name for found in doctest.DocTestFinder().find(weather))
    instrument(weather, nested=True)
    assert sorted(found.name for found in doctest.DocTestFinder().find(weather)) == before
    assert doctest.testmod(weather) == doctest.TestResults(failed=0, attempted=2)
    assert names(seen) == ["Base.run", "forecast"]


def test_a_bound_method_can_be_held_weakly(seen: Collector, weather: ModuleType) -> None:
    """`weakref.WeakMethod` (signals, callbacks) gives the method back while its object lives, and it is
    recorded."""
    instrument(weather)
    source = weather.Source()
    held = weakref.WeakMethod(source.run)
    again = held()
    assert again == source.run
    assert again is not None
    assert again(4) == "4C"
    assert names(seen) == ["Base.run"]
    del again, source
    assert held() is None


def test_type_of_a_method_makes_methods(seen: Collector, weather: ModuleType) -> None:
    """`type(method)(function, object)` is how code binds again: to our own function and to a plain one."""
    instrument(weather)
    source = weather.Source()
    kind: Any = type(source.run)
    assert kind(weather.Source.run, source)(1) == "1C"
    assert kind(lambda self: self.place, source)() == "here"
    assert names(seen) == ["Base.run"]


def test_the_function_of_a_method_is_the_one_of_its_class(seen: Collector, weather: ModuleType) -> None:
    """`method.__func__ is Class.method`, for a method, a cached one and through a subclass."""
    instrument(weather)
    source = weather.Source()
    assert source.run.__func__ is weather.Base.run
    assert source.ask.__func__ is weather.Source.ask
    assert source.cached.__func__ is weather.Base.cached
    assert source.run.__self__ is source
    assert source.run.__func__(source, 5) == "5C"
    assert inspect.isfunction(weather.Source.build.__func__)
    assert not hasattr(weather.Base.run, "__func__")


def frames_of(run: Callable[[], Any]) -> list[str]:
    """Return the names of the functions in the traceback of what a call raises."""
    with pytest.raises(LookupError) as caught:
        run()
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:]


def test_a_traceback_shows_the_users_frames_alone(seen: Collector, weather: ModuleType) -> None:
    """Functions, methods, `super()`, constructors, streams and coroutines fail with the traceback that they
    would have without us, and the record's stack has the tool's frames."""
    runs: dict[str, Callable[[], Any]] = {
        "function": lambda: weather.fail("Bern"),
        "super": lambda: weather.Source().fail(1),
        "constructor": lambda: weather.Source("nowhere"),
        "classmethod": lambda: weather.Source.build("nowhere"),
        "stream": lambda: list(weather.Source().stream(2)),
        "coroutine": lambda: asyncio.run(weather.Source().wait(1)),
    }
    before = {name: frames_of(run) for name, run in runs.items()}
    for nested in (True, False):
        with instrument(weather, nested=nested):
            assert {name: frames_of(run) for name, run in runs.items()} == before
    with instrument(weather.Source()), instrument(weather.Base, tools="Base.fail"):
        assert frames_of(runs["super"]) == before["super"]
    seen.records.clear()
    with instrument(weather):
        frames_of(runs["super"])
    (record,) = calls(seen)
    assert "fail" in json.dumps(record["error"]["stack"])


def test_a_wrong_call_is_blamed_on_its_line(seen: Collector, weather: ModuleType) -> None:
    """The TypeError of a call with wrong arguments ends in the caller's own line, as without us."""
    instrument(weather)
    for wrong in (lambda: weather.forecast(), lambda: weather.Source().run(1, 2, 3)):
        with pytest.raises(TypeError) as caught:
            wrong()
        assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:] == ["<lambda>"]


def test_a_debugger_meets_one_frame_of_ours(seen: Collector, weather: ModuleType) -> None:
    """Between the caller and the tool stands one Python frame, and its name says whose it is."""
    met: list[list[str]] = []

    def trace(frame: types.FrameType, event: str, argument: Any) -> None:
        if frame.f_code.co_name == "forecast":
            above = [frame.f_back, frame.f_back.f_back if frame.f_back else None]
            met.append([item.f_code.co_name for item in above if item is not None])

    instrument(weather.forecast)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        weather.forecast("Bern")
    finally:
        sys.settrace(before)
    assert met == [["toolog_wrapper", "test_a_debugger_meets_one_frame_of_ours"]]


def test_mocks_are_made_from_what_is_instrumented(seen: Collector, weather: ModuleType) -> None:
    """`create_autospec` and `patch(autospec=True)` know the signatures; `wraps` calls through to the tool."""
    instrument(weather, nested=True)
    spec = mock.create_autospec(weather.Source)
    spec.plain(1)
    spec("there").run(1, unit="F")
    with pytest.raises(TypeError):
        spec("there").run()
    with pytest.raises(TypeError):
        spec.plain(1, 2, 3)
    assert inspect.iscoroutinefunction(mock.create_autospec(weather.Source, instance=True).wait)
    with mock.patch.object(weather, "forecast", autospec=True) as patched:
        with pytest.raises(TypeError):
            weather.forecast()
        weather.forecast("Bern")
    patched.assert_called_once_with("Bern")
    source = weather.Source()
    with mock.patch.object(source, "run", wraps=source.run) as over:
        assert source.run(7) == "7C"
    over.assert_called_once_with(7)
    assert source.run(8) == "8C"
    with mock.patch.object(weather.Base, "run", autospec=True, return_value="mocked") as patched:
        assert weather.Source().run(1) == "mocked"
    assert isinstance(patched.call_args.args[0], weather.Source)
    assert names(seen) == ["Base.run", "Base.run"]


def test_classes_registered_with_an_instrumented_abc(seen: Collector, weather: ModuleType) -> None:
    """A virtual subclass is one, an abstract class cannot be made, and isinstance goes by the class."""
    instrument(weather)

    class Other:
        pass

    weather.Base.register(Other)
    assert issubclass(Other, weather.Base)
    assert isinstance(Other(), weather.Base)
    with pytest.raises(TypeError, match="abstract"):
        weather.Base()
    assert isinstance(weather.Source(), weather.Base)


def test_singledispatch_goes_by_type_as_before(seen: Collector, weather: ModuleType) -> None:
    """A dispatching function keeps `register`, `dispatch` and `registry`, and a method dispatches, too."""
    instrument(weather)
    assert (weather.tell(1), weather.tell("x"), weather.Source().show(1)) == ("int", "object", "int")

    @weather.tell.register
    def _(value: list) -> str:  # type: ignore[type-arg]
        return "list"

    assert weather.tell([]) == "list"
    assert set(weather.tell.registry) == {object, int, list}
    assert weather.tell.dispatch(bool)(True) == "int"


def test_lists_tuples_and_dicts_of_modules_hold_the_tools(seen: Collector, weather: ModuleType) -> None:
    """What a module registered of its own functions is recorded, can be pickled, and is back after undo."""
    before = Namespaces(weather)
    tools, by_name = list(weather.TOOLS), dict(weather.BY_NAME)
    made = instrument(weather.forecast)
    assert weather.TOOLS[0]("Bern") == {"Bern": 3}
    assert weather.BY_NAME["forecast"]("Rome", 1) == {"Rome": 1}
    assert pickle.loads(pickle.dumps(weather.TOOLS))[0]("Oslo", 2) == {"Oslo": 2}
    assert names(seen) == ["forecast"] * 3
    assert pickle.loads(pickle.dumps(weather.KEPT))[0]("Bern") == {"Bern": 3}
    assert names(seen) == ["forecast"]
    made.undo()
    assert all(now is then for now, then in zip(weather.TOOLS, tools, strict=True))
    assert list(weather.BY_NAME.items()) == list(by_name.items())
    assert weather.BY_NAME["forecast"] is by_name["forecast"]
    assert before.differences() == []


@pytest.fixture
def planners(tmp_path: Path, weather: ModuleType) -> Iterator[ModuleType]:
    """Return a module that has functions of another one as defaults of its own."""
    files = {
        "__init__.py": f"""
            from {weather.__name__} import forecast, fail

            def plan(city, days=3, /, source=forecast, *, other=fail, last=None):
                return source(city, days)

            class Planner:
                def __init__(self, source=forecast, *, other=fail):
                    self.source, self.other = source, other

                @classmethod
                def build(cls, source=forecast):
                    return cls(source)

                @staticmethod
                def ask(city, source=forecast):
                    return source(city)
            """
    }
    with package(tmp_path, "planners", files) as found:
        yield found


@pytest.mark.parametrize("both", [False, True])
def test_defaults_of_parameters_are_the_tools(
    seen: Collector, weather: ModuleType, planners: ModuleType, both: bool
) -> None:
    """A tool that is a parameter's default is what its module holds, is recorded, and can be pickled with
    what keeps it; also where the function or method that has the default is a tool itself."""

    def defaults() -> list[Any]:
        cls = planners.Planner
        functions = (planners.plan, cls.__init__, cls.build, cls.ask)
        parameters = [
            one for function in functions for one in inspect.signature(function).parameters.values()
        ]
        return [one.default for one in parameters if callable(one.default) and one.default is not one.empty]

    plain = defaults()
    assert [one.__name__ for one in plain] == ["forecast", "fail", "forecast", "fail", "forecast", "forecast"]
    made = instrument([weather.forecast, weather.fail, *([planners] if both else [])])
    assert all(one is getattr(weather, one.__name__) for one in defaults())
    again = pickle.loads(pickle.dumps([planners.Planner(), planners.Planner.build()]))
    seen.records.clear()
    for planner in again:
        assert planner.other is weather.fail
        planner.source("Bern")
    planners.plan("Rome")
    planners.Planner.ask("Oslo")
    assert names(seen).count("forecast") == 4
    made.undo()
    assert all(one is two for one, two in zip(defaults(), plain, strict=True))


def test_schemas_of_pydantic_and_fastapi_are_the_same(seen: Collector, weather: ModuleType) -> None:
    """A wrapped function or method as an endpoint gives the same OpenAPI document, is called with validated
    arguments, and each request is one record."""
    import fastapi
    import httpx
    import pydantic

    def build() -> Any:
        app = fastapi.FastAPI()
        app.get("/forecast")(weather.forecast)
        app.get("/run")(weather.Source().run)
        app.get("/wait", response_model=int)(weather.Source().wait)
        app.get("/injected")(_injected(fastapi.Depends(weather.Source().ask)))
        return app

    def schema(function: Any) -> Any:
        return pydantic.TypeAdapter(function).json_schema()

    async def get(app: Any, path: str) -> Any:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            return await client.get(path)

    before = build().openapi(), schema(weather.forecast), schema(weather.Source().run)
    instrument(weather, nested=True)
    app = build()
    assert (app.openapi(), schema(weather.forecast), schema(weather.Source().run)) == before
    answer = asyncio.run(get(app, "/forecast?city=Bern&days=2"))
    assert answer.json() == {"Bern": 2}
    assert asyncio.run(get(app, "/forecast?days=2")).status_code == 422
    assert asyncio.run(get(app, "/injected?city=Rome")).json() == "Rome from here"
    assert pydantic.validate_call(weather.forecast)("Oslo", "4") == {"Oslo": 4}
    assert names(seen) == ["forecast", "Source.ask", "forecast"]


def _injected(depends: Any) -> Callable[..., Any]:
    def endpoint(answer: str = depends) -> str:
        return answer

    return endpoint


def test_a_context_manager_around_a_failing_tool(seen: Collector, weather: ModuleType) -> None:
    """What `with` and `contextlib.suppress` see of an exception is the very object, raised once."""
    instrument(weather)
    with contextlib.suppress(LookupError):
        weather.fail("Bern")
    with pytest.raises(LookupError) as caught:
        weather.fail("Rome")
    error = caught.value
    assert (error.args, error.__context__, error.__cause__) == (("Rome",), None, None)
    assert names(seen) == ["fail", "fail"]


class Loud:
    """An object whose repr calls one of its own tools."""

    shown = 0

    def run(self, value: Any = None) -> int:
        return 1

    def name(self) -> str:
        return "loud"

    def __repr__(self) -> str:
        Loud.shown += 1
        return self.name()


def test_nothing_is_printed_on_the_way(seen: Collector) -> None:
    """`repr` of a bound method is the repr of its object: no argument is ever asked for it, however deep it
    stands, so no tool is called that the application did not call."""
    instrument(Loud)
    loud = Loud()
    for value in (loud, loud.name, functools.partial(loud.name), [loud.name, {"a": loud.name}]):
        loud.run(value)
    assert names(seen) == ["Loud.run"] * 4
    assert Loud.shown == 0


class Unsigned:
    """A method whose signature cannot be read."""

    def run(self, a: int, b: int = 2) -> int:
        return a


Unsigned.run.__signature__ = "none"  # type: ignore[attr-defined]


def test_a_function_without_a_signature_is_recorded_by_position(seen: Collector) -> None:
    """Where `inspect.signature` raises, the arguments are recorded as they came."""
    with pytest.raises((TypeError, ValueError)):
        inspect.signature(Unsigned.run)
    instrument(Unsigned)
    assert Unsigned().run(3, b=4) == 3
    (record,) = calls(seen)
    assert record["input"] == {"args": [3], "kwargs": {"b": 4}}


def test_annotations_survive_a_look_at_the_types(seen: Collector, weather: ModuleType) -> None:
    """Whoever asks our own classes for their annotations (linters, serializers, Python 3.13 itself) hides
    those of no tool."""
    instrument(weather)
    source = weather.Source()
    for tool in (weather.forecast, weather.Base.run, source.run, weather.Base.__dict__["run"]):
        assert type(tool).__annotations__ is not None
        inspect.get_annotations(type(tool))
        assert list(tool.__annotations__)[-1] == "return"
        assert "return" in inspect.get_annotations(tool)
    weather.forecast.__annotations__ = {"return": bool}
    assert weather.forecast.__wrapped__.__annotations__ == {"return": bool}


MAKERS = {
    "__init__.py": """
        import collections, inspect, sys

        def make_class(name):
            made = type(name, (), {})
            made.__module__ = sys._getframe(1).f_globals["__name__"]
            return made

        def caller():
            return inspect.stack()[1].function

        def back():
            return inspect.currentframe().f_back.f_code.co_name

        def own():
            return inspect.currentframe().f_code.co_name

        class Maker:
            def make(self, name): return make_class(name)
            def frame(self): return sys._getframe(1).f_code.co_name
    """,
}


def test_what_looks_at_its_callers_frame_is_left_alone(seen: Collector, tmp_path: Path) -> None:
    """A function that takes its caller from the stack (to give a class its module, say) is skipped with the
    reason, so it finds its caller; who asks for it by `tools=` has it recorded."""
    with package(tmp_path, "makerpkg", MAKERS) as makers:
        made = instrument(makers, nested=True)
        assert made.wrapped == ["own", "Maker.make"]
        assert {reason.partition(",")[0] for _, reason in made.skipped} == {"looks at its caller's frame"}
        me = "test_what_looks_at_its_callers_frame_is_left_alone"
        assert makers.make_class("Made").__module__ == __name__
        assert (makers.caller(), makers.back(), makers.Maker().frame()) == (me, me, me)
        assert (makers.own(), makers.Maker().make("Made").__module__) == ("own", "makerpkg")
        assert names(seen) == ["own", "Maker.make"]
        made.undo()
        with instrument(makers, tools="make_class"):
            makers.make_class("Made")
        assert names(seen) == ["make_class"]
