"""Clients of search servers: elasticsearch-py 8 and 9, and opensearch-py. Imported when one is made.

With several hosts a request that one of them does not answer goes to the next, which may mean that it arrives
twice: records are created under their own id, and everything else that is sent says the same twice.
"""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from toolog.errors import ConfigError
from toolog.sinks.causes import check_ca_certs
from toolog.sinks.extras import load, require
from toolog.sinks.search.codecs import elasticsearch_serializers, opensearch_serializer
from toolog.sinks.search.options import Dialect, SearchOptions

MODULES: dict[Dialect, str] = {"elasticsearch": "elasticsearch", "opensearch": "opensearchpy"}
"""Dialect -> the module of its client; the extra has the dialect's name."""
OLDEST: dict[Dialect, tuple[int, int]] = {"elasticsearch": (8, 15), "opensearch": (2, 7)}
_CONNECTIONS = 4  # to each node
_CONNECT = 5.0
"""Seconds within which one of several hosts must accept a connection."""
_MOST_RETRIES = 3
_LEFT_ALONE = 60.0
"""Seconds for which one of several hosts is left alone at least when it failed; twice that the next time."""


def connect_search(options: SearchOptions | Mapping[str, Any], where: str = "search") -> Any:
    """Return the client that a sink's options describe: ``elasticsearch.Elasticsearch`` or
    ``opensearchpy.OpenSearch``.

    ``options``: a sink's table in a configuration, or what ``SearchOptions.from_table`` made of it; ``where``
    names it in errors. Secrets are read now; nothing is sent yet. Raises ConfigError (a wrong option, a
    client that is missing or too old) and SinkDenied (a secret or a certificate that is not there now).
    """
    if not isinstance(options, SearchOptions):
        options = SearchOptions.from_table(options, where)
    check_client(options.dialect, options.where)
    return _opensearch(options) if options.dialect == "opensearch" else _elasticsearch(options)


def check_client(dialect: Dialect, where: str) -> None:
    """Raise ConfigError when the client of a dialect is not installed; nothing is imported."""
    require(MODULES[dialect], dialect, where)


def _elasticsearch(options: SearchOptions) -> Any:
    elasticsearch = load(MODULES["elasticsearch"])
    _check_version("elasticsearch", elasticsearch.__version__, options)
    given: dict[str, Any] = {}
    if (key := options.read_api_key()) is not None:
        given["api_key"] = key
    if (token := options.read_token()) is not None:
        given["bearer_auth"] = token
    if (user := options.read_user()) is not None:
        given["headers"] = {"authorization": _basic(user)}
    client = elasticsearch.Elasticsearch(
        list(options.hosts),
        request_timeout=options.timeout,
        http_compress=options.http_compress,
        connections_per_node=_CONNECTIONS,
        serializers=elasticsearch_serializers(),
        dead_node_backoff_factor=_left_alone(options),
        max_dead_node_backoff=10 * _left_alone(options),
        **_retries(options),
        **_tls(options),
        **given,
    )
    # Its type says float; what it is given goes to urllib3, as it is.
    return client.options(request_timeout=_timeout(options))


def _opensearch(options: SearchOptions) -> Any:
    opensearchpy = load(MODULES["opensearch"])
    _check_version("opensearch", opensearchpy.__version__, options)
    headers: dict[str, str] = {}
    if (key := options.read_api_key()) is not None:
        headers["authorization"] = f"ApiKey {key}"
    if (token := options.read_token()) is not None:
        headers["authorization"] = f"Bearer {token}"
    if (user := options.read_user()) is not None:
        headers["authorization"] = _basic(user)
    tls = _tls(options)
    if "ssl_assert_fingerprint" in tls and options.ca_certs is None:
        tls["verify_certs"] = False  # the fingerprint is what is checked, as elasticsearch-py does it

    base: Any = opensearchpy.Urllib3HttpConnection

    class Connection(base):  # type: ignore[misc]
        """One that makes no warnings of the server's deprecation notes: an application that makes errors of
        warnings would never see an answer.
        """

        def _raise_warnings(self, warning_headers: Any) -> None:
            pass

    return opensearchpy.OpenSearch(
        list(options.hosts),
        connection_class=Connection,
        serializer=opensearch_serializer(),
        timeout=_timeout(options),
        dead_timeout=_left_alone(options),
        http_compress=options.http_compress,
        pool_maxsize=_CONNECTIONS,
        headers=headers,
        **_retries(options),
        **tls,
    )


def _basic(user: tuple[str, str]) -> str:
    """Return the header of user and password; the clients' own break on letters beyond ASCII or Latin-1."""
    return f"Basic {base64.b64encode(':'.join(user).encode()).decode()}"


def _tls(options: SearchOptions) -> dict[str, Any]:
    """Return the client's options for TLS. Raises SinkDenied when ``ca_certs`` is no file of certificates."""
    if not any(host.startswith("https://") for host in options.hosts):
        return {}
    # Without ssl_show_warn the clients silence urllib3 for the whole process.
    given: dict[str, Any] = {"verify_certs": options.verify_certs, "ssl_show_warn": True}
    _say_nothing_of_unchecked(options)
    if options.ca_certs is not None:
        check_ca_certs(options.ca_certs, options.where)
        given["ca_certs"] = options.ca_certs
    if options.ssl_assert_fingerprint is not None:
        given["ssl_assert_fingerprint"] = options.ssl_assert_fingerprint
    return given


def _say_nothing_of_unchecked(options: SearchOptions) -> None:
    """Let no warning say of our own hosts that their certificates are not checked: the options say so.

    Each filter names one of our hosts, so that what the application hears of others stays as it is.
    """
    if options.verify_certs and options.ssl_assert_fingerprint is None:
        return
    for host in options.hosts:
        place = re.escape(urlsplit(host).hostname or "")
        for text in (rf"Connecting to .*{place}.* using (?:TLS|SSL) with", rf"Unverified HTTPS .*'{place}'"):
            warnings.filterwarnings("ignore", message=text)


def most_tries(options: SearchOptions) -> int:
    """Return to how many hosts one request goes at most."""
    return min(len(options.hosts) - 1, _MOST_RETRIES) + 1


def _retries(options: SearchOptions) -> dict[str, Any]:
    """Another host at once when one is down or hangs; everything else is the shipper's, which waits in
    between.
    """
    several = len(options.hosts) > 1
    return {
        "max_retries": most_tries(options) - 1,
        "retry_on_status": (502, 503, 504) if several else (),
        "retry_on_timeout": several,
    }


def _timeout(options: SearchOptions) -> Any:
    """Return the time for one request as urllib3 takes it: where there are other hosts, one that does not
    even accept a connection is left sooner.
    """
    import urllib3

    several = len(options.hosts) > 1
    connect = min(options.timeout, _CONNECT) if several else options.timeout
    return urllib3.Timeout(connect=connect, read=options.timeout)


def _left_alone(options: SearchOptions) -> float:
    """Return for how many seconds a host that failed is left alone: one that hangs must not have half of the
    time.
    """
    return max(_LEFT_ALONE, 2 * options.timeout)


def _check_version(dialect: Dialect, version: Any, options: SearchOptions) -> None:
    parts = version if isinstance(version, tuple) else str(version).split(".")
    numbers = tuple(int(part) for part in parts[:2])
    if numbers < OLDEST[dialect]:
        raise ConfigError(
            f"{options.where} needs {dialect} {'.'.join(map(str, OLDEST[dialect]))} or newer, and "
            f"{'.'.join(map(str, numbers))} is installed: pip install -U 'toolog[{dialect}]'"
        )
