"""Tools that read or make frames with a message database."""

from __future__ import annotations

from typing import Annotated

import polars as pl
from pydantic import BaseModel, Field

from service.arguments import Reads
from service.context import Context
from service.decode.database import Database
from service.decode.decoder import Decoder
from service.decode.encoder import encode as encode_message
from service.decode.summary import Summary, affordable, has_key, summarise
from service.logs import candump
from service.model.candump import format_frame
from service.registry import Effect, Positional, Result
from service.tools.decoded import DecodedRow, Wanted, decoded_row
from service.tools.paging import Cursor, Limit, Query, fitting
from service.tools.registry import registry
from service.tools.text import hex_id
from service.tools.windows import File, MaxFrames, Offset, Seconds, Window, version

_DECODE_LIMIT = 250_000
"""Distinct payloads per call: some seconds of work, safely within the time of one call."""
_LISTED = 20

DatabaseName = Annotated[str, Reads(), Field(description="A database, such as `powertrain.dbc`.")]


class MessageCount(BaseModel):
    """Frames of one message."""

    message: str
    frames: int


class SignalRange(BaseModel):
    """Physical values; `last` is that of the last frame with the signal, `label` its text."""

    message: str
    signal: str
    unit: str | None
    count: int
    min: int | float | None
    max: int | float | None
    last: int | float | None
    label: str | None


class UnmatchedId(BaseModel):
    """An identifier that the database does not define."""

    arbitration_id_hex: str
    frames: int


class DecodedCapture(BaseModel):
    """The summary is of the whole window, `events` are the rows of this page."""

    file: str
    dbc: str
    offset: int
    decoded_frames: int
    matched_messages: int
    matched_by_pgn: int
    unmatched_frames: int
    skipped_frames: int
    messages: list[MessageCount]
    signals: list[SignalRange]
    unmatched_ids_count: int
    unmatched_ids: list[UnmatchedId]
    events: list[DecodedRow]
    next_cursor: str | None


@registry.tool(Effect.READ)
def decode(
    context: Context,
    file: File,
    dbc: DatabaseName,
    signals: Annotated[
        list[str] | None,
        Field(max_length=100, description="Only these, as `Signal` or `Message.Signal`."),
    ] = None,
    offset: Offset = 0,
    max_frames: MaxFrames = None,
    seconds: Seconds = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> DecodedCapture | Result:
    """Decode a capture with a database: counts per message, ranges per signal, then rows.

    29-bit frames whose exact identifier is unknown are matched by J1939 PGN. Remote and error
    frames are skipped and counted.

    Errors: as stats; DBC_NOT_FOUND, DBC_LOAD_FAILED, DBC_SIGNAL_INVALID, INVALID_CURSOR.
    """
    window = Window(offset, max_frames, seconds)
    database = context.databases.get(dbc)
    wanted = Wanted.of(database, signals)
    path = context.files.capture(file)
    query = Query("decode", file, version(path), dbc, version(database.path), signals, window)
    start = query.start(cursor) or 0
    whole = window.of(candump.read(path), file)
    carrying = whole.filter(~pl.col("remote") & ~pl.col("error"))
    table = carrying.slice(0, affordable(carrying.frames, _DECODE_LIMIT))
    cut = _cut(len(table), len(carrying), offset)
    decoder = Decoder(database)
    summary = summarise(table.frames, decoder)
    matched = table.filter(has_key(_wanted_keys(summary, database, wanted)))
    page = fitting(
        (decoded_row(frame, [decoder], wanted) for frame in matched.slice(start, limit)),
        context.answer_bytes // 2,
    )
    counts = _counts(summary, wanted)
    counted = fitting(counts, context.answer_bytes // 8)
    ranges = _ranges(summary, database, wanted)
    ranged = fitting(ranges, context.answer_bytes // 4)
    unmatched = sorted(summary.unmatched.items(), key=lambda item: (-item[1], item[0]))
    result = DecodedCapture(
        file=file,
        dbc=dbc,
        offset=offset,
        decoded_frames=len(table),
        matched_messages=sum(summary.messages.values()),
        matched_by_pgn=summary.by_group,
        unmatched_frames=sum(summary.unmatched.values()),
        skipped_frames=len(whole) - len(carrying),
        messages=counted,
        signals=ranged,
        unmatched_ids_count=len(unmatched),
        unmatched_ids=[
            UnmatchedId(arbitration_id_hex=hex_id(number, is_extended), frames=frames)
            for (is_extended, number), frames in unmatched[:_LISTED]
        ],
        events=page,
        next_cursor=query.following(start, len(page), len(matched)),
    )
    for what, hidden in (
        ("messages", len(counts) - len(counted)),
        ("signals", len(ranges) - len(ranged)),
    ):
        if hidden:
            cut.append(f"{hidden} more {what}; name the signals of interest in 'signals'")
    return Result(result, [*database.warnings, *whole.skipped.warnings(), *cut, *_notes(summary)])


class FilledSignal(BaseModel):
    """A signal that the call did not name."""

    signal: str
    value: int | float


class EncodedFrame(BaseModel):
    """`frame` in candump's bare form; `signals` are the physical values it carries."""

    dbc: str
    message: str
    frame: str
    frame_id: str
    is_extended_id: bool
    is_fd: bool
    data: str
    signals: dict[str, int | float]
    filled_signals: list[FilledSignal]
    notes: list[str]


@registry.tool(Effect.READ)
def encode(
    context: Context,
    dbc: DatabaseName,
    message: Annotated[str, Positional(), Field(description="A message of the database.")],
    signals: Annotated[
        list[str] | None,
        Positional(),
        Field(max_length=200, description="`NAME=VALUE`: a number, or a value table's text."),
    ] = None,
) -> EncodedFrame | Result:
    """Make a frame from signal values, ready for send; nothing is transmitted.

    Signals not named take their initial value, else 0. Counters and checksums are signals like
    any other: give their values.

    Errors: DBC_NOT_FOUND, DBC_LOAD_FAILED, DBC_MESSAGE_NOT_FOUND, DBC_SIGNAL_INVALID,
    INVALID_SIGNAL_ASSIGNMENT, INVALID_FRAME.
    """
    database = context.databases.get(dbc)
    encoded = encode_message(database, message, signals or [])
    frame = encoded.frame
    result = EncodedFrame(
        dbc=dbc,
        message=encoded.message,
        frame=format_frame(frame),
        frame_id=hex_id(frame.arbitration_id, frame.is_extended),
        is_extended_id=frame.is_extended,
        is_fd=frame.is_fd,
        data=frame.data.hex().upper(),
        signals=encoded.values,
        filled_signals=[
            FilledSignal(signal=name, value=value) for name, value in encoded.filled.items()
        ],
        notes=encoded.notes,
    )
    warnings = list(database.warnings)
    if encoded.filled:
        warnings.append(f"signals not given, filled in: {', '.join(encoded.filled)}")
    return Result(result, warnings)


def _cut(decoded: int, there: int, offset: int) -> list[str]:
    if decoded == there:
        return []
    warning = (
        f"only the first {decoded} of {there} data frames were decoded;"
        f" continue with a higher 'offset' (this call's was {offset}) or use 'seconds'"
    )
    return [warning]


def _wanted_keys(summary: Summary, database: Database, wanted: Wanted) -> set[tuple[bool, int]]:
    matches = {key: database.match(key[1], key[0]) for key in summary.matched_keys}
    return {
        key for key, match in matches.items() if match and wanted.has_message(match.message.name)
    }


def _counts(summary: Summary, wanted: Wanted) -> list[MessageCount]:
    ranked = sorted(summary.messages.items(), key=lambda item: (-item[1], item[0]))
    return [
        MessageCount(message=name, frames=frames)
        for name, frames in ranked
        if wanted.has_message(name)
    ]


def _ranges(summary: Summary, database: Database, wanted: Wanted) -> list[SignalRange]:
    units = {
        (message.name, signal.name): signal.unit
        for message in database.messages
        for signal in message.signals
    }
    return [
        SignalRange(
            message=each.message,
            signal=each.signal,
            unit=units.get(key),
            count=each.count,
            min=each.minimum,
            max=each.maximum,
            last=each.last,
            label=each.last_label,
        )
        for key, each in sorted(summary.signals.items())
        if wanted.has(*key)
    ]


def _notes(summary: Summary) -> list[str]:
    ranked = sorted(summary.notes.items(), key=lambda item: -item[1])
    lines = [f"{note} ({count} frames)" for note, count in ranked[:_LISTED]]
    if len(ranked) > _LISTED:
        lines.append(f"{len(ranked) - _LISTED} more kinds of notes; the rows have them")
    return lines
