"""Values in the messages of validators."""

from __future__ import annotations

from typing import Any

import pytest

from toolog.sanitize import Sanitizer

SANITIZER = Sanitizer()
PYDANTIC = (
    "2 validation errors for Login\nage\n  Input should be a valid integer [type=int_parsing,"
    " input_value='12a',"
    " input_type=str]\n{field}\n  String should have at least 12 characters [type=string_too_short,"
    " input_value='Zq9-inv', input_type=str]\n"
)


@pytest.mark.parametrize("field", ["password", "db.api_key", "auth.password.str", "users.0.passport_number"])
def test_what_pydantic_says_a_sensitive_field_was_given_is_hidden(field: str) -> None:
    """Only the value of the sensitive field goes, whatever kinds were tried for it; all other text stays."""
    text = PYDANTIC.format(field=field)
    output = SANITIZER.sanitize(text)
    assert "Zq9-inv" not in output
    assert "input_value='12a'" in output
    assert SANITIZER.sanitize(PYDANTIC.format(field="max_tokens")) == PYDANTIC.format(field="max_tokens")


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ({"type": "string_too_short", "loc": ["password"], "msg": "too short", "input": "Zq9-inv"}, "input"),
        ({"input": "Zq9-inv", "loc": ["body", "api_key"], "msg": "bad"}, "input"),
        ({"loc": ["cards", 0, "cvc", "str"], "input": 4821}, "input"),
        ({"field": "password", "rejectedValue": "Zq9-inv", "message": "size"}, "rejectedValue"),
    ],
)
def test_an_error_as_data_shows_no_secret(value: dict[str, Any], key: str) -> None:
    """Of an error that names a sensitive field the value that was given is hidden, and nothing else."""
    output = SANITIZER.sanitize(value)
    assert output[key].startswith("[MASKED:")
    assert {name: output[name] for name in output if name != key} == {
        name: value[name] for name in value if name != key
    }


def test_jsonschema_shows_a_sensitive_value_in_neither_place() -> None:
    """The message begins and ends with the value: both go."""
    text = "'Zq9-inv' is too short\n\nOn instance['user']['password']:\n    'Zq9-inv'"
    assert "Zq9-inv" not in SANITIZER.sanitize(text)


def test_spring_shows_no_rejected_value() -> None:
    """What was rejected for a sensitive field of a form is hidden."""
    text = "Field error in object 'form' on field 'password': rejected value [Zq9-inv]; codes [Size]"
    assert SANITIZER.sanitize(text) == text.replace("Zq9-inv", "[MASKED:password]")


@pytest.mark.parametrize(
    "value",
    [
        {"loc": ["body", "max_tokens"], "msg": "x", "input": "12a"},
        {"type": "missing", "loc": ["password"], "msg": "Field required", "input": {"user": "ann7"}},
        {"loc": ["password"], "msg": "Field required", "input": None},
        {"name": "get_token", "input": {"user": "ann7"}},
    ],
)
def test_other_errors_and_inputs_stay(value: dict[str, Any]) -> None:
    """What names no sensitive field, or shows no value of it, is the same object."""
    assert SANITIZER.sanitize(value) is value
