"""`Sanitizer` as a plain `logging.Filter` of any application."""

from __future__ import annotations

import logging
import logging.config
import sys
from io import StringIO
from typing import Any

import pytest

from toolog.sanitize import FAILED, Sanitizer
from toolog.sanitize import logfilter as logfilter_module

SANITIZER = Sanitizer()


def record(msg: Any, *args: Any, **extra: Any) -> logging.LogRecord:
    """Make a log record as `Logger` does."""
    made = logging.LogRecord("app", logging.INFO, __file__, 1, msg, args, extra.pop("exc_info", None))
    made.__dict__.update(extra)
    return made


def shown(made: logging.LogRecord) -> str:
    """Format a record with the plainest formatter."""
    return logging.Formatter("%(message)s").format(made)


@pytest.mark.parametrize(
    ("msg", "args", "expected"),
    [
        ("mail to dana@example.com", (), "mail to [MASKED:email]"),
        ("password=%s", ("hunter",), "password=[MASKED:password]"),
        ("login %s with password=%s ok", ("bob", "hunter"), "login bob with password=[MASKED:password] ok"),
        ("%s: %d of %5.1f%% at %s", ("x", 3, 2.5, "dana@example.com"), "x: 3 of   2.5% at [MASKED:email]"),
        (
            "user %(name)s token=%(token)s",
            ({"name": "bob", "token": "k12ab34cd"},),
            "user bob token=[MASKED:token]",
        ),
        ("phone: %s", (13800138000,), "phone: [MASKED:phone]"),
        ("got %s", ({"password": "Zq9-inv"},), "got {'password': '[MASKED:password]'}"),
        ("got %s", (ValueError("token=k12ab34cd"),), None),
        ("%s", ("50%s password=x1",), "50%s password=[MASKED:password]"),
        ("a%%b password=%s", ("hunter",), "a%b password=[MASKED:password]"),
    ],
)
def test_a_message_is_masked_with_the_number_of_its_arguments_kept(
    msg: str, args: tuple[Any, ...], expected: str | None
) -> None:
    """Half of a secret may stand in the format, half in an argument: the message is masked, the arity
    stays."""
    made = record(msg, *args)
    arity = len(made.args) if made.args else 0
    assert SANITIZER.filter(made) is True
    assert (len(made.args) if made.args else 0) == arity
    text = shown(made)
    for secret in ("dana@", "hunter", "k12ab34cd", "13800138000", "Zq9-inv", "x1"):
        assert secret not in text
    if expected is not None:
        assert text == expected


def test_a_record_with_nothing_to_hide_is_left_untouched() -> None:
    """Message, arguments and extras are the very same objects."""
    argument = {"a": [1, 2]}
    made = record("hello %s %s", "bob", argument, size=argument)
    before = dict(vars(made))
    assert SANITIZER.filter(made) is True
    assert all(vars(made)[name] is value for name, value in before.items())


def test_extras_are_masked_and_the_callers_objects_are_not() -> None:
    """Extra attributes are masked by name and value; what the caller passed keeps its secret."""
    payload = {"password": "Zq9-inv"}
    made = record("x", payload=payload, api_key="k12ab34cd", size=3)
    SANITIZER.filter(made)
    assert vars(made)["payload"] == {"password": "[MASKED:password]"}
    assert vars(made)["api_key"] == "[MASKED:api_key]"
    assert payload == {"password": "Zq9-inv"}


def test_exception_text_stack_and_the_exception_itself_are_masked() -> None:
    """A traceback's secret is gone from every formatter, also from one that formats the exception anew."""
    try:
        raise ValueError("cannot open postgres://bob:p4ss-inv@db.example/x")
    except ValueError:
        made = record("failed", exc_info=sys.exc_info())
    made.stack_info = "Stack:\n  login(password='Zq9-inv')"
    SANITIZER.filter(made)
    text = shown(made)
    assert "p4ss-inv" not in text
    assert "Zq9-inv" not in text
    assert "ValueError: cannot open postgres://bob:[MASKED:url_password]@db.example/x" in text
    assert made.exc_info is None


def test_a_clean_exception_keeps_its_traceback() -> None:
    """Without a secret in it, exc_info is left as it is and no text is made in advance."""
    try:
        raise ValueError("bad")
    except ValueError:
        made = record("failed", exc_info=sys.exc_info())
    info = made.exc_info
    SANITIZER.filter(made)
    assert made.exc_info is info
    assert made.exc_text is None


def test_a_message_object_is_masked() -> None:
    """A message may be any object: data is walked, others by their text."""

    class Message:
        def __str__(self) -> str:
            return "password=Zq9-inv"

    for msg in ({"password": "Zq9-inv"}, Message()):
        made = record(msg)
        SANITIZER.filter(made)
        assert "Zq9-inv" not in shown(made)


def test_wrong_arguments_stay_the_applications_own_mistake_and_masked() -> None:
    """A format that does not fit its arguments still fails in the handler, without the secret."""
    made = record("a %s %s", "dana@example.com")
    SANITIZER.filter(made)
    assert made.args == ("[MASKED:email]",)
    with pytest.raises(TypeError):
        made.getMessage()


def test_what_breaks_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """When masking itself raises, the record shows nothing and still passes; the application sees no
    error."""

    def broken(*args: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(logfilter_module, "_clean", broken)
    made = record("password=%s", "hunter", token="k12ab34cd")
    made.exc_text = "dana@example.com"
    assert SANITIZER.filter(made) is True
    assert made.getMessage() == FAILED
    assert made.exc_text == FAILED
    assert vars(made)["token"] == FAILED


def test_a_tool_record_is_only_stamped() -> None:
    """A record of a tool call masks itself later: the filter leaves its policy on it and touches nothing."""
    made = record("password=Zq9-inv", toolog_event="tool_call_success")
    assert SANITIZER.filter(made) is True
    assert vars(made)["toolog_sanitizer"] is SANITIZER
    assert made.msg == "password=Zq9-inv"


def test_dict_config_with_plain_formatters() -> None:
    """From dictConfig, as a filter of any handler, with options as plain data."""
    stream = StringIO()
    logging.config.dictConfig({
        "version": 1, "disable_existing_loggers": False,
        "filters": {"mask": {"()": "toolog.Sanitizer", "keys_add": ["ref"], "style": {"phone": "last4"}}},
        "formatters": {"plain": {"format": "%(levelname)s %(message)s %(payload)s"}},
        "handlers": {
            "out": {"class": "logging.StreamHandler", "stream": stream,
                    "filters": ["mask"], "formatter": "plain"}
        },
        "loggers": {"toolog.test.masked": {"level": "INFO", "handlers": ["out"], "propagate": False}},
    })  # fmt: skip
    logger = logging.getLogger("toolog.test.masked")
    logger.info("token=%s call %s", "k12ab34cd", "13800138000", extra={"payload": {"ref": "x77"}})
    assert stream.getvalue() == "INFO token=[MASKED:token] call ****8000 {'ref': '[MASKED:key]'}\n"
    logger.handlers.clear()


def test_the_filter_never_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it meets, masking writes nothing to any logger."""
    with caplog.at_level(logging.DEBUG):
        for msg in ("password=Zq9-inv", {"password": object()}, object()):
            SANITIZER.filter(record(msg))
    assert caplog.records == []
