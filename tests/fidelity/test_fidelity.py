"""Packages that install their tests cannot tell that they are watched; `make fidelity` runs many more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fidelity.comparison import Run, differences, run_suite, unexplained
from tests.fidelity.environments import Environment
from tests.fidelity.packages import INSTALLED, PACKAGES, Subject


@pytest.mark.slow
@pytest.mark.parametrize("subject", INSTALLED, ids=lambda subject: str(subject.name))
def test_a_suite_comes_out_the_same(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each test of the package has the outcome that it has without us, every record that was looked at is
    valid, and nothing of ours had to be contained."""
    monkeypatch.setenv("FIDELITY_READING", "2")
    environment = Environment(Path(sys.executable), tmp_path)
    plain = run_suite(subject, environment, "plain")
    assert plain.ending == ""
    assert len(plain.outcomes) > 20
    watched = run_suite(subject, environment, "nested")
    assert differences(plain, watched) == []
    assert watched.facts["calls"] > 100
    assert (watched.facts["faults"], watched.facts["contained"]) == (0, {}), watched.facts["fault"]


def test_differences_are_found_and_explained() -> None:
    """A test that failed, vanished or came new is a difference, and so is a run that crashed; the table's
    reasons explain those they name."""
    plain = Run({"a": "passed", "b": "passed", "c": "failed"}, {}, {"session": 0}, "", 1.0)
    watched = Run({"a": "failed", "c": "failed", "d": "passed"}, {"a": "why"}, {}, "SIGSEGV: ", 1.0)
    found = differences(plain, watched)
    assert [(one.test, one.plain, one.watched) for one in found] == [
        ("a", "passed", "failed"), ("b", "passed", "absent"), ("d", "absent", "passed"),
        ("(the whole run)", "ended", "SIGSEGV: "),
    ]  # fmt: skip
    assert found[0].text == "why"
    subject = Subject("x", "1", "x", ("tests",), "", by_nature={"[ab]": "because"})
    assert [one.test for one in unexplained(subject, found)] == ["d", "(the whole run)"]


def test_the_table_is_pinned() -> None:
    """Each package stands there once, with its exact version and what it is there for."""
    assert len({one.name for one in PACKAGES}) == len(PACKAGES)
    assert all(one.version[0].isdigit() and one.kind and one.tests for one in PACKAGES)
