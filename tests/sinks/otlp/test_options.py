"""Wrong options of the sink ``otlp`` fail at once, and say what would be right."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from toolog.errors import ConfigError, NotInstalled
from toolog.sinks import create


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endpoint": "collector:4318"}, "URL such as 'http://localhost:4318'"),
        ({"endpoint": 4318}, "URL such as"),
        ({"endpoint": "http://user:secret@collector:4318"}, "give headers"),
        ({"endpoint": "http://collector:4318/v1/traces"}, "leave /v1/traces out.*signals = 'traces'"),
        ({"endpoint": "http://collector:4318/v1/logs/"}, "leave /v1/logs out"),
        ({"endpoint": "http://collector:4317"}, "gRPC"),
        ({"endpoint": "http://collector:99999"}, "URL such as"),
        ({"endpont": "http://collector:4318"}, "did you mean 'endpoint'"),
        ({"signals": "trace"}, "did you mean 'traces'"),
        ({"signals": ["traces"]}, "signals"),
        ({"compression": "zstd"}, "one of gzip, none"),
        ({"headers": "a=b"}, "table of names and values"),
        ({"headers": {"a b": "c"}}, "no name of a header"),
        ({"headers": {"Content-Type": "c"}}, "set by the sink itself"),
        ({"headers": {"api-key": {"enw": "X"}}}, "did you mean 'env'"),
        ({"headers": {"api-key": ""}}, "is empty"),
        ({"ca_certs": 7}, "ca_certs"),
        ({"ca_certs": "/ca.pem"}, "not https"),
        ({"timeout": 0}, "more than 0 s"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, Any], message: str) -> None:
    """The error names the option, the sink, and what is right; never a secret."""
    with pytest.raises(ConfigError, match=message) as caught:
        create("spans", {"type": "otlp", **options})
    assert "spans" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("missing", ["opentelemetry.proto", "requests"])
def test_a_missing_client_names_the_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what the extra installs, the configuration fails at once and says what to install."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else find(name))
    with pytest.raises(NotInstalled, match=r"pip install 'toolog\[otlp\]'"):
        create("spans", {"type": "otlp"})


def test_a_secret_shows_in_no_repr() -> None:
    """Neither the sink nor its options show the value of a header."""
    sink: Any = create("otlp", {"headers": {"api-key": "invented-value"}})
    assert "invented-value" not in repr(sink) + repr(vars(sink)) + repr(sink._options)
