"""Entries of a bus' history as text: frames as candump lines, gaps as comments between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from service.analysis.expression import Expression, parse
from service.analysis.filter import matches
from service.buses.bus import Bus
from service.buses.ring import Entry, Gap
from service.context import Context
from service.decode.database import Database
from service.decode.decoder import Decoder
from service.errors import DbcNotFoundError
from service.model.candump import format_line
from service.model.frame import Frame
from service.tools.decoded import DecodedRow, decoded_row


def gap_line(gap: Gap) -> str:
    """A comment to candump's readers, so that a saved capture keeps it."""
    return f"# gap ({gap.timestamp:.6f}): {gap.reason}"


def entry_line(entry: Entry) -> str:
    return gap_line(entry.item) if isinstance(entry.item, Gap) else format_line(entry.item)


def frames_of(entries: Iterable[Entry]) -> list[Frame]:
    return [entry.frame for entry in entries if entry.frame is not None]


def selector(expression: str | None) -> Selector:
    """Errors: InvalidFilterExpressionError."""
    return Selector(None if expression is None else parse(expression))


@dataclass(frozen=True, slots=True)
class Selector:
    """What to show of a history; gaps are never hidden."""

    expression: Expression | None

    def shows(self, entry: Entry) -> bool:
        if self.expression is None or entry.frame is None:
            return True
        return matches(self.expression, entry.frame)


Row: TypeAlias = str | DecodedRow


def row_of(entry: Entry, decoders: Sequence[Decoder] | None) -> Row:
    """An entry as a line, or decoded where there is something to decode with."""
    if decoders is None:
        return entry_line(entry)
    if entry.frame is None:
        return DecodedRow(frame=entry_line(entry), message=None)
    return decoded_row(entry.frame, decoders)


def lines_in(rows: Iterable[Row]) -> list[str]:
    return [row for row in rows if isinstance(row, str)]


def decoded_in(rows: Iterable[Row]) -> list[DecodedRow]:
    return [row for row in rows if isinstance(row, DecodedRow)]


def databases_for(
    context: Context, bus: Bus, decode: bool, dbc: str | None
) -> list[Database] | None:
    """``dbc`` or else the bus' own databases; None when nothing is to be decoded.

    Errors: as of ``Catalog.get``; DbcNotFoundError when the bus has no database.
    """
    if dbc is not None:
        return [context.databases.get(dbc)]
    if not decode:
        return None
    if not bus.config.databases:
        raise DbcNotFoundError(
            f"bus '{bus.name}' has no database configured", hint="Name one with 'dbc'."
        )
    return [context.databases.get(name) for name in bus.config.databases]
