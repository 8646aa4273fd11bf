"""What a name told to be a secret is masked wherever else it stands in the same record."""

from __future__ import annotations

import base64
import json
import logging
import string
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers import collecting, wrap
from toolog import Sanitizer
from toolog.sanitize import FAILED
from toolog.sanitize.echoes import MOST_LENGTH, MOST_VALUES, Echoes, is_distinctive
from toolog.sanitize.spellings import spellings
from toolog.sanitize.words import KeyWords

SANITIZER = Sanitizer()
WORDS = KeyWords()
KEY = "k9-88121-zz"

VALUES = st.text(
    string.ascii_letters + string.digits + "-_.!;&/+=%#'\"\\:é密", min_size=8, max_size=24
).filter(lambda text: is_distinctive(text, WORDS) and not text.isdigit())
#: Where a value may stand again, each without a name that tells it.
PLACES: list[Callable[[str], Any]] = [
    lambda value: f"Hi Ada {value}",
    lambda value: f"x{value}y{value}",
    lambda value: {"note": [value, {"deep": f"<{value}>"}]},
    lambda value: {f"seen {value}": 1},
    lambda value: (value, {value: value}),
    lambda value: f"at {value}!".encode(),
    lambda value: json.dumps({"note": f"said {value}"}),
    lambda value: f"got {json.dumps({'note': value})} back",
    lambda value: f"got {json.dumps(json.dumps({'note': value}))} back",
    lambda value: f"https://h.example/{quote(value, safe='')}",
    lambda value: repr(value),
    lambda value: f"<{base64.b64encode(b'ada:' + value.encode()).decode()}>",
    lambda value: ValueError(f"bad key {value}"),
    lambda value: [["x-token", "short"], [f"name {value}", "second"]],
]


def texts_of(value: Any) -> list[str]:
    """Return all texts in a value, keys too, and those in JSON texts."""
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in texts_of(part)]
    if isinstance(value, list | tuple | set):
        return [text for item in value for text in texts_of(item)]
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return [value, *texts_of(json.loads(value))]
        except ValueError:
            return [value]
    return [str(value)]


@settings(max_examples=80, deadline=None)
@given(VALUES, st.lists(st.sampled_from(PLACES), min_size=1, max_size=4), st.booleans())
@example("abc;12'3/x\"yz", PLACES, True)
def test_no_collected_value_stands_anywhere_in_the_result(
    value: str, places: list[Callable[[str], Any]], first: bool
) -> None:
    """A distinctive value under a sensitive name is nowhere else, before or behind it, in no usual spelling;
    masking the result again changes nothing."""
    told = {"deploy_token": value}
    rest = {f"part {at}": place(value) for at, place in enumerate(places)}
    given = {**told, **rest} if first else {**rest, **told}
    result, counts = SANITIZER.sanitize_at(given)
    if (
        result["deploy_token"] == value
    ):  # what a name does not tell (a permission, a version) is not looked for
        return
    for spelling in spellings(value):
        assert not any(spelling in text for text in texts_of(result)), (spelling, result)
    assert sum(counts.values()) > 1
    assert SANITIZER.sanitize(result) == result
    assert sorted(map(str, given)) == sorted(map(str, {**told, **rest}))


def test_what_a_tool_was_given_is_masked_in_what_it_gives_back_prints_and_raises() -> None:
    """A key of the input stands in no part of the records: not in the output, the error, its stack and
    causes, or in what is noted of the call."""

    def render(name: str, token: str) -> str:
        return f"Hi {name} {token}"

    def fail(api_key: str) -> None:
        try:
            raise KeyError(f"no {api_key}")
        except KeyError as error:
            raise ValueError(f"bad key {api_key}") from error

    with collecting() as seen:
        wrap(render, "render")(name="Ada", token=KEY)
        with pytest.raises(ValueError, match="bad key"):
            wrap(fail, "fail")(api_key=KEY)
    good, bad = (record.document() for record in seen.records)
    assert good["input"] == {"name": "Ada", "token": "[MASKED:token]"}
    assert good["output"] == "Hi Ada [MASKED:token]"
    assert good["masked"] == {"token": 2}
    assert bad["error"]["message"] == "bad key [MASKED:api_key]"
    assert KEY not in json.dumps([good, bad])


def test_the_facts_of_a_record_stay() -> None:
    """The name, level and ids of a record are what they were, also when a value is the same as one of
    them."""
    with collecting() as seen:
        wrap(lambda token: "done", "find-Order7")(token="find-Order7")
    document = seen.records[0].document()
    assert document["tool_name"] == "find-Order7"
    assert document["input"] == {"token": "[MASKED:token]"}


@pytest.mark.parametrize(
    "value",
    [
        "short-1", "correct horse 1", "password",
         "Changeit", "UPPERCASE", "aaaaaaa1", "========1", "--------",
        "2026-12-01", "20261201", "/home/ada/.ssh/id_rsa", "./keys/server.pem", "${DEPLOY_KEY_1}",
        "access_token",
        "API_TOKEN", "client-secret", "read-only", "[MASKED:token]", "****5678", "x1" * MOST_LENGTH,
    ],
)  # fmt: skip
def test_what_is_not_distinctive_stays_elsewhere(value: str) -> None:
    """Short, ordinary and descriptive values under a sensitive name are not looked for in other texts."""
    assert not is_distinctive(value, WORDS)
    given = {"note": f"see {value} here", "password": value}
    assert SANITIZER.sanitize(given)["note"] == given["note"]


def test_a_user_beside_a_password_is_not_looked_for() -> None:
    """Whose secret it is, and where, stays readable in other texts, though it is masked below the sensitive
    name."""
    given = {
        "secret": {"user": "ada_1815", "host": "db1.example.org", "password": KEY},
        "auth": ("ada_1815", KEY),
        "argv": ["curl", "-u", f"ada_1815:{KEY}"],
        "note": f"ada_1815 at db1.example.org with {KEY}",
    }
    clean = SANITIZER.sanitize(given)
    assert clean["note"] == "ada_1815 at db1.example.org with [MASKED:password]"
    assert clean["argv"] == ["curl", "-u", "ada_1815:[MASKED:password]"]


@pytest.mark.parametrize(
    "told",
    [
        {"api_key": KEY},
        {"headers": [["x-api-key", KEY]]},
        {"env": [{"name": "API_KEY", "value": KEY}]},
        {"columns": ["id", "api_key"], "rows": [[1, KEY]]},
        {"argv": ["run", "--api-key", KEY]},
        {"body": json.dumps({"api_key": KEY})},
        {"api_key": KEY.encode()},
        {"api_keys": {"prod": [KEY]}},
    ],
)
def test_every_kind_of_name_tells(told: dict[str, Any]) -> None:
    """Keys, headers, items, columns, flags and JSON in texts tell what is a secret elsewhere."""
    assert SANITIZER.sanitize({"note": f"no {KEY}", **told})["note"] == "no [MASKED:api_key]"


def test_a_credential_is_looked_for_without_its_scheme() -> None:
    """What stands behind `Bearer` in a header is the secret."""
    given = {"headers": {"Authorization": f"Bearer {KEY}"}, "note": f"invalid: {KEY}"}
    assert SANITIZER.sanitize(given)["note"] == "invalid: [MASKED:authorization]"


def test_digits_are_looked_for_as_a_number_of_their_own() -> None:
    """A number under a sensitive name is masked in texts, but not inside longer numbers and ids."""
    given = {"account_number": 55120378, "note": "no 55120378, but a55120378 and 9551203781", "n": 55120378}
    clean = SANITIZER.sanitize(given)
    assert clean["note"] == "no [MASKED:card], but a55120378 and 9551203781"
    assert clean["n"] == 55120378


def test_a_value_is_masked_whole_where_a_text_shows_it_with_signs() -> None:
    """A secret with a sign in it that ends values in text leaves no rest behind."""
    given = {"password": "abc;12-Yz&q", "note": "dsn: password=abc;12-Yz&q;port=1"}
    assert SANITIZER.sanitize(given)["note"] == "dsn: password=[MASKED:password];port=1"


def test_a_reference_that_shows_a_value_is_masked() -> None:
    """A template under a sensitive name stays, unless it holds what another name told."""
    given = {"token": KEY, "password": "@" + KEY, "secret": "${OTHER}"}
    clean = SANITIZER.sanitize(given)
    assert clean == {"token": "[MASKED:token]", "password": "[MASKED:token]", "secret": "${OTHER}"}
    assert SANITIZER.sanitize(clean) == clean


def test_what_is_declared_safe_is_left_alone() -> None:
    """Safe paths and safe keys keep their values, also in JSON texts, and tell nothing."""
    own = Sanitizer(safe_paths=["out"], safe_keys=["kept", "ok_token"])
    given = {"token": KEY, "out": f"x {KEY}", "kept": KEY, "json": json.dumps({"kept": KEY}), "note": KEY}
    assert own.sanitize(given) == {**given, "token": "[MASKED:token]", "note": "[MASKED:token]"}
    untold = {"ok_token": KEY, "note": KEY}
    assert own.sanitize(untold) is untold


def test_a_disabled_rule_tells_nothing() -> None:
    """A name whose rule is disabled gives nothing away that must be hidden elsewhere."""
    given = {"token": KEY, "note": KEY}
    assert Sanitizer(rules_disable=["token"]).sanitize(given) == given


@pytest.mark.parametrize(
    ("style", "note"),
    [
        ("last4", "a ****1-zz b"),
        ("drop", "a [MASKED:token] b"),
        (lambda rule, secret: f"<{rule} {len(secret)}>", "a <token 11> b"),
        (lambda rule, secret: 1 / 0, f"a {FAILED} b"),
    ],
)
def test_masks_elsewhere_have_the_style_of_the_name(style: Any, note: str) -> None:
    """A mask in another text is that of the rule of the name; what would be dropped leaves a plain mask."""
    expected = note.replace("1-zz", "21zz")
    assert (
        Sanitizer(style={"token": style}).sanitize({"token": KEY, "note": f"a {KEY} b"})["note"] == expected
    )


def test_pseudonyms_are_the_same_in_every_spelling() -> None:
    """A value has the same pseudonym under its name and in a text where it is quoted."""
    own = Sanitizer(style="pseudonym", hmac_key="invented-hmac")
    clean = own.sanitize({"token": "k9/88121/zz", "note": "k9%2F88121%2Fzz"})
    assert clean["note"] == clean["token"]


def test_explain_lists_other_places() -> None:
    """`explain` tells each other place with the rule of the name."""
    found = SANITIZER.explain({"token": KEY, "note": f"x {KEY}"})
    assert [tuple(find) for find in found] == [("token", "token", 11), ("note", "token", 11)]


def test_what_one_record_told_is_unknown_to_the_next() -> None:
    """A text that was masked because of its neighbour stays as it is in a record where no name tells."""
    own = Sanitizer()
    text = f"see {KEY} and mail dana@example.com"
    assert own.sanitize({"token": KEY, "note": text})["note"] == "see [MASKED:token] and mail [MASKED:email]"
    assert own.sanitize({"note": text})["note"] == f"see {KEY} and mail [MASKED:email]"
    assert own.sanitize({"token": KEY, "note": text})["note"] == "see [MASKED:token] and mail [MASKED:email]"


def test_a_record_whose_names_tell_nothing_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked for when no name told anything, or when a value stands nowhere but under its
    name."""
    searches: list[bool] = []
    search = Echoes.search

    def watched(self: Echoes, data: bytes | None = None) -> bool:
        searches.append(search(self, data))
        return searches[-1]

    monkeypatch.setattr(Echoes, "search", watched)
    SANITIZER.sanitize({"note": "mail dana@example.com", "n": 1})
    assert searches == []
    SANITIZER.sanitize({"token": KEY, "again": {"token": KEY}, "note": "x"})
    SANITIZER.sanitize({"token": KEY, "note": KEY})
    assert searches == [False, True]


def test_values_are_bounded_in_number() -> None:
    """Of more values than that, the first are looked for."""
    given = {f"token{at}": f"{KEY}-{at:02}-" for at in range(MOST_VALUES + 5)}
    notes = [f"x {value}" for value in given.values()]
    clean = SANITIZER.sanitize({**given, "notes": notes})["notes"]
    assert clean == ["x [MASKED:token]"] * MOST_VALUES + notes[MOST_VALUES:]


def test_it_fails_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the search breaks, nothing is shown: not of a value, not of a line, not of a call."""

    def explode(*_: Any) -> Any:
        raise RuntimeError("search")

    monkeypatch.setattr(Echoes, "search", explode)
    assert SANITIZER.sanitize_at({"token": KEY, "note": KEY}) == (FAILED, {"redaction_failed": 1})
    line = logging.LogRecord("app", logging.INFO, __file__, 1, "a %s", ({"token": KEY},), None)
    line.note = KEY
    assert SANITIZER.filter(line) is True
    assert KEY not in str(vars(line))
    with collecting() as seen:
        wrap(lambda token: token, "echo")(token=KEY)
    assert KEY not in json.dumps(seen.records[0].document())


@pytest.mark.parametrize(
    ("msg", "args", "extra", "expected"),
    [
        (
            "call %s for %s",
            ({"token": KEY}, f"k={KEY}"),
            {},
            "call {'token': '[MASKED:token]'} for k=[MASKED:token]",
        ),
        (f"50% of {KEY}", (), {"token": KEY}, "50% of [MASKED:token]"),
        (f"%s of {KEY}", ("one",), {"token": KEY}, "one of [MASKED:token]"),
        ("%(n)s of %(token)s", ({"n": KEY, "token": KEY},), {}, "[MASKED:token] of [MASKED:token]"),
    ],
)
def test_a_log_line_is_one_record(msg: str, args: Any, extra: dict[str, Any], expected: str) -> None:
    """What an argument or an extra of a line tells is masked in its message, arguments, exception and other
    extras."""
    try:
        raise ValueError(f"bad {KEY}")
    except ValueError:
        line = logging.LogRecord("app", logging.INFO, __file__, 1, msg, args, sys.exc_info())
    line.__dict__.update(extra, note=f"x {KEY}")
    assert SANITIZER.filter(line) is True
    text = logging.Formatter("%(message)s").format(line)
    assert text.splitlines()[0] == expected
    assert text.splitlines()[-1] == "ValueError: bad [MASKED:token]"
    assert KEY not in str(vars(line))
