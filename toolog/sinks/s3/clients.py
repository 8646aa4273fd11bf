"""A client for one bucket, from botocore, which boto3 is made of.

It takes 0.4 s to import, so that happens here and when asked for. boto3 itself would bring threads for
transfers, which cannot be had while a process ends.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from toolog.errors import NotInstalled, SinkDenied
from toolog.sinks.causes import check_ca_certs
from toolog.sinks.extras import load
from toolog.sinks.s3.options import ACCESS_KEYS, Access, access

CONNECT_TIMEOUT = 10.0
"""The most seconds that it may take to connect, and to send the next piece of a body."""


def check_client(where: str) -> None:
    """Raise NotInstalled, which says what to install, when boto3 is not there; nothing is imported."""
    try:
        is_here = importlib.util.find_spec("boto3") is not None
    except (ImportError, ValueError):
        is_here = False
    if not is_here:
        raise NotInstalled(f"{where} needs boto3: pip install 'toolog[s3]'")


def connect_s3(options: Access | Mapping[str, Any], where: str = "the s3 sink", *, attempts: int = 1) -> Any:
    """Return a new S3 client, with the secrets, profile files and roles as they are now.

    ``options``: an Access, or a sink's options, of which those about the objects are not looked at;
    ``attempts``: how often it tries each request (whoever retries by himself wants one). No request is made
    yet. Raises ConfigError (boto3 is missing,
    an option is wrong) and SinkDenied (a secret or profile is missing).
    """
    check_client(where)
    if not isinstance(options, Access):
        options = access({key: options[key] for key in ACCESS_KEYS if key in options}, where)
    session_module = load("botocore.session")
    load("botocore.httpsession")  # what a session would import with its first client
    config_class, known = load("botocore.config").Config, load("botocore.exceptions").BotoCoreError
    add_expect_header = load("botocore.handlers").add_expect_header

    keys = [
        None if secret is None else secret.read()
        for secret in (options.access_key_id, options.secret_access_key, options.session_token)
    ]
    if options.ca_certs is not None:
        check_ca_certs(options.ca_certs, options.place)
    config = config_class(
        connect_timeout=min(options.timeout, CONNECT_TIMEOUT),
        read_timeout=options.timeout,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        # Each object has a checksum that we compute ourselves; the library's own would be a second one.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": options.addressing},
        user_agent_extra="toolog",
    )
    try:
        session = session_module.Session(profile=options.profile)
        if keys[0] is not None:
            session.set_credentials(*keys)
        client = session.create_client(
            "s3",
            region_name=options.region,
            endpoint_url=options.endpoint_url,
            verify=options.ca_certs,
            config=config,
        )
        # An upload is one request without a pause in it, whatever kind of body it has.
        client.meta.events.unregister("before-call.s3", add_expect_header)
        return client
    except (known, ValueError, OSError) as error:
        raise SinkDenied(f"no client for {options.place}: {error}") from error
