"""What a person sees of the demonstration: colours on a terminal, plain text elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from mcp.types import Tool
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Row = dict[str, Any]

PLAIN_WIDTH = 110
SHOWN_SIGNALS = 4
HOUSEKEEPING = ("AliveCounter", "Checksum")


class Screen:
    """Prints the demonstration, step by step."""

    def __init__(self) -> None:
        plain = Console()
        self._console = plain if plain.is_terminal else Console(width=PLAIN_WIDTH)
        self._steps = count(1)

    def step(self, text: str) -> None:
        self._console.print(f"\n[bold cyan]{next(self._steps)}.[/] [bold]{escape(text)}[/]")

    def say(self, text: str, indent: int = 3) -> None:
        self._console.print(Padding(Text(text), (0, 0, 0, indent), expand=False))

    def allowed(self, text: str) -> None:
        self._console.print(f"   [bold green]allowed[/] {escape(text)}", highlight=False)

    def refused(self, text: str, error: Row) -> None:
        self._console.print(f"   [bold red]refused[/] {escape(text)}", highlight=False)
        self.say(f"{error['code']}: {error['message']}", indent=11)
        self.say(error["hint"], indent=11)

    def failed(self, text: str) -> None:
        self._console.print(f"\n[bold red]The demonstration failed:[/] {escape(text)}")

    def log_tail(self, log: Path) -> None:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
        self._console.print(f"[dim]--- end of {log.name}[/]")
        for line in lines:
            self._console.print(line, markup=False, highlight=False)

    def tools(self, tools: Sequence[Tool]) -> None:
        table = _table("tool", "", "what it is for")
        for tool in tools:
            hints = tool.annotations
            kind = "[green]reads[/]"
            if hints and hints.destructive_hint:
                kind = "[red]transmits[/]"
            elif hints and not hints.read_only_hint:
                kind = "[yellow]records[/]"
            table.add_row(tool.name, kind, escape((tool.description or "").split("\n")[0]))
        self._console.print(_indented(table))

    def buses(self, buses: Sequence[Row]) -> None:
        table = _table("bus", "state", "controller", ">frames/s", ">load", ">lost", "transmit")
        for bus in buses:
            load = "" if bus["load"] is None else f"{bus['load']:.1%}"
            armed = "[yellow]armed[/]" if bus["armed"] else "off"
            rate = f"{bus['frames_per_second']:.0f}"
            table.add_row(
                bus["name"],
                bus["state"],
                bus["controller"],
                rate,
                load,
                str(bus["overwritten"]),
                armed,
            )
        self._console.print(_indented(table))

    @contextmanager
    def live(self) -> Iterator[Callable[[Sequence[Row]], None]]:
        """A view that is redrawn on a terminal, and printed once at its end elsewhere."""
        if self._console.is_terminal:
            with Live(console=self._console, auto_refresh=False) as live:
                yield lambda rows: live.update(_latest(rows), refresh=True)
            return
        last: list[Row] = []

        def keep(rows: Sequence[Row]) -> None:
            last[:] = rows

        yield keep
        self._console.print(_latest(last))

    def frames(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._console.print(f"   [dim]{escape(line)}[/]", highlight=False)
        self._console.print("   [dim]...[/]")

    def statistics(self, stats: Row) -> None:
        table = _table("id", ">frames", ">rate/s", ">mean gap ms", ">jitter ms")
        for each in stats["top_ids"]:
            table.add_row(
                each["arbitration_id_hex"],
                str(each["frame_count"]),
                f"{each['rate_hz']:.1f}",
                f"{each['mean_gap_ms']:.2f}",
                f"{each['gap_jitter_ms']:.2f}",
            )
        self.say("")
        self.say("stats: the busiest identifiers")
        self._console.print(_indented(table))

    def signals(self, decoded: Row) -> None:
        table = _table("message", "signal", ">min", ">max", ">last", "unit")
        signals = [row for row in decoded["signals"] if row["signal"] not in HOUSEKEEPING]
        moving = [row for row in signals if row["min"] != row["max"]]
        for row in moving:
            last = row["label"] or _number(row["last"])
            table.add_row(
                row["message"],
                row["signal"],
                _number(row["min"]),
                _number(row["max"]),
                last,
                row["unit"] or "",
            )
        self.say("")
        self.say(
            f"decode: {decoded['matched_messages']} of {decoded['decoded_frames']} frames;"
            f" {len(moving)} of {len(signals)} signals moved"
        )
        self._console.print(_indented(table))


def _table(*columns: str) -> Table:
    """A table with these columns; ``>`` before a name aligns it right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        table.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left")
    return table


def _indented(table: Table) -> Padding:
    return Padding(table, (0, 0, 0, 3), expand=False)


def _latest(rows: Sequence[Row]) -> Padding:
    """The newest frame of each identifier, in words of the database."""
    table = _table("id#data", ">rate/s", "message", "signals")
    for row in rows:
        decoded = row["decoded"] or {"message": "", "signals": {}, "labels": {}}
        signals = {**decoded["signals"], **decoded["labels"]}
        shown = [
            f"{name}={_number(value)}"
            for name, value in signals.items()
            if name not in HOUSEKEEPING
        ]
        more = " ..." if len(shown) > SHOWN_SIGNALS else ""
        table.add_row(
            f"[dim]{escape(row['frame'].split()[-1])}[/]",
            f"{row['rate_hz'] or 0:.0f}",
            f"[cyan]{decoded['message']}[/]",
            escape("  ".join(shown[:SHOWN_SIGNALS]) + more),
        )
    return _indented(table)


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
