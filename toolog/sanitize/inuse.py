"""The sanitizers that are in use in this process, for what is written beside records: reasons of sinks,
names of
threads, hashes of configurations. A record knows its own sanitizer; these texts are masked by all of them.
"""

from __future__ import annotations

import weakref
from functools import lru_cache
from typing import Any

from toolog.sanitize.sanitizer import Sanitizer, default

_MOST_NAMES = 1024
_inuse: weakref.WeakValueDictionary[int, Sanitizer] = weakref.WeakValueDictionary()


def enlist(sanitizer: Sanitizer) -> None:
    """Have a sanitizer asked from now on, for as long as somebody else holds it."""
    _inuse[id(sanitizer)] = sanitizer
    mask_name.cache_clear()


def enlisted() -> int:
    """Return a number that changes when other sanitizers are in use."""
    return hash(tuple(sorted(_inuse)))


def mask(value: Any, path: str = "") -> Any:
    """Return a value masked by the default sanitizer and by all that are in use. Never raises.

    :param path: where the value stands in a record (`config`), for `safe_paths`.
    """
    value = default().sanitize_at(value, path)[0]
    for sanitizer in list(_inuse.values()):
        value = sanitizer.sanitize_at(value, path)[0]
    return value


def mask_content(value: Any, path: str, tool: str | None = None) -> Any:
    """Return a record's content masked as in records: by all sanitizers in use, where there is none by the
    default one. Never raises.
    """
    for sanitizer in list(_inuse.values()) or [default()]:
        value = sanitizer.sanitize_at(value, path, tool)[0]
    return value


@lru_cache(maxsize=_MOST_NAMES)
def mask_name(name: str) -> str:
    """Return the name of a thread, task or process as it may be shown; remembered, because names come
    again."""
    return str(mask(name))
