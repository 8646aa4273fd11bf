"""Rules of others stay the bytes that they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolog.expiry.rulebook import Rulebook

HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
TAIL = b"</LifecycleConfiguration>"
THEIRS = (
    b"<Rule><ID>old &amp; new</ID><Prefix>logs/</Prefix><Status>Enabled</Status>"
    b"<Expiration><Days>3</Days></Expiration></Rule>",
    b'<Rule>\n  <ID>tomorrow</ID><Filter><Size unit="KiB">5</Size></Filter>\n'
    b"  <Expiration><AfterLastAccess>P9D</AfterLastAccess></Expiration><Status>Disabled</Status>\n</Rule>",
    "<Rule><!-- naïve --><ID>ü</ID><Filter/><Status>Enabled</Status></Rule >".encode(),
    b"<Rule/>",
)
OURS = ("toolog:calls/policy=error/", "calls/policy=error/", 30)
MINE = (
    b"<Rule><ID>toolog:calls/policy=error/</ID><Filter><Prefix>calls/policy=error/</Prefix></Filter>"
    b"<Status>Enabled</Status><Expiration><Days>30</Days></Expiration></Rule>"
)


def document(*rules: bytes) -> bytes:
    """Return a configuration with these rules."""
    return HEAD + b"\n ".join(rules) + TAIL


def test_rules_are_told_apart_as_bytes() -> None:
    """Each rule is what stood between its tags, also one with fields that nobody knows yet."""
    assert Rulebook(document(*THEIRS)).rules == list(THEIRS)


def test_a_rule_is_added_behind_the_others() -> None:
    """Everything else of the document stays, byte for byte."""
    assert Rulebook(document(*THEIRS)).rewrite((), [OURS]) == document(*THEIRS)[: -len(TAIL)] + MINE + TAIL


def test_a_rule_is_replaced() -> None:
    """The old one is cut out, the new one stands at the end, the others are as they were."""
    changed = Rulebook(document(THEIRS[0], MINE, THEIRS[1])).rewrite({1}, [OURS])
    assert Rulebook(changed).rules == [THEIRS[0], THEIRS[1], MINE]


@pytest.mark.parametrize(
    "nothing", [b"", b"<LifecycleConfiguration/>", b'<LifecycleConfiguration xmlns="x" />', HEAD + TAIL]
)
def test_an_empty_configuration_takes_a_rule(nothing: bytes) -> None:
    """No configuration, or one without rules, becomes one with ours."""
    assert Rulebook(Rulebook(nothing).rewrite((), [OURS])).rules == [MINE]


def test_a_prefixed_document_gets_a_prefixed_rule() -> None:
    """Where the server's elements have a name space prefix, ours have it too."""
    theirs = b"<a:Rule><a:ID>x</a:ID></a:Rule>"
    raw = b'<a:LifecycleConfiguration xmlns:a="u">' + theirs + b"</a:LifecycleConfiguration>"
    rules = Rulebook(Rulebook(raw).rewrite((), [OURS])).rules
    assert rules[0] == theirs
    assert rules[1].startswith(b"<a:Rule><a:ID>toolog:calls/policy=error/</a:ID><a:Filter>")


@pytest.mark.parametrize(
    "raw", [b"nonsense", b"<Error><Code>Busy</Code></Error>", HEAD + b"<Rul", HEAD + b"<Other/>" + TAIL]
)
def test_what_is_no_configuration_is_refused(raw: bytes) -> None:
    """Nothing is written over what could not be read."""
    with pytest.raises(ValueError, match="lifecycle configuration"):
        Rulebook(raw)


def test_texts_are_escaped() -> None:
    """A prefix with signs of XML stays one."""
    [rule] = Rulebook(Rulebook().rewrite((), [("toolog:a&b<c", "a&b<c", 1)])).rules
    assert b"<Prefix>a&amp;b&lt;c</Prefix>" in rule


@given(
    st.lists(st.sampled_from(THEIRS), max_size=8),
    st.sets(st.integers(min_value=0, max_value=7)),
    st.integers(min_value=0, max_value=2),
)
def test_others_survive_any_rewriting(theirs: list[bytes], without: set[int], added: int) -> None:
    """Whatever is cut out and put in, the rules that stay are the same bytes in the same order."""
    left = [rule for place, rule in enumerate(theirs) if place not in without]
    rewritten = Rulebook(document(*theirs)).rewrite(without, [OURS] * added)
    assert Rulebook(rewritten).rules == [*left, *([MINE] * added)]
