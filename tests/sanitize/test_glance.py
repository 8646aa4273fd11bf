"""The glance clears only what a walk would leave as it is."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sanitize.test_prefilter import KEYS, SNIPPETS, changed, keys, leaves
from toolog.sanitize import Sanitizer, default, vocabulary
from toolog.sanitize.glance import BETWEEN, DIGITS, Glance
from toolog.sanitize.policy import Policy
from toolog.snapshot import flat as flat_snapshot
from toolog.snapshot.flat import is_flat, texts_in

ORDINARY = ["order", "price", "of", "user", "number", "code", "key", "id", "city", "note", "A-1001", "17"]
SCALARS = (str, int, float, bool, type(None))


def clears(policy: Policy, *values: Any) -> bool:
    """Tell whether the policy clears flat values, with the texts that capture finds in them."""
    texts = texts_in(values[0], values[1] if len(values) > 1 else None)
    assert texts is not None
    return policy.clears(texts, *values)


def form_of(given: Any, output: Any) -> bytes:
    """Return the JSON of two values with all digits alike, as the short way makes it."""
    return orjson.dumps({"input": given, "output": output}).translate(DIGITS)


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


def test_what_another_thread_adds_meanwhile_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at is the snapshot itself, whatever happens to the value."""
    value = {"text": "walnut"}

    def is_flat_changing(held: dict[str, Any]) -> bool:
        value["text"] = "password=hunter2"
        return is_flat(held)

    monkeypatch.setattr(flat_snapshot, "is_flat", is_flat_changing)
    assert flat_snapshot.hold(value, "output") == ({"text": "walnut"}, None)


# -- forms ---------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(flat, st.one_of(flat, sentences), st.randoms(use_true_random=False))
def test_a_form_that_was_clean_is_clean_with_any_digits(
    given: dict[str, Any], output: Any, chance: random.Random
) -> None:
    """For any flat values whose form was learned: with other digits the rules change nothing in them."""
    policy = default().common
    glance = policy.glance
    assert glance is not None
    if not clears(policy, given, output) or not valid(given, output):
        return
    form = form_of(given, output)
    glance.learn_form(form, given, output)
    if form in glance.clean_forms:
        digits = [orjson.loads(bend(form, chance)) for _ in range(5)]
        assert not any(changed(record) for record in digits)


def valid(*values: Any) -> bool:
    """Tell whether JSON holds the values, as the short way asks first."""
    try:
        return b"null" not in orjson.dumps(values)
    except TypeError:
        return False


def bend(form: bytes, chance: random.Random) -> bytes:
    """Return a form with other digits that are still JSON."""
    other = bytes(chance.choice(b"123456789") if byte == 48 else byte for byte in form)
    try:
        orjson.loads(other)
    except ValueError:  # a number beyond all bounds
        return form
    return other


def test_forms_are_learned_and_bounded() -> None:
    """An ordinary record's form is known after one look; digits in keys, long texts and large numbers are
    never part of a known form, and no more than thousands are known."""
    glance = default().common.glance
    assert glance is not None

    def learn(given: dict[str, Any], output: Any = None) -> bool:
        clears(default().common, given, output)
        form = form_of(given, output)
        return glance.learn_form(form, given, output) and form in glance.clean_forms

    assert learn({"sku": "A-1001", "amount": 7}, "7 walnut lamps")
    assert form_of({"sku": "B-7", "amount": 1}, None) not in glance.clean_forms
    assert form_of({"sku": "A-2002", "amount": 1}, "1 walnut lamps") in glance.clean_forms
    assert not learn({"part1": "walnut"})
    assert not learn({"text": "walnut " * 100})
    assert not learn({"amount": 10_000_000_000})
    assert not learn({"amount": 13_800_138_000})
    for number in range(5000):
        word = "".join(chr(97 + (number // 26**place) % 26) for place in range(3))
        learn({"text": word})
    assert len(glance.clean_forms) <= 4096
