"""`toolog bench`: what recording costs on this machine, for the caller and in bytes."""

from __future__ import annotations

import contextlib
import functools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from toolog.cli.common import console, json_option, print_json

ROUNDS = 7
SMALL: dict[str, Any] = {"sku": "A-1001", "free": 12, "price": 19.9, "ok": True}
LARGE: dict[str, Any] = {
    "rows": [{"id": n, "sku": f"A-{1000 + n}", "title": "A walnut desk lamp with a shade"} for n in range(55)]
}
RESULTS = {"small": SMALL, "4 kB": LARGE}


@click.command("bench", short_help="Measure on this machine what recording costs.")
@click.option("--calls", default=2000, show_default=True, type=click.IntRange(100), help="Calls a round.")
@json_option
def command(calls: int, as_json: bool) -> None:
    """Measure what a recorded call costs its caller, and what serializing a record costs.

    A call of a tool is timed bare (through a hand-written closure), with its level off, and with memory and
    process durability, in turns; the figure is the median of the rounds. Nothing of it touches your own
    store or configuration. Serialization libraries are those that are installed. The comparison with other
    recorders is benchmarks/overhead.py of the source tree.

    \b
    Example:
      toolog bench --calls 5000
    """
    import toolog
    from toolog import profiles
    from toolog.report import bench_serialization

    with tempfile.TemporaryDirectory(prefix="toolog-bench-") as folder:
        try:
            rows = list(_measure(Path(folder), calls, quiet=as_json))
            toolog.flush(60)
        finally:
            profiles.close()  # before its spool is deleted
    result = bench_serialization.run(rounds=ROUNDS)
    if as_json:
        print_json({"calls": calls, "rounds": ROUNDS, "calls_us": rows, "serialization": result.to_dict()})
        return
    _print_rows(rows)
    click.echo(bench_serialization.table(result))


def _measure(folder: Path, calls: int, *, quiet: bool) -> Iterator[dict[str, Any]]:
    """Yield the figures of each kind of call, closure first."""
    times: dict[str, dict[str, list[float]]] = {}
    with _progress(quiet) as step:
        for _ in range(ROUNDS):
            for kind in ("closure", "level off", "memory", "process"):
                for size, result in RESULTS.items():
                    tool = _tool(kind, result, folder)
                    began = time.perf_counter_ns()
                    for number in range(calls):
                        tool("A-1001", amount=number)
                    took = (time.perf_counter_ns() - began) / calls / 1000
                    times.setdefault(kind, {}).setdefault(size, []).append(took)
                    step()
    unit = {size: statistics.median(values) for size, values in times["closure"].items()}
    for kind, by_size in times.items():
        row: dict[str, Any] = {"recorder": kind}
        for size, values in by_size.items():
            median = statistics.median(values)
            row |= {size: round(median, 2), f"{size} x": round(median / unit[size], 1)}
        yield row


def _tool(kind: str, result: dict[str, Any], folder: Path) -> Callable[..., Any]:
    """Return a tool under one kind of recording; everything is written before the next kind begins."""
    import toolog

    def find(sku: str, amount: int = 1) -> dict[str, Any]:
        return result

    if kind == "closure":

        @functools.wraps(find)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return find(*args, **kwargs)

        return wrapper
    toolog.flush(60)
    toolog.configure(
        "prod",
        level="CRITICAL" if kind == "level off" else "INFO",
        durability="process" if kind == "process" else "memory",
        queue={"max_records": 2_000_000},
        spool={"path": str(folder / "spool")},
        sinks={"bench": {"type": "file", "path": str(folder / "calls.msgpack"), "format": "msgpack"}},
        retention={"DEBUG": {"sinks": ["bench"], "keep": "1 day"}},
    )
    instrumented: Callable[..., Any] = toolog.tool(find)
    return instrumented


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[], None]]:
    """Show a progress bar on a terminal's stderr, nothing in a pipe; gives the function that moves it on."""
    from rich.progress import Progress

    disable = quiet or not sys.stderr.isatty()
    bar = Progress(console=console(err=True), transient=True, disable=disable)
    with bar:
        task = bar.add_task("measuring", total=ROUNDS * 4 * len(RESULTS))
        yield lambda: bar.advance(task)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    click.echo("one call, microseconds for the caller; x is the ratio to the closure")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(rows[0]):
        table.add_column(column, justify="left" if position == 0 else "right")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    console().print(table)
    click.echo()
