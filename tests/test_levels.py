"""Levels of tools."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import toolog
from tests.helpers import collecting, wrap
from toolog import levels
from toolog.errors import ConfigError
from toolog.testing import capture


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger(levels.ROOT)
    before, rules = root.level, list(levels._rules)
    yield
    root.setLevel(before)
    levels._rules[:] = rules
    for logger in levels._loggers.values():
        logger.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("given", "number"), [("debug", 10), ("WARN", 30), (" Info ", 20), (25, 25), ("15", 15)]
)
def test_levels_by_name_or_number(given: int | str, number: int) -> None:
    """A level is a standard name in any case, or a number."""
    assert levels.parse_level(given) == number


def test_levels_of_the_applications_own_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that the application gave a level is one, as it was given or in capitals."""
    monkeypatch.setattr(logging, "_nameToLevel", {**logging._nameToLevel, "Chatty": 15, "TRACE": 5})
    assert [levels.parse_level(name) for name in ("Chatty", "trace")] == [15, 5]
    assert toolog.dict_config("dev", levels={"tool_call_start": "Chatty"}, level="TRACE")


@pytest.mark.parametrize("name", ["toolog", "toolog.calls", "toolog.calls.tell"])
def test_a_sanitizer_on_a_logger_masks_the_tools_below_it(name: str) -> None:
    """A `Sanitizer` in the filters of a logger says what is masked of its tool, or of all tools; taken off,
    or with the list of filters replaced, it says so no more.
    """

    def tell(word: str) -> str:
        return word

    wrapped = wrap(tell, "tell")
    logger = logging.getLogger(name)
    mask = toolog.Sanitizer(keys_add=["word"])

    def masked() -> bool:
        with collecting() as seen:
            wrapped("four")
        return bool(seen.only()["input"]["word"] != "four")

    assert not masked()
    logger.addFilter(mask)
    assert masked()
    logger.removeFilter(mask)
    assert not masked()
    logger.filters = [mask]
    assert masked()
    logger.filters = []
    assert not masked()


@pytest.mark.parametrize("given", [25, "25", "Chatty"])
def test_an_event_may_have_any_level(given: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the configuration takes as an event's level, its records are made with it."""
    monkeypatch.setattr(logging, "_nameToLevel", {**logging._nameToLevel, "Chatty": 15})
    with capture(level=1, levels={"tool_call_success": given}) as records:
        toolog.tool(len_of)("four")
    number = levels.parse_level(given)
    [success] = [record for record in records if record["event"] == "tool_call_success"]
    assert success["level"] == levels.level_name(number)
    assert success["output"] == 4


def len_of(text: str) -> int:
    """Return a text's length."""
    return len(text)


@pytest.mark.parametrize("wrong", ["DEBUGG", "loud", True, None, 1.5, -5, "\u00b2"])
def test_unknown_levels_are_refused(wrong: object) -> None:
    """What is no level is a ConfigError; a near miss names the level that was meant."""
    with pytest.raises(ConfigError, match="is no level"):
        levels.parse_level(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean 'DEBUG'"):
        levels.parse_level("DEBUGG")


def test_set_level_for_tools_by_glob() -> None:
    """A glob sets the level of tools, also of those that come later, and tells which it changed."""
    early = levels.tool_logger("pay.early")
    assert toolog.set_level("DEBUG", tool="pay.*") == ["pay.early"]
    late = levels.tool_logger("pay.late")
    assert early.level == late.level == logging.DEBUG
    assert levels.tool_logger("other.tool").level == logging.NOTSET


@pytest.mark.parametrize("wrong", [5, "", ["payment.*"]])
def test_a_glob_that_is_none_is_refused(wrong: Any) -> None:
    """`set_level` says what it takes, and changes nothing."""
    with pytest.raises(ConfigError, match="tool takes a glob"):
        toolog.set_level("DEBUG", tool=wrong)


@pytest.mark.parametrize("name", [".", "..", ".hidden", "a..b", "a."])
def test_a_tools_name_may_have_dots_anywhere(name: str) -> None:
    """Whatever it is called, its records arrive at toolog.calls, by its own name."""
    with capture("INFO") as records:
        toolog.tool(name=name)(lambda: None)()
    assert [record["tool_name"] for record in records] == [name]


def test_set_level_for_all_ends_earlier_rules() -> None:
    """Without a glob the level holds for all tools, also those that had a level of their own."""
    one = levels.tool_logger("pay.one")
    toolog.set_level("ERROR", tool="pay.one")
    toolog.set_level("WARNING")
    assert one.getEffectiveLevel() == logging.WARNING


def test_any_number_has_a_standard_name() -> None:
    """A number between two levels is told by the lower one's name."""
    assert [levels.level_name(n) for n in (0, 10, 25, 30, 99)] == [
        "DEBUG",
        "DEBUG",
        "INFO",
        "WARNING",
        "CRITICAL",
    ]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, "20"), ({"LOG_LEVEL": "debug"}, "10"), ({"TOOLOG_LEVEL": "ERROR", "LOG_LEVEL": "DEBUG"}, "40"),
     ({"LOG_LEVEL": "chatty"}, "20")],
)  # fmt: skip
def test_start_level_comes_from_the_environment(environment: dict[str, str], expected: str) -> None:
    """TOOLOG_LEVEL sets the level at start, else LOG_LEVEL where it holds a level, else INFO."""
    code = "from toolog.levels import tool_logger as t; print(t('x').getEffectiveLevel())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected


@pytest.mark.parametrize("configure", ["dictConfig", "fileConfig"])
def test_configuring_other_loggers_afterwards_disables_no_tool(configure: str) -> None:
    """``disable_existing_loggers`` (the default) is meant for others: a tool's records are not lost by it."""
    program = f"""
    import io, logging, logging.config
    from toolog.call import Plan
    from toolog.levels import tool_logger
    logger = tool_logger("mail.send")
    other = logging.getLogger("other")
    if {configure!r} == "dictConfig":
        logging.config.dictConfig({{"version": 1}})
    else:
        lines = "[loggers] keys=root [handlers] keys= [formatters] keys= [logger_root] handlers="
        logging.config.fileConfig(io.StringIO(lines.replace(" ", chr(10))))
    assert other.disabled
    assert not logger.disabled and not logging.getLogger("toolog.calls").disabled
    assert logger.isEnabledFor(logging.INFO)
    logger.disabled = True
    assert not logger.isEnabledFor(logging.INFO)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
