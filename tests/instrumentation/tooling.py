"""For the tests beside this file: packages written on the spot, calls as records, namespaces compared
exactly."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.helpers import Collector, collecting
from toolog.instrumentation import instrumented
from toolog.schema import validate


def calls(seen: Collector) -> list[dict[str, Any]]:
    """Return the documents of the ended calls so far, each validated, and forget them."""
    documents = seen.documents
    seen.records.clear()
    for document in documents:
        validate(document)
    return [document for document in documents if document["event"].startswith("tool_call")]


def names(seen: Collector) -> list[str]:
    """Return the tool names of the calls so far, and forget them."""
    return [document["tool_name"] for document in calls(seen)]


def instances(seen: Collector) -> list[dict[str, Any]]:
    """Return the ``tool_instance`` records so far, each validated; nothing is forgotten."""
    found = [document for document in seen.documents if document["event"] == "tool_instance"]
    for document in found:
        validate(document)
    return found


@contextmanager
def watching() -> Iterator[Collector]:
    """Collect records, and undo every instrumentation that the block leaves behind."""
    before = instrumented.active()
    with collecting() as seen:
        try:
            yield seen
        finally:
            for made in reversed(instrumented.active()):
                if made not in before:
                    made.undo()


def write_package(folder: Path, name: str, files: dict[str, str]) -> None:
    """Write a package; ``files`` maps a path inside it to its source."""
    for path, source in files.items():
        target = folder / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(source))


@contextmanager
def package(folder: Path, name: str, files: dict[str, str]) -> Iterator[ModuleType]:
    """Write a package, import it, and forget it afterwards."""
    write_package(folder, name, files)
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
        for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
            del sys.modules[loaded]


class Namespaces:
    """The namespaces of some classes, modules and objects, to be compared in keys, order and objects."""

    def __init__(self, *owners: Any) -> None:
        self._before = [(owner, list(vars(owner).items())) for owner in owners]

    def differences(self) -> list[str]:
        """Return where a namespace is not exactly as it was."""
        found = []
        for owner, before in self._before:
            now = list(vars(owner).items())
            if [key for key, _ in now] != [key for key, _ in before]:
                found.append(f"{owner!r}: keys or their order")
            held = dict(now)
            found += [f"{owner!r}.{key}" for key, value in before if held.get(key) is not value]
        return found
