"""Files of records in an S3 bucket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from toolog.errors import ConfigError
from toolog.sinks.s3 import faults, names
from toolog.sinks.s3.clients import connect_s3
from toolog.sinks.s3.options import Access, access

_SCHEME = "s3://"
_ATTEMPTS = 4
_RIGHTS = "s3:ListBucket (on the bucket) and s3:GetObject (on its objects)"


class S3Object:
    """One object: ``name`` is its address, ``size`` in bytes, ``modified`` when it was stored (seconds of the
    Unix epoch), ``facts`` what its key tells (None for a key that is not one of ours).
    """

    def __init__(self, client: Any, reached: Access, listed: Mapping[str, Any]) -> None:
        self.key = str(listed["Key"])
        self.name = f"{_SCHEME}{reached.bucket}/{self.key}"
        self.size = int(listed["Size"])
        self.modified: float = listed["LastModified"].timestamp()
        self.facts = names.parse(self.key)
        self._client = client
        self._reached = reached

    def read(self, tell: Any) -> Iterator[dict[str, Any]]:
        """Yield its records; damage is told and stepped over, and so is all of it where it cannot be had: it
        was deleted meanwhile, or lies in cold storage. Raises SinkUnavailable.
        """
        from toolog.archive.places import read_stream

        try:
            answer = self._client.get_object(Bucket=self._reached.bucket, Key=self.key)
            yield from read_stream(self.name, closing(answer["Body"]), tell)
        except Exception as error:
            reason = faults.ONE_OBJECT.get(faults.code_of(error))
            if reason is None:
                raise _told(error, self._reached, self.name) from error
            tell(f"{self.name}: {reason}")

    def notes(self) -> dict[str, str]:
        """Return what was noted with it when it was stored (see ``toolog.sinks.s3.objects``); nothing where
        it cannot be had, which `read` tells.
        """
        try:
            head = self._client.head_object(Bucket=self._reached.bucket, Key=self.key)
        except Exception as error:
            if faults.code_of(error) in faults.ONE_OBJECT:
                return {}
            raise _told(error, self._reached, self.name) from error
        return {str(name): str(value) for name, value in head.get("Metadata", {}).items()}


def is_address(place: str) -> bool:
    """Return whether a text is the address of objects in a bucket."""
    return place.startswith(_SCHEME)


def split(address: str) -> tuple[str, str]:
    """Return the bucket and the prefix in an address. Raises ConfigError."""
    bucket, _, prefix = address.removeprefix(_SCHEME).partition("/")
    if "@" in bucket:
        raise ConfigError(
            "credentials do not belong into an s3:// address; configure the sink of that bucket, or give "
            "--profile"
        )
    if not bucket:
        raise ConfigError(f"{address!r} names no bucket; write s3://bucket/prefix")
    return bucket, prefix


def list_objects(address: str, reach: Mapping[str, Any], suffixes: tuple[str, ...]) -> list[S3Object]:
    """Return the objects of records under an address (one object, or a folder of them), by key.

    ``reach``: options of the s3 sink (``endpoint_url``, ``profile`` ...). Raises ConfigError and
    SinkUnavailable.
    """
    bucket, prefix = split(address)
    reached = access({**reach, "bucket": bucket}, address)
    client = connect_s3(reached, address, attempts=_ATTEMPTS)
    folder = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    found: list[S3Object] = []
    try:
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for listed in page.get("Contents", ()):
                key = listed["Key"]
                if (key == prefix or key.startswith(folder)) and key.endswith(suffixes):
                    found.append(S3Object(client, reached, listed))
    except Exception as error:
        raise _told(error, reached) from error
    return found


def _told(error: Exception, reached: Access, name: str = "") -> Exception:
    """Return what to raise: the client's errors in words, others as they are. ``name``: of the object."""
    if not type(error).__module__.startswith(("botocore.", "urllib3.")):
        return error
    place = f"{reached.place}, asked for {name}," if name else reached.place
    return faults.explain(error, place, _RIGHTS).error
