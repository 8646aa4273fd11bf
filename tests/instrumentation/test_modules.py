"""Modules of every make: instrumented where possible, skipped with a reason where not, never broken."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tooling import Namespaces, calls, names, package, write_package

from tests.helpers import Collector
from toolog.instrumentation.entry import instrument


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("mypy.util", "is_dunder"),  # mypyc
        ("pandas._libs.tslibs.parsing", "parse_datetime_string_with_reso"),  # Cython
        ("orjson", "dumps"),  # PyO3
        ("math", "hypot"),  # CPython's own
    ],
)
def test_compiled_modules_are_skipped_with_the_reason(seen: Collector, name: str, function: str) -> None:
    """Functions of C, Cython, mypyc and Rust are named among the skipped, and the module works as before."""
    module = importlib.import_module(name)
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    before = Namespaces(module, *classes)
    made = instrument(module)
    assert (f"{name}.{function}", "function written in C") in made.skipped
    made.undo()
    assert before.differences() == []


def test_a_compiled_class_works_while_it_is_instrumented(seen: Collector) -> None:
    """Classes that mypyc compiled keep working, their methods are skipped or recorded, and undo is exact."""
    from mypy import options

    before = Namespaces(options, options.Options)
    made = instrument(options, nested=True)
    one = options.Options()
    assert one.snapshot() == options.Options().snapshot()
    assert one.apply_changes({"strict_optional": False}).strict_optional is False
    made.undo()
    assert before.differences() == []


def test_a_mixed_package_has_its_python_part_recorded(seen: Collector) -> None:
    """A Python package over a C extension: its Python functions are tools, the C ones are skipped."""
    import zstandard

    instrument(zstandard)
    assert zstandard.decompress(zstandard.compress(b"text")) == b"text"
    assert names(seen) == ["compress", "decompress"]


NAMESPACE = {
    "alpha/__init__.py": "from .tools import Alpha, search\n",
    "alpha/tools.py": """
        def search(text): return text.upper()
        class Alpha:
            def run(self, n): return search(str(n))
    """,
    "beta/__init__.py": "def other(text): return text\n",
}


def test_a_namespace_package_is_told_and_its_packages_are_instrumented(
    seen: Collector, tmp_path: Path
) -> None:
    """The namespace defines nothing, which is said; each package in it is a root package of its own."""
    with package(tmp_path, "spacepkg", NAMESPACE) as space:
        made = instrument(space)
        assert made.wrapped == []
        ((name, reason),) = made.skipped
        assert (name, reason.partition(":")[0]) == ("spacepkg", "namespace package")
        alpha = importlib.import_module("spacepkg.alpha")
        instrument(alpha)
        beta = importlib.import_module("spacepkg.beta")
        assert (alpha.search("a"), alpha.Alpha().run(1), beta.other("b")) == ("A", "1", "b")
        found = calls(seen)
    assert [item["tool_name"] for item in found] == ["search", "Alpha.run"]
    assert {item["tool"]["package"] for item in found} == {"spacepkg.alpha"}


LAZY = {
    "__init__.py": """
        loaded = []
        def ready(n): return n
        def __getattr__(name):
            if name == "Heavy":
                from .heavy import Heavy
                loaded.append(name)
                globals()[name] = Heavy
                return Heavy
            raise AttributeError(name)
        def __dir__(): return ["Heavy", "ready"]
    """,
    "heavy.py": """
        class Heavy:
            def lift(self, kilos): return kilos
    """,
}


def test_a_module_with_lazy_names_stays_lazy(seen: Collector, tmp_path: Path) -> None:
    """Nothing is loaded by instrumenting; what is loaded already is recorded, and naming the rest waits."""
    with package(tmp_path, "lazypkg", LAZY) as lazy:
        made = instrument(lazy)
        assert lazy.loaded == []
        assert any(name == "lazypkg.*" and "lazy module" in reason for name, reason in made.skipped)
        waiting = instrument("lazypkg.heavy.Heavy")
        assert waiting.waiting == ["lazypkg.heavy.Heavy"]
        assert "lazypkg.heavy" not in sys.modules
        assert (lazy.ready(1), lazy.Heavy().lift(5)) == (1, 5)
        assert lazy.loaded == ["Heavy"]
        assert names(seen) == ["ready", "Heavy.lift"]


ORDER = {
    "__init__.py": "from .first import one\nfrom .second import two\n",
    "first.py": "def one(n): return n\n",
    "second.py": """
        from .first import one
        REGISTRY = [one]
        def two(n): return one(n) + REGISTRY[0](n)
    """,
}


@pytest.mark.parametrize("when", ["before its import", "half imported", "after its import"])
def test_the_order_of_imports_changes_nothing(seen: Collector, tmp_path: Path, when: str) -> None:
    """Named before its first import, while it is being imported, or after it: the same tools are recorded."""
    write_package(tmp_path, "orderpkg", ORDER)
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    try:
        if when == "before its import":
            instrument("orderpkg", nested=True)
        elif when == "half imported":
            importlib.import_module("orderpkg.first")
            del sys.modules["orderpkg"]
            instrument("orderpkg", nested=True)
        module: Any = importlib.import_module("orderpkg")
        if when == "after its import":
            instrument(module, nested=True)
        assert module.two(2) == 4
        assert sorted(names(seen)) == ["one", "one", "two"]
    finally:
        sys.path.remove(str(tmp_path))
        for name in [key for key in sys.modules if key.partition(".")[0] == "orderpkg"]:
            del sys.modules[name]


def test_a_module_whose_class_was_replaced(seen: Collector, tmp_path: Path) -> None:
    """A module that is an object of a class of its own (as deprecation helpers make it) is instrumented
    without running that class's code."""
    source = """
        import sys, types
        touched = []
        class Guarded(types.ModuleType):
            def __getattribute__(self, name):
                object.__getattribute__(self, "__dict__")["touched"].append(name)
                return super().__getattribute__(name)
        def act(n): return n
        sys.modules[__name__].__class__ = Guarded
    """
    with package(tmp_path, "guardedpkg", {"__init__.py": source}) as module:
        names_of: dict[str, Any] = object.__getattribute__(module, "__dict__")
        names_of["touched"].clear()
        made = instrument(module)
        assert "act" in made.wrapped
        assert names_of["touched"] == []
        assert module.act(3) == 3
        assert isinstance(module, ModuleType)
        assert names(seen) == ["act"]
