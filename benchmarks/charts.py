"""Measured growths as lines in one SVG file, both axes by powers of ten, readable in the dark as well."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 320, 70, 150, 50, 40
_COLOURS = ("#2f6fab", "#8cb369", "#c8553d", "#8e6bbf")
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.t{font-weight:600}.n{fill:#555}.g{stroke:#ccc}"
    "@media(prefers-color-scheme:dark){svg{background:#111}text{fill:#eee}.n{fill:#aaa}.g{stroke:#333}}"
)


def lines_svg(title: str, unit: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return a chart: for each name a line through its (size, value); sizes and values are above zero."""
    sizes = [size for points in lines.values() for size, _ in points]
    values = [value for points in lines.values() for _, value in points]
    low_x, high_x = _powers(sizes)
    low_y, high_y = _powers(values)

    def x_of(size: float) -> float:
        return _LEFT + (math.log10(size) - low_x) / (high_x - low_x) * (_WIDTH - _LEFT - _RIGHT)

    def y_of(value: float) -> float:
        return _HEIGHT - _BOTTOM - (math.log10(value) - low_y) / (high_y - low_y) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<style>{_STYLE}</style>",
        f'<text class="t" x="10" y="22">{escape(title)}</text>',
        f'<text class="n" x="{_WIDTH - _RIGHT + 12}" y="{_HEIGHT - 16}">{escape(unit)}</text>',
    ]
    for power in range(low_x, high_x + 1):
        x = x_of(10**power)
        parts.append(f'<line class="g" x1="{x:.0f}" y1="{_TOP}" x2="{x:.0f}" y2="{_HEIGHT - _BOTTOM}"/>')
        parts.append(
            f'<text class="n" text-anchor="middle" x="{x:.0f}" y="{_HEIGHT - 16}">{_text(power)}</text>'
        )
    for power in range(low_y, high_y + 1):
        y = y_of(10.0**power)
        parts.append(f'<line class="g" x1="{_LEFT}" y1="{y:.0f}" x2="{_WIDTH - _RIGHT}" y2="{y:.0f}"/>')
        parts.append(
            f'<text class="n" text-anchor="end" x="{_LEFT - 8}" y="{y + 4:.0f}">{_text(power)}</text>'
        )
    names: list[float] = []
    for colour, (name, points) in zip(_COLOURS, lines.items(), strict=False):
        path = " ".join(f"{x_of(size):.1f},{y_of(value):.1f}" for size, value in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for size, value in points:
            parts.append(f'<circle cx="{x_of(size):.1f}" cy="{y_of(value):.1f}" r="3" fill="{colour}"/>')
        y = y_of(points[-1][1]) + 4
        while any(abs(y - other) < 16 for other in names):
            y += 4
        names.append(y)
        parts.append(
            f'<text x="{_WIDTH - _RIGHT + 12}" y="{y:.0f}" style="fill:{colour}">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _powers(numbers: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten between which numbers lie, at least one apart."""
    low = math.floor(math.log10(min(numbers)))
    return low, max(low + 1, math.ceil(math.log10(max(numbers))))


def _text(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
