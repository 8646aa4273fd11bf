"""Libraries that toolog uses may be tools like any other; what toolog calls of them itself is no call."""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import textwrap

import pytest

import toolog
from toolog.testing import capture

PROGRAM = """
import collections, dataclasses, importlib, json, logging, pathlib, sys, threading, uuid
import toolog
from toolog.testing import capture

@dataclasses.dataclass
class Order:
    number: int
    parts: object = None

class Shop:
    def __init__(self, url, key="k"):
        self.url = url
    def sell(self, order):
        return {"order": order, "path": pathlib.PurePath("x"), "id": uuid.UUID(int=5), "text": "y" * 5000}

def asked_of(module):
    # what the agent itself calls of each module
    return {
        "inspect": lambda: module.isfunction(asked_of), "json": lambda: module.dumps([1]),
        "re": lambda: module.compile("a+"), "typing": lambda: module.cast(int, 5),
        "functools": lambda: module.update_wrapper(lambda: 1, asked_of), "os": lambda: module.walk("."),
        "dataclasses": lambda: module.asdict(Order(1)),
        "weakref": lambda: module.WeakValueDictionary().copy(),
        "collections": lambda: module.UserDict().copy(), "contextlib": lambda: module.ExitStack().close(),
        "pathlib": lambda: module.PurePath("a").with_name("b"), "uuid": lambda: module.uuid4(),
        "wrapt": lambda: module.synchronized(asked_of), "click": lambda: module.style("x"),
    }[module.__name__]

found = {}
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    with capture(level="DEBUG", capture_output=True) as records:
        with toolog.instrument(module, nested=True), toolog.instrument(Shop):
            shop = Shop("http://x", key="secret")
            with toolog.session("s-1", stage="x"):
                shop.sell(Order(7, {"a": pathlib.PurePath("b")}))
            try:
                shop.sell(1, 2, 3)
            except TypeError:
                pass
            @toolog.tool
            def later(quantity: int = 5):
                yield quantity
            list(later())
            toolog.stats(), toolog.carrier()
            before = len(records)
            thread = threading.Thread(target=asked_of(module))
            thread.start()
            thread.join()
            asked = [record["tool_name"] for record in records[before:] if record["event"] != "tool_instance"]
    found[name] = {
        "tools": [record["tool"]["qualname"] for record in records[:before]],
        "asked": asked,
    }
print(json.dumps(found))
"""
MODULES = (
    "inspect", "json", "re", "typing", "functools", "os", "dataclasses", "weakref", "collections",
    "contextlib", "pathlib", "uuid", "wrapt", "click",
)  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, list[str]]]:
    """What was recorded with each of the modules instrumented, one after the other in one process."""
    command = [sys.executable, "-c", PROGRAM, *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    records: dict[str, dict[str, list[str]]] = json.loads(done.stdout)
    return records


@pytest.mark.parametrize("module", MODULES)
def test_what_toolog_calls_of_a_library_is_no_tool_call(
    found: dict[str, dict[str, list[str]]], module: str
) -> None:
    """With a library instrumented that recording, instrumenting and masking use, the records are the agent's
    calls alone; its own call of the library, in a thread, is one of them."""
    tools = found[module]["tools"]
    assert [name for name in tools if name not in ("Shop", "Shop.sell", "later")] == []
    assert tools.count("Shop") == 1
    assert found[module]["asked"]


def test_what_a_library_calls_itself_is_no_record_either() -> None:
    """A comparison that asks a mapping's own items is the library's doing, as in any other package."""
    one, two = collections.UserDict(x=1), collections.UserDict(x=1)
    with toolog.instrument(collections), capture(level="INFO") as records:
        assert one == two
        one.get("x")
    called = [record["tool_name"] for record in records if record["event"] != "tool_instance"]
    assert called == ["Mapping.get"]


@pytest.mark.parametrize("name", [[], None, 5])
def test_code_without_a_sensible_module_calls_as_ever(name: object) -> None:
    """A caller's module may have any name, or none: its call is the agent's, and goes as ever."""
    with toolog.instrument(textwrap), capture(level="INFO") as records:
        given = {"__name__": name, "shorten": textwrap.shorten}
        assert eval("shorten('a b', 10)", given) == "a b"
    assert [record["tool_name"] for record in records] == ["shorten"]
