"""The public object: options as plain data, styles, overrides, explain, copies."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import ormsgpack
import pytest

from toolog.errors import ConfigError
from toolog.sanitize import FAILED, Sanitizer, default


def shout(rule: str, secret: str) -> str:
    """A user's own style."""
    return f"<{rule.upper()}>"


def leak(rule: str, secret: str) -> str:
    """A user's style that gives the secret away."""
    return f"was {secret}"


def trade(rule: str, secret: str) -> str:
    """A user's style that shows another secret."""
    return "ask dana@example.com"


def broken(rule: str, secret: str) -> str:
    """A user's style that raises."""
    raise RuntimeError


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"key_add": ["x"]}, "keys_add"),
        ({"rules_disable": ["fone"]}, "phone"),
        ({"style": {"emial": "mask"}}, "email"),
        ({"style": "lastfour"}, "last4"),
        ({"style": "pseudonym"}, "hmac_key"),
        ({"style": "no.such.module:f"}, "no.such.module"),
        ({"style": 5}, "style"),
        ({"keys_add": "password"}, "'keys_add' is a list of texts, not a text"),
        ({"known_secrets": "hidden words"}, "'known_secrets' is a list of texts, not a text"),
        ({"keys_add": ["--"]}, "no letters"),
        ({"known_secrets": ["abc"]}, "known_secrets"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_bytes": "1"}, "max_bytes"),
        ({"tools": {"glob": {"kyes_add": []}}}, "keys_add"),
        ({"tools": {"glob": 5}}, "glob"),
        ({"hmac_key": {"evn": "X"}}, "env"),
        ({"hmac_key": {"env": "TOOLOG_TEST_NOT_SET"}}, "TOOLOG_TEST_NOT_SET"),
        ({"hmac_key": "short"}, "hmac_key"),
        ({"rules_add": {"x": r"(a+)+\1"}}, "linear"),
        ({"rules_add": {"x": r"(?<=a)b"}}, "linear"),
        ({"rules_add": {"x": "a*"}}, "empty text"),
        ({"rules_add": {"email": "a"}}, "built-in"),
        ({"rules_add": {"Bad Name": "a"}}, "name"),
        ({"rules_add": ["a"]}, "mapping"),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_and_the_right_one_named(options: dict[str, Any], hint: str) -> None:
    """Construction fails with a ConfigError that says what would be right."""
    with pytest.raises(ConfigError, match=hint):
        Sanitizer(**options)


def test_options_that_are_no_mapping_are_refused() -> None:
    """`from_config` takes a mapping or nothing."""
    assert Sanitizer.from_config(None).sanitize({"password": "x1"}) == {"password": "[MASKED:password]"}
    assert Sanitizer.from_config({"keys_add": ["ref"]}).sanitize({"ref": "x1"}) == {"ref": "[MASKED:key]"}
    with pytest.raises(ConfigError):
        Sanitizer.from_config(["keys_add"])  # type: ignore[arg-type]


def test_the_last_four_are_kept_only_of_long_values() -> None:
    """`last4` shows four characters of at least eight, else nothing."""
    made = Sanitizer(style={"phone": "last4", "card": "last4"}).sanitize(
        {"t": "call 138-0013-8000, card 4111 1111 1111 1111", "phone": "555134", "password": "Zq9-inv-long"}
    )
    assert made == {
        "t": "call ****8000, card ****1111",
        "phone": "[MASKED:phone]",
        "password": "[MASKED:password]",
    }


def test_pseudonyms_are_equal_for_equal_values_and_differ_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pseudonym joins equal values, tells others apart, and depends on the key, which may come from the
    environment."""
    monkeypatch.setenv("TOOLOG_TEST_KEY", "a key from outside")
    one = Sanitizer(style="pseudonym", hmac_key={"env": "TOOLOG_TEST_KEY"})
    two = Sanitizer(style="pseudonym", hmac_key=b"quite another key")
    first, again, other = one.sanitize(["a@example.com", "a@example.com", "b@example.com"])
    assert first == again != other
    assert first.startswith("[MASKED:email:")
    assert two.sanitize(["a@example.com"]) != [first]


def test_dropped_values_leave_nothing_behind() -> None:
    """`drop` leaves out keys and items, and the secret part of a text."""
    made = Sanitizer(style="drop").sanitize(
        {"password": "x1", "n": [1, {"token": "t1"}], "t": "mail a@example.com now"}
    )
    assert made == {"n": [1, {}], "t": "mail  now"}


@pytest.mark.parametrize(
    ("style", "shown"),
    [(shout, "<EMAIL>"), ("tests.sanitize.test_sanitizer:shout", "<EMAIL>"), (leak, "[MASKED:email]"),
     (trade, "[MASKED:email]"), (broken, FAILED), (lambda rule, secret: None, FAILED)],
)  # fmt: skip
def test_a_callable_style_is_checked(style: Any, shown: str) -> None:
    """What a callable answers is shown only when no secret is in it; what breaks is withheld."""
    assert Sanitizer(style={"email": style}).sanitize("to bob@example.com") == f"to {shown}"


def test_known_secrets_are_found_in_every_spelling() -> None:
    """A known secret is found as it is, JSON-escaped, URL-quoted, and in base64 at any offset."""
    secret = 'pa"ss/wörd'
    sanitizer = Sanitizer(known_secrets=[secret])
    import base64
    import urllib.parse

    spellings = [
        secret,
        json.dumps(secret),
        json.dumps(json.dumps(secret)),
        urllib.parse.quote(secret, safe=""),
    ]
    spellings += [base64.b64encode(b"x" * offset + secret.encode() + b"tail").decode() for offset in range(3)]
    for text in spellings:
        made = sanitizer.sanitize({"t": f"a {text} z"})
        assert "[MASKED:known_secret]" in made["t"]
        assert sanitizer.flags(ormsgpack.packb({"t": f"a {text} z"}))


def test_rules_of_a_user_mask_their_group() -> None:
    """A rule's whole match is masked, or its first group when it has one."""
    sanitizer = Sanitizer(rules_add={"order_no": r"\bORD-\d+\b", "room": r"room (\w+)"})
    assert sanitizer.sanitize("see ORD-77 in room b12!") == "see [MASKED:order_no] in room [MASKED:room]!"
    assert sanitizer.sanitize({"中": "中ORD-77。"}) == {"中": "中[MASKED:order_no]。"}


def test_disabled_rules_mask_nothing() -> None:
    """A disabled rule lets its values pass, others still mask."""
    sanitizer = Sanitizer(rules_disable=["email", "phone"])
    value = {"t": "a@example.com 13800138000", "phone": "555 0134"}
    assert sanitizer.sanitize(value) is value
    assert sanitizer.sanitize({"password": "x1"}) == {"password": "[MASKED:password]"}


def test_safe_keys_and_paths_are_left_alone() -> None:
    """Below a safe key or path nothing is masked, not even by a value rule; elsewhere everything is."""
    sanitizer = Sanitizer(
        safe_keys=["contact-email"], safe_paths=["input.customer.phone", "input.*.note", "**.raw"]
    )
    value = {"customer": {"phone": "555 0134"},
             "x": {"note": "a@example.com"}, "deep": [{"raw": {"password": "x1"}}],
             "contactEmail": "a@example.com"}  # fmt: skip
    assert sanitizer.sanitize_at(value, "input") == (value, {})
    made, counts = sanitizer.sanitize_at(value, "output")
    assert made["customer"] == {"phone": "[MASKED:phone]"}
    assert made["deep"] == [{"raw": {"password": "x1"}}]
    assert counts == {"phone": 1, "email": 1}


def test_a_tool_has_its_own_options_on_top() -> None:
    """An override adds to lists, merges styles, replaces the rest, and holds for that tool only."""
    sanitizer = Sanitizer(
        keys_add=["ref"],
        style={"phone": "last4"},
        tools={"glob": {"keys_add": ["pattern"], "style": {"email": shout}}},
    )
    value = {"ref": "x1", "pattern": "y1", "t": "13800138000 a@example.com"}
    assert sanitizer.sanitize(value) == {
        "ref": "[MASKED:key]",
        "pattern": "y1",
        "t": "****8000 [MASKED:email]",
    }
    made, _ = sanitizer.sanitize_at(value, tool="glob")
    assert made == {"ref": "[MASKED:key]", "pattern": "[MASKED:key]", "t": "****8000 <EMAIL>"}
    packed = ormsgpack.packb({"pattern": "y1"})
    assert sanitizer.flags(packed, "glob")
    assert not sanitizer.flags(packed)
    assert not sanitizer.flags(packed, "other")


def test_explain_names_path_rule_and_length_and_no_value() -> None:
    """Each finding says where, why and how long; a secret in a key is not shown either."""
    found = Sanitizer().explain({"user": {"password": "Zq9-inv"}, "dana@example.com": "13800138000"})
    assert ("user.password", "password", 7) in found
    assert ("[MASKED:email]", "phone", 11) in found
    assert "dana" not in repr(found)
    assert "Zq9" not in repr(found)


def test_counts_name_the_rules() -> None:
    """`sanitize_at` counts what was masked by each rule."""
    _, counts = Sanitizer().sanitize_at({"a": "a@example.com b@example.com", "password": "x1"})
    assert counts == {"email": 2, "password": 1}


def test_a_sanitizer_survives_pickle_and_copies() -> None:
    """A copy masks alike, and a pickle carries the options, not the compiled rules."""
    sanitizer = Sanitizer(keys_add=["ref"], rules_add={"order_no": r"ORD-\d+"})
    for twin in (pickle.loads(pickle.dumps(sanitizer)), copy.copy(sanitizer), copy.deepcopy(sanitizer)):
        assert twin == sanitizer
        assert twin.sanitize({"ref": "x1", "t": "ORD-1"}) == {"ref": "[MASKED:key]", "t": "[MASKED:order_no]"}
    assert "ORD" not in repr(sanitizer)


def test_the_default_is_one_shared_object() -> None:
    """Everybody without options gets the same sanitizer."""
    assert default() is default()
