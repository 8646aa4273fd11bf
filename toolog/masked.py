"""What a formatter sees of a record: a `logging.LogRecord`'s attributes, from the sanitized document only.

Whoever asks for ``record.__dict__``, ``getMessage()``, a copy or a pickle gets what the sanitizer let pass.
"""

from __future__ import annotations

import logging
import time
from typing import Any

_real_dict = logging.LogRecord.__dict__["__dict__"].__get__
_STARTED = time.time()

_NOTHING: dict[str, Any] = {
    "args": None, "pathname": "", "filename": "", "module": "", "lineno": 0, "funcName": None,
    "exc_info": None, "exc_text": None, "stack_info": None, "thread": None, "processName": "MainProcess",
}  # fmt: skip
"""What a LogRecord has and a tool call's has not: no formatter may miss it."""


class _Standard:
    """A standard attribute of a LogRecord, computed when somebody asks for it; assigning one replaces it.

    (``__getattr__`` would do the same, and make every attribute of a record ten times slower to read.)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, record: MaskedRecord | None, owner: type) -> Any:
        return self if record is None else record._standard()[self.name]


class MaskedRecord(logging.LogRecord):
    """A LogRecord whose attributes are computed from its sanitized document when somebody asks for them."""

    def document(self) -> dict[str, Any]:
        """Return the sanitized document as plain data."""
        raise NotImplementedError

    def logger_name(self) -> str:
        """Return the name of the logger that the record goes to, where nobody gave it another."""
        raise NotImplementedError

    def getMessage(self) -> str:
        """Return one readable line about the event, sanitized."""
        document = self.document()
        if document.get("message") is not None:
            return str(document["message"])
        parts = [document["event"]]
        if "tool_name" in document:
            parts.append(document["tool_name"])
        if isinstance(document.get("input"), dict):
            parts.append(
                "(" + ", ".join(f"{key}={value!r:.80}" for key, value in document["input"].items()) + ")"
            )
        if "duration_ms" in document:
            parts.append(f"{document['duration_ms']:.3f} ms")
        if document.get("error"):
            parts.append(f"{document['error'].get('type')}: {document['error'].get('message')}")
        return " ".join(parts)

    def _standard(self) -> dict[str, Any]:
        """Return the attributes of a plain LogRecord, from the sanitized document."""
        document = self.document()
        process = document.get("process") or {}
        seconds = _seconds(document["timestamp"])
        return {
            **_NOTHING,
            "name": _real_dict(self).get("name") or self.logger_name(),
            "msg": self.getMessage(),
            "levelname": logging.getLevelName(self.levelno),
            "levelno": self.levelno,
            "created": seconds,
            "msecs": (seconds - int(seconds)) * 1000,
            "relativeCreated": (seconds - _STARTED) * 1000,
            "threadName": process.get("thread"),
            "process": process.get("pid"),
            "taskName": process.get("task"),
            "trace_id": document.get("trace_id", ""),
            "span_id": document.get("span_id", ""),
            "tool_name": document.get("tool_name", ""),
            "toolog": document,
        }

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The attributes that a formatter sees: the standard ones, sanitized, and ``toolog``, the whole
        document.
        """
        added = {key: value for key, value in _real_dict(self).items() if not key.startswith("_")}
        return {**self._standard(), **added}

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy or a pickle (QueueHandler, SocketHandler) leaves this process's care: it carries sanitized
        # data only.
        return logging.makeLogRecord, (dict(self.__dict__),)


for _name in (
    *_NOTHING, "name", "msg", "levelname", "created", "msecs", "relativeCreated", "threadName", "process",
    "taskName", "trace_id", "span_id", "tool_name", "toolog",
):  # fmt: skip
    setattr(MaskedRecord, _name, _Standard(_name))


def _seconds(timestamp: str) -> float:
    from calendar import timegm

    return timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S")) + float(timestamp[19:-1] or 0)
