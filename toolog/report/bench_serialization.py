"""Measuring serialization: time to encode and decode, size plain and compressed, beside the standard
library's json.

`toolog bench` and ``benchmarks/serialization.py`` both use it. Codecs take turns in every round, so that what
else the machine does falls on all of them; a figure is that of the best round,
which other work disturbed least.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from toolog.report.bench_codecs import Codec, installed
from toolog.report.bench_records import make_records, sizes

ROUNDS = 15


class Row(NamedTuple):
    """The figures of one codec; times are microseconds a record, sizes bytes a record, ratios those to json.

    ``zstd`` is the size in batches of 100 records at level 3, None without the library zstandard.
    ``reads_back`` tells whether decoding gave every document again: a typed message
    of Protocol Buffers loses its null fields.
    """

    name: str
    family: str
    version: str
    encode: float
    encode_ratio: float
    decode: float
    decode_ratio: float
    size: float
    size_ratio: float
    zstd: float | None
    reads_back: bool


class Result(NamedTuple):
    """A measurement: its rows, what it was made on, and the codecs whose library is missing."""

    rows: list[Row]
    records: int
    mean_bytes: float
    rounds: int
    missing: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as plain data."""
        return {**self._asdict(), "rows": [row._asdict() for row in self.rows]}


def run(
    records: Sequence[dict[str, Any]] | None = None,
    rounds: int = ROUNDS,
    codecs: Sequence[Codec] | None = None,
) -> Result:
    """Measure codecs (default: all that are installed) on records (default: 300 made-up ones) and return
    figures."""
    found, missing = (list(codecs), []) if codecs is not None else installed()
    documents = list(make_records() if records is None else records)
    encoded = {codec.name: [codec.encode(document) for document in documents] for codec in found}
    times: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds):
        for codec in _rotated(found, turn):
            for what, function, values in (
                ("encode", codec.encode, documents),
                ("decode", codec.decode, encoded[codec.name]),
            ):
                times.setdefault((codec.name, what), []).append(_time(function, values))
    rows = [_row(codec, documents, encoded, times, found[0].name) for codec in found]
    every = list(sizes(documents))
    return Result(rows, len(documents), statistics.fmean(every), rounds, missing)


def _rotated(codecs: list[Codec], turn: int) -> list[Codec]:
    start = turn % len(codecs)
    return codecs[start:] + codecs[:start]


def _time(function: Callable[[Any], Any], values: Sequence[Any]) -> float:
    began = time.perf_counter_ns()
    for value in values:
        function(value)
    return (time.perf_counter_ns() - began) / len(values) / 1000


def _row(
    codec: Codec,
    documents: list[dict[str, Any]],
    encoded: dict[str, list[bytes]],
    times: dict[tuple[str, str], list[float]],
    base: str,
) -> Row:
    own = {what: min(times[codec.name, what]) for what in ("encode", "decode")}
    first = {what: min(times[base, what]) for what in ("encode", "decode")}
    data = encoded[codec.name]
    size, base_size = (statistics.fmean(map(len, encoded[name])) for name in (codec.name, base))
    return Row(
        name=codec.name,
        family=codec.family,
        version=codec.version,
        encode=own["encode"],
        encode_ratio=first["encode"] / own["encode"],
        decode=own["decode"],
        decode_ratio=first["decode"] / own["decode"],
        size=size,
        size_ratio=size / base_size,
        zstd=_compressed(data),
        reads_back=all(
            codec.decode(piece) == document for piece, document in zip(data, documents, strict=True)
        ),
    )


def _compressed(data: list[bytes]) -> float | None:
    try:
        import zstandard
    except ImportError:
        return None
    batches = [b"".join(data[start : start + 100]) for start in range(0, len(data), 100)]
    return sum(len(zstandard.ZstdCompressor(level=3).compress(batch)) for batch in batches) / len(data)


HEAD = ("library", "version", "encode us", "x", "decode us", "x", "bytes", "x", "zstd", "reads back")


def table(result: Result) -> str:
    """Return the figures as a table of text, with what they mean below."""
    cells = [HEAD]
    for row in result.rows:
        zstd = "-" if row.zstd is None else f"{row.zstd:,.0f}"
        cells.append(
            (
                row.name, row.version, f"{row.encode:.1f}", f"{row.encode_ratio:.2f}", f"{row.decode:.1f}",
                f"{row.decode_ratio:.2f}", f"{row.size:,.0f}", f"{row.size_ratio:.2f}", zstd,
                "exactly" if row.reads_back else "not exactly",
            )
        )  # fmt: skip
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = [
        "  ".join(
            text.ljust(width) if column in (0, 1, 9) else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join([*lines, "", *notes(result)])


def notes(result: Result) -> list[str]:
    """Return what the figures say, in sentences that depend on them."""
    said = [
        f"{result.records} records, {result.mean_bytes:,.0f} bytes each as compact JSON; "
        f"the best of {result.rounds} rounds.",
        "x is the ratio to the standard library's json: above 1 is faster, for bytes below 1 is smaller.",
        "Encoding counts what a caller must do: Protocol Buffers' messages are built from the dict first.",
    ]
    by_name = {row.name: row for row in result.rows}
    slower = [row.name for row in result.rows if row.family == "Protocol Buffers" and row.encode_ratio < 1]
    if slower:
        said.append(f"Slower than json at encoding: {', '.join(slower)}.")
    if "orjson" in by_name and "ormsgpack" in by_name:
        gain = by_name["ormsgpack"].encode_ratio / by_name["orjson"].encode_ratio
        said.append(f"MessagePack (ormsgpack) encodes {gain:.2f} times as fast as JSON (orjson).")
    packed = [row.zstd for row in result.rows if row.zstd is not None]
    if len(packed) > 1:
        said.append(
            f"After zstd the sizes lie between {min(packed):,.0f} and {max(packed):,.0f} bytes a record."
        )
    if result.missing:
        said.append(f"Not installed, so not measured: {', '.join(result.missing)}.")
    return said
