"""The exception tree and its helpers."""

from __future__ import annotations

import pytest

from toolog import errors


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        (errors.ConfigError, errors.ToologError),
        (errors.NotInstalled, errors.ConfigError),
        (errors.RecordInvalid, errors.SchemaError),
        (errors.CallDepthExceeded, errors.GuardError),
        (errors.CallDepthExceeded, RecursionError),
        (errors.SpoolFull, errors.SpoolError),
        (errors.SegmentCorrupt, errors.SpoolError),
        (errors.SinkUnavailable, errors.SinkError),
        (errors.SinkDenied, errors.SinkUnavailable),
        (errors.StoreUnavailable, errors.SinkUnavailable),
        (errors.SinkRejected, errors.SinkError),
    ],
)
def test_tree(child: type, parent: type) -> None:
    """Every error can be caught by the family it belongs to."""
    assert issubclass(child, parent)


def test_unknown_key_names_the_nearest() -> None:
    """A misspelt key is answered with where it stood and the key that was meant."""
    text = str(errors.unknown_key("whenfull", ["when_full", "max_records"], "queue"))
    assert "'whenfull'" in text
    assert "queue" in text
    assert "'when_full'" in text


def test_unknown_key_lists_all_when_nothing_is_near() -> None:
    """A key that resembles none is answered with all that are known, sorted."""
    assert "known: alpha, beta" in str(errors.unknown_key("xyzzy", ["beta", "alpha"], "here"))


def test_nearest_ignores_case() -> None:
    """Upper and lower case do not keep a name from being recognised."""
    assert errors.nearest("elastic", ["Elasticsearch", "S3"]) == "Elasticsearch"
    assert errors.nearest("zzz", ["Elasticsearch"]) is None


def test_depth_error_keeps_the_chain() -> None:
    """The error about too deep calls carries the chain of tools as data."""
    assert errors.CallDepthExceeded("too deep", ["A", "B"]).chain == ("A", "B")


def test_a_far_candidate_is_not_offered_where_all_of_a_system_are_candidates() -> None:
    """With the strict bound a slip of the fingers is found, and words that share some letters are not."""
    assert errors.nearest("reqeusts", ["requests", "re"], cutoff=errors.CLOSE) == "requests"
    assert errors.nearest("DB_PASSWROD", ["HOME", "DB_PASSWORD"], cutoff=errors.CLOSE) == "DB_PASSWORD"
    assert errors.nearest("NOPE", ["HOME", "PATH"], cutoff=errors.CLOSE) is None
    assert errors.nearest("nosuchmodule2", ["opcode", "numbers"], cutoff=errors.CLOSE) is None
