"""Which refusals speak of the cluster's state, and which of a document."""

from __future__ import annotations

import pytest

from toolog.sinks.search.refusals import is_state


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (
            "illegal_argument_exception",
            "Validation Failed: 1: this action would add [2] total shards, but this cluster currently has "
            "[3000]/[3000] maximum shards open;",
        ),
        (
            "validation_exception",
            "Validation Failed: 1: this action would add [2] shards, but this cluster currently has "
            "[1000]/[1000] maximum normal shards open;",
        ),
        ("illegal_argument_exception", "number of documents in the index cannot exceed 2147483519"),
        ("illegal_argument_exception", "pipeline with id [masks] does not exist"),
        ("illegal_argument_exception", "Limit of total fields [1000] has been exceeded"),
        ("index_closed_exception", "closed"),
    ],
)
def test_no_room_is_no_fault_of_a_document(kind: str, reason: str) -> None:
    """A cluster that has no room for another shard or document, or lacks a part, refuses whatever comes."""
    assert is_state({"error": {"type": kind, "reason": reason}})


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("document_parsing_exception", "[1:9] failed to parse field [duration] of type [long]"),
        ("mapper_parsing_exception", "failed to parse"),
        ("illegal_argument_exception", "Document contains at least one immense term in field"),
    ],
)
def test_what_a_document_is_refused_for_is_its_own(kind: str, reason: str) -> None:
    """A value that does not fit is the document's matter."""
    assert not is_state({"error": {"type": kind, "reason": reason}})
