"""Figures as tables: of tools, of tool instances, of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolog.sinks.lines import UNICODE, Line, Marks, cut, duration, value, visible, width_of


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), widest: int = 48
) -> Iterator[Line]:
    """Yield a table's lines: columns as wide as they need, at most ``widest``; ``right`` names right-aligned
    columns.

    The first column is the row's name. Cells are cut; they must be visible text already.
    """
    cells = [[cut(cell, widest) for cell in row] for row in rows]
    widths = [
        max([width_of(title), *(width_of(row[column]) for row in cells)]) for column, title in enumerate(head)
    ]

    def pad(cell: str, column: int) -> str:
        space = " " * (widths[column] - width_of(cell))
        return (space + cell if column in right else cell + space) + "  "

    yield [("dim", "".join(pad(title, column) for column, title in enumerate(head)))]
    for row in cells:
        yield [("text" if column else "tool", pad(cell, column)) for column, cell in enumerate(row)]


def _share(part: Any) -> str:
    return f"{part:.1%}" if isinstance(part, int | float) else ""


def _short_hash(figures: Mapping[str, Any]) -> str:
    return visible(figures["config_hash"] or "")[:15]


def _common(figures: Mapping[str, Any]) -> list[str]:
    took = figures["duration_ms"]
    errors = ", ".join(f"{visible(kind)} {count}" for kind, count in figures["errors"].items())
    return [
        str(figures["calls"]),
        _share(figures["success_rate"]),
        *(duration(took[key]) for key in ("mean", "p50", "p95", "p99", "max")),
        errors,
    ]


_FIGURES = ("calls", "success", "mean", "p50", "p95", "p99", "max", "errors")


def stats_table(stats: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the tables for what ``Store.stats()`` returned: all calls, each tool, each configuration of
    instances.
    """
    running, dropped, first = stats["running"], stats["dropped"], stats["first"]
    yield [
        ("tool", f"{stats['calls']} calls"),
        ("text", f", {_share(stats['success_rate']) or 'none'} successful"),
        ("warn", f", {running} running" if running else ""),
        ("bad", f", {dropped} records dropped" if dropped else ""),
        ("dim", f"  {visible(first)} to {visible(stats['last'])}" if first else ""),
    ]
    rows = [[visible(tool["tool_name"]), *_common(tool)] for tool in stats["tools"]]
    if rows:
        yield []
        yield from table(("tool", *_FIGURES), [*rows, ["all", *_common(stats)]], right=range(1, 8))
    rows = [
        [
            f"{visible(config['class_name'] or 'not recorded')} {_short_hash(config)}".strip(),
            str(config["instances"]),
            *_common(config),
        ]
        for config in stats["configs"]
    ]
    if rows:
        yield []
        yield from table(("configuration", "instances", *_FIGURES), rows, right=range(1, 9))


def instances_table(instances: Sequence[Mapping[str, Any]], *, marks: Marks = UNICODE) -> Iterator[Line]:
    """Yield the table for what ``Store.instances()`` returned."""
    rows = [
        [
            visible(instance["instance_id"] or ""),
            visible(instance["class_name"] or ""),
            visible(instance["package"] or ""),
            visible(instance["created_at"] or "")[:19],
            str(instance["calls"]),
            _share(instance["successes"] / instance["calls"]) if instance["calls"] else "",
            _short_hash(instance),
            value(instance["config"], 60, marks),
        ]
        for instance in instances
    ]
    head = ("instance", "class", "package", "created", "calls", "success", "config hash", "config")
    yield from table(head, rows, right=(4, 5), widest=60)


def sessions_table(sessions: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Yield the table for what ``Store.sessions()`` returned."""
    rows = [
        [
            visible(session["session_id"]),
            visible(session["first"])[:19],
            visible(session["last"])[:19],
            *(str(session[key]) for key in ("traces", "calls", "failed", "tools")),
        ]
        for session in sessions
    ]
    head = ("session", "first", "last", "traces", "calls", "failed", "tools")
    yield from table(head, rows, right=(3, 4, 5, 6))
