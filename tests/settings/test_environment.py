"""What the environment says of parameters, and what in it is misspelt."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from toolog.errors import ConfigError
from toolog.settings.resolve import look_up, resolve, with_sink_defaults


def handler(**given: Any) -> dict[str, Any]:
    """Return the resolved values of the handler's parameters."""
    return resolve(("handler",), given, where="here")


def test_wrong_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that cannot be says which variable it stood in."""
    monkeypatch.setenv("TOOLOG_QUEUE_MAX_RECORDS", "many")
    with pytest.raises(ConfigError, match="environment variable TOOLOG_QUEUE_MAX_RECORDS"):
        handler()


def test_environment_variable_nested_without_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON or TOML that no parser can follow is a ConfigError, and no RecursionError."""
    monkeypatch.setenv("TOOLOG_SINKS", "[" * 100_000)
    with pytest.raises(ConfigError, match="environment variable TOOLOG_SINKS is not readable"):
        handler()


def test_misspelt_environment_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is surely a misspelling is an error, and one of somebody else's is none."""
    monkeypatch.setenv("TOOLOG_OF_MY_OWN", "1")
    handler()
    monkeypatch.setenv("TOOLOG_DURABILTY", "memory")
    with pytest.raises(ConfigError, match="TOOLOG_DURABILITY"):
        handler()


@pytest.mark.parametrize(
    ("written", "meant"),
    [("TOOLOG_LEVLE", "TOOLOG_LEVEL"), ("TOOLOG_SINK", "TOOLOG_SINKS"), ("TOOLOG_SHIIP", "TOOLOG_SHIP"),
     ("TOOLOG_SHOP", "TOOLOG_SHIP"), ("TOOLOG_SHI", "TOOLOG_SHIP"), ("TOOLOG_HSIP", "TOOLOG_SHIP")],
)  # fmt: skip
def test_one_slip_of_a_finger_is_a_misspelling(
    monkeypatch: pytest.MonkeyPatch, written: str, meant: str
) -> None:
    """A letter more, less, another one, or two changed about are told, in short names too."""
    monkeypatch.setenv(written, "1")
    with pytest.raises(ConfigError, match=f"{written}; did you mean {meant}"):
        handler()


@pytest.mark.parametrize("name", ["TOOLOG_CHOP", "TOOLOG_TOKEN", "TOOLOG_SHIPYARD", "TOOLOG_", "TOOLOG_HOST"])
def test_a_variable_of_somebody_else_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """More than one slip away from all of ours, a variable is somebody's own."""
    monkeypatch.setenv(name, "1")
    handler()


def test_a_level_is_told_by_the_variable_that_said_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """LOG_LEVEL is named where it was LOG_LEVEL that spoke."""
    monkeypatch.setenv("LOG_LEVEL", "debug")
    assert look_up(("profile",), {}, where="arguments")["level"].where == "environment variable LOG_LEVEL"


def test_log_level_counts_when_it_is_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """LOG_LEVEL is the application's: it is followed when it names a level, and no error when it does not."""
    monkeypatch.setenv("LOG_LEVEL", "warning")
    assert resolve(("profile",), {}, where="here")["level"] == logging.WARNING
    monkeypatch.setenv("LOG_LEVEL", "chatty")
    assert resolve(("profile",), {}, where="here")["level"] == logging.INFO
    monkeypatch.setenv("TOOLOG_LEVEL", "chatty")
    with pytest.raises(ConfigError, match="TOOLOG_LEVEL"):
        resolve(("profile",), {}, where="here")


def test_environment_fills_in_what_a_sink_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable for all sinks gives way to what stands in a sink's own options."""
    monkeypatch.setenv("TOOLOG_BATCH_MAX_RECORDS", "7")
    monkeypatch.setenv("TOOLOG_SINK_TIMEOUT", "3 s")
    assert with_sink_defaults({"type": "memory"}) == {
        "type": "memory",
        "batch": {"max_records": 7},
        "timeout": 3.0,
    }
    own = {"type": "memory", "batch": {"max_records": 9, "max_age": 1}, "timeout": 4}
    assert with_sink_defaults(own) == own


@pytest.mark.parametrize("text", ["shop.tools, json", '["shop.tools", "json"]'])
def test_lists_are_separated_by_commas_or_json(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A list of names may be written either way; JSON that is none is told."""
    monkeypatch.setenv("TOOLOG_INSTRUMENT", text)
    assert resolve(("run",), {}, where="here")["instrument"] == ("shop.tools", "json")
    monkeypatch.setenv("TOOLOG_INSTRUMENT", '["shop.tools"')
    with pytest.raises(ConfigError, match="TOOLOG_INSTRUMENT is not readable as JSON"):
        resolve(("run",), {}, where="here")
