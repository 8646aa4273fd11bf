"""What is told of an error: what is wrong, where, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.services.seaweedfs import SeaweedFS
from toolog.errors import ConfigError, SinkDenied, SinkUnavailable
from toolog.sinks.s3.clients import connect_s3
from toolog.sinks.s3.faults import explain
from toolog.sinks.s3.options import access

KEYS = {"access_key_id": "id", "secret_access_key": "word"}


def trouble(**options: Any) -> SinkUnavailable:
    """Return what a request with these options ends with."""
    reached = access({"bucket": "acme", "region": "eu-central-1", **KEYS, **options}, "sink 'archive'")
    client = connect_s3(reached, "sink 'archive'")
    try:
        client.head_bucket(Bucket="acme")
    except Exception as error:
        return explain(error, reached.place).error
    finally:
        client.close()
    pytest.fail("the request was answered")


def answered(code: str, message: str = "", **facts: Any) -> str:
    """Return what is told of a server's refusal."""
    response = {"Error": {"Code": code, "Message": message, **facts}}
    response["ResponseMetadata"] = {"HTTPStatusCode": 400, "HTTPHeaders": {}}
    return str(explain(ClientError(response, "PutObject"), "acme").error)


def test_an_unknown_host() -> None:
    """A name that no name server knows is told apart from a server that is down."""
    error = trouble(endpoint_url="http://s3.nowhere.invalid")
    assert "the name server does not know its host; check endpoint_url" in str(error)
    assert not isinstance(error, SinkDenied)
    assert "nobody answers" in str(trouble(endpoint_url="http://127.0.0.1:9"))


def test_a_server_that_speaks_no_tls(seaweedfs: SeaweedFS) -> None:
    """It is not called a matter of certificates."""
    error = trouble(endpoint_url=seaweedfs.endpoint_url.replace("http://", "https://"))
    assert isinstance(error, SinkDenied)
    assert "does not speak TLS; write http:// in endpoint_url" in str(error)


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_ca_certs_that_cannot_be_used(tmp_path: Path, text: str | None) -> None:
    """A file that is not there, or has no certificates, is named when the client is made."""
    path = tmp_path / "ca.pem"
    if text is not None:
        path.write_text(text)
    reached = access(
        {"bucket": "acme", "endpoint_url": "https://127.0.0.1:9", "ca_certs": str(path), **KEYS}, "sink 'a'"
    )
    with pytest.raises(SinkDenied, match=r"ca_certs .*ca\.pem cannot be used"):
        connect_s3(reached, "sink 'a'")


def test_ca_certs_is_a_path_of_its_user_and_belongs_to_https() -> None:
    """``~`` is expanded, and beside an address without TLS it is an error rather than ignored."""
    given = {"bucket": "acme", "ca_certs": "~/ca.pem"}
    assert access(given, "sink 'a'").ca_certs == str(Path("~/ca.pem").expanduser())
    with pytest.raises(ConfigError, match="endpoint_url of sink 'a' is not https"):
        access({**given, "endpoint_url": "http://127.0.0.1:9000"}, "sink 'a'")


def test_the_region_that_the_server_names() -> None:
    """A bucket in another region is told with its region, where the answer has it."""
    assert answered("PermanentRedirect").endswith("in another region: set region")
    told = answered("AuthorizationHeaderMalformed", Region="eu-west-1")
    assert told.endswith("in another region: set region to eu-west-1")


def test_a_refusal_that_nobody_knows_is_told_in_the_servers_words() -> None:
    """Up to where they begin to quote: what is quoted may be anybody's."""
    told = answered("InvalidRequest", "The prefix cannot have a dot segment: 'secret-word'")
    assert "InvalidRequest (400, The prefix cannot have a dot segment)" in told
    assert "secret-word" not in told
    assert "(400)" in answered("InvalidRequest")
