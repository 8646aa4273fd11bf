"""What a user may set about the bucket and the objects in it, checked before anything is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlencode, urlsplit

from toolog.errors import ConfigError, kind_of, nearest, shown, unknown_key
from toolog.sinks.s3.names import FORMATS
from toolog.sinks.secret import Secret, resolve_secret
from toolog.units import parse_duration

ADDRESSING = ("auto", "path", "virtual")
"""How the bucket stands in an address: ``auto`` is in the path where ``endpoint_url`` is given."""

SSE = ("AES256", "aws:kms", "aws:kms:dsse")
"""Kinds of encryption at rest that a server may be asked for."""

STORAGE_CLASSES = (
    "STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE",
    "REDUCED_REDUNDANCY", "EXPRESS_ONEZONE", "OUTPOSTS", "SNOW",
)  # fmt: skip
"""Classes that AWS has; other servers have others."""

_LONGEST_PREFIX = 512
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}|arn:.+", re.ASCII)
_SECRETS = ("access_key_id", "secret_access_key", "session_token")


@dataclass(frozen=True, slots=True)
class Access:
    """Which bucket, and how it is reached. Make it by `access`, which checks.

    What is left out comes from where boto3 looks: its environment variables, ``~/.aws``, the machine's role.
    """

    bucket: str
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    access_key_id: Secret | None = None
    secret_access_key: Secret | None = None
    session_token: Secret | None = None
    addressing: str = "auto"
    ca_certs: str | None = None
    timeout: float = 30.0

    @property
    def place(self) -> str:
        """The bucket's name in errors, with the server's where that is not AWS."""
        return self.bucket + (f" at {self.endpoint_url}" if self.endpoint_url else "")


ACCESS_KEYS = tuple(one.name for one in fields(Access))
"""The options that `access` takes."""


def access(options: Mapping[str, Any], where: str) -> Access:
    """Return how a bucket is reached, from a sink's options or a part of them.

    ``where`` names the sink in errors. Raises ConfigError for what is unknown, missing or impossible.
    """
    for key in options:
        if key not in ACCESS_KEYS:
            raise unknown_key(key, ACCESS_KEYS, where)
    given = {key: value for key, value in options.items() if value is not None}
    for key in ("bucket", "endpoint_url", "region", "profile", "ca_certs"):
        if key in given and (not isinstance(given[key], str) or not given[key].strip()):
            found = "an empty one" if isinstance(given[key], str) else shown(given[key])
            raise ConfigError(f"{key} of {where} is a text, not {found}")
    if "bucket" not in given:
        raise ConfigError(f"{where} needs its bucket: bucket = 'acme-toolog'")
    bucket = given["bucket"]
    if not _BUCKET.fullmatch(bucket):
        # A whole address may hold a secret in front of an "@".
        quoted = "an address" if "@" in bucket else repr(bucket)
        hint = "; the prefix is an option of its own" if "/" in bucket else ""
        raise ConfigError(f"bucket of {where} is a bucket's name, not {quoted}{hint}")
    if "endpoint_url" in given:
        _check_url(given["endpoint_url"], where)
    _check_choice(given.get("addressing", "auto"), ADDRESSING, f"addressing of {where}")
    for key in _SECRETS:
        if key in given:
            given[key] = resolve_secret(given[key], f"{key} of {where}")
    if ("access_key_id" in given) != ("secret_access_key" in given):
        raise ConfigError(f"{where}: access_key_id and secret_access_key go together")
    if "session_token" in given and "access_key_id" not in given:
        raise ConfigError(f"{where}: session_token belongs to an access_key_id and a secret_access_key")
    if "profile" in given and "access_key_id" in given:
        raise ConfigError(f"{where}: either a profile or keys, not both")
    if "ca_certs" in given:
        given["ca_certs"] = os.path.expanduser(given["ca_certs"])
        if given.get("endpoint_url", "").startswith("http://"):
            raise ConfigError(
                f"endpoint_url of {where} is not https, so there is no certificate to check; write https:// "
                "or leave ca_certs out"
            )
    if "timeout" in given:
        given["timeout"] = parse_duration(given["timeout"], f"timeout of {where}")
        if given["timeout"] <= 0:
            raise ConfigError(f"timeout of {where} is more than 0 s")
    return Access(**given)


@dataclass(frozen=True, slots=True)
class Layout:
    """What objects are like: where in the bucket, in which form, and what the server is told about them."""

    prefix: str = ""
    format: str = "msgpack"
    compression_level: int = 3
    extra: Mapping[str, str] = field(default_factory=dict)
    """Further arguments of each PutObject."""


def layout(
    *,
    prefix: str = "",
    format: str = "msgpack",
    compression_level: int = 3,
    storage_class: str | None = None,
    sse: str | None = None,
    kms_key_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    where: str,
) -> Layout:
    """Return what objects are like, from a sink's options. Raises ConfigError naming ``where``."""
    if not isinstance(prefix, str) or len(prefix.encode()) > _LONGEST_PREFIX or not prefix.isprintable():
        raise ConfigError(
            f"prefix of {where} is a text of at most {_LONGEST_PREFIX} bytes, not {shown(prefix)}"
        )
    _check_choice(format, FORMATS, f"format of {where}")
    if type(compression_level) is not int or not 1 <= compression_level <= 22:
        raise ConfigError(
            f"compression_level of {where} is a whole number from 1 to 22, not {shown(compression_level)}"
        )
    extra: dict[str, str] = {}
    if storage_class is not None:
        if not isinstance(storage_class, str) or not re.fullmatch(r"[A-Z][A-Z0-9_]*", storage_class):
            _check_choice(storage_class, STORAGE_CLASSES, f"storage_class of {where}")
        extra["StorageClass"] = storage_class
    if sse is not None:
        _check_choice(sse, SSE, f"sse of {where}")
        extra["ServerSideEncryption"] = sse
    if kms_key_id is not None:
        if not isinstance(kms_key_id, str) or not kms_key_id or sse in (None, "AES256"):
            raise ConfigError(f"kms_key_id of {where} is a key's id, and goes with sse = 'aws:kms'")
        extra["SSEKMSKeyId"] = kms_key_id
    if tags:
        extra["Tagging"] = _tagging(tags, where)
    return Layout(prefix.strip("/"), format, compression_level, extra)


def _check_choice(value: object, known: tuple[str, ...], where: str) -> None:
    if value not in known:
        guess = nearest(value, known) if isinstance(value, str) else None
        hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(known)}"
        raise ConfigError(f"{where} cannot be {shown(value)}; {hint}")


def _check_url(url: str, where: str) -> None:
    """Raise ConfigError for what is no server's URL. It is not quoted: it may hold a secret."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if "@" in url:
        raise ConfigError(
            f"endpoint_url of {where}: credentials do not belong into a URL; give access_key_id and "
            "secret_access_key"
        )
    if not sound or parts.query or parts.fragment:
        raise ConfigError(f"endpoint_url of {where} is a URL such as 'https://s3.example.com:9000'")


def _tagging(tags: object, where: str) -> str:
    if not isinstance(tags, Mapping) or len(tags) > 10:
        raise ConfigError(f"tags of {where} is a table of at most ten names and values, not {kind_of(tags)}")
    for name, value in tags.items():
        if not isinstance(name, str) or not isinstance(value, str) or not 1 <= len(name) <= 128:
            raise ConfigError(
                f"tags of {where}: names and values are texts, not {shown(name)}: {shown(value)}"
            )
        if len(value) > 256:
            raise ConfigError(f"tags of {where}: the value of {name!r} is longer than 256 characters")
    return urlencode(tags)
