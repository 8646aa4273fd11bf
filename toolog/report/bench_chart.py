"""A bar chart of measured ratios as one SVG file, readable in the dark as well."""

from __future__ import annotations

from html import escape

from toolog.report.bench_serialization import Result

_BAR, _GAP, _LEFT, _WIDTH = 16, 26, 150, 720
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.t{font-weight:600}.n{fill:#555}.encode{fill:#2f6fab}"
    ".decode{fill:#8cb369}@media(prefers-color-scheme:dark){svg{background:#111}text{fill:#eee}.n{fill:#aaa}}"
)


def svg(result: Result) -> str:
    """Return the chart: for each library how many times as fast as the standard library's json it is."""
    rows = result.rows
    longest = max(max(row.encode_ratio, row.decode_ratio) for row in rows)
    scale = (_WIDTH - _LEFT - 70) / longest
    height = 70 + len(rows) * (2 * _BAR + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img" aria-label="Speed of serialization libraries beside json">',
        f"<style>{_STYLE}</style>",
        '<text class="t" x="10" y="22">Times as fast as the standard library\'s json</text>',
        f'<text class="n" x="10" y="42">{result.records} records, {result.mean_bytes:,.0f} bytes each; '
        "upper bar encoding, lower bar decoding</text>",
    ]
    top = 60
    for row in rows:
        parts.append(f'<text x="10" y="{top + _BAR + 4}">{escape(row.name)}</text>')
        for kind, ratio in (("encode", row.encode_ratio), ("decode", row.decode_ratio)):
            width = max(1.0, ratio * scale)
            parts.append(
                f'<rect class="{kind}" x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR - 2}" rx="2"/>'
            )
            parts.append(
                f'<text class="n" x="{_LEFT + width + 6:.1f}" y="{top + _BAR - 4}">{ratio:.1f}</text>'
            )
            top += _BAR
        top += _GAP
    return "\n".join([*parts, "</svg>", ""])
