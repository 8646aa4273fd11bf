"""What happens around a tool's function: found (`module_tools`), wrapped (`proxy`), put in place (`patch`).

The public names are loaded when first used, because wrapt takes long to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolog.instrumentation.decorator import tool
    from toolog.instrumentation.entry import Instrumentation, instrument, uninstrument

_PUBLIC = ("Instrumentation", "instrument", "uninstrument")


def __getattr__(name: str) -> Any:
    if name == "tool":
        from toolog.instrumentation.decorator import tool

        return tool
    if name in _PUBLIC:
        from toolog.instrumentation import entry

        return getattr(entry, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Instrumentation", "instrument", "tool", "uninstrument"]
