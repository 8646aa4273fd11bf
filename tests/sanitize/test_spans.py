"""Which parts of a text are hidden, and what is looked at again once masks stand in it."""

from __future__ import annotations

import pytest

from toolog.sanitize import Sanitizer, default
from toolog.sanitize.policy import Policy
from toolog.sanitize.spans import MOST, find_spans

FILLER = "walnut lamp with a linen shade " * 2000


@pytest.mark.parametrize("secret", ["password=Zq9-inv", "dana@example.com", "Bearer abcdef1234567"])
def test_a_secret_in_a_long_text_is_hidden_wherever_it_stands(secret: str) -> None:
    """At the beginning, in the middle and at the end; and the rest of the text is as it was."""
    for at in (0, len(FILLER) // 2, len(FILLER)):
        text = f"{FILLER[:at]} {secret} {FILLER[at:]}"
        clean = default().sanitize(text)
        assert clean == text.replace(secret, clean[at + 1 : at + 1 + len(clean) - len(text) + len(secret)])
        assert secret.rpartition("=")[2].rpartition(" ")[2] not in clean


def test_what_a_mask_uncovers_in_a_long_text_is_hidden_too() -> None:
    """A second look around each mask finds what only shows when the first is hidden."""
    own = Sanitizer(rules_add={"seal": "Q[0-9]{3}Q"})
    text = f"{FILLER}passwordQ123Q=x {FILLER}"
    clean = own.sanitize(text)
    assert "Q123Q" not in clean
    assert own.sanitize(clean) == clean


def test_only_what_stands_near_a_mask_is_read_again() -> None:
    """A secret far from every change was seen before; one beside a change is found."""
    policy = Policy({})
    text = f"password=a1b2c3 {FILLER}password=a1b2c3 {FILLER}"
    far = text.index("password", 20)
    assert [start for start, _, _ in find_spans(policy, text)] == [9, far + 9]
    assert [start for start, _, _ in find_spans(policy, text, changed=[(9, 15)])] == [9]
    assert [start for start, _, _ in find_spans(policy, text, changed=[(far + 9, far + 15)])] == [far + 9]


def test_a_find_at_the_edge_of_a_piece_asks_for_all_of_the_text() -> None:
    """What reaches beyond the surroundings of a mask is not judged by a part of it."""
    policy = Policy({})
    text = f"password='{'a1 ' * 5000}' {FILLER}"
    assert find_spans(policy, text, changed=[(0, 8)]) == find_spans(policy, text)


def test_secrets_of_many_shapes_leave_none_before_the_cut() -> None:
    """Where one kind of finds is cut, those of all other kinds before it are hidden, too."""
    secrets = [
        (f"1391234{at:04}", f"415-555-{at:04}", f"Bearer abcdef{at:06}", f"k{at}x")
        for at in range(MOST + 200)
    ]
    text = " ".join(f"{cn} or {us}, {bearer}; password={word}" for cn, us, bearer, word in secrets)
    clean = default().sanitize(text)
    assert clean.endswith("[TRUNCATED]")
    shown = [one for some in secrets for one in some if one.removeprefix("Bearer ") in clean]
    assert shown == []
