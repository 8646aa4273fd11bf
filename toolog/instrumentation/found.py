"""What a search for tools gives: the tools, what was left alone and why, and classes that matter later."""

from __future__ import annotations

from collections.abc import Set
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from toolog.instrumentation.homes import Homes
from toolog.instrumentation.importlib_bootstrap_gates import Gate
from toolog.instrumentation.kinds import Kind, is_class, module_of, unwrap


class Tool(NamedTuple):
    """A callable to be wrapped: where it stands, what stands there, and what its calls are named."""

    holder: Any
    attribute: str
    raw: Any
    kind: Kind
    name: str
    package: str
    nested: bool
    gate: Gate | None = None
    homes: Homes | None = None  # modules whose own calls are the package's doing, not the agent's
    region: str | None = None  # the module or package that was pointed at

    @property
    def path(self) -> str:
        """Where it stands, as ``module.Class.method``."""
        return f"{_holder_name(self.holder)}.{self.attribute}"


class Skipped(NamedTuple):
    """A name that was looked at and left alone, and why."""

    name: str
    reason: str


class ToolClass(NamedTuple):
    """A class whose constructor and later subclasses matter; ``whole`` when it was found through its
    package."""

    cls: type
    package: str
    nested: bool
    whole: bool
    has_tools: bool
    homes: Homes | None = None
    generated: bool = False  # the base of classes made at run time: only what they hold themselves are tools
    region: str | None = None


class Found:
    """What a search gave: the tools, what was skipped, and the classes whose constructors and subclasses
    matter.

    ``known``: where tools stand that are wrapped already: id of the class that holds one, and attribute.
    """

    def __init__(self, known: Set[tuple[int, str]] = frozenset()) -> None:
        self.tools: list[Tool] = []
        self.skipped: list[Skipped] = []
        self.classes: list[ToolClass] = []
        self.places: set[tuple[int, str]] = set()
        """Where the tools of classes stand, as in ``known``."""
        self.known = known
        self.adapted: list[Any] = []
        """Frameworks' tables, and tools (or owners of tools) of frameworks: their calls are an adapter's."""

    def set_region(self, region: str) -> None:
        """Note which module or package was pointed at."""
        self.tools = [tool._replace(region=region) for tool in self.tools]
        self.classes = [item._replace(region=region) for item in self.classes]

    def skip(self, name: str, reason: str) -> None:
        """Note that a name was left alone."""
        self.skipped.append(Skipped(name, reason))


def _holder_name(holder: Any) -> str:
    if is_class(holder):
        return f"{module_of(holder)}.{holder.__qualname__}"
    if isinstance(holder, ModuleType):
        return holder.__name__
    return f"<{type(holder).__name__} object>"


def describe(tool: Tool) -> tuple[str, str, str | None]:
    """Return module, qualified name and the first line of the docstring of a tool's function."""
    function = unwrap(tool.kind.function)
    module = function.__module__ if type(function) is FunctionType else ""
    qualname = function.__qualname__ if type(function) is FunctionType else tool.attribute
    if is_class(tool.holder):
        module = module_of(tool.holder) or module
        qualname = f"{tool.holder.__qualname__}.{tool.attribute}"
    elif isinstance(tool.holder, ModuleType) and qualname.rpartition(".")[2] != tool.attribute:
        qualname = tool.attribute  # a partial, or a function shown under another name
    doc = function.__doc__ if type(function) is FunctionType else None
    text = doc.strip().splitlines() if isinstance(doc, str) and doc.strip() else []
    return module or _holder_name(tool.holder), qualname, text[0].strip() if text else None
