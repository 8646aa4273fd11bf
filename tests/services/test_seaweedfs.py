"""The S3 server that tests get."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from tests.services.seaweedfs import SeaweedFS, make_client


def code_of(error: ClientError) -> tuple[int, str]:
    """Return the HTTP status and S3's code."""
    return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]


def test_second_upload_is_412(seaweedfs: SeaweedFS, bucket: str) -> None:
    """`If-None-Match: *` refuses a key that is there, and leaves its body alone."""
    client = seaweedfs.client()
    client.put_object(Bucket=bucket, Key="a", Body=b"first", IfNoneMatch="*")
    with pytest.raises(ClientError) as raised:
        client.put_object(Bucket=bucket, Key="a", Body=b"second", IfNoneMatch="*")
    assert code_of(raised.value) == (412, "PreconditionFailed")
    assert client.get_object(Bucket=bucket, Key="a")["Body"].read() == b"first"


def test_signature_is_checked(seaweedfs: SeaweedFS, bucket: str) -> None:
    """A wrong secret is refused with S3's own code, and a bucket that is not there is 404."""
    import boto3

    wrong = boto3.client(
        "s3",
        endpoint_url=seaweedfs.endpoint_url,
        aws_access_key_id=seaweedfs.access_key,
        aws_secret_access_key="wrong",
        region_name=seaweedfs.region,
    )
    with pytest.raises(ClientError) as raised:
        wrong.put_object(Bucket=bucket, Key="a", Body=b"a")
    assert code_of(raised.value) == (403, "SignatureDoesNotMatch")
    with pytest.raises(ClientError) as raised:
        seaweedfs.client().put_object(Bucket="not-there", Key="a", Body=b"a")
    assert code_of(raised.value) == (404, "NoSuchBucket")


def test_expiry_can_be_forced(seaweedfs: SeaweedFS, bucket: str) -> None:
    """A lifecycle rule takes the objects under its prefix, at once when told to, and leaves the others."""
    client = seaweedfs.client()
    for key in ("old/1", "old/2", "other/1"):
        client.put_object(Bucket=bucket, Key=key, Body=b"x")
    day = datetime(2020, 1, 1, tzinfo=UTC)
    rule = {"ID": "old", "Status": "Enabled", "Filter": {"Prefix": "old/"}, "Expiration": {"Date": day}}
    client.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [rule]})
    seaweedfs.expire(seconds=5)
    assert [one["Key"] for one in client.list_objects_v2(Bucket=bucket)["Contents"]] == ["other/1"]


def test_own_server_hangs_crashes_and_comes_back(own_seaweedfs: SeaweedFS) -> None:
    """A private server hangs, dies by SIGKILL, and has its objects after a new start."""
    bucket = own_seaweedfs.make_bucket("mine")
    client = make_client(own_seaweedfs.endpoint_url, config={"read_timeout": 0.5})
    client.put_object(Bucket=bucket, Key="a", Body=b"kept")
    own_seaweedfs.hang()
    with pytest.raises(ReadTimeoutError):
        client.get_object(Bucket=bucket, Key="a")
    own_seaweedfs.resume()
    assert own_seaweedfs.client().get_object(Bucket=bucket, Key="a")["Body"].read() == b"kept"
    own_seaweedfs.kill()
    with pytest.raises(EndpointConnectionError):
        client.get_object(Bucket=bucket, Key="a")
    own_seaweedfs.restart()
    assert own_seaweedfs.client().get_object(Bucket=bucket, Key="a")["Body"].read() == b"kept"
