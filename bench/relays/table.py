"""The table: one row for each target, its figure in ratios, and whether it is met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.relays.contenders import (
    FLOOR_ECHO,
    FLOOR_RELAY,
    MCP_PROXY,
    MCP_STDIO,
    OURS,
    OURS_AGAIN,
    OURS_LEGACY,
)
from bench.relays.rounds import Record


@dataclass(frozen=True)
class Row:
    """A figure and its target: at most ``bound``, times the figure of ``base`` if there is one."""

    key: str
    label: str
    unit: str
    bound: float
    base: str | None = MCP_STDIO
    at_least: bool = False

    @property
    def target(self) -> str:
        sign = ">=" if self.at_least else "<="
        if self.base is None:
            return f"{sign} {self.bound:g} {self.unit}".strip()
        return f"{sign} {self.bound:g}x {self.base}"

    def met(self, records: Mapping[str, Record], name: str) -> bool | None:
        """Whether ``name`` meets the target; None if there is nothing to compare with."""
        figure = self.figure(records, name)
        if figure is None:
            return None
        return figure >= self.bound if self.at_least else figure <= self.bound

    def figure(self, records: Mapping[str, Record], name: str) -> float | None:
        """What the target is about: a ratio, or the figure itself."""
        if self.base is None:
            return records[name].median(self.key)
        return ratio(records, name, self.base, self.key)


ROWS = (
    Row("start_ms", "start to first answer", "ms", 0.8),
    Row("echo_ms", "one call at a time, p50", "ms", 0.6),
    Row("rate_16", "16 in flight", "calls/s", 4, at_least=True),
    Row("rate_64", "64 in flight", "calls/s", 4, at_least=True),
    Row("behind_ms", "20 echoes behind a sleeping call", "ms", 20, base=None),
    Row("cpu_1", "CPU of 1000 calls, one at a time", "s", 0.4),
    Row("cpu_16", "CPU of 1000 calls, 16 in flight", "s", 0.4),
    Row("json_ms", "big result as JSON", "ms", 0.7),
    Row("json_mib", "peak memory meanwhile", "MiB", 0.6),
    Row("event_ms", "big result as SSE", "ms", 1.5, base=FLOOR_RELAY),
    Row("event_mib", "peak memory meanwhile, SSE", "MiB", 0.6),
    Row("progress_rate", "progress notifications", "/s", 1, at_least=True),
    Row("progress_lost", "progress notifications lost", "", 0, base=None),
    Row("idle_mib", "memory when idle", "MiB", 1.1),
    Row("exit_ms", "end of stdin to exit", "ms", 100, base=None),
)
_AGAINST = (MCP_STDIO, MCP_PROXY, FLOOR_RELAY, FLOOR_ECHO)
HEADER = (
    "",
    "canferry",
    "target",
    "met",
    "legacy",
    "noise",
    *(f"/ {name}" for name in _AGAINST),
)


def ratio(records: Mapping[str, Record], name: str, base: str, key: str) -> float | None:
    if base not in records:
        return None
    return records[name].ratio(records[base], key)


def lines(records: Mapping[str, Record]) -> list[str]:
    """The table as aligned lines of text; below it the failures, if any."""
    rows = [HEADER, *(_cells(row, records) for row in ROWS)]
    text = aligned(rows)
    for name, record in records.items():
        text += [
            f"{name} failed ({', '.join(sorted(phases))}): {reason}"
            for reason, phases in record.failures.items()
        ]
    return text


def aligned(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Columns of equal width; the first reads from the left, the others from the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cells(row: Row, records: Mapping[str, Record]) -> tuple[str, ...]:
    mine = records[OURS].median(row.key)
    legacy = row.figure(records, OURS_LEGACY)
    if row.base is None:
        shown = "-" if legacy is None else f"{legacy:.4g} {row.unit}".strip()
    else:
        shown = _times(legacy)
    return (
        row.label,
        "-" if mine is None else f"{mine:.4g} {row.unit}".strip(),
        row.target,
        {True: "yes", False: "NO", None: "-"}[row.met(records, OURS)],
        shown,
        _times(ratio(records, OURS_AGAIN, OURS, row.key)),
        *(_times(ratio(records, OURS, name, row.key)) for name in _AGAINST),
    )


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"
