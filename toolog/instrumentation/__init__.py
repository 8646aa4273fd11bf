"""What happens around a tool's function: found (`targets`), wrapped (`proxy`), put in place (`patch`).

The public names are loaded when first used, because wrapt takes long to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolog.instrumentation.decorator import tool
    from toolog.instrumentation.entry import instrument, uninstrument
    from toolog.instrumentation.instrumented import Instrumentation


def __getattr__(name: str) -> Any:
    if name == "tool":
        from toolog.instrumentation.decorator import tool

        return tool
    if name in ("instrument", "uninstrument"):
        from toolog.instrumentation import entry

        return getattr(entry, name)
    if name == "Instrumentation":
        from toolog.instrumentation.instrumented import Instrumentation

        return Instrumentation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Instrumentation", "instrument", "tool", "uninstrument"]
