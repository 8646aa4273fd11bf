"""Records in objects of an S3 bucket, each record in exactly one of them.

``plan`` divides a batch into objects and fixes their bounds, which the runner saves; ``write`` puts them with
``If-None-Match: *``, two at a time: while one is on its way, the next is made. What is there already is
compared: it is what a process stored that died, or whose answer was lost, before the cursor moved. Nothing is
ever overwritten.
"""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from collections.abc import Mapping
from typing import Any

from toolog.counters import contain
from toolog.errors import SerializationError, SinkDenied, SinkUnavailable
from toolog.sinks.base import Answer, Batch, BatchLimits, Pulse, SinkRecord
from toolog.sinks.heap import keep_freed_memory
from toolog.sinks.lanes import work_side_by_side
from toolog.sinks.s3 import faults, names, objects
from toolog.sinks.s3.bounds import Ledger, Share
from toolog.sinks.s3.clients import CONNECT_TIMEOUT, check_client, connect_s3
from toolog.sinks.s3.options import access, layout
from toolog.sinks.s3.uploads import Patience, Upload

LANES = 2
"""How many objects are made and put at once, while all is well."""


class S3Sink:
    """Puts the records of each policy into objects of a bucket.

    ``bucket``; ``prefix`` of all keys. How it is reached: ``endpoint_url`` (AWS when left out), ``region``,
    ``profile``, or ``access_key_id``, ``secret_access_key`` and ``session_token`` (each a text, ``{"env":
    "NAME"}``, ``{"file": "PATH"}`` or a function), else what boto3 finds by itself; ``addressing`` ("auto",
    "path", "virtual"), ``ca_certs`` (a file of trusted authorities), ``timeout`` (how long a server may be
    silent). What objects are like: ``format`` ("msgpack" or "jsonl"),
    ``compression_level`` (1 to 22), ``storage_class``, ``sse`` ("AES256", "aws:kms") with ``kms_key_id``,
    ``tags``. Raises ConfigError for a wrong option, and where boto3 is missing.
    """

    paths = ("ca_certs",)
    texts = ("tags",)
    batch = BatchLimits(max_records=50_000, max_bytes=16 * 1024 * 1024, max_age=300.0)

    def __init__(
        self,
        *,
        bucket: str | None = None,
        name: str = "s3",
        prefix: str = "",
        endpoint_url: str | None = None,
        region: str | None = None,
        profile: str | None = None,
        access_key_id: Any = None,
        secret_access_key: Any = None,
        session_token: Any = None,
        addressing: str = "auto",
        ca_certs: str | None = None,
        timeout: float | str = 30.0,
        format: str = "msgpack",
        compression_level: int = 3,
        storage_class: str | None = None,
        sse: str | None = None,
        kms_key_id: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        where = f"sink {name!r}"
        self._access = access(
            {
                "bucket": bucket, "endpoint_url": endpoint_url, "region": region, "profile": profile,
                "access_key_id": access_key_id, "secret_access_key": secret_access_key,
                "session_token": session_token, "addressing": addressing, "ca_certs": ca_certs,
                "timeout": timeout,
            },
            where,
        )  # fmt: skip
        self._layout = layout(
            prefix=prefix, format=format, compression_level=compression_level, storage_class=storage_class,
            sse=sse, kms_key_id=kms_key_id, tags=tags, where=where,
        )  # fmt: skip
        self._rights = _rights(self._layout.extra)
        check_client(where)
        self.pulse = Pulse()
        self._connected = False
        self._client: Any = None
        self._client_turn = threading.Lock()
        self._ledger = Ledger()
        self._batch: list[SinkRecord] = []
        self._shares: list[Share] = []
        self._tried: set[str] = set()
        self._packed: dict[str, objects.Packed] = {}  # of the objects that failed last, by their keys
        self._patience = Patience(self._access.timeout)
        self._client_timeout = 0.0
        self._own_segment = ""
        self._own_records = 0

    # -- the protocol of a sink

    def connect(self) -> None:
        """Make a client, with the credentials as they are now. Raises SinkUnavailable; no request is made."""
        keep_freed_memory()
        self._client = connect_s3(self._access, f"sink {self.name!r}")
        self._client_timeout = self._access.timeout
        self._connected = True

    def plan(self, batch: Batch) -> bool:
        """Fix which objects a batch becomes; True when that must be saved before the first of them is put.

        What was held in memory is gone with the process, so that nobody could repeat it.
        """
        if not self._is_planned(batch):
            self._batch = [*batch]
            self._name_segments(self._batch)
            self._shares = self._ledger.divide(self._batch, self._layout.prefix, self._layout.format)
            self._packed = {}
        return any(names.was_on_disk(share.bounds.segment) for share in self._shares)

    def write(self, batch: Batch) -> Answer | None:
        """Store the batch, object by object. Raises SinkUnavailable when one of them could not be stored;
        then those that were are not put again.
        """
        if not self._connected:
            raise SinkUnavailable(f"sink {self.name!r} is closed")
        self.plan(batch)
        self._store_all([share for share in self._shares if not share.stored])
        rejected = {key: reason for share in self._shares for key, reason in share.rejected.items()}
        again = sum(share.again for share in self._shares)
        self._tried.difference_update(share.bounds.key for share in self._shares)
        self._ledger.finish(self._batch)
        self._batch, self._shares = [], []
        return Answer(rejected, again=again) if rejected or again else None

    def goes_on(self, segment: str, seq: int) -> bool:
        """Return whether an object that was planned before a crash goes on behind this record."""
        return names.is_segment(segment) and self._ledger.goes_on(segment, seq)

    def cursor_state(self) -> dict[str, Any]:
        """Return the bounds of the objects that are under way."""
        return {"open": self._ledger.to_state()}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Take up the bounds that were fixed before the last process ended.

        Also where the bucket is another one by now: nothing stands there under these keys.
        """
        self._ledger.load(None if state is None else state.get("open"))

    def close(self) -> None:
        """Let go of the connection."""
        self._connected = False
        self._drop_client()

    # -- a batch

    def _is_planned(self, batch: Batch) -> bool:
        return len(batch) == len(self._batch) and all(
            one is other for one, other in zip(batch, self._batch, strict=True)
        )

    def _name_segments(self, batch: list[SinkRecord]) -> None:
        """Give records that come from no spool a place of their own."""
        nameless = {name for name in {record.segment for record in batch} if not names.is_segment(name)}
        for record in batch if nameless else ():
            if record.segment in nameless:
                if not self._own_segment:
                    now = time.time_ns()
                    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now // 10**9))
                    self._own_segment = names.invented_segment(f"{stamp}{now % 10**9 // 1000:06d}Z")
                self._own_records += 1
                record.segment, record.seq = self._own_segment, self._own_records

    # -- the objects of a batch

    def _store_all(self, shares: list[Share]) -> None:
        """Store objects; after one that could not be stored no other is begun. Raises SinkUnavailable."""
        errors: list[BaseException] = []

        def store(share: Share) -> bool:
            try:
                self._store(share)
            except BaseException as error:  # raised again on the thread that the runner called
                errors.append(error)
            return not errors

        work_side_by_side(shares, store, 1 if self._packed else LANES)
        if errors:
            error = errors[0]
            errors.clear()
            try:
                raise error
            finally:
                del (
                    error
                )  # its traceback leads here: together they would hold the batch until they are looked for

    def _store(self, share: Share) -> None:
        key = share.bounds.key
        packed = self._packed.get(key)
        if packed is None:
            form = key.rsplit(".", 2)[1]
            packed = self._packed[key] = objects.pack(share.records, form, self._layout.compression_level)
        share.rejected = packed.rejected
        if packed.records:
            known = self._put(share, packed)
            share.again = 0 if key in self._tried else known
        share.stored = True
        del self._packed[key]

    def _put(self, share: Share, packed: objects.Packed) -> int:
        """Put an object; return how many of its records stood in the bucket already."""
        key = share.bounds.key
        try:
            is_new = self._put_new(key, packed)
        except SinkUnavailable as error:
            self._tried.add(key)  # it may have been stored all the same
            if faults.is_silence(error.__cause__):
                self._patience.grow(len(packed.body))
            raise
        if is_new:
            return 0
        if self._is_same(key, packed, or_trust=share.is_whole):
            return packed.records
        return self._put_rest(key, share.records, packed)

    def _put_rest(self, key: str, records: list[SinkRecord], packed: objects.Packed) -> int:
        """Put what is missing in another object that stands under the key; return how much is in that."""
        contain("s3: an object differs")
        form = key.rsplit(".", 2)[1]
        try:
            there = objects.record_ids(self._get(key), form)
        except SerializationError:
            there = set()  # not ours to repair, nor to overwrite
        missing = [
            record
            for record in records
            if record.record_id not in packed.rejected and record.record_id not in there
        ]
        if not missing:
            return packed.records
        rest = objects.pack(missing, form, self._layout.compression_level)
        part = hashlib.blake2b("".join(one.record_id for one in missing).encode(), digest_size=4).hexdigest()
        second = names.with_part(key, part)
        if self._put_new(second, rest):
            return packed.records - rest.records
        if not self._is_same(second, rest):
            raise SinkUnavailable(f"{second} holds something else than what belongs there", tells=True)
        return packed.records

    # -- requests

    def _put_new(self, key: str, packed: objects.Packed) -> bool:
        """Put an object unless one is there; return whether it was put."""
        body = Upload(packed.body, self.pulse)
        try:
            answer = self._request(
                "put_object",
                size=len(packed.body),
                Key=key,
                Body=body,
                IfNoneMatch="*",
                ChecksumCRC32=packed.crc32,
                ContentType="application/zstd",  # no encoding: some clients would unpack it by themselves
                Metadata=packed.notes,
                **self._layout.extra,
            )
        except _Exists:
            self._patience.learn(len(packed.body), body.waited())
            return False
        self._patience.learn(len(packed.body), body.waited())
        if answer.get("ChecksumCRC32", packed.crc32) != packed.crc32 or not answer.get("ETag"):
            raise SinkUnavailable(f"{self._access.place} did not confirm what it stored", tells=True)
        return True

    def _is_same(self, key: str, packed: objects.Packed, *, or_trust: bool = False) -> bool:
        """Return whether the object under a key has the bytes that were to be stored.

        ``or_trust``: True where we have no right to look. The key names these very records, so that only we
        can have stored them.
        """
        try:
            head = self._request("head_object", Key=key, ChecksumMode="ENABLED")
        except SinkUnavailable:
            head = {}  # its answers have no code; the other request's do
        if head.get("ChecksumCRC32") == packed.crc32 and head.get("ContentLength") == len(packed.body):
            return True
        try:
            return self._get(key) == packed.body
        except SinkDenied as error:
            if not or_trust or faults.code_of(error.__cause__) != "AccessDenied":
                raise
            contain("s3: an object was not compared")
            return True

    def _get(self, key: str) -> bytes:
        answer = self._request("get_object", Key=key)
        try:
            body: bytes = answer["Body"].read()
        except Exception as error:
            raise faults.explain(error, self._access.place, self._rights).error from error
        return body

    def _request(self, method: str, *, size: int = 0, **arguments: Any) -> Any:
        """Make a request with a body of ``size`` bytes. Raises _Exists and SinkUnavailable; after some faults
        the next has a new client.
        """
        timeout = self._patience.timeout(size)
        client = self._take_client(timeout)
        self.pulse.beat(timeout + CONNECT_TIMEOUT)
        try:
            return getattr(client, method)(Bucket=self._access.bucket, **arguments)
        except Exception as error:
            fault = faults.explain(error, self._access.place, self._rights)
            if fault.code in faults.EXISTS:
                raise _Exists from error
            if fault.stale:
                self._drop_client()
            faults.let_go(error)
            try:
                raise fault.error from error
            finally:
                del fault  # see `_store_all`

    def _take_client(self, timeout: float) -> Any:
        """Return a client that waits for about as many seconds."""
        with self._client_turn:
            client = self._client
            if client is not None and abs(timeout - self._client_timeout) <= 0.1 * timeout:
                return client
            self._part(client)
            access = dataclasses.replace(self._access, timeout=timeout)
            self._client = connect_s3(access, f"sink {self.name!r}")
            self._client_timeout = timeout
            return self._client

    def _drop_client(self) -> None:
        """Let the next request have a client of its own, with the credentials as they are then."""
        with self._client_turn:
            client, self._client = self._client, None
            self._part(client)

    @staticmethod
    def _part(client: Any) -> None:
        if client is not None:
            client.close()  # a request that is under way with it goes on


def _rights(extra: Mapping[str, str]) -> str:
    """Return the rights that are needed to store objects with these further arguments."""
    further = ["s3:PutObjectTagging"] if "Tagging" in extra else []
    key = " (and kms:GenerateDataKey and kms:Decrypt on the key kms_key_id)" if "SSEKMSKeyId" in extra else ""
    return f"{', '.join(['s3:PutObject', *further])} and s3:GetObject{key}"


class _Exists(Exception):
    """An object stands under the key already."""
