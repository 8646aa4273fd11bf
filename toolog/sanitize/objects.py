"""What is inside objects that declare their fields (dataclasses, attrs, pydantic) and exceptions; runs none
of their code."""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any

_MOST_CAUSES = 16


def fields_of(value: Any) -> dict[str, Any] | None:
    """Answer the declared fields of an object with their values, or None when it declares none.

    Values are read from the instance's own dictionary or slots, never through properties.
    """
    kind = type(value)
    if kind is type or isinstance(value, type):
        return None
    names = None
    for attribute in ("__dataclass_fields__", "model_fields", "__pydantic_fields__", "__attrs_attrs__"):
        declared = next((vars(base)[attribute] for base in kind.__mro__ if attribute in vars(base)), None)
        if isinstance(declared, dict):
            names = list(declared)
            break
        if isinstance(declared, tuple):
            names = [item.name for item in declared]
            break
    if names is None:
        return None
    state = getattr(value, "__dict__", None)
    own = state if isinstance(state, dict) else {}
    fields = {}
    for name in names:
        if name in own:
            fields[name] = own[name]
            continue
        slot = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
        if isinstance(slot, MemberDescriptorType):
            try:
                fields[name] = slot.__get__(value)
            except AttributeError:
                continue
    return fields


def causes_of(error: BaseException) -> list[BaseException]:
    """Answer an exception and what caused it, outermost first; bounded, and each once."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and len(chain) < _MOST_CAUSES and all(link is not known for known in chain):
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain
