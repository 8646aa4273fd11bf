"""The glance clears only what a walk would leave as it is."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sanitize.test_prefilter import KEYS, SNIPPETS, changed, keys, leaves
from toolog.sanitize import Sanitizer, default, vocabulary
from toolog.sanitize.glance import BETWEEN, Glance
from toolog.sanitize.policy import Policy
from toolog.snapshot import flat as flat_snapshot
from toolog.snapshot.flat import texts_of

ORDINARY = ["order", "price", "of", "user", "number", "code", "key", "id", "city", "note", "A-1001", "17"]
SCALARS = (str, int, float, bool, type(None))


def clears(policy: Policy, *values: Any) -> bool:
    """Tell whether the policy clears flat values, with the texts that capture finds in them."""
    texts: list[str] = []
    for value in values:
        texts += (texts_of(value) or []) if type(value) is dict else [value] if type(value) is str else []
    return policy.clears(texts, *values)


words = st.one_of(
    st.sampled_from(ORDINARY),
    st.sampled_from([word for word in vocabulary.STRONG if word.isascii()]),
    st.sampled_from(sorted({word for pair in vocabulary.PAIRS for word in pair if word.isascii()})),
    st.sampled_from(sorted({word for text in SNIPPETS if text.isascii() for word in text.split()})),
    st.from_regex("[0-9]{1,6}", fullmatch=True),
    st.from_regex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{20,40}", fullmatch=True),
)
sentences = st.lists(
    st.one_of(words, words.map(str.title), st.sampled_from([*" -_./:=()", ", "])),
    max_size=8,
).flatmap(lambda parts: st.sampled_from(["", " "]).map(lambda blank: blank.join(parts)))
flat = st.dictionaries(
    st.one_of(st.sampled_from(["query", "text", "name", "value", "key", "rows"]), keys),
    st.one_of(sentences, leaves.filter(lambda leaf: type(leaf) in SCALARS)),
    max_size=4,
)


@settings(max_examples=300, deadline=None)
@given(flat, st.one_of(flat, sentences))
def test_what_is_cleared_has_nothing_to_mask(given: dict[str, Any], output: Any) -> None:
    """For any flat arguments and result: when the glance clears them, the rules alone change neither."""
    if clears(default().common, given, output):
        assert not changed({"input": given, "output": output})


def test_what_is_cleared_has_nothing_to_mask_among_damaged_secrets() -> None:
    """The same for thousands of secrets that are cut, joined and bent in every way."""
    chance = random.Random(5)
    policy = default().common
    bits = [*ORDINARY, *"0123456789", " ", " ", "-", "_", ".", ":", "=", "/", "@", "%", "\\", "'", '"', "+"]
    leaks = []
    cleared = 0
    for _ in range(6000):
        text = chance.choice(SNIPPETS if chance.random() < 0.3 else ORDINARY)
        for _ in range(chance.randrange(6)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(bits) + text[at + chance.randrange(3) :]
        name = chance.choice(KEYS) if chance.random() < 0.1 else chance.choice(["query", "name", "value"])
        value = {name: text, "note": chance.choice(ORDINARY)}
        if clears(policy, value):
            cleared += 1
            if changed(value) and policy.flags(text.encode("utf-8", "replace")):
                leaks.append(value)
    assert leaks == []
    assert cleared > 500


def test_ordinary_records_are_cleared() -> None:
    """Short texts of ordinary words, numbers, codes, hashes and UUIDs need no scan."""
    policy = default().common
    for number in range(50):
        value = {"sku": f"A-{1000 + number}", "amount": number, "rate": number / 7, "ok": True, "note": None}
        text = f"{number} x walnut desk lamp: {number * 19.9:.2f} EUR (order 7f3b2a1c{number:012x})"
        assert clears(policy, value, {"text": text, "id": f"0b5e7a34-9c1d-4f6e-8a2b-{number:012x}"})


@pytest.mark.parametrize(
    "value",
    [
        {"text": "call 212 555 0147 now"},
        {"text": "the api", "more": "key"},
        {"password": "x"},
        {"number": 13800138000},
        {"text": "Grüße"},
        {"": "text"},
        {"text": "a\\u0070b"},
        {"text": "mail to a@b.example"},
        {"text": "sk_live_" + "a" * 12},
        {"text": "ya29." + "a1b2." * 5},
        {"text": "DE89 3704 0044 0532 0130 00"},
    ],
    ids=str,
)
def test_what_may_be_a_secret_is_left_to_the_scan(value: dict[str, Any]) -> None:
    """Names, numbers, signs and beginnings of secrets are not cleared, also when they are harmless."""
    assert not clears(default().common, value)


def test_own_words_secrets_and_rules_are_never_cleared() -> None:
    """A policy with a user's own words, secrets or rules decides by its scan alone."""
    for options in ({"keys_add": ["walnut"]}, {"known_secrets": ["walnut"]}, {"rules_add": {"w": "walnut"}}):
        policy = Sanitizer(**options).common
        assert policy.glance is None
        assert not clears(policy, {"text": "walnut"})


def test_memory_is_bounded() -> None:
    """New words and keys without end are not kept without end."""
    glance = default().common.glance
    assert isinstance(glance, Glance)
    for number in range(40_000):
        word = "".join(chr(97 + (number // 26**place) % 26) for place in range(5))
        glance.clears([word], {f"key_{word}": word})
    assert len(glance.clean_words) <= 16_384
    assert len(glance.clean_keys) <= 4_096


def test_digits_of_two_texts_make_no_number() -> None:
    """What stands between two texts is a word, so that their digits do not run together."""
    assert default().common.clears(["1234", "56789"], {"a": "1234", "b": "56789"})
    assert BETWEEN.strip()


def test_what_another_thread_adds_meanwhile_is_not_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts that are looked at are those of the snapshot, whatever happens to the value."""
    value = {"text": "walnut"}

    def texts_of_changing(held: dict[str, Any]) -> list[str] | None:
        value["text"] = "password=hunter2"
        return texts_of(held)

    monkeypatch.setattr(flat_snapshot, "texts_of", texts_of_changing)
    held, texts, _ = flat_snapshot.hold(value, "output")
    assert (held, texts) == ({"text": "walnut"}, ["walnut"])
