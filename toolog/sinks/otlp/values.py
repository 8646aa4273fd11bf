"""Plain data as OTLP's own values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from toolog.sinks.otlp.messages import Messages

DEEPEST = 16
"""Containers inside each other that are written as such; what lies deeper is a text of JSON. Each is three
messages of protobuf in each other, of which readers take a hundred."""
_LARGEST = 1 << 63


class Values:
    """Makes OTLP's values of plain data."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def make(self, value: Any, depth: int = 0) -> Any:
        """Return any plain value; integers beyond 64 bits with a sign are texts of their digits."""
        make = self._messages.AnyValue
        kind = type(value)
        if kind is str:
            return make(string_value=value)
        if kind is bool:
            return make(bool_value=value)
        if kind is int:
            return make(int_value=value) if -_LARGEST <= value < _LARGEST else make(string_value=str(value))
        if kind is float:
            return make(double_value=value)
        if kind is dict or kind is list:
            if depth >= DEEPEST:
                return make(string_value=orjson.dumps(value).decode())
            if kind is list:
                items = [self.make(item, depth + 1) for item in value]
                return make(array_value=self._messages.ArrayValue(values=items))
            pairs = self.pairs(value.items(), depth + 1)
            return make(kvlist_value=self._messages.KeyValueList(values=pairs))
        return make()  # None: a value that is empty

    def pairs(self, items: Iterable[tuple[str, Any]], depth: int = 0) -> list[Any]:
        """Return names and plain values as attributes."""
        make = self._messages.KeyValue
        return [make(key=key, value=self.make(value, depth)) for key, value in items]
