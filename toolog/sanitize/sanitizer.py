"""`Sanitizer`: the policy, the scan and the walk behind one object that is also a plain `logging.Filter`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any

from toolog.errors import ConfigError, unknown_key
from toolog.forks import after_in_child
from toolog.sanitize import logfilter
from toolog.sanitize.echoes import Echoes
from toolog.sanitize.engine import Finding, Walk, packed
from toolog.sanitize.masks import FAILED
from toolog.sanitize.policy import OPTIONS, Policy

_MOST_TOOLS = 10_000


class Sanitizer(logging.Filter):
    """Masks secrets and personal data in values, and in log records as a filter of any handler or logger.
    Since 0.1.

    :param keys_add: names that make a key sensitive (`customer_ref`), beyond the built-in vocabulary.
    :param keys_remove: words or whole names that no longer do.
    :param safe_keys: names whose values are left alone altogether.
    :param safe_paths: JSON paths (`input.customer.phone`; `*` one segment, `**` any number) left alone with
        all below.
    :param rules_add: rule name -> regular expression (re2 syntax; with a group only the first group is
        masked).
    :param rules_disable: names of rules that mask nothing.
    :param style: one style, or rule -> style (`*`: all others): `mask`, `last4`, `pseudonym`, `drop`, a
        callable `(rule, secret) -> str` or its dotted name `package.module:function`.
    :param known_secrets: texts that are masked wherever they stand, also JSON-escaped, URL-quoted or in
        base64.
    :param max_depth: how many containers deep the walk goes; what lies deeper becomes `[TRUNCATED]`.
    :param max_bytes: how many characters of one text are read; the rest becomes `[TRUNCATED]`.
    :param tools: tool name -> options that hold for that tool, on top of these.
    :param hmac_key: the key of `pseudonym`: text, bytes, or `{"env": NAME}`.
    :raises ConfigError: for any option that is unknown or cannot be used; names the nearest right one.
    """

    def __init__(
        self,
        *,
        keys_add: Any = None,
        keys_remove: Any = None,
        safe_keys: Any = None,
        safe_paths: Any = None,
        rules_add: Any = None,
        rules_disable: Any = None,
        style: Any = None,
        known_secrets: Any = None,
        max_depth: int | None = None,
        max_bytes: int | None = None,
        tools: Mapping[str, Mapping[str, Any]] | None = None,
        hmac_key: Any = None,
        **unknown: Any,
    ) -> None:
        super().__init__()
        for name in unknown:
            raise unknown_key(name, OPTIONS, "sanitizer")
        options = {
            "keys_add": keys_add, "keys_remove": keys_remove, "safe_keys": safe_keys,
            "safe_paths": safe_paths,
            "rules_add": rules_add, "rules_disable": rules_disable, "style": style,
            "known_secrets": known_secrets,
            "max_depth": max_depth, "max_bytes": max_bytes, "tools": tools, "hmac_key": hmac_key,
        }  # fmt: skip
        self._options = {key: value for key, value in options.items() if value is not None}
        self._policy = Policy(self._options)
        if tools is not None and not isinstance(tools, Mapping):
            raise ConfigError(f"sanitizer option 'tools' is a mapping of tool name to options, not {tools!r}")
        self._tools = {name: self._policy.for_tool(given, name) for name, given in (tools or {}).items()}
        self._matched: dict[str, Policy] = {}

    @classmethod
    def from_config(cls, options: Mapping[str, Any] | None) -> Sanitizer:
        """Make a sanitizer from plain data, as it stands in a dictConfig or in pyproject.

        :raises ConfigError: when it is no mapping, or an option is wrong.
        """
        if options is None:
            return cls()
        if not isinstance(options, Mapping):
            raise ConfigError(f"sanitizer options are a mapping, not {options!r}")
        return cls(**{str(key): value for key, value in options.items()})

    @property
    def by_tool(self) -> bool:
        """Whether some tools have options of their own."""
        return bool(self._tools)

    @property
    def common(self) -> Policy:
        """What holds for tools without options of their own, and for everything else."""
        return self._policy

    def policy(self, tool: str | None = None) -> Policy:
        """Answer the policy that holds for a tool: its own, the first glob's that fits, or the common one."""
        if tool is None or not self._tools:
            return self._policy
        found = self._tools.get(tool) or self._matched.get(tool)
        if found is None:
            fitting = (policy for glob, policy in self._tools.items() if fnmatchcase(tool, glob))
            found = next(fitting, self._policy)
            if len(self._matched) < _MOST_TOOLS:
                self._matched[tool] = found
        return found

    def flags(self, data: bytes, tool: str | None = None) -> bool:
        """Tell whether anything in serialized bytes may be masked: MessagePack, JSON or UTF-8 text, read in
        one scan.

        False means that a walk would change nothing.
        """
        return self.policy(tool).flags(data)

    def sanitize(self, value: Any) -> Any:
        """Answer the value with everything masked that must not be seen: the same object when that is
        nothing.

        Never raises and never changes the given value.
        """
        return self.sanitize_at(value)[0]

    def sanitize_at(
        self, value: Any, path: str = "", tool: str | None = None, echoes: Echoes | None = None
    ) -> tuple[Any, dict[str, int]]:
        """Sanitize a value that stands at a path of a record (`input`), for a tool.

        :param echoes: what names told in this value and in the others of its record; the caller sees to the
            search. None: the value is all there is.
        :returns: the value, and how many things were masked by each rule.
        """
        try:
            policy = self.policy(tool)
            place = _segments(path) if path else ()
            walk = Walk(policy, place, echoes=echoes)
            clean = walk.run(value)
            if echoes is None and walk.echoes is not None and walk.echoes.search(packed(value)):
                walk = Walk(policy, place, echoes=walk.echoes)
                clean = walk.run(value)
            return clean, walk.counts
        except Exception:
            return FAILED, {"redaction_failed": 1}

    def explain(self, value: Any, tool: str | None = None) -> list[Finding]:
        """List what would be masked: path, rule and length of each, never a value."""
        findings: list[Finding] = []
        walk = Walk(self.policy(tool), (), findings)
        walk.run(value)
        if walk.echoes is not None and walk.echoes.search():
            findings.clear()
            Walk(self.policy(tool), (), findings, walk.echoes).run(value)
        return findings

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask a log record in place and let it pass; one with nothing to hide is left untouched. Never logs.

        A record of a tool call only gets this sanitizer stamped on it: it masks itself when first asked for
        content.
        """
        if hasattr(record, "toolog_event"):
            record.toolog_sanitizer = self
            return True
        logfilter.mask_record(record, self._policy)
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self._options)

    def __copy__(self) -> Sanitizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Sanitizer:
        return self

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._options == self._options

    __hash__ = logging.Filter.__hash__

    def __repr__(self) -> str:
        shown = sorted(name for name in self._options)
        return f"Sanitizer({', '.join(name + '=...' for name in shown)})"


@lru_cache(maxsize=256)
def _segments(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split(".") if part)


def _restore(kind: type[Sanitizer], options: dict[str, Any]) -> Sanitizer:
    return kind(**options)


@cache
def default() -> Sanitizer:
    """Answer the sanitizer with the default options: one for the whole process."""
    return Sanitizer()


def warm() -> None:
    """Make the scans of the default sanitizer now, so that the first record does not wait for them.

    That takes a quarter of a second.

    Meant for the start of a handler. What is made is kept for the process and bounded in memory. While one
    thread is at it, others wait for what it makes.
    """
    with _warming:
        for sample in _SAMPLES:
            default().sanitize({"input": sample})


_warming = threading.RLock()


def _after_fork() -> None:
    global _warming
    _warming = threading.RLock()  # a thread that the child does not have may hold the parent's


after_in_child(_after_fork)


#: One value for each part that is made when first needed, and a clean one. Nothing in them is real.
_SAMPLES: tuple[Any, ...] = (
    "see order 12 from Monday",
    "password=invented-1",
    "sk-" + "0123456789abcdef" * 2,
    "密码：invented-1",
    {"value": "invented-1", "name": "token"},
    "7z x -pinvented-1 a.7z",
)
