"""What a capture says in the words of a database: per message, per signal, and what is unknown.

A payload that comes again decodes to the same signals, so each distinct one is decoded once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from service.decode.decoder import Decoded, Decoder, Number

_KEY = ("extended", "id")


@dataclass(slots=True)
class SignalSummary:
    """``count`` frames carried the signal; the numbers are None while all were NaN or infinite."""

    message: str
    signal: str
    count: int = 0
    minimum: Number | None = None
    maximum: Number | None = None
    last: Number | None = None
    last_label: str | None = None
    last_row: int = -1

    def add(self, value: Number | None, label: str | None, count: int, last_row: int) -> None:
        self.count += count
        if value is not None:
            self.minimum = value if self.minimum is None else min(self.minimum, value)
            self.maximum = value if self.maximum is None else max(self.maximum, value)
        if last_row > self.last_row:
            self.last, self.last_label, self.last_row = value, label, last_row


@dataclass(slots=True)
class Summary:
    """``notes`` counts frames per note, ``unmatched`` per (is_extended, id), ``by_group`` those
    that only their parameter group led to a message."""

    messages: dict[str, int] = field(default_factory=dict)
    signals: dict[tuple[str, str], SignalSummary] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    by_group: int = 0
    unmatched: dict[tuple[bool, int], int] = field(default_factory=dict)
    matched_keys: set[tuple[bool, int]] = field(default_factory=set)

    def add(self, decoded: Decoded, count: int, last_row: int) -> None:
        name = decoded.message
        self.by_group += count if decoded.match else 0
        self.messages[name] = self.messages.get(name, 0) + count
        for signal, value in decoded.signals.items():
            summary = self.signals.get((name, signal))
            if summary is None:
                summary = self.signals[name, signal] = SignalSummary(name, signal)
            summary.add(value, decoded.labels.get(signal), count, last_row)
        for note in decoded.notes:
            text = f"{name}: {note}"
            self.notes[text] = self.notes.get(text, 0) + count


def summarise(frames: pl.DataFrame, decoder: Decoder) -> Summary:
    """Decode every frame of a table of data frames (no remote or error frames)."""
    summary = Summary()
    distinct = (
        frames.with_row_index("row")
        .group_by(*_KEY, "data", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("row").max())
    )
    for is_extended, arbitration_id, data, count, last_row in distinct.iter_rows():
        key = (is_extended, arbitration_id)
        decoded = decoder.decode_payload(arbitration_id, is_extended, data)
        if decoded is None:
            summary.unmatched[key] = summary.unmatched.get(key, 0) + count
            continue
        summary.matched_keys.add(key)
        summary.add(decoded, count, last_row)
    return summary


def affordable(frames: pl.DataFrame, limit: int) -> int:
    """How many frames from the first on ``summarise`` can take with ``limit`` decodings: all of
    them if their distinct payloads are no more than that, else ``limit``."""
    if frames.height <= limit or frames.select(*_KEY, "data").n_unique() <= limit:
        return frames.height
    return limit


def has_key(keys: set[tuple[bool, int]]) -> pl.Expr:
    """Rows whose (extended, id) is one of these."""
    standard = [number for is_extended, number in keys if not is_extended]
    extended = [number for is_extended, number in keys if is_extended]
    return (
        pl.when(pl.col("extended"))
        .then(pl.col("id").is_in(extended))
        .otherwise(pl.col("id").is_in(standard))
    )
