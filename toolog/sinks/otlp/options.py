"""The options of the sink ``otlp``, checked before anything is imported or opened."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolog.errors import ConfigError, nearest, shown
from toolog.sinks.secret import Secret, resolve_secret
from toolog.units import parse_duration

ENDPOINT = "http://localhost:4318"
"""Where a collector listens for OTLP over HTTP, by the protocol's specification."""
SIGNALS = ("all", "logs", "traces")
COMPRESSIONS = ("gzip", "none")
PATHS = {"traces": "/v1/traces", "logs": "/v1/logs"}
TIMEOUT = 10.0
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_OURS = frozenset({"content-type", "content-encoding", "content-length", "host"})


@dataclass(frozen=True)
class OtlpOptions:
    """What the sink was told. ``where`` names it in errors; ``timeout`` is in seconds."""

    where: str
    endpoint: str = ENDPOINT
    signals: str = "all"
    headers: Mapping[str, Secret] = field(default_factory=dict)
    ca_certs: str | None = None
    compression: str = "gzip"
    timeout: float = TIMEOUT

    def url(self, signal: str) -> str:
        """Return where ``signal`` ("traces", "logs") is posted to."""
        return self.endpoint + PATHS[signal]


def check(
    where: str,
    *,
    endpoint: Any,
    signals: Any,
    headers: Any,
    ca_certs: Any,
    compression: Any,
    timeout: Any,
) -> OtlpOptions:
    """Return the options of one sink. Raises ConfigError, which never quotes a header's value."""
    url = _endpoint(endpoint, f"endpoint of {where}")
    if ca_certs is not None:
        if not isinstance(ca_certs, (str, os.PathLike)) or not os.fspath(ca_certs):
            raise ConfigError(f"ca_certs of {where} is a path, not {shown(ca_certs)}")
        if url.startswith("http://"):
            raise ConfigError(
                f"endpoint of {where} is not https, so there is no certificate to check; write https:// "
                "or leave ca_certs out"
            )
        ca_certs = str(Path(os.fsdecode(ca_certs)).expanduser())
    seconds = parse_duration(timeout, f"timeout of {where}")
    if seconds <= 0:
        raise ConfigError(f"timeout of {where} is more than 0 s")
    return OtlpOptions(
        where,
        url,
        _choice(signals, SIGNALS, f"signals of {where}"),
        _headers(headers, f"headers of {where}"),
        ca_certs,
        _choice(compression, COMPRESSIONS, f"compression of {where}"),
        seconds,
    )


def _endpoint(value: Any, where: str) -> str:
    """Return the URL. A wrong one is not quoted: it may hold a password."""
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        parts.port  # noqa: B018 - asking is what raises
    except ValueError:
        parts = urlsplit("")
    if "@" in parts.netloc:
        raise ConfigError(f"{where}: credentials do not belong into a URL; give headers")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"{where} is a URL such as '{ENDPOINT}' or 'https://otlp.example.com/otlp'")
    url = str(value).rstrip("/")
    for signal, path in PATHS.items():
        if url.endswith(path):
            raise ConfigError(
                f"{where}: leave {path} out, it is added; what takes {signal} only is said with "
                f"signals = {signal!r}"
            )
    if parts.port == 4317:
        raise ConfigError(f"{where}: 4317 is the port of OTLP over gRPC; over HTTP it is 4318")
    return url


def _headers(value: Any, where: str) -> dict[str, Secret]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} is a table of names and values, not a {type(value).__name__}")
    found = {}
    for name, secret in value.items():
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            raise ConfigError(f"{where}: {shown(name)} is no name of a header")
        if name.lower() in _OURS:
            raise ConfigError(f"{where}: {name} is set by the sink itself; leave it out")
        found[name] = resolve_secret(secret, f"{name} in {where}")
    return found


def _choice(value: Any, known: tuple[str, ...], where: str) -> str:
    if value in known:
        return str(value)
    guess = nearest(str(value), known)
    hint = f"did you mean {guess!r}?" if guess else f"one of {', '.join(known)}"
    raise ConfigError(f"{where}: {shown(value)} is not known; {hint}")
