"""A pytest plugin that instruments a package before its test suite is imported, and writes down each outcome.

It is the only file here that the environments of the packages see. What to do stands in the environment:
FIDELITY_MODULE, FIDELITY_INNER (its modules that are instrumented beside it), FIDELITY_MODE (``plain``,
``package``, ``nested`` or ``everything``) and FIDELITY_OUT, a file that gets a JSON line for each test as it
ends, so that a crash of the interpreter loses nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from typing import Any

import pytest

MODULE, MODE = os.environ["FIDELITY_MODULE"], os.environ["FIDELITY_MODE"]
INNER = [f"{MODULE}.{name}" for name in os.environ.get("FIDELITY_INNER", "").split()]
_out = open(os.environ["FIDELITY_OUT"], "a", 1, "utf-8", "backslashreplace")  # noqa: SIM115
_me = os.getpid()
_facts: dict[str, Any] = {
    "calls": 0, "faults": 0, "fault": "", "wrapped": 0, "seconds": 0.0, "trouble": "",
}  # fmt: skip
READING = float(os.environ.get("FIDELITY_READING", "10"))
"""Seconds in which documents of records are made and checked; later records are only counted."""


def _write(**line: object) -> None:
    if os.getpid() == _me and not _out.closed:  # not the forks that tests make
        _out.write(json.dumps(line) + "\n")


def _keep_trouble() -> None:
    """Keep the traceback of the last trouble that was contained."""
    from toolog import counters

    contain = counters.contain

    def tell(reason: str, error: BaseException | None = None, **told: Any) -> None:
        text = "" if error is None else "".join(traceback.format_exception(error))
        _facts["trouble"] = f"{reason} {told or ''}\n{text[-3000:]}"
        contain(reason, error, **told)

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "toolog" and getattr(module, "contain", None) is contain:
            module.contain = tell  # type: ignore[attr-defined]


def _instrument() -> None:
    import logging

    import toolog
    import toolog.instrumentation.entry
    from toolog.call import refresh_plans
    from toolog.instrumentation import capture_output, loglines
    from toolog.schema import validate
    from toolog.settings.resolve import apply_capture

    class Reader(logging.Handler):
        """Makes and checks the documents of records, as a sink would."""

        def handle(self, record: logging.LogRecord) -> bool:
            _facts["calls"] += 1
            if _facts["seconds"] > READING:
                return True
            began = time.monotonic()
            try:
                document = record.document()  # type: ignore[attr-defined]
                validate(document)
            except Exception:
                _facts["faults"] += 1
                _facts["fault"] = traceback.format_exc()[-1500:]
            _facts["seconds"] += time.monotonic() - began
            return True

    _keep_trouble()
    logger = logging.getLogger("toolog.calls")
    logger.addHandler(Reader())
    logger.setLevel(logging.DEBUG if MODE == "everything" else logging.INFO)
    logger.propagate = False
    logger.addHandler = lambda handler: None  # type: ignore[method-assign]  # caplog's: it would see our lines
    modules = [sys.modules[name] for name in (MODULE, *INNER)]
    if MODE != "package":
        below = [name for name in sys.modules if name.startswith(MODULE + ".")]
        more = [sys.modules[name] for name in below if "test" not in name and name not in INNER]
        modules += [module for module in more if module]
    for module in modules:
        made = toolog.instrument(module, nested=MODE != "package")
        _facts["wrapped"] += len(made.wrapped)

    # Small bounds: suites hand whole object graphs about, and this is about fidelity, not about volume.
    apply_capture(
        {"max_bytes": 2048, "max_items": 10, "max_nesting": 2, "capture_output": MODE == "everything"}
    )
    refresh_plans()
    if MODE == "everything":
        loglines.install()
        capture_output.install()
        toolog.instrument_threads()


for _name in (MODULE, *INNER):
    importlib.import_module(_name)
if MODE != "plain":
    _instrument()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down how a phase of a test came out."""
    if report.when == "call" or report.outcome != "passed":
        outcome = report.outcome if report.when == "call" else f"{report.when} {report.outcome}"
        if hasattr(report, "wasxfail"):
            outcome = f"x{outcome}"
        text = str(report.longrepr) if report.outcome == "failed" else ""
        _write(test=report.nodeid, outcome=outcome, text=text[-6000:])


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write down what could not even be collected."""
    if report.outcome == "failed":
        _write(test=report.nodeid, outcome="collect failed", text=str(report.longrepr)[-6000:])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(exitstatus: int) -> None:
    """Write down what the whole run was: records, troubles, the exit code."""
    contained: dict[str, int] = {}
    if MODE != "plain":
        from toolog import counters

        for labels, number in counters.table("internal").items():
            contained[dict(labels).get("reason", "?")] = number
    _write(session=int(exitstatus), contained=contained, **_facts)
    _out.close()
