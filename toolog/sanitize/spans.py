"""Which parts of one text must be hidden: all finders asked, overlaps joined, masks that stand there already
left alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile

from toolog.sanitize import scans
from toolog.sanitize.escapes import blank_escapes
from toolog.sanitize.fold import fold, fold_both
from toolog.sanitize.policy import Policy
from toolog.sanitize.rules import FINDERS, NUMBER_FINDERS, Span, number_runs

#: So many finds of one kind are looked for in one text; behind them all is hidden. No text that anybody
#: wrote has so
#: many secrets, and one that was made to has would cost seconds.
MOST = 2000
_TOKEN = re.compile(
    r"\[MASKED:[a-z0-9_]{1,40}(?::[0-9a-f]{12})?\]|\[REDACTION_FAILED\]|\[TRUNCATED\]|\[CYCLE\]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
#: Without an end, a key block reaches to the end of the text.
_DISTANT = {"private_key"}
#: From so many characters on, a text is read again only so far around its masks; what reaches so
#: close to the edge of a piece was perhaps cut by it.
_LONG, _AROUND, _EDGE = 16_384, 4_096, 512
_MOST_KEPT = 64


def find_spans(
    policy: Policy,
    text: str,
    families: Iterable[str] | None = None,
    changed: Sequence[tuple[int, int]] = (),
    known: Iterable[Span] = (),
    kept: dict[str, list[Span]] | None = None,
) -> list[Span]:
    """Answer the spans to hide, in order and without overlaps.

    :param families: what the prefilter saw in the text, when that is known already.
    :param changed: where masks were put since the text was looked at last; of a long text only their
        surroundings are read again, apart from what reaches over any distance (key blocks, a user's own
        rules).
    :param known: what is to be hidden in any case.
    :param kept: what was found in long texts that are looked at twice; filled here.
    """
    inside = scans.inside
    inside.append(None)
    try:
        if scans.ending:
            scans.check_thread()
        seen = set(policy.families(text) if families is None else families)
        if changed and len(text) >= _LONG:
            spans = _find_again(policy, text, seen, changed)
        else:
            spans = kept.get(text) if kept else None
        if spans is None:
            spans = _find(policy, text, seen)
            if kept is not None and not changed and len(text) >= _LONG and len(kept) < _MOST_KEPT:
                kept[text] = spans
        return _merge(text, [*known, *spans])
    finally:
        inside.pop()


def _find(policy: Policy, text: str, seen: set[str]) -> list[Span]:
    spans: list[Span] = []
    cut = len(text)
    folded = fold_both(text)
    seen = _all_seen(policy, folded[1], seen)
    for found in chain(_near(policy, *folded, seen), _far(policy, text, folded[0], seen)):
        if cut < len(text):  # (each search answers in the order of the text)
            found = takewhile(lambda span: span[0] < cut, found)  # noqa: B023
        some = list(islice(found, MOST))
        if len(some) == MOST:
            cut = min(cut, some[-1][1])
        spans += some
    spans = [span for span in spans if span[2] not in policy.disabled and span[0] < cut]
    if cut < len(text):
        spans.append((cut, len(text), "truncated"))
    return spans


def _all_seen(policy: Policy, numbers: str, seen: set[str]) -> set[str]:
    """Answer what the prefilter sees, also in look-alikes once they are plain."""
    return {"named", *seen, *policy.families(numbers)} if "hidden" in seen else seen


def _near(policy: Policy, folded: str, numbers: str, seen: set[str]) -> Iterator[Iterator[Span]]:
    """Yield the searches whose finds depend on their surroundings only."""
    if "named" in seen:
        yield from policy.named.finders(folded, MOST)
    plain = blank_escapes(folded)
    for name, finder in FINDERS.items():
        if name in seen and name not in _DISTANT:
            yield finder(plain)
    if not seen.isdisjoint(NUMBER_FINDERS):
        numbers = plain if numbers is folded else blank_escapes(numbers)
        runs = number_runs(numbers)
        for name, number_finder in NUMBER_FINDERS.items():
            if name in seen:
                yield number_finder(numbers, runs)


def _far(policy: Policy, text: str, folded: str, seen: set[str]) -> Iterator[Iterator[Span]]:
    """Yield the searches that read a text as a whole."""
    for name in _DISTANT:
        if name in seen:
            yield FINDERS[name](folded)
    for rule in policy.user_rules:
        yield rule.find(text if text.isascii() else _without_surrogates(text))
    if "known" in seen:
        yield from (_literal(text, known) for known in policy.known)


def _find_again(
    policy: Policy, text: str, seen: set[str], changed: Sequence[tuple[int, int]]
) -> list[Span] | None:
    """Answer what is to be hidden near the masks of a text that was looked at before they were put there.

    None when all of it has to be read: too much of it is near, or what was found reaches further.
    """
    pieces: list[list[int]] = []
    for start, end in changed:
        if pieces and start - _AROUND <= pieces[-1][1]:
            pieces[-1][1] = end + _AROUND
        else:
            pieces.append([max(0, start - _AROUND), end + _AROUND])
    if sum(stop - begin for begin, stop in pieces) * 2 > len(text):
        return None
    spans: list[Span] = []
    for begin, stop in pieces:
        folded = fold_both(text[begin:stop])
        first, last = begin + _EDGE if begin else 0, stop - _EDGE if stop < len(text) else stop
        for found in _near(policy, *folded, _all_seen(policy, folded[1], seen)):
            some = [(begin + start, begin + end, rule) for start, end, rule in islice(found, MOST)]
            # what lies in an edge is far from every mask: it was seen before, or was made by the cut
            some = [span for span in some if span[1] > first and span[0] < last]
            if len(some) == MOST or any(start < first or end > last for start, end, _ in some):
                return None
            spans += some
    for found in _far(policy, text, fold(text) if _DISTANT & seen else text, seen):
        some = list(islice(found, MOST))
        if len(some) == MOST:
            return None
        spans += some
    return [span for span in spans if span[2] not in policy.disabled]


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
        if place < len(masks) and masks[place][0] < start:  # what was read out of a mask ends with it
            start = masks[place][1]
            if not any(map(str.isalnum, text[start:end])):
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
