"""Who lets go of old records in a search cluster: the values of the option ``lifecycle``.

The sink itself never deletes. `toolog.expiry` reads the option, and so does whoever reads the configuration.
"""

from __future__ import annotations

from toolog.errors import ConfigError, nearest

LIFECYCLES: dict[str, tuple[str, ...]] = {
    "elasticsearch": ("data_stream", "ilm", "toolog"),
    "opensearch": ("toolog", "ism"),
}
"""Dialect -> the engines that such a server has, and ours; the first is the default.

``data_stream`` and ``ilm`` are Elasticsearch's own, ``ism`` is OpenSearch's plugin, ``toolog`` needs nothing
but the core interface.
"""


def check_lifecycle(value: object, dialect: str, where: str) -> str:
    """Return the name of an engine (None: the dialect's default).

    Raises ConfigError for an engine that nobody knows, or that this kind of server does not have.
    """
    known = LIFECYCLES[dialect]
    if value is None:
        return known[0]
    if value in known:
        return str(value)
    choice = f"choose one of {', '.join(known)}"
    if value in {name for names in LIFECYCLES.values() for name in names}:
        raise ConfigError(f"lifecycle of {where} is {value!r}, which {dialect} does not have; {choice}")
    guess = nearest(str(value), known)
    hint = f"did you mean {guess!r}?" if guess else choice
    raise ConfigError(f"lifecycle of {where}: {value!r} is not known; {hint}")
