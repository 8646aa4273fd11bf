"""Texts with secrets that come again are masked as they were the first time, and are not kept."""

from __future__ import annotations

import gc
import itertools

from hypothesis import given
from hypothesis import strategies as st

from toolog import Sanitizer
from toolog.sanitize.memory import MOST_TEXTS, Memory

PARTS = st.sampled_from(
    [
        "password=invented-pass-1", "ring 13812345678", "see order 12", "Authorization: Bearer invented-7",
        "mail ada@example.org", '{"pin": "4711"}', "\n", "plain words", "\ud800",
    ]
)  # fmt: skip


@given(st.lists(st.lists(PARTS, max_size=4).map(" ".join), min_size=1, max_size=6))
def test_a_text_that_comes_again_is_masked_and_counted_as_if_it_were_the_first(texts: list[str]) -> None:
    """A sanitizer that has seen texts before answers and counts what a new one does."""
    used = Sanitizer()
    for text in itertools.chain(texts, texts):
        value = {"note": text, "list": [text, 7]}
        assert used.sanitize_at(value, "input") == Sanitizer().sanitize_at(value, "input")


def test_explain_lists_what_is_masked_also_in_a_text_that_was_masked_before() -> None:
    """`explain` names rule and length of each secret, however often the text was masked before."""
    sanitizer = Sanitizer()
    value = {"note": "ring twice; password=invented-pass-1"}
    before = sanitizer.explain(value)
    sanitizer.sanitize(value)
    assert sanitizer.explain(value) == before != []


def test_a_mask_of_a_users_own_function_is_asked_for_each_time() -> None:
    """A style that is a function may answer something else for each occurrence."""
    numbers = itertools.count()
    sanitizer = Sanitizer(style={"password": lambda rule, secret: f"[MASKED:{rule}:{next(numbers)}]"})
    first, second = (sanitizer.sanitize("password=invented-pass-1") for _ in range(2))
    assert (first, second) == ("password=[MASKED:password:0]", "password=[MASKED:password:1]")


def test_no_secret_is_kept() -> None:
    """What is remembered of a text with a secret is its digest and the masked text."""
    memory = Memory(MOST_TEXTS)
    memory.put("password=invented-pass-1", "password=[MASKED:password]", ["password"])
    assert memory.get("password=invented-pass-1") == ("password=[MASKED:password]", ["password"])
    kept = gc.get_referents(memory._known)
    assert "invented-pass-1" not in repr(kept)


def test_memory_is_bounded() -> None:
    """No more texts are remembered than were allowed, and none when that is none."""
    memory, none = Memory(3), Memory(0)
    for number in range(10):
        memory.put(f"password=invented-{number}", "password=[MASKED:password]", ["password"])
        none.put(f"password=invented-{number}", "password=[MASKED:password]", ["password"])
    assert len(memory._known) <= 3
    assert none.get("password=invented-9") is None
