"""What users' own tests get: records as plain dicts, there when the call returns."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import toolog
from tests.helpers import wrap
from toolog.errors import ConfigError
from toolog.settings import capture as settings
from toolog.testing import capture, find, only


@toolog.tool
def lookup(word: str, password: str = "") -> dict[str, Any]:
    """A small tool."""
    return {"word": word, "length": len(word)}


def test_records_are_there_when_the_call_returns_masked_and_valid() -> None:
    """Inside the block each call has its start and its end, as plain sanitized documents."""
    with capture() as records:
        lookup("lamp", password="hunter2-hunter2")
        assert [record["event"] for record in records] == ["tool_call_start", "tool_call_success"]
        assert records[1]["output"] == {"word": "lamp", "length": 4}
        assert "hunter2" not in str(records)
    for record in records:
        toolog.validate(record)


def test_level_and_settings_hold_inside_only() -> None:
    """The level and capture's settings of the block are its own; the loggers are as before afterwards."""
    logger, own = logging.getLogger("toolog.calls"), logging.getLogger("toolog.calls.lookup")
    own.setLevel("CRITICAL")
    before = (logger.level, logger.propagate, logger.handlers[:], settings.max_depth)
    with capture("INFO", max_depth=2) as records:
        assert settings.max_depth == 2
        lookup("lamp")
    assert [record["event"] for record in records] == ["tool_call_success"]
    assert (logger.level, logger.propagate, logger.handlers[:], settings.max_depth) == before
    assert own.level == logging.CRITICAL
    own.setLevel(logging.NOTSET)
    lookup("not captured")
    assert len(records) == 1


def _fail_inside(seen: list[dict[str, Any]]) -> None:
    with capture() as inner:
        lookup("inner")
        seen += inner
        1 / 0


def test_blocks_nest_and_an_error_in_one_restores_everything() -> None:
    """A block inside a block gets its own records, and an exception passes through with everything put
    back.
    """
    with capture() as outer:
        inner: list[dict[str, Any]] = []
        with pytest.raises(ZeroDivisionError):
            _fail_inside(inner)
        lookup("outer")
    assert only(inner, event="tool_call_success")["input"]["word"] == "inner"
    assert only(outer, event="tool_call_success")["input"]["word"] == "outer"


def test_disabled_logging_does_not_empty_the_records() -> None:
    """logging.disable and other handlers' configuration do not reach into the block."""
    logging.disable(logging.CRITICAL)
    try:
        with capture() as records:
            lookup("lamp")
    finally:
        assert logging.getLogger().manager.disable == logging.CRITICAL
        logging.disable(logging.NOTSET)
    assert find(records, tool_name="lookup", status="success")


def test_application_lines_on_request() -> None:
    """With logs=True the application's own log lines are records too."""
    with capture(logs=True) as records:
        logging.getLogger("shop").warning("low stock")
    assert only(records, event="log")["message"] == "low stock"


def test_only_says_what_was_there() -> None:
    """When not exactly one record matches, the error lists what was recorded."""
    with capture() as records:
        lookup("lamp")
    with pytest.raises(AssertionError, match="tool_call_start"):
        only(records, tool_name="another")
    with pytest.raises(AssertionError, match="0 records"):
        only([{"no": "event"}], tool_name="another")


def test_only_says_what_tells_records_apart() -> None:
    """When several records match, the error names the field by which they differ, its values, and what else
    leaves one.
    """
    with capture() as records:
        lookup("lamp")
        lookup("shoe")
    with pytest.raises(AssertionError, match=r"give event= .*'tool_call_success'.*or level='INFO'"):
        only(records, tool_name="lookup")
    with pytest.raises(AssertionError, match=r"give input= .*lamp.*shoe") as told:
        only(records, event="tool_call_start")
    assert "INFO" not in str(told.value)
    with pytest.raises(AssertionError, match=r"find\(\)"):
        only(find(records, event="tool_call_start") * 2, input=records[0]["input"])


@pytest.mark.parametrize(
    "given", [toolog.Sanitizer(keys_add=["word"]), {"keys_add": ["word"]}], ids=["sanitizer", "options"]
)
def test_own_masking_holds_inside(given: Any) -> None:
    """A sanitizer, or its options, mask what is captured: calls and log lines; afterwards nothing is left of
    it.
    """
    with capture("INFO", logs=True, sanitizer=given) as records:
        lookup("lamp", password="hunter2-hunter2")
        logging.getLogger("shop").warning("for word=lamp", extra={"word": "lamp"})
    assert "lamp" not in str(records)
    assert "hunter2" not in str(records)
    assert [record["event"] for record in records] == ["tool_call_success", "log"]
    with capture("INFO") as records:
        lookup("lamp")
    assert records[0]["output"]["word"] == "lamp"


@pytest.mark.parametrize(
    ("given", "told"),
    [({"key_add": ["word"]}, "'keys_add'"), ("word", "not a text"), ({"style": "hide"}, "style")],
)
def test_wrong_masking_is_told_at_once(given: Any, told: str) -> None:
    """What is no sanitizer and no table of its options is a ConfigError before anything is captured."""
    with pytest.raises(ConfigError, match=told), capture(sanitizer=given):
        pytest.fail("the block began")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("levl", "level"), ("log", "logs"), ("sanitiser", "sanitizer"), ("max_dept", "max_depth")],
)
def test_a_misspelt_name_is_told_with_the_nearest_of_all(wrong: str, right: str) -> None:
    """The nearest right name is looked for among all that capture and the mark take."""
    given: dict[str, Any] = {wrong: 1}
    with pytest.raises(ConfigError, match=f"did you mean '{right}'"), capture(**given):
        pytest.fail("the block began")


def test_unknown_setting_is_told() -> None:
    """A setting that capture does not have is a ConfigError."""
    with pytest.raises(ConfigError, match="max_depth"), capture(max_dept=1):
        pass


def test_fixture(toolog_records: list[dict[str, Any]]) -> None:
    """The pytest fixture is the same list for the whole test."""
    lookup("lamp")
    assert only(toolog_records, event="tool_call_success")["tool_name"] == "lookup"


@pytest.mark.toolog(level="INFO", max_depth=3)
class TestMarks:
    """What the mark says."""

    def test_a_mark_sets_what_is_captured(self, toolog_records: list[dict[str, Any]]) -> None:
        """Level and settings of a class's mark hold in its tests."""
        wrap(lambda: print("said"), "speak")()
        assert [record["event"] for record in toolog_records] == ["tool_call_success"]
        assert settings.max_depth == 3
        assert not toolog_records[0].get("stdout")

    @pytest.mark.toolog(sanitizer={"rules_add": {"order": "ORD-[0-9]+"}})
    def test_a_mark_sets_the_masking(self, toolog_records: list[dict[str, Any]]) -> None:
        """The mark takes a sanitizer as capture does, beside what the class's mark says."""
        lookup("ORD-1234")
        assert [record["input"]["word"] for record in toolog_records] == ["[MASKED:order]"]

    @pytest.mark.toolog("DEBUG", capture_output=True)
    def test_the_nearest_mark_wins(self, toolog_records: list[dict[str, Any]]) -> None:
        """A test's own mark goes before that of its class, for what both say."""
        wrap(lambda: print("said"), "speak")()
        assert [record["event"] for record in toolog_records] == ["tool_call_start", "tool_call_success"]
        assert toolog_records[1]["stdout"] == "said\n"
        assert settings.max_depth == 3
