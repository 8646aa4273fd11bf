"""Every option of the sanitizer works from plain data: in a dictConfig, in a handler's options, in
pyproject."""

from __future__ import annotations

import json
import logging
import logging.config
from pathlib import Path
from typing import Any

import pytest

import toolog
from tests.cli.conftest import Shell
from toolog.errors import ConfigError
from toolog.handler import ToologHandler
from toolog.sanitize import Sanitizer

KEY = "a key for the tests"
CALL = {"customer_ref": "K-77", "note": "call 13800138000 about ORD-1234", "email": "dana@example.com",
        "support": {"phone": "13912345678"}, "q": "correct%20horse", "password": "Zq9-inv"}  # fmt: skip
MASKED = {**CALL, "note": "call [MASKED:phone] about ORD-1234", "email": "[MASKED:email]",
          "support": {"phone": "[MASKED:phone]"}, "password": "[MASKED:password]"}  # fmt: skip

#: Options as they stand in a configuration, and what they change of what comes out.
OPTIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("nothing", {}, {}),
    ("keys_add", {"keys_add": ["customer ref"]}, {"customer_ref": "[MASKED:key]"}),
    ("keys_remove", {"keys_remove": ["password"]}, {"password": "Zq9-inv"}),
    ("safe_keys", {"safe_keys": ["email", "support"]}, {"email": CALL["email"], "support": CALL["support"]}),
    ("safe_paths", {"safe_paths": ["**.support.phone"]}, {"support": CALL["support"]}),
    ("rules_add", {"rules_add": {"order_no": r"ORD-\d{4}"}},
     {"note": "call [MASKED:phone] about [MASKED:order_no]"}),
    ("rules_disable", {"rules_disable": ["phone"]},
     {"note": CALL["note"], "support": CALL["support"]}),
    ("style last4", {"style": {"phone": "last4"}},
     {"note": "call ****8000 about ORD-1234", "support": {"phone": "****5678"}}),
    ("style drop", {"style": {"email": "drop", "password": "drop"}}, {"email": "", "password": None}),
    ("known_secrets", {"known_secrets": ["correct horse"]}, {"q": "[MASKED:known_secret]"}),
    ("a callable by name", {"style": {"password": "tests.sanitize.test_configured:starred"}},
     {"password": "<7>"}),
    ("a tool of its own", {"tools": {"crm.*": {"keys_add": ["customer_ref"]}}},
     {"customer_ref": "[MASKED:key]"}),
    ("max_depth", {"max_depth": 1}, {"support": "[TRUNCATED]"}),
]  # fmt: skip


def starred(rule: str, secret: str) -> str:
    """Show how long a secret is."""
    return f"<{len(secret)}>"


def expected(changes: dict[str, Any]) -> dict[str, Any]:
    """Return what must come out: what is None in the changes is left out."""
    return {key: value for key, value in {**MASKED, **changes}.items() if value is not None}


IDS = [name for name, _, _ in OPTIONS]


@pytest.mark.parametrize(("options", "changes"), [case[1:] for case in OPTIONS], ids=IDS)
def test_an_option_works_in_a_handler(
    options: dict[str, Any], changes: dict[str, Any], tmp_path: Path
) -> None:
    """A handler made from plain data masks the input of a call as its options say."""

    def lookup(**given: Any) -> None:
        """Look something up."""

    tool = toolog.tool(lookup, name="crm.lookup")
    path = tmp_path / "calls.jsonl"
    handler = ToologHandler(
        spool={"path": str(tmp_path / "spool")},
        sinks={"lines": {"type": "file", "path": str(path)}},
        sanitizer=options,
        shutdown_timeout="60 s",
    )
    logger = logging.getLogger("toolog.calls")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        tool(**CALL)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        handler.close()
    (row,) = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    if "max_depth" in options:
        assert row["input"]["given"] == "[TRUNCATED]"
    else:
        assert row["input"]["given"] == expected(changes)


@pytest.mark.parametrize(
    ("options", "changes"), [case[1:] for case in OPTIONS if "tools" not in case[1]], ids=IDS[:-2] + IDS[-1:]
)
def test_an_option_works_in_a_filter_of_a_dict_config(
    options: dict[str, Any], changes: dict[str, Any]
) -> None:
    """A filter of `logging.config.dictConfig` masks the extra attributes of anybody's record as its
    options say."""
    seen: list[Any] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record.given)  # type: ignore[attr-defined]

    logging.config.dictConfig({
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"mask": {"()": "toolog.Sanitizer", **options}},
        "handlers": {"keep": {"()": lambda: Keep(), "filters": ["mask"]}},
        "loggers": {"tests.configured": {"handlers": ["keep"], "level": "INFO", "propagate": False}},
    })  # fmt: skip
    logging.getLogger("tests.configured").info("see", extra={"given": CALL})
    if "max_depth" in options:
        assert seen == ["[TRUNCATED]"]
    else:
        assert seen == [expected(changes)]


def as_toml(value: Any) -> str:
    """Write plain data as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)


@pytest.mark.parametrize(
    ("options", "changes"),
    [case[1:] for case in OPTIONS if not {"tools", "max_depth"} & set(case[1]) and "callable" not in case[0]],
    ids=[name for name in IDS if name not in ("a tool of its own", "max_depth", "a callable by name")],
)
def test_an_option_works_in_pyproject(
    options: dict[str, Any], changes: dict[str, Any], tmp_path: Path
) -> None:
    """`toolog sanitize` masks as `[tool.toolog]` says, and `--explain` lists paths and lengths, never a
    value."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.toolog]\nsanitizer = {as_toml(options)}\n")
    shell = Shell(tmp_path)
    shown = shell("sanitize", "-", given=json.dumps(CALL))
    assert json.loads(shown.out) == expected(changes)
    told = shell("sanitize", "-", "--explain", "--json", given=json.dumps(CALL))
    assert told.code == 1
    assert all(set(row) == {"line", "path", "rule", "length"} for row in told.rows)
    values = ("K-77", "13800138000", "dana@", "13912345678", "Zq9-inv", "ORD-1234", "correct")
    assert [value for value in values if value in told.out] == []
    touched = {row["path"].split(".")[0] for row in told.rows}
    assert touched == {key for key in CALL if expected(changes).get(key) != CALL[key]}


def test_pseudonyms_are_keyed_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal values have equal pseudonyms under one key, another key makes others, and no key is refused."""
    options = {"style": {"email": "pseudonym"}, "hmac_key": {"env": "MADE_HMAC_KEY"}}
    with pytest.raises(ConfigError, match="MADE_HMAC_KEY is not set"):
        Sanitizer.from_config(options)
    monkeypatch.setenv("MADE_HMAC_KEY", KEY)
    one, same, other = Sanitizer.from_config(options).sanitize(
        ["a@example.com", "a@example.com", "b@example.com"]
    )
    assert one == same != other
    assert one.startswith("[MASKED:email:")
    monkeypatch.setenv("MADE_HMAC_KEY", KEY[::-1])
    assert Sanitizer.from_config(options).sanitize("a@example.com") not in (one, "a@example.com")
    with pytest.raises(ConfigError, match="needs the option 'hmac_key'"):
        Sanitizer(style="pseudonym")
