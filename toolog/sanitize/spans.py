"""Which parts of one text must be hidden: all finders asked, overlaps joined, masks that stand there already
left alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from toolog.sanitize import scans
from toolog.sanitize.fold import fold, fold_numbers
from toolog.sanitize.policy import Policy
from toolog.sanitize.rules import FINDERS, Span

#: So many finds of one kind are looked for in one text; behind them all is hidden. No text that anybody
#: wrote has so
#: many secrets, and one that was made to has would cost seconds.
MOST = 2000
_TOKEN = re.compile(
    r"\[MASKED:[a-z0-9_]{1,40}(?::[0-9a-f]{12})?\]|\[REDACTION_FAILED\]|\[TRUNCATED\]|\[CYCLE\]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_NUMBERS = frozenset(("phone", "id_number", "card", "ssn"))


def find_spans(policy: Policy, text: str, families: Iterable[str] | None = None) -> list[Span]:
    """Answer the spans to hide, in order and without overlaps.

    :param families: what the prefilter saw in the text, when that is known already.
    """
    inside = scans.inside
    inside.append(None)
    try:
        if scans.ending:
            scans.check_thread()
        return _find(policy, text, families)
    finally:
        inside.pop()


def _find(policy: Policy, text: str, families: Iterable[str] | None) -> list[Span]:
    seen = set(policy.families(text) if families is None else families)
    folded = fold(text)
    numbers = fold_numbers(text)
    if "hidden" in seen:  # look-alikes: what the patterns see once they are plain
        seen = {"named", *seen, *policy.families(numbers)}
    finders: list[Iterator[Span]] = []
    if "named" in seen:
        finders += policy.named.finders(folded, MOST)
    for name, finder in FINDERS.items():
        if name in seen:
            finders.append(finder(numbers if name in _NUMBERS else folded))
    for rule in policy.user_rules:
        finders.append(rule.find(text if text.isascii() else _without_surrogates(text)))
    if "known" in seen:
        finders += (_literal(text, known) for known in policy.known)
    spans: list[Span] = []
    cut = len(text)
    for found in finders:
        some = list(islice(found, MOST))
        if len(some) == MOST:
            cut = min(cut, some[-1][1])
        spans += some
    spans = [span for span in spans if span[2] not in policy.disabled and span[0] < cut]
    if cut < len(text):
        spans.append((cut, len(text), "truncated"))
    return _merge(text, spans)


def _merge(text: str, spans: list[Span]) -> list[Span]:
    """Answer the spans in order, without overlaps, and without those inside a mask that stands there
    already."""
    masks = [match.span() for match in _TOKEN.finditer(text)] if "[" in text else []
    merged: list[Span] = []
    place = 0
    for start, end, rule in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end <= start:
            continue
        while place < len(masks) and masks[place][1] <= start:
            place += 1
        if place < len(masks) and masks[place][0] <= start and end <= masks[place][1]:
            continue
        if merged and start < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, end), known)
        else:
            merged.append((start, end, rule))
    return merged


def _literal(text: str, literal: str) -> Iterator[Span]:
    at = text.find(literal)
    while at >= 0:
        yield at, at + len(literal), "known_secret"
        at = text.find(literal, at + len(literal))


def _without_surrogates(text: str) -> str:
    return _SURROGATES.sub("?", text)
