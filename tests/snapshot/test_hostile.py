"""Objects that raise, block or lie: none of their code runs, and none of them breaks a snapshot."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import pytest

from toolog.settings import capture
from toolog.snapshot import Limits, pack, pack_cut, plain

RAN: list[str] = []


def trap(name: str) -> Callable[..., Any]:
    """A method that notes that it ran, and raises what even ``except Exception`` lets through."""

    def method(*args: Any, **kwargs: Any) -> Any:
        RAN.append(name)
        raise GeneratorExit(name)

    return method


SPECIAL = [
    "__getattribute__", "__getattr__", "__repr__", "__str__", "__eq__", "__ne__", "__lt__",
    "__hash__", "__len__", "__bool__", "__iter__", "__next__", "__contains__", "__getitem__",
    "__call__", "__index__", "__int__", "__float__", "__format__", "__reduce_ex__", "__copy__",
    "__deepcopy__", "__dir__", "__sizeof__", "__length_hint__", "__bytes__", "keys", "items",
    "values", "model_dump", "dict", "to_dict", "isoformat", "item", "tolist",
]  # fmt: skip


class Meta(type):
    """A metaclass all of whose hooks are traps."""

    for _name in (
        "__getattribute__",
        "__eq__",
        "__hash__",
        "__instancecheck__",
        "__subclasscheck__",
        "__repr__",
    ):
        locals()[_name] = trap(f"metaclass {_name}")


def hostile(base: type, **extra: Any) -> type:
    """A subclass of ``base`` whose every hook is a trap."""
    names = {name: trap(name) for name in SPECIAL if not (base is not object and name == "__hash__")}
    lie = property(trap("__class__"))
    return Meta(
        "Hostile", (base,), {**names, "__class__": lie, "__dict__": property(trap("__dict__")), **extra}
    )


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    """No trap went off during the test."""
    RAN.clear()
    yield
    assert RAN == []


@pytest.mark.parametrize(
    ("base", "value", "expected"),
    [
        (object, (), {"type": f"{__name__}.Hostile"}),
        (int, (5,), 5),
        (float, (0.5,), 0.5),
        (str, ("text",), "text"),
        (bytes, (b"text",), "text"),
        (list, ([1, 2],), [1, 2]),
        (tuple, ([1, 2],), [1, 2]),
        (dict, ({"a": 1},), {"a": 1}),
        (set, ([1],), [1]),
        (frozenset, ([1],), [1]),
        (ValueError, ("bad",), {"type": f"{__name__}.Hostile", "message": "bad"}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_hooks_never_run(base: type, value: tuple[Any, ...], expected: Any) -> None:
    """A subclass of any builtin with all hooks trapped is read by the builtin's own means."""
    thing = base.__new__(hostile(base), *value)
    if base in (list, set, dict):
        base.__init__(thing, *value)
    assert plain(thing) == expected
    assert plain([thing, {"x": thing}]) == [expected, {"x": expected}]
    assert msgpack.unpackb(pack(thing)) == expected


def test_lies_about_class() -> None:
    """What ``__class__`` claims does not matter: a liar is not treated as a dict or a str."""

    class Liar:
        __class__ = dict  # type: ignore[assignment]

    assert plain(Liar())["type"].endswith("Liar")


def test_claimed_names_are_not_believed() -> None:
    """A class that calls itself numpy.ndarray or datetime is not read as one."""
    for module, name in (("numpy", "ndarray"), ("datetime", "datetime"), ("pydantic.main", "BaseModel")):
        fake = type(name, (), {"__module__": module, "__qualname__": name, "view": trap("view")})
        assert plain(fake()) == {"type": f"{module}.{name}"}


def test_secret_types_are_masked() -> None:
    """A class named Secret... that has get_secret_value never shows what it holds."""

    class SecretToken:
        def __init__(self) -> None:
            self.held = "hidden"

        def get_secret_value(self) -> str:
            RAN.append("get_secret_value")
            return self.held

    class Mine(SecretToken):
        pass

    assert plain({"a": SecretToken(), "b": [Mine()]}) == {
        "a": "[MASKED:secret_type]",
        "b": ["[MASKED:secret_type]"],
    }


def test_properties_are_not_read() -> None:
    """State is what is stored; a property is code."""

    class Lazy:
        def __init__(self) -> None:
            self.url = "shop"

        @property
        def page(self) -> str:
            RAN.append("page")
            return "fetched"

    assert plain(Lazy())["state"] == {"url": "shop"}


def test_slow_repr_is_not_asked() -> None:
    """A repr that would take a minute costs nothing."""

    class Slow:
        def __repr__(self) -> str:
            RAN.append("repr")
            time.sleep(60)
            return ""

    assert plain(Slow())["type"].endswith("Slow")


def test_nesting_of_two_thousand_levels() -> None:
    """Deep nesting of lists and dicts is cut at the limit, with its place named."""
    deep: Any = "bottom"
    for _ in range(1000):
        deep = {"in": [deep]}
    packed, cuts = pack_cut(deep, "input")
    assert b"[TRUNCATED]" in packed
    assert cuts == {"input" + ".in[0]" * 16: {"size": 1, "unit": "items"}}
    json.dumps(msgpack.unpackb(packed))


def test_cycles() -> None:
    """A cycle ends where it closes; the same object twice, without a cycle, is shown twice."""
    loop: dict[str, Any] = {"name": "loop"}
    loop["self"] = [loop]
    assert plain(loop) == {"name": "loop", "self": ["[CYCLE]"]}
    shared = {"a": 1}
    assert plain([shared, shared]) == [{"a": 1}, {"a": 1}]


def test_exponential_sharing_is_bounded() -> None:
    """A list that holds one list twice, which holds one list twice ... is billions of items, and bounded."""
    grown: list[Any] = ["leaf"]
    for _ in range(30):
        grown = [grown, grown]
    assert len(pack(grown)) <= capture.max_bytes


def test_concurrent_changes_do_not_raise() -> None:
    """A dict, a set and a deque that other threads change meanwhile never break a snapshot."""
    import collections

    shared: dict[Any, Any] = {str(number): {} for number in range(200)}
    members: set[int] = set(range(200))
    queue: collections.deque[int] = collections.deque(range(200))
    done = threading.Event()

    def change() -> None:
        number = 0
        while not done.is_set():
            number += 1
            shared[f"k{number % 500}"] = object()
            shared.pop(f"k{(number + 250) % 500}", None)
            members.symmetric_difference_update({number % 1000})
            queue.append(number)
            queue.popleft()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(40):
            for value in (shared, members, queue, [shared]):
                assert isinstance(msgpack.unpackb(pack(value)), (dict, list))
    finally:
        done.set()
        thread.join()


class Listed:
    """A type whose repr the user asks for."""

    answer: Any = "Listed()"

    def __repr__(self) -> str:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("short", "short"),
        ("x" * 5000, "x" * 2000 + "..."),
        (ValueError("no"), {"type": f"{__name__}.Listed", "repr_failed": "ValueError"}),
        (GeneratorExit(), {"type": f"{__name__}.Listed", "repr_failed": "GeneratorExit"}),
        (7, {"type": f"{__name__}.Listed", "repr_failed": "TypeError"}),
    ],
)
def test_repr_of_listed_types(answer: Any, expected: Any) -> None:
    """A repr is asked of listed types only; it is bounded, and may fail."""
    thing = Listed()
    thing.answer = answer
    assert plain(thing, limits=Limits(repr_types=(f"{__name__}.Li*",))) == expected
    assert plain(thing)["state"]["answer"] is not None


def test_interrupts_pass() -> None:
    """A key press or an exit during a listed repr is the user's, and is not swallowed."""
    thing = Listed()
    thing.answer = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        plain(thing, limits=Limits(repr_types=("*.Listed",)))


def test_lists_of_types_do_not_touch_builtins() -> None:
    """A glob for everything asks no repr of dicts and lists: it would run that of what they hold."""
    assert plain([{"a": 1}], limits=Limits(repr_types=("*",))) == [{"a": 1}]


def test_keys_of_rows_are_never_compared() -> None:
    """In a long table a row whose keys answer to ``==`` runs no code, and costs the table nothing."""
    compared: list[object] = []

    class Key:
        def __hash__(self) -> int:
            return hash("id")

        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return True

    rows: list[dict[Any, Any]] = [{"id": number, "text": "x" * 90} for number in range(1000)]
    rows.insert(3, {Key(): 1, "text": "y"})
    compared.clear()
    packed, cuts = pack_cut({"rows": rows}, "output")
    assert compared == []
    assert cuts is not None
    assert cuts["output.rows"]["size"] == 1001
    assert msgpack.unpackb(packed)["rows"][4]["id"] == 3
