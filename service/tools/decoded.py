"""Decoded frames as rows of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, Field

from service.decode.database import Database
from service.decode.decoder import Decoder
from service.errors import DbcSignalInvalidError
from service.model.candump import format_line
from service.model.frame import Frame
from service.tools.text import near

ValueT = TypeVar("ValueT")


class DecodedRow(BaseModel):
    """A frame as candump line; `message` is null when no database defines it."""

    frame: str
    message: str | None
    signals: dict[str, int | float | None] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The signals that a call asks for, as (message, signal); all of them when None."""

    pairs: frozenset[tuple[str, str]] | None = None

    @classmethod
    def of(cls, database: Database, names: Sequence[str] | None) -> Wanted:
        """From ``Signal`` or ``Message.Signal``. Errors: DbcSignalInvalidError."""
        if names is None:
            return cls()
        known = {
            (message.name, each.name) for message in database.messages for each in message.signals
        }
        pairs: set[tuple[str, str]] = set()
        for name in names:
            found = {pair for pair in known if name in (pair[1], ".".join(pair))}
            if not found:
                raise DbcSignalInvalidError(
                    f"database '{database.name}' has no signal '{name}'",
                    hint=near(name, {signal for _, signal in known}),
                )
            pairs |= found
        return cls(frozenset(pairs))

    def has(self, message: str, signal: str) -> bool:
        return self.pairs is None or (message, signal) in self.pairs

    def has_message(self, message: str) -> bool:
        return self.pairs is None or any(message == pair[0] for pair in self.pairs)

    def of_message(self, message: str, values: Mapping[str, ValueT]) -> dict[str, ValueT]:
        return {name: value for name, value in values.items() if self.has(message, name)}


def decoded_row(frame: Frame, decoders: Sequence[Decoder], wanted: Wanted = Wanted()) -> DecodedRow:
    """The frame in the words of the first database that defines it."""
    for decoder in decoders:
        decoded = decoder.decode(frame)
        if decoded is not None:
            return DecodedRow(
                frame=format_line(frame),
                message=decoded.message,
                signals=wanted.of_message(decoded.message, decoded.signals),
                labels=wanted.of_message(decoded.message, decoded.labels),
                notes=[*([decoded.match] if decoded.match else []), *decoded.notes],
            )
    return DecodedRow(frame=format_line(frame), message=None)
