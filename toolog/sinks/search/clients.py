"""Clients of search servers: elasticsearch-py 8 and 9, and opensearch-py. Imported when one is made."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from toolog.errors import ConfigError, SinkDenied
from toolog.sinks.extras import require
from toolog.sinks.search.options import Dialect, SearchOptions

MODULES: dict[Dialect, str] = {"elasticsearch": "elasticsearch", "opensearch": "opensearchpy"}
"""Dialect -> the module of its client; the extra has the dialect's name."""
OLDEST: dict[Dialect, tuple[int, int]] = {"elasticsearch": (8, 15), "opensearch": (2, 7)}
_CONNECTIONS = 4  # to each node


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
    import elasticsearch

    _check_version("elasticsearch", elasticsearch.__version__, options)
    given: dict[str, Any] = {}
    if (key := options.read_api_key()) is not None:
        given["api_key"] = key
    if (token := options.read_token()) is not None:
        given["bearer_auth"] = token
    if (user := options.read_user()) is not None:
        given["headers"] = {"authorization": _basic(user)}
    return elasticsearch.Elasticsearch(
        list(options.hosts),
        request_timeout=options.timeout,
        http_compress=options.http_compress,
        connections_per_node=_CONNECTIONS,
        **_retries(options),
        **_tls(options),
        **given,
    )


def _opensearch(options: SearchOptions) -> Any:
    import opensearchpy

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
    return opensearchpy.OpenSearch(
        list(options.hosts),
        timeout=options.timeout,
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
    given: dict[str, Any] = {"verify_certs": options.verify_certs, "ssl_show_warn": False}
    if options.ca_certs is not None:
        import ssl  # 15 ms, and only with the clients, which need it anyway

        try:
            ssl.create_default_context(cafile=options.ca_certs)
        except OSError as error:  # ssl.SSLError is one
            reason = "it holds no certificates" if isinstance(error, ssl.SSLError) else error.strerror
            raise SinkDenied(
                f"{options.where}: ca_certs {options.ca_certs} cannot be used: {reason}"
            ) from None
        given["ca_certs"] = options.ca_certs
    if options.ssl_assert_fingerprint is not None:
        given["ssl_assert_fingerprint"] = options.ssl_assert_fingerprint
    return given


def _retries(options: SearchOptions) -> dict[str, Any]:
    """Another node at once when one is down; everything else is the shipper's, which waits in between."""
    others = len(options.hosts) - 1
    return {
        "max_retries": min(others, 3),
        "retry_on_status": (502, 503, 504) if others else (),
        "retry_on_timeout": False,
    }


def _check_version(dialect: Dialect, version: Any, options: SearchOptions) -> None:
    parts = version if isinstance(version, tuple) else str(version).split(".")
    numbers = tuple(int(part) for part in parts[:2])
    if numbers < OLDEST[dialect]:
        raise ConfigError(
            f"{options.where} needs {dialect} {'.'.join(map(str, OLDEST[dialect]))} or newer, and "
            f"{'.'.join(map(str, numbers))} is installed: pip install -U 'toolog[{dialect}]'"
        )
