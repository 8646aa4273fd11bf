"""What an error of the client means, by its code: the HTTP status says too little (expired credentials come
as 400, a wrong clock and a missing right both as 403).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.causes import is_no_tls, is_unknown_host, names_and_text, why_untrusted

EXISTS = frozenset({"PreconditionFailed", "412", "NotModified", "304"})
"""An object stands under the key already; the latter two as some servers say it."""

FRESH = {
    "ExpiredToken": "the session token has expired",
    "ExpiredTokenException": "the session token has expired",
    "RequestExpired": "the request was too old when it arrived",
    "TokenRefreshRequired": "the session token must be renewed",
    "RequestTimeTooSkewed": "this machine's clock differs by more than 15 minutes from the server's: set it",
}
"""Codes after which the same request may well succeed with fresh credentials or another signature."""

WRITING = "s3:PutObject and s3:GetObject"
"""The rights that whoever stores objects needs."""

RIGHTS = frozenset({"AccessDenied", "403"})
"""Codes that mean that a right is missing."""

ONE_OBJECT = {
    "NoSuchKey": "it is not there any more",
    "NoSuchVersion": "it is not there any more",
    "404": "it is not there any more",
    "InvalidObjectState": "it is in cold storage; restore it first",
    "KMS.DisabledException": "the key that it is encrypted with is disabled",
    "KMS.NotFoundException": "the key that it is encrypted with does not exist",
    "KMS.KMSInvalidStateException": "the key that it is encrypted with cannot be used in its state",
}
"""Codes that tell of the object that was asked for, and of no other -> what."""

_REGION = "the bucket is in another region: set region"

ADVICE = {
    "AllAccessDisabled": "all access to it is disabled; ask its owner",
    "AccountProblem": "the account has a problem that only its owner can solve",
    "InvalidAccessKeyId": "this access key does not exist there; check access_key_id, profile, endpoint_url",
    "SignatureDoesNotMatch": "check secret_access_key",
    "InvalidToken": "check session_token",
    "NoSuchBucket": "create the bucket, or correct bucket, region or endpoint_url",
    "InvalidBucketName": "correct bucket",
    "PermanentRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "InvalidStorageClass": "correct storage_class",
    "InvalidTag": "correct tags",
    "NotImplemented": "this server cannot do what was asked (conditional writes, or an option of the sink)",
    "MethodNotAllowed": "this address takes no objects; check endpoint_url and bucket",
    "InvalidObjectState": "the object is in cold storage; restore it first",
    "KMS.DisabledException": "the key kms_key_id is disabled",
    "KMS.NotFoundException": "the key kms_key_id does not exist",
    "KMS.KMSInvalidStateException": "the key kms_key_id cannot be used in its state",
    "NoSuchKey": "the object is not there",
    "404": "there is no such bucket or object",
}
"""Codes that mean that somebody must put something right -> what."""

PASSING = frozenset({
    "BadDigest", "ConditionalRequestConflict", "IncompleteBody", "InternalError", "OperationAborted",
    "RequestTimeout", "ServiceUnavailable", "SlowDown", "Throttling", "ThrottlingException",
    "TooManyRequests", "XAmzContentSHA256Mismatch",
})  # fmt: skip
"""Codes of troubles that pass, or that came from bytes damaged on the way."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong: ``error`` to be raised, whether the next try needs a new client (``stale``), and
    ``code`` as the server gave it ("" where no server answered)."""

    error: SinkUnavailable
    stale: bool = False
    code: str = ""


def let_go(error: BaseException | None) -> None:
    """Part an error, and those behind it, from their tracebacks: these lead to all that is being sent, and
    the client's own frames lead back to the error.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def code_of(error: BaseException | None) -> str:
    """Return the code that a server's answer carried, or ""."""
    response = getattr(error, "response", None)
    found = response.get("Error", {}).get("Code", "") if isinstance(response, dict) else ""
    return str(found)


def is_silence(error: BaseException | None) -> bool:
    """Return whether a request ended because no answer came in time."""
    return type(error).__name__ == "ReadTimeoutError"


def explain(error: Exception, place: str, rights: str = WRITING) -> Fault:
    """Return what an error of boto3 means for a request to ``place`` (bucket, and server), which needs these
    ``rights``.

    The text of the error to be raised quotes no record, and no secret.
    """
    code = code_of(error)
    if code:
        return _from_answer(code, getattr(error, "response", {}), place, rights)
    kind = type(error).__name__
    if kind in ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"):
        advice = "set access_key_id and secret_access_key, profile, or what boto3 itself looks for"
        return Fault(SinkDenied(f"no credentials for {place}: {advice}"), stale=True)
    if kind in ("UnauthorizedSSOTokenError", "SSOTokenLoadError", "TokenRetrievalError"):
        return Fault(SinkDenied(f"no credentials for {place}: log in again with `aws sso login`"), stale=True)
    if kind in ("CredentialRetrievalError", "MetadataRetrievalError"):
        return Fault(_passing(f"no credentials for {place} now: {kind}"), stale=True)
    names, text = names_and_text(error)
    if kind == "SSLError":
        return Fault(_untrusted(text, place), stale=True)
    if kind == "ParamValidationError":
        return Fault(SinkDenied(f"{place}: the client refuses the request; check the sink's options"))
    if is_unknown_host(names, text):
        unknown = "the name server does not know its host; check endpoint_url, region and bucket"
        return Fault(_passing(f"{place} cannot be reached: {unknown}"))
    return Fault(_passing(f"{place} cannot be reached: {_words(kind)}"))


def _untrusted(text: str, place: str) -> SinkUnavailable:
    if is_no_tls(text):
        return SinkDenied(f"{place} does not speak TLS; write http:// in endpoint_url, or another port")
    if why := why_untrusted(text):
        return SinkDenied(
            f"{place} shows no certificate that is trusted here ({why}): check endpoint_url, and ca_certs "
            "for a private authority"
        )
    return _passing(f"{place} cannot be reached: TLS failed")


def _from_answer(code: str, response: Any, place: str, rights: str) -> Fault:
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in FRESH:
        return Fault(_passing(f"{place} answered {code}: {FRESH[code]}"), stale=True, code=code)
    if code in RIGHTS:
        advice = f"give these credentials the rights {rights} on it"
        return Fault(SinkDenied(f"{place} answered {code}: {advice}"), stale=True, code=code)
    if code in ADVICE:
        advice = ADVICE[code] + (_region(response) if ADVICE[code] == _REGION else "")
        return Fault(SinkDenied(f"{place} answered {code}: {advice}"), stale=True, code=code)
    if code in PASSING or status >= 500 or status in (408, 409, 429) or status < 400:
        return Fault(_passing(f"{place} answered {code} ({status}): tried again"), code=code)
    return Fault(
        SinkDenied(f"{place} answered {code} ({status}{_sentence(response)}): check the options of the sink"),
        stale=True,
        code=code,
    )


def _region(response: Any) -> str:
    """Return which region a server names as the right one, in words; "" when it names none."""
    headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    found = headers.get("x-amz-bucket-region") or response.get("Error", {}).get("Region")
    return f" to {found}" if isinstance(found, str) and re.fullmatch(r"[a-z0-9-]{1,40}", found) else ""


def _sentence(response: Any) -> str:
    """Return what a server says of a refusal, up to where it begins to quote; with a comma before it."""
    text = str(response.get("Error", {}).get("Message") or "")
    said = re.split("['\"`<]", " ".join(text.split()), maxsplit=1)[0][:200].strip(" .:")
    return f", {said}" if said and said.isprintable() else ""


def _passing(text: str) -> SinkUnavailable:
    return SinkUnavailable(text, tells=True)


def _words(kind: str) -> str:
    known = {
        "EndpointConnectionError": "nobody answers at that address",
        "ConnectTimeoutError": "no connection within the timeout",
        "ReadTimeoutError": "no answer within the timeout",
        "ConnectionClosedError": "the connection was closed before an answer came",
        "ProxyConnectionError": "the proxy cannot be reached",
    }
    return known.get(kind, kind)
