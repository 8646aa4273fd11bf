"""The proxy in front of the S3 server: signed requests pass, and each fault happens."""

from __future__ import annotations

import time

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, HTTPClientError

from tests.services import s3_proxy as s3
from tests.services.faults import Slow, Withhold
from tests.services.s3_proxy import S3Proxy
from tests.services.seaweedfs import SeaweedFS, make_client
from tests.services.test_seaweedfs import code_of


def test_signed_requests_pass(s3_proxy: S3Proxy, bucket: str) -> None:
    """Uploads with a checksum, downloads, listings and heads work through the proxy, multipart too."""
    client = make_client(s3_proxy.url)
    body = bytes(range(256)) * 4096
    put = client.put_object(
        Bucket=bucket, Key="a b/=1", Body=body, ChecksumAlgorithm="SHA256", IfNoneMatch="*"
    )
    assert put["ChecksumSHA256"]
    assert client.get_object(Bucket=bucket, Key="a b/=1")["Body"].read() == body
    assert client.head_object(Bucket=bucket, Key="a b/=1")["ContentLength"] == len(body)
    assert [one["Key"] for one in client.list_objects_v2(Bucket=bucket)["Contents"]] == ["a b/=1"]
    upload = client.create_multipart_upload(Bucket=bucket, Key="m")["UploadId"]
    part = client.upload_part(Bucket=bucket, Key="m", UploadId=upload, PartNumber=1, Body=body)
    parts = {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
    client.complete_multipart_upload(Bucket=bucket, Key="m", UploadId=upload, MultipartUpload=parts)
    assert client.get_object(Bucket=bucket, Key="m")["Body"].read() == body
    assert [one.upstream for one in s3_proxy.puts()] == [200, 200]
    assert body in s3_proxy.puts()[0].body


@pytest.mark.parametrize(
    "fault",
    [
        s3.INTERNAL_ERROR,
        s3.SLOW_DOWN,
        s3.ACCESS_DENIED,
        s3.EXPIRED_TOKEN,
        s3.SKEWED,
        s3.CONFLICT,
        s3.PRECONDITION,
    ],
    ids=lambda fault: fault.code,
)
def test_error_is_told(s3_proxy: S3Proxy, bucket: str, fault: s3.S3Error) -> None:
    """The client sees the status and the code, the server sees nothing, and the next request works."""
    client = make_client(s3_proxy.url)
    s3_proxy.add(fault)
    with pytest.raises(ClientError) as raised:
        client.put_object(Bucket=bucket, Key="a", Body=b"a")
    assert code_of(raised.value) == (fault.status, fault.code)
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    client.put_object(Bucket=bucket, Key="a", Body=b"a")
    assert [(one.upstream, one.status) for one in s3_proxy.puts()] == [(0, fault.status), (200, 200)]


def test_body_is_damaged(s3_proxy: S3Proxy, bucket: str) -> None:
    """A bit that changed on the way is found by the server, which stores nothing."""
    client = make_client(s3_proxy.url)
    s3_proxy.add(s3.Corrupt())
    with pytest.raises(ClientError) as raised:
        client.put_object(Bucket=bucket, Key="a", Body=b"a" * 10_000)
    assert code_of(raised.value)[0] == 400
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_answer_is_withheld(s3_proxy: S3Proxy, bucket: str) -> None:
    """The object is stored and the client is told nothing; it comes again and meets 412."""
    client = make_client(s3_proxy.url)
    s3_proxy.add(Withhold())
    with pytest.raises(HTTPClientError):
        client.put_object(Bucket=bucket, Key="a", Body=b"a", IfNoneMatch="*")
    with pytest.raises(ClientError) as raised:
        client.put_object(Bucket=bucket, Key="a", Body=b"a", IfNoneMatch="*")
    assert code_of(raised.value) == (412, "PreconditionFailed")


def test_line_is_slow(s3_proxy: S3Proxy, bucket: str) -> None:
    """At 10 KB/s an upload of 10 kB takes a second."""
    client = make_client(s3_proxy.url)
    s3_proxy.add(Slow(10_000))
    began = time.monotonic()
    client.put_object(Bucket=bucket, Key="a", Body=b"a" * 10_000)
    assert 0.9 < time.monotonic() - began < 30


def test_port_is_closed(s3_proxy: S3Proxy, seaweedfs: SeaweedFS, bucket: str) -> None:
    """Connections are refused, and later accepted."""
    client = make_client(s3_proxy.url)
    s3_proxy.refuse()
    with pytest.raises(EndpointConnectionError):
        client.list_objects_v2(Bucket=bucket)
    s3_proxy.accept()
    client.list_objects_v2(Bucket=bucket)
