"""Which calls are inner ones: of what was pointed at only the outermost call is recorded."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tooling import names, write_package

from tests.helpers import Collector
from toolog.instrumentation.entry import instrument

SHOP = {
    "__init__.py": "",
    "tools.py": """
def price(article):
    return 2

def pay(article):
    return price(article)

class Cart:
    def __init__(self, key):
        self.key = key

    def add(self, article):
        return self.total() + pay(article)

    def total(self):
        return 0
""",
    "agent.py": """
from {name} import tools

def handle(order):
    return tools.Cart("k").add(order)

def main():
    return [handle(order) for order in range(2)]
""",
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An application whose agent and tools lie in one package; gives its name, nothing is imported."""
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    write_package(tmp_path, name, {file: text.replace("{name}", name) for file, text in SHOP.items()})
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]


@pytest.mark.parametrize("way", ["decorator", "function", "picked", "module"])
def test_a_root_tool_leaves_the_tools_below_it_their_records(seen: Collector, shop: str, way: str) -> None:
    """However a function of the same package becomes a tool, what it calls of an instrumented module is its
    child, and what the tools call of their own module is not recorded.
    """
    import toolog

    agent: Any = importlib.import_module(f"{shop}.agent")
    made = [instrument(f"{shop}.tools")]
    if way == "decorator":
        agent.handle = toolog.tool(agent.handle)
    elif way == "function":
        made.append(instrument(agent.handle))
    elif way == "picked":
        made.append(instrument(agent, tools="handle"))
    else:
        made.append(instrument(agent))
    agent.main()
    expected = ["Cart.add", "handle"] * 2 if way != "module" else ["Cart.add", "Cart.add", "main"]
    assert names(seen) == expected
    for one in reversed(made):
        one.undo()


def test_a_package_and_its_module_are_one_region(seen: Collector, shop: str) -> None:
    """With the package and one of its modules pointed at, an inner call is still no record."""
    root = importlib.import_module(shop)
    tools: Any = importlib.import_module(f"{shop}.tools")
    root.pay = tools.pay  # type: ignore[attr-defined]
    whole, part = instrument(root), instrument(tools)
    root.pay("a")
    assert names(seen) == ["pay"]
    part.undo()
    whole.undo()


def test_instances_that_a_root_tool_makes_are_told_at_once(seen: Collector, shop: str) -> None:
    """An object that is made inside a tool that was pointed at is told when it is made, not with its first
    call.
    """
    agent: Any = importlib.import_module(f"{shop}.agent")
    made = [instrument(f"{shop}.tools"), instrument(agent.handle)]
    agent.handle(1)
    events = [record["event"] for record in seen.documents]
    assert events.index("tool_instance") < events.index("tool_call_success")
    for one in reversed(made):
        one.undo()


@pytest.mark.parametrize("turned", [False, True])
def test_a_list_of_modules_that_import_each_other_is_instrumented_whole(
    seen: Collector, shop: str, turned: bool
) -> None:
    """A module that is just being imported, because another of the list is, is waited for."""
    wanted = [f"{shop}.tools", f"{shop}.agent"]
    made = instrument(wanted[::-1] if turned else wanted)
    assert sorted(made.waiting) == sorted(wanted)
    agent: Any = importlib.import_module(f"{shop}.agent")
    assert made.waiting == []
    assert {"handle", "main", "pay", "Cart.add"} <= set(made.wrapped)
    agent.handle(1)
    assert names(seen) == ["Cart.add", "handle"]
    made.undo()
