"""Which sinks take the records of a level, and for how long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolog.errors import ConfigError
from toolog.retention import Policies, Policy

TABLE = {
    "INFO": {"sinks": ["search"], "keep": "7 days"},
    "ERROR": {"sinks": ["search", "archive"], "keep": "30 days"},
}
SINKS = ["search", "archive"]


@pytest.mark.parametrize(
    ("levelno", "sinks", "name"),
    [
        (10, (), None),
        (19, (), None),
        (20, ("search",), "info"),
        (25, ("search",), "info"),
        (30, ("search",), "info"),
        (39, ("search",), "info"),
        (40, ("search", "archive"), "error"),
        (50, ("search", "archive"), "error"),
        (1000, ("search", "archive"), "error"),
    ],
)
def test_policy_covers_its_level_up_to_the_next_named_one(
    levelno: int, sinks: tuple[str, ...], name: str | None
) -> None:
    """INFO's policy takes WARNING too, ERROR's takes CRITICAL, and below the lowest named level nothing
    goes.
    """
    policies = Policies.from_config(TABLE, SINKS)
    assert policies.route(levelno) == sinks
    found = policies.policy(levelno)
    assert (found.name if found else None) == name


def test_keep_is_in_seconds() -> None:
    """A duration with a unit becomes seconds; left out, it is None: kept until somebody removes it."""
    policies = Policies.from_config({**TABLE, "DEBUG": {"sinks": ["search"]}}, SINKS)
    assert [policy.keep for policy in policies] == [None, 7 * 86400, 30 * 86400]


def test_without_a_table_every_sink_takes_everything() -> None:
    """No retention table means no selection and no purge."""
    policies = Policies.from_config({}, SINKS)
    assert policies.route(1) == ("search", "archive")
    assert policies.route(50) == ("search", "archive")
    assert all(policy.keep is None for policy in policies)


def test_policies_of_a_sink() -> None:
    """A sink can be asked which policies' records it gets."""
    policies = Policies.from_config(TABLE, SINKS)
    assert [policy.name for policy in policies.of_sink("search")] == ["info", "error"]
    assert [policy.name for policy in policies.of_sink("archive")] == ["error"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"INFOO": {"sinks": ["search"]}}, ["INFOO", "INFO"]),
        ({"INFO": {"sinks": ["serch"]}}, ["serch", "INFO in retention", "search"]),
        ({"INFO": {"sink": ["search"]}}, ["sink", "INFO in retention", "sinks"]),
        ({"INFO": {"sinks": "search"}}, ["list"]),
        ({"INFO": ["search"]}, ["table"]),
        ({"INFO": {"sinks": ["search"], "keep": "a while"}}, ["keep", "a while"]),
        ({"INFO": {"sinks": ["search"], "keep": 0}}, ["at least one second"]),
        ({"INFO": {"sinks": ["search"]}, 20: {"sinks": ["search"]}}, ["twice"]),
    ],
)
def test_wrong_policy_is_told(table: dict[Any, Any], words: list[str]) -> None:
    """A ConfigError names what is wrong, where it stood, and the nearest right one."""
    with pytest.raises(ConfigError) as caught:
        Policies.from_config(table, SINKS)
    for word in words:
        assert word in str(caught.value)


@settings(deadline=None)  # how long an example takes says nothing here
@given(
    st.lists(st.sampled_from(range(0, 60)), unique=True, min_size=1, max_size=5),
    st.integers(min_value=0, max_value=100),
)
def test_route_is_that_of_the_nearest_policy_below(bounds: list[int], levelno: int) -> None:
    """For any set of policies a record goes by the highest one that is not above its level."""
    policies = Policies([Policy(str(bound), bound, (f"sink{bound}",)) for bound in bounds])
    below = [bound for bound in bounds if bound <= levelno]
    assert policies.route(levelno) == ((f"sink{max(below)}",) if below else ())
    assert policies.route(levelno) == policies.route(levelno)


@pytest.mark.parametrize(
    ("table", "limits"),
    [
        ({"INFO": {"keep": 7}, "ERROR": {"keep": 30}}, [("INFO WARNING", 7), ("ERROR CRITICAL", 30)]),
        ({"INFO": {"keep": 7}, "ERROR": {}}, [("INFO WARNING", 7)]),
        ({25: {"keep": 7}}, [("INFO", 7), ("WARNING ERROR CRITICAL", 7)]),
        ({"INFO": {"keep": 7}, 25: {"keep": 30}}, [("INFO", 30), ("WARNING ERROR CRITICAL", 30)]),
        ({"INFO": {"keep": 7}, 25: {}}, []),
        ({"INFO": {"keep": 7}, 25: {"keep": 9, "sinks": ["archive"]}}, [("INFO", 7)]),
        ({5: {"keep": 7}}, [("DEBUG", 7), ("INFO WARNING ERROR CRITICAL", 7)]),
        ({}, []),
    ],
)
def test_limits_by_the_names_of_levels(table: dict[Any, Any], limits: list[tuple[str, float]]) -> None:
    """A store knows levels by name: where several policies share one, the longest keep counts, and one
    without an end has none.
    """
    found = Policies.from_config(table, SINKS).limits("search")
    merged: dict[str, float] = {}
    for limit in found:
        merged.update(dict.fromkeys(limit.levels, limit.keep))
    assert merged == {level: keep for names, keep in limits for level in names.split()}


@pytest.mark.parametrize("keep", ["for ever", 0, "0.5 s", "36501 days", 1e30])
def test_an_impossible_keep_says_how_records_are_kept_for_ever(keep: Any) -> None:
    """Nothing that no server can count back is taken, and the error names what to do instead."""
    with pytest.raises(ConfigError, match=r"keep of INFO in retention.*without an end leave it out"):
        Policies.from_config({"INFO": {"keep": keep}}, SINKS)


def test_how_long_names_of_levels_are_kept() -> None:
    """A policy between two names shares the lower one, where the longest keep counts."""
    table = {"INFO": {"keep": 70}, "25": {"keep": 15}, "35": {"keep": 30}, "60": {}}
    policies = Policies.from_config(table, ["store"])
    kept = {policy.name: policies.kept(policy, "store") for policy in policies}
    assert kept == {"info": [70.0], "25": [70.0, 30.0], "35": [30.0, 30.0, None], "60": [None]}
