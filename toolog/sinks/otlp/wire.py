"""One request to a collector and what its answer means.

OTLP over HTTP: https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.causes import check_ca_certs, is_no_tls, is_unknown_host, names_and_text, why_untrusted
from toolog.sinks.extras import load
from toolog.sinks.otlp.options import OtlpOptions

CONNECT_TIMEOUT = 10.0
"""The most seconds that it may take to connect."""
_MOST_READ = 1 << 20
_LATER = frozenset({408, 425, 429, 502, 503, 504})
_LONGEST_PAUSE = 300.0


class Reply(NamedTuple):
    """What a collector answered, in so far as it is about what was sent.

    ``body``: the message of its answer. ``verdict``: "" taken, "refused" for good, "too large", "failed".
    ``reason``: its own words.
    """

    verdict: str
    body: bytes = b""
    reason: str = ""


class Wire:
    """The connection to a collector; headers are read anew after a refusal."""

    def __init__(self, options: OtlpOptions, status: Any) -> None:
        self._options = options
        self._status = status  # the class of protobuf that errors are in
        requests = load("requests")
        if options.ca_certs is not None:
            check_ca_certs(options.ca_certs, options.where)
        session = requests.Session()
        session.auth = _unchanged  # else ~/.netrc would replace our own header
        self._session = session
        self._headers: dict[str, str] | None = None

    def close(self) -> None:
        """Let go of the connections."""
        self._session.close()

    def post(self, signal: str, body: bytes) -> Reply:
        """Post one request. Raises SinkUnavailable and SinkDenied where it is not about what is in it."""
        options = self._options
        headers = {"content-type": "application/x-protobuf", "user-agent": "toolog", **self._own_headers()}
        if options.compression == "gzip":
            body = gzip.compress(body, 1)
            headers["content-encoding"] = "gzip"
        try:
            answer = self._session.post(
                options.url(signal),
                data=body,
                headers=headers,
                verify=options.ca_certs or True,  # (a session's would give way to an environment variable)
                timeout=(min(options.timeout, CONNECT_TIMEOUT), options.timeout),
                allow_redirects=False,
                stream=True,
            )
            with answer:
                said = answer.raw.read(_MOST_READ, decode_content=True)
        except Exception as error:
            raise self._explain(error) from None
        return self._judge(signal, answer, said or b"")

    def _own_headers(self) -> dict[str, str]:
        if self._headers is None:
            found = {}
            for name, secret in self._options.headers.items():
                value = secret.read().strip()
                if not value.isascii():
                    raise SinkDenied(f"{secret.where} has characters that no header has; check it")
                found[name] = value
            self._headers = found
        return self._headers

    # -- what it means

    def _judge(self, signal: str, answer: Any, said: bytes) -> Reply:
        status = int(answer.status_code)
        if 200 <= status < 300:
            return Reply("", said)
        reason = self._words(said)
        if status in (400, 422):
            return Reply("refused", reason=f"{status}: {reason}" if reason else str(status))
        if status == 413:
            return Reply("too large", reason="413: it is too large for the collector")
        url = self._options.url(signal)
        if status in _LATER:
            raise SinkUnavailable(
                f"{self._options.where}: {url} cannot take it now ({status})",
                tells=True,
                retry_after=_pause(answer.headers.get("retry-after")),
            )
        if status in (401, 403):
            self._headers = None
            given = ", ".join(self._options.headers)
            what = f"check {given} in headers" if given else "give headers"
            raise SinkDenied(f"{self._options.where}: {url} does not accept who we are ({status}); {what}")
        if status >= 500:
            return Reply("failed", reason=f"{status}: {reason}" if reason else str(status))
        hint = "check endpoint"
        if status in (404, 405):
            other = "traces" if signal == "logs" else "logs"
            hint = f"check endpoint; a backend that takes {other} only needs signals = {other!r}"
        elif status == 415:
            hint = "it must take OTLP over HTTP as protobuf"
        raise SinkDenied(f"{self._options.where}: {url} answered {status}; {hint}")

    def _words(self, said: bytes) -> str:
        """Return the collector's own sentence (a ``google.rpc.Status``), "" when there is none."""
        try:
            found = self._status.FromString(said).message
        except Exception:  # a page of something that is no collector
            return ""
        return " ".join(str(found).split())[:300]

    def _explain(self, error: Exception) -> SinkUnavailable:
        place = self._options.endpoint
        where = self._options.where
        names, text = names_and_text(error)
        if "SSLError" in names:
            if is_no_tls(text):
                return SinkDenied(f"{where}: {place} does not speak TLS; write http:// in endpoint")
            if why := why_untrusted(text):
                return SinkDenied(
                    f"{where}: {place} shows no certificate that is trusted here ({why}): check endpoint, "
                    "and ca_certs for a private authority"
                )
        if is_unknown_host(names, text):
            why = "the name server does not know its host; check endpoint"
        elif "ConnectTimeout" in names or "ReadTimeout" in names or "ReadTimeoutError" in names:
            why = f"no answer within {self._options.timeout:g} s"
        elif "ProxyError" in names:
            why = "the proxy in between does not let us through"
        elif "ConnectionRefusedError" in names:
            why = "nobody listens there"
        else:
            why = type(error).__name__
        return SinkUnavailable(f"{where}: {place} cannot be reached: {why}", tells=True)


def _unchanged(request: Any) -> Any:
    return request


def _pause(text: Any) -> float | None:
    """Return the seconds of a header ``Retry-After``: a number, or a date."""
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            then = parsedate_to_datetime(text)
        except ValueError:
            return None
        seconds = (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - datetime.now(
            UTC
        ).timestamp()
    return min(max(seconds, 0.0), _LONGEST_PAUSE) if seconds == seconds else None
