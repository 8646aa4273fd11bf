"""The options of a search sink, checked; their names are those of the clients."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from toolog.errors import ConfigError, SinkDenied, nearest, unknown_key
from toolog.sinks.base import COMMON_OPTIONS
from toolog.sinks.search.document import LEAF_BYTES
from toolog.sinks.search.lifecycles import check_lifecycle
from toolog.sinks.search.names import NAMESPACE, check_namespace
from toolog.sinks.secret import Secret, resolve_secret
from toolog.units import parse_duration, parse_size

Dialect: TypeAlias = Literal["elasticsearch", "opensearch"]
DIALECTS: tuple[Dialect, ...] = ("elasticsearch", "opensearch")
SMALLEST_LEAF = 256
LARGEST_LEAF = 32_000
"""One term of a search index has at most 32,766 bytes, its path included."""
TIMEOUT = 30.0


@dataclass(frozen=True)
class SearchOptions:
    """What a search sink was told, checked; ``where`` names it in errors.

    At most one of ``api_key`` (the encoded key, or its id and secret), ``basic_auth`` (``user:password``, or
    user and password) and ``bearer_auth`` is set. ``timeout`` is in seconds, ``leaf_bytes`` in bytes of
    UTF-8. ``lifecycle`` is the engine that lets go of old records: the sink never deletes, `toolog.expiry`
    does.
    """

    hosts: tuple[str, ...]
    where: str
    dialect: Dialect = "elasticsearch"
    api_key: Secret | tuple[str, Secret] | None = None
    basic_auth: Secret | tuple[str, Secret] | None = None
    bearer_auth: Secret | None = None
    ca_certs: str | None = None
    verify_certs: bool = True
    ssl_assert_fingerprint: str | None = None
    timeout: float = TIMEOUT
    http_compress: bool = False
    namespace: str = NAMESPACE
    lifecycle: str = ""
    leaf_bytes: int = LEAF_BYTES

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str) -> SearchOptions:
        """Return the options of one sink's table in a configuration (keys that every sink has may stand in
        it, ``type`` says the dialect when nothing else does).

        Raises ConfigError for an unknown key (naming the nearest), for an impossible value, and without
        ``hosts``; never quotes a secret.
        """
        known = set(cls.__dataclass_fields__) - {"where"}
        for key in table:
            if key not in known and key not in COMMON_OPTIONS:
                raise unknown_key(key, known | set(COMMON_OPTIONS), where)
        given = {key: table[key] for key in table if key in known and table[key] is not None}
        kind = table.get("type")
        dialect = check_dialect(given.get("dialect", kind if kind in DIALECTS else "elasticsearch"), where)
        for key in ("verify_certs", "http_compress"):
            if not isinstance(given.get(key, True), bool):
                raise ConfigError(f"{key} of {where} is true or false, not {given[key]!r}")
        options = cls(
            hosts=_hosts(given.get("hosts"), where),
            where=where,
            dialect=dialect,
            api_key=_pair(given.get("api_key"), f"api_key of {where}", "id", "key"),
            basic_auth=_basic_auth(given.get("basic_auth"), f"basic_auth of {where}"),
            bearer_auth=_secret(given, "bearer_auth", where),
            ca_certs=_ca_certs(given.get("ca_certs"), where),
            verify_certs=given.get("verify_certs", True),
            ssl_assert_fingerprint=_fingerprint(given.get("ssl_assert_fingerprint"), where),
            timeout=parse_duration(given.get("timeout", TIMEOUT), f"timeout of {where}"),
            http_compress=given.get("http_compress", False),
            namespace=check_namespace(given.get("namespace", NAMESPACE), f"namespace of {where}"),
            lifecycle=check_lifecycle(given.get("lifecycle"), dialect, where),
            leaf_bytes=parse_size(given.get("leaf_bytes", LEAF_BYTES), f"leaf_bytes of {where}"),
        )
        options._check()
        return options

    def _check(self) -> None:
        if not SMALLEST_LEAF <= self.leaf_bytes <= LARGEST_LEAF:
            raise ConfigError(
                f"leaf_bytes of {self.where} is from {SMALLEST_LEAF} to {LARGEST_LEAF}: "
                "one term of a search index has at most 32,766 bytes, its path included"
            )
        if self.timeout <= 0:
            raise ConfigError(f"timeout of {self.where} is more than 0 seconds")
        if len(self.credentials) > 1:
            raise ConfigError(f"{' and '.join(self.credentials)} of {self.where}: give one of them")
        plain = [host for host in self.hosts if host.startswith("http://")]
        if plain and (self.ca_certs or self.ssl_assert_fingerprint):
            raise ConfigError(
                f"hosts of {self.where}: {plain[0]} is not https, so there is no certificate to check; "
                "write https:// or leave ca_certs and ssl_assert_fingerprint out"
            )

    @property
    def credentials(self) -> list[str]:
        """The names of the options that say who we are."""
        return [name for name in ("api_key", "basic_auth", "bearer_auth") if getattr(self, name) is not None]

    def read_api_key(self) -> str | None:
        """Return the encoded API key as it is now, or None when ``api_key`` is not set. Raises SinkDenied."""
        if isinstance(self.api_key, tuple):
            return base64.b64encode(f"{self.api_key[0]}:{self.api_key[1].read()}".encode()).decode()
        return None if self.api_key is None else _header_text(self.api_key)

    def read_token(self) -> str | None:
        """Return the token as it is now, or None when ``bearer_auth`` is not set. Raises SinkDenied."""
        return None if self.bearer_auth is None else _header_text(self.bearer_auth)

    def read_user(self) -> tuple[str, str] | None:
        """Return user and password as they are now, or None when ``basic_auth`` is not set.

        Raises SinkDenied when there is none now, or without a ``:``.
        """
        if self.basic_auth is None:
            return None
        if isinstance(self.basic_auth, tuple):
            return self.basic_auth[0], self.basic_auth[1].read()
        user, colon, password = self.basic_auth.read().partition(":")
        if not colon:
            raise SinkDenied(f"{self.basic_auth.where} is 'user:password'; it has no ':'")
        return user, password


def _header_text(secret: Secret) -> str:
    text = secret.read().strip()
    if not text.isascii() or " " in text:
        raise SinkDenied(f"{secret.where} has blanks or other characters that no key has; check it")
    return text


def check_dialect(value: Any, where: str) -> Dialect:
    """Return a dialect's name if it is one. Raises ConfigError naming the nearest."""
    if value in DIALECTS:
        return cast(Dialect, value)
    guess = nearest(str(value), DIALECTS)
    hint = f"did you mean {guess!r}?" if guess else f"one of {', '.join(DIALECTS)}"
    raise ConfigError(f"dialect of {where}: {value!r} is not known; {hint}")


def _hosts(value: Any, where: str) -> tuple[str, ...]:
    hosts = [value] if isinstance(value, str) else value
    if not hosts:
        raise ConfigError(f"{where} needs hosts, for example hosts=['https://es.example.com:9200']")
    if not isinstance(hosts, (list, tuple)):
        raise ConfigError(f"hosts of {where} is a list of URLs, not a {type(value).__name__}")
    return tuple(_host(host, f"hosts of {where}") for host in hosts)


def _host(host: Any, where: str) -> str:
    """Return one URL. A wrong one is not quoted: it may hold a password."""
    try:
        parts = urlsplit(host if isinstance(host, str) else "")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if "@" in parts.netloc:
        raise ConfigError(f"{where}: credentials do not belong into a URL; give basic_auth or api_key")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"{where}: each one is a URL such as 'https://es.example.com:9200'")
    if port is None:
        raise ConfigError(
            f"{where}: {parts.scheme}://{parts.netloc} has no port; "
            f"write it, for example {parts.scheme}://{parts.netloc}:9200"
        )
    return str(host).rstrip("/")


def _secret(given: Mapping[str, Any], name: str, where: str) -> Secret | None:
    return resolve_secret(given[name], f"{name} of {where}") if name in given else None


def _pair(value: Any, where: str, first: str, second: str) -> Secret | tuple[str, Secret] | None:
    """Return a secret, or a name and a secret."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        if len(value) != 2 or not isinstance(value[0], str) or not value[0]:
            raise ConfigError(f"{where} is a pair of {first} and {second}, or one text")
        return value[0], resolve_secret(value[1], f"{second} in {where}")
    return resolve_secret(value, where)


def _basic_auth(value: Any, where: str) -> Secret | tuple[str, Secret] | None:
    if isinstance(value, str) and ":" not in value:
        raise ConfigError(f"{where} is 'user:password', or a pair of user and password")
    return _pair(value, where, "user", "password")


def _ca_certs(value: Any, where: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ConfigError(f"ca_certs of {where} is a path, not a {type(value).__name__}")
    return str(Path(os.fsdecode(value)).expanduser())


def _fingerprint(value: Any, where: str) -> str | None:
    if value is None:
        return None
    digits = str(value).replace(":", "").lower()
    if len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
        raise ConfigError(
            f"ssl_assert_fingerprint of {where} is the SHA-256 fingerprint of a certificate, "
            "64 hexadecimal digits, with or without colons"
        )
    return digits
