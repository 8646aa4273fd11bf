"""Options of the S3 sink: what is wrong is told at once, with what would be right."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import pytest

from toolog.archive.bucket import split
from toolog.errors import ConfigError, SinkDenied
from toolog.sinks import create
from toolog.sinks.s3.clients import connect_s3
from toolog.sinks.s3.options import access, layout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs its bucket"),
        ({"bucket": "s3://acme/calls"}, "bucket's name.*prefix is an option of its own"),
        ({"bucket": 7}, "bucket of sink 'archive' is a text"),
        ({"bukcet": "acme"}, "did you mean 'bucket'"),
        ({"endpoint": "http://x"}, "did you mean 'endpoint_url'"),
        ({"endpoint_url": "localhost:9000"}, "a URL such as 'https://s3"),
        ({"endpoint_url": "https://s3.example.com?x=1"}, "a URL such as 'https://s3"),
        ({"endpoint_url": "http://user:word@localhost"}, "credentials do not belong into a URL"),
        ({"format": "mesgpack"}, "did you mean 'msgpack'"),
        ({"format": "parquet"}, "format of sink 'archive' cannot be 'parquet'"),
        ({"compression_level": 99}, "from 1 to 22"),
        ({"storage_class": "standard_ia"}, "did you mean 'STANDARD_IA'"),
        ({"sse": "aes256"}, "did you mean 'AES256'"),
        ({"kms_key_id": "k1"}, "goes with sse = 'aws:kms'"),
        ({"tags": {"team": 1}}, "names and values are texts"),
        ({"tags": {str(n): "x" for n in range(11)}}, "at most ten"),
        ({"tags": {"a": "x" * 257}}, "longer than 256"),
        ({"addressing": "vhost"}, "known: auto, path, virtual|did you mean"),
        ({"access_key_id": "a"}, "go together"),
        ({"session_token": "a"}, "belongs to"),
        ({"access_key_id": "a", "secret_access_key": "b", "profile": "p"}, "either a profile or keys"),
        ({"secret_access_key": {"evn": "X"}, "access_key_id": "a"}, "did you mean 'env'"),
        ({"prefix": "x" * 600}, "at most 512 bytes"),
        ({"timeout": 0}, "more than 0 s"),
        ({"batch": {"max_aeg": 1}}, "did you mean 'max_age'"),
    ],
)
def test_a_wrong_option_is_told_at_once(options: dict[str, Any], message: str) -> None:
    """Each mistake is a ConfigError that names the sink, and the nearest right word where there is one."""
    given = {"type": "s3", **({"bucket": "acme"} if options and "bukcet" not in options else {}), **options}
    with pytest.raises(ConfigError, match=message) as caught:
        create("archive", given)
    assert "archive" in str(caught.value)


def test_a_missing_client_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without boto3 the sink is a ConfigError when it is configured, not when it first ships."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"'archive'.*pip install 'toolog\[s3\]'"):
        create("archive", {"type": "s3", "bucket": "acme"})


def test_the_client_is_loaded_when_it_connects() -> None:
    """Making the sink imports neither boto3 nor botocore, and connecting no library of threads."""
    code = """
import sys
from toolog.sinks import create
options = {"type": "s3", "bucket": "acme", "region": "eu-central-1", "access_key_id": "a"}
sink = create("archive", {**options, "secret_access_key": "b"})
assert not {"boto3", "botocore"} & set(sys.modules)
sink.connect()
assert "botocore" in sys.modules
assert "concurrent.futures.thread" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_secrets_stand_in_no_repr() -> None:
    """Neither the options nor an error show a secret."""
    secret = "correct-" + "horse"
    keys = {"access_key_id": "id", "secret_access_key": secret}
    assert secret not in repr(access({"bucket": "acme", **keys}, "sink 'x'"))
    with pytest.raises(ConfigError) as caught:
        access({"bucket": "acme", "profile": "p", **keys}, "sink 'x'")
    assert secret not in str(caught.value)


SECRET = "correct-" + "horse"


@pytest.mark.parametrize(
    "options",
    [
        {"endpoint_url": f"https://key:{SECRET}@s3.example.com"},
        {"endpoint_url": f"key:{SECRET}@s3.example.com"},
        {"endpoint_url": f"https://{SECRET}@s3.example.com:port"},
        {"endpoint_url": f"https://s3.example.com?token={SECRET}"},
        {"endpoint_url": f"ftp://{SECRET}"},
        {"endpoint_url": [f"https://key:{SECRET}@s3.example.com"]},
        {"bucket": f"s3://key:{SECRET}@acme"},
        {"bucket": {"name": "acme", "secret_access_key": SECRET}},
        {"profile": {"secret_access_key": SECRET}},
        {"access_key_id": "id", "secret_access_key": {"value": SECRET}},
        {"access_key_id": "id", "secret_access_key": [SECRET]},
    ],
)
def test_a_secret_in_the_wrong_place_is_not_quoted(options: dict[str, Any]) -> None:
    """An option that is refused, and holds what might be a secret, is not repeated by the error."""
    with pytest.raises(ConfigError) as caught:
        create("archive", {"type": "s3", "bucket": "acme", **options})
    assert SECRET not in str(caught.value)


def test_a_secret_in_an_address_is_not_quoted() -> None:
    """Nor is one that stands in the address of an archive."""
    with pytest.raises(ConfigError, match="credentials do not belong") as caught:
        split(f"s3://key:{SECRET}@acme/calls")
    assert SECRET not in str(caught.value)


def test_options_become_arguments_of_the_request() -> None:
    """Storage class, encryption and tags go to the server by its own names."""
    found = layout(
        prefix="/calls/", storage_class="GLACIER_IR", sse="aws:kms", kms_key_id="k", tags={"team": "a&b"},
        where="sink 'x'",
    )  # fmt: skip
    assert found.prefix == "calls"
    assert found.extra == {
        "StorageClass": "GLACIER_IR",
        "ServerSideEncryption": "aws:kms",
        "SSEKMSKeyId": "k",
        "Tagging": "team=a%26b",
    }


def test_a_missing_profile_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A profile that is not there can be put right without a restart: it is a denial, not a ConfigError."""
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(SinkDenied, match="profile"):
        connect_s3({"bucket": "acme", "profile": "not-there"})


def test_addresses_follow_the_options() -> None:
    """With an endpoint the bucket stands in the path, unless the user says otherwise."""
    keys = {"bucket": "acme", "access_key_id": "a", "secret_access_key": "b", "region": "us-east-1"}

    def url(**options: str) -> str:
        client = connect_s3({**keys, **options})
        signed: str = client.generate_presigned_url("get_object", Params={"Bucket": "acme", "Key": "k"})
        return signed.partition("?")[0]

    assert url(endpoint_url="http://s3.example.com:9000") == "http://s3.example.com:9000/acme/k"
    assert url(endpoint_url="http://s3.example.com", addressing="virtual") == "http://acme.s3.example.com/k"
    assert url().endswith("amazonaws.com/k")
