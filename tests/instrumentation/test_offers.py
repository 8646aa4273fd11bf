"""What a wrapper offers beside its call: what the plain tool offers, to whoever asks for it."""

from __future__ import annotations

import asyncio
import collections.abc
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import wrapt
from tooling import names, package

from tests.helpers import Collector
from toolog.instrumentation.entry import instrument

FILES = {
    "__init__.py": """
        import functools

        def search(query):
            return [query]

        class Box:
            def run(self, query):
                return [query]

            @classmethod
            def make(cls, query):
                return [query]

            @staticmethod
            def count(query):
                return [query]

        half = functools.partial(search)

        class Kernel:
            '''A decorator that makes an object of a function, with much beside the call.'''

            def __init__(self, function):
                functools.update_wrapper(self, function)

            def __call__(self, query):
                return self.__wrapped__(query)

            def __getitem__(self, grid):
                return lambda query: (grid, query)

            def __len__(self):
                return 7

            def __bool__(self):
                return False

            def __iter__(self):
                return iter([1, 2])

            def __next__(self):
                return 3

            def __enter__(self):
                return "entered"

            def __exit__(self, *error):
                return True

            def __int__(self):
                return 4

            def __await__(self):
                yield from ()
                return "awaited"

            async def __aenter__(self):
                return "entered later"

            async def __aexit__(self, *error):
                return True

            def __aiter__(self):
                return self

            async def __anext__(self):
                raise StopAsyncIteration

        @Kernel
        def kernel(query):
            return [query]
    """,
}

SPECIAL = (
    "__len__", "__enter__", "__exit__", "__aenter__", "__aexit__",
    "__index__", "__int__", "__float__", "__complex__", "__iter__", "__next__", "__aiter__",
    "__anext__", "__await__", "__slots__",
)  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ModuleType]:
    """A package of tools."""
    with package(tmp_path, "shop", FILES) as module:
        yield module


def tools_of(shop: ModuleType) -> list[Any]:
    """Return the tools in all the ways in which they are got at."""
    box = shop.Box()
    return [
        shop.search, shop.Box.run, box.run, box.run.__func__, shop.Box.make, box.make, box.count, shop.half,
        shop.kernel, box,
    ]  # fmt: skip


def test_a_tool_is_of_the_abstract_classes_that_it_was_of(seen: Collector, shop: ModuleType) -> None:
    """`isinstance` with the abstract classes of the standard library says what it said."""
    kinds = [getattr(collections.abc, name) for name in collections.abc.__all__ if name != "ByteString"]
    kinds += [contextlib.AbstractContextManager, contextlib.AbstractAsyncContextManager]

    def look() -> list[list[str]]:
        return [[kind.__name__ for kind in kinds if isinstance(tool, kind)] for tool in tools_of(shop)]

    before = look()
    with instrument(shop):
        assert look() == before
    assert "Sized" not in before[0]


def test_a_tool_has_the_special_methods_that_it_had(seen: Collector, shop: ModuleType) -> None:
    """`hasattr` finds what makes a container, a context manager, a number or a stream only where it was."""

    kept = {"__iter__"} if hasattr(wrapt.FunctionWrapper, "__iter__") else set()  # by wrapt 1

    def look() -> list[list[str]]:
        return [
            [name for name in SPECIAL if name not in kept and hasattr(tool, name)] for tool in tools_of(shop)
        ]

    before = look()
    with instrument(shop):
        assert look() == before
    assert before[0] == []


async def _await(tool: Any) -> Any:
    return await tool


async def _enter(tool: Any) -> Any:
    async with tool as given:
        return given


async def _iterate(tool: Any) -> Any:
    return [item async for item in tool]


def _with(tool: Any) -> Any:
    with tool as given:
        return given


@pytest.mark.parametrize(
    "use",
    [
        len, bool, int, float, complex, list, iter, next, reversed, _with,
        lambda tool: tool["grid"]("q"),
        lambda tool: asyncio.run(_await(tool)),
        lambda tool: asyncio.run(_enter(tool)),
        lambda tool: asyncio.run(_iterate(tool)),
    ],
)  # fmt: skip
def test_what_a_tool_does_beside_its_call_it_still_does(
    seen: Collector, shop: ModuleType, use: Callable[[Any], Any]
) -> None:
    """An object that is a tool is used as before in all else, and what a tool cannot do says so as before."""

    def look() -> list[Any]:
        found: list[Any] = []
        for tool in (shop.search, shop.Box().run, shop.kernel):
            try:
                result = use(tool)
                found.append(type(result).__name__ if hasattr(result, "__next__") else result)
            except Exception as error:
                found.append((type(error).__name__, str(error)))
        return found

    def stack() -> None:
        with contextlib.ExitStack() as blocks:
            assert blocks.enter_context(shop.kernel) == "entered"
            with pytest.raises(TypeError, match="context manager"):
                blocks.enter_context(shop.search)

    before = look()
    with instrument(shop):
        assert look() == before
        stack()
        assert shop.kernel("lamp") == ["lamp"]
    assert names(seen)[-1] == "kernel"
    assert look() == before
