"""`toolog demo`: three orders through third-party tools, and what was recorded of them."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from toolog.cli.common import json_option, marks, print_json, print_lines
from toolog.errors import ConfigError

FOLDER = Path(".toolog")
STORE = FOLDER / "calls.db"


@click.command(
    "demo", short_help="Watch three orders go through third-party tools, then see what was recorded."
)
@json_option
def command(as_json: bool) -> None:
    """Work on three orders at once with packages from PyPI that nobody edited, in threads and asyncio.

    The packages print and log in their own styles; one of them fails for one order, with a customer's
    (invented) phone number in its exception. Then the same is shown as toolog recorded it: a tree for each
    order, masked. No network is used but a server on 127.0.0.1. Writes into .toolog of the working directory.

    \b
    Example:
      toolog demo
    """
    from toolog.demo.orders import PACKAGES

    _need(PACKAGES)
    import toolog

    began = datetime.now(UTC)
    if isinstance(sys.stdout, io.TextIOWrapper):  # keeps its order with what the tools write to stderr
        sys.stdout.reconfigure(line_buffering=True)
    with _aside() if as_json else contextlib.nullcontext():
        print(f"Three orders at once, through {', '.join(PACKAGES)}.")
        print("Nobody edited these packages; each is instrumented by one line.")
        print("This is what the tools print, each in its own style:\n")
        _work()
    if not toolog.flush(10):
        click.echo("toolog: not everything is in the store yet; the rest is in .toolog/spool", err=True)
    _report(began, as_json)


def _need(packages: tuple[str, ...]) -> None:
    """Raise ConfigError when a package of the demo is missing, naming what to install."""
    names = [name.partition(".")[0] for name in packages]
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(f"the demo needs {', '.join(missing)}; install it with: pip install 'toolog[demo]'")


@contextlib.contextmanager
def _aside() -> Iterator[None]:
    """Send what the tools print to stderr, so that stdout is JSON alone."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def _work() -> None:
    """Configure toolog without its console lines, whose place the trees below take, and run the orders."""
    import toolog
    from toolog.demo import orders, shop

    FOLDER.mkdir(exist_ok=True)
    toolog.configure(
        "dev",
        durability="process",
        spool={"path": str(FOLDER / "spool")},
        sinks={"store": {"type": "sqlite", "path": str(STORE)}},
        retention={},
    )
    stock = FOLDER / "demo-stock.db"
    shop.fill_stock(stock)
    with shop.serve() as service:
        orders.run(service, stock)


def _report(began: datetime, as_json: bool) -> None:
    """Show the trees of this run, and where to look next."""
    from toolog import report, store

    with store.open(STORE, read_only=True) as held:
        calls = held.calls(since=began, limit=1000)
        traces = sorted(
            {str(call["trace_id"]) for call in calls}, key=lambda trace: _session_of(trace, calls)
        )
        records = [record for trace in traces for record in held.trace(trace)]
    failed = [call for call in calls if call["event"] == "tool_call_failed"]
    if as_json:
        print_json({"store": str(STORE), "calls": len(calls), "failed": failed, "traces": traces})
        return
    print("\nThis is the same work as toolog recorded it (`toolog tail --tree`).")
    print("The phone number that stands in clear above is masked below.\n")
    print_lines(report.tree(records, marks=marks()))
    print(f"\n{len(calls)} calls, {len(failed)} failed: one record each in {STORE}, masked before writing.")
    if failed:
        session, trace = failed[0].get("session_id"), failed[0]["trace_id"]
        hints = {
            f"toolog show {trace}": "when, with what, why",
            f"toolog tail --tree --session {session}": "the order that failed",
            "toolog query ParserError": "the same error in other orders",
            "toolog stats": "how often and how fast",
        }
        width = max(map(len, hints))
        print("Look next at")
        for line, why in hints.items():
            print(f"  {line:<{width}}   {why}")


def _session_of(trace: str, calls: list[dict[str, Any]]) -> str:
    return next((str(call.get("session_id")) for call in calls if call["trace_id"] == trace), "")
