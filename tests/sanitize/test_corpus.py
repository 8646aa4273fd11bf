"""The labelled cases of `corpus/`: every secret is hidden, nothing around it is, and no look-alike is
touched."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from tests.helpers import check_each
from tests.sanitize import corpus
from tests.sanitize.test_labelled import strings
from toolog.sanitize import Sanitizer

SANITIZER = Sanitizer()


def fits(expect: Any, output: Any, hide: list[str]) -> bool:
    """Tell whether the output is what is expected, with any mask for each `<MASK>`."""
    if expect == "<MASK>":
        return not [secret for secret in hide for text in strings(output) if secret in text]
    if isinstance(expect, str):
        if isinstance(output, str) and expect[:1] in ("{", "[") and output[:1] == expect[:1]:
            try:
                return fits(json.loads(expect), json.loads(output), hide)
            except ValueError:
                pass
        pattern = ".*?".join(re.escape(part) for part in expect.split("<MASK>"))
        return isinstance(output, str) and re.fullmatch("(?s)" + pattern, output) is not None
    if isinstance(expect, dict):
        if not isinstance(output, dict) or len(expect) != len(output):
            return False
        pairs = zip(expect.items(), output.items(), strict=True)
        return all(fits(key, seen, hide) and fits(item, found, hide) for (key, item), (seen, found) in pairs)
    if isinstance(expect, list):
        return (isinstance(output, list) and len(expect) == len(output)
                and all(fits(a, b, hide) for a, b in zip(expect, output, strict=True)))  # fmt: skip
    return expect == output


def identify(case: dict[str, Any]) -> str:
    """Return the name of a case among those that failed."""
    return f"{case['id']} {case['why']}"


def hides(case: dict[str, Any]) -> None:
    """Check a case that holds secrets."""
    given = copy.deepcopy(case["input"])
    clean = SANITIZER.sanitize(given)
    assert [secret for secret in case["hide"] for text in strings(clean) if secret in text] == []
    assert fits(case["expect"], clean, case["hide"]), clean
    assert given == case["input"]
    assert SANITIZER.sanitize(clean) == clean


def leaves(case: dict[str, Any]) -> None:
    """Check a clean look-alike."""
    assert SANITIZER.sanitize(case["input"]) is case["input"]


def test_the_secrets_of_the_corpus_are_hidden_and_what_stands_around_them_stays() -> None:
    """No part of a secret is left, the rest is as it was, the given value too, and twice masks no more."""
    check_each(corpus.positives(), hides, identify)


def test_the_look_alikes_of_the_corpus_are_the_same_objects() -> None:
    """What only looks like a secret comes back untouched, as the very same object."""
    check_each(corpus.negatives(), leaves, identify)


def test_the_cases_can_be_exchanged_as_json_lines() -> None:
    """Every case is plain data with the six fields that a scorer reads, and no id is there twice."""
    cases = [json.loads(line) for line in corpus.making.as_lines(corpus.cases()).splitlines()]
    assert len({case["id"] for case in cases}) == len(cases)
    assert all(set(case) == {"id", "kind", "why", "input", "expect", "hide"} for case in cases)
