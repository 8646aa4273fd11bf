"""Names in a search cluster: of data streams, of the index template, and of what makes them up."""

from __future__ import annotations

import re
from functools import lru_cache

from toolog.errors import ConfigError

PREFIX = "toolog"
NAMESPACE = "default"
"""The namespace when the options name none."""
_NO_POLICY = "none"
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9_.]{0,99}")
_UNFIT = re.compile(r"[^a-z0-9_.]")


@lru_cache(maxsize=256)
def data_stream(policy: str, namespace: str = NAMESPACE) -> str:
    """Return the data stream that holds one retention policy's records: ``toolog-error-prod``.

    What an index name cannot have is an underscore in it.
    """
    return f"{PREFIX}-{_UNFIT.sub('_', policy.lower()) or _NO_POLICY}-{namespace}"


def template_name(namespace: str = NAMESPACE) -> str:
    """Return the name of the index template of a namespace's data streams: ``toolog-prod``."""
    return f"{PREFIX}-{namespace}"


def stream_pattern(namespace: str = NAMESPACE) -> str:
    """Return the pattern that all data streams of a namespace match: ``toolog-*-prod``."""
    return f"{PREFIX}-*-{namespace}"


def check_namespace(value: object, where: str) -> str:
    """Return a namespace if it can be part of an index name. Raises ConfigError naming ``where``.

    Without ``-``: it ends the name, so ``toolog-*-b`` would also match the streams of a namespace ``a-b``.
    """
    if isinstance(value, str) and _NAMESPACE.fullmatch(value):
        return value
    raise ConfigError(
        f"{where} is small letters, digits, '_' and '.', beginning with a letter or digit, at most 100, "
        f"for example 'prod'; not {value!r}"
    )
