"""One request to a search server, whichever client makes it: a status and a decoded answer.

What is no answer (nothing listens, a certificate is not trusted, the time is up) is a SinkUnavailable that
says what to look at; so is an answer that no search server gives. The texts quote no record and no secret.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolog.errors import SinkDenied, SinkUnavailable
from toolog.sinks.base import Pulse
from toolog.sinks.causes import causes, is_no_tls, is_unknown_host, names_and_text, why_untrusted
from toolog.sinks.search.clients import most_tries
from toolog.sinks.search.options import SearchOptions

_HERE = re.escape(__name__) + r"\Z"
JSON = "application/json"
NDJSON = "application/x-ndjson"


class Reply(NamedTuple):
    """What the server answered: the HTTP status, and the decoded body ({} when it is no JSON object)."""

    status: int
    body: dict[str, Any]


class NoAnswer(SinkUnavailable):
    """A request reached somebody, and no answer came of it, or none that can be read: perhaps for what was in
    it.
    """


class Wire:
    """A client that answers every status alike and raises only when there is no answer.

    ``client`` is what ``connect_search`` makes of ``options``; ``pulse`` beats before each request.
    """

    def __init__(self, client: Any, options: SearchOptions, pulse: Pulse | None = None) -> None:
        self._client = client
        self._options = options
        self._pulse = Pulse() if pulse is None else pulse
        self._longest = options.timeout * most_tries(options)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Reply:
        """Send one request and return the reply, whatever its status.

        ``path`` begins with ``/`` and is quoted already. Raises SinkUnavailable without an answer, and
        SinkDenied when somebody has to put something right first.
        """
        headers = {"accept": JSON}
        if body is not None:
            headers["content-type"] = content_type
        send = self._client.transport if self._options.dialect == "opensearch" else self._client
        for _ in range(2):
            self._pulse.beat(self._longest)
            try:
                answer = send.perform_request(
                    method, path, params=dict(params or {}), headers=headers, body=body
                )
            except Warning as warning:
                # The server's deprecation notes become warnings of the client, and this process makes
                # errors of warnings: then an answer could never arrive. The client says that they come from
                # here, so that all others stay what the application wants them to be.
                warnings.filterwarnings("ignore", category=type(warning), module=_HERE)
            except Exception as error:
                for cause in causes(error):  # their tracebacks lead to all that is being sent
                    cause.__traceback__ = None
                return self._reply_in(error)
            else:
                found = getattr(answer, "body", answer)
                return Reply(200, found if isinstance(found, dict) else {})
        raise SinkUnavailable(f"{self._options.where}: the client answers with warnings only", tells=True)

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close()

    # -- what the clients raise

    def _reply_in(self, error: Exception) -> Reply:
        """Return the reply that an exception of a client carries, or raise what it means without one."""
        name = type(error).__name__
        if name == "UnsupportedProductError":
            raise self._wrong_product() from None
        status, body = _status_of(error)
        if status is None:
            raise self._no_answer(error) from None
        if status == 406 and self._options.dialect == "elasticsearch":  # it does not know our media types
            raise self._wrong_product() from None
        return Reply(status, body if isinstance(body, dict) else {})

    def _wrong_product(self) -> SinkDenied:
        return SinkDenied(
            f"{self._options.where}: {self._hosts} is not Elasticsearch; "
            "if it is OpenSearch, write dialect='opensearch' (or type='opensearch')"
        )

    def _no_answer(self, error: Exception) -> SinkUnavailable:
        where, hosts = self._options.where, self._hosts
        names, text = names_and_text(error)
        if names & {"TlsError", "SSLError"}:
            return self._untrusted(text)
        if is_unknown_host(names, text):
            return SinkUnavailable(
                f"{where}: the host name in {hosts} is not known to the name server; check hosts", tells=True
            )
        if "ConnectionRefusedError" in names or "Connection refused" in text:
            return SinkUnavailable(
                f"{where}: nothing listens at {hosts}; is the server up, and the port right?", tells=True
            )
        if names & {"ConnectionTimeout", "ConnectTimeoutError", "ReadTimeoutError"}:
            return NoAnswer(f"{where}: no answer from {hosts} within {self._options.timeout:g} s", tells=True)
        if "SerializationError" in names:
            return NoAnswer(f"{where}: {hosts} answered something that is no whole JSON", tells=True)
        plain = [host for host in self._options.hosts if host.startswith("http://")]
        hint = f"; if {plain[0]} speaks TLS, write https://" if plain else ""
        return NoAnswer(
            f"{where}: the connection to {hosts} broke ({type(error).__name__}){hint}", tells=True
        )

    def _untrusted(self, text: str) -> SinkUnavailable:
        where, hosts = self._options.where, self._hosts
        if "fingerprint" in text.lower():
            return SinkDenied(
                f"{where}: the certificate of {hosts} has another fingerprint than ssl_assert_fingerprint; "
                "if it was renewed, put the new one there"
            )
        if is_no_tls(text):
            return SinkDenied(f"{where}: {hosts} does not speak TLS; write http:// or another port")
        if why := why_untrusted(text):
            return SinkDenied(
                f"{where}: the certificate of {hosts} is not trusted ({why}); give its authority's "
                "certificate as ca_certs, or its SHA-256 fingerprint as ssl_assert_fingerprint"
            )
        return SinkUnavailable(f"{where}: TLS with {hosts} failed", tells=True)

    @property
    def _hosts(self) -> str:
        return ", ".join(self._options.hosts)


def _status_of(error: Exception) -> tuple[int | None, Any]:
    """Return the HTTP status and body that a client's exception carries, or None."""
    meta = getattr(error, "meta", None)  # elasticsearch-py
    if meta is not None and isinstance(getattr(meta, "status", None), int):
        return meta.status, getattr(error, "body", None)
    arguments = error.args  # opensearch-py: (status, text, body); status is a word when there was no answer
    if len(arguments) >= 3 and isinstance(arguments[0], int):
        return arguments[0], arguments[2]
    return None, None
