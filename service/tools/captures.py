"""Tools that read a capture: what is in it, how often, and which frames match."""

from __future__ import annotations

import re
from typing import Annotated

import polars as pl
from pydantic import BaseModel, Field

from service.analysis import load
from service.analysis import stats as statistics
from service.analysis.columns import pgn_column, source_address_column
from service.analysis.expression import parse
from service.analysis.filter import condition
from service.context import Context
from service.errors import InvalidSourceAddressError
from service.logs import candump
from service.model.j1939 import pgn as pgn_of
from service.registry import Effect, Positional, Result
from service.tools.paging import Cursor, Limit, Query, fitting
from service.tools.registry import registry
from service.tools.text import hex_id
from service.tools.windows import File, MaxFrames, Offset, Seconds, Window, read_window, version

_SUGGESTED_FRAMES = 100_000
Expression = Annotated[
    str,
    Field(
        max_length=1000,
        description="Such as `id==0x18FEEE31`, `pgn==61444 && sa==0`, `id in 0x100..0x1FF`,"
        ' `id & 0x7F0 == 0x120`, `!(dlc > 4)`, `data~=1122`, `data[2] == 0x40`, `channel=="can0"`,'
        " `fd`, `err`, `tx`.",
    ),
]


class CaptureInfo(BaseModel):
    """Times in seconds, as written in the capture; ids are distinct by type and number."""

    file: str
    frame_count: int
    unique_ids: int
    unique_numeric_ids: int
    interfaces: list[str]
    first_timestamp: float
    last_timestamp: float
    duration_seconds: float
    fd_frames: int
    remote_frames: int
    error_frames: int
    skipped_lines: int
    backward_steps: int
    scan_mode: str = "full"
    suggested_max_frames: int
    suggested_seconds: float


@registry.tool(Effect.READ, command="capture-info")
def capture_info(context: Context, file: File) -> CaptureInfo | Result:
    """Look at a capture: frames, ids, channels, duration, and a window size for other tools.

    Errors: CAPTURE_SOURCE_UNAVAILABLE, CAPTURE_EMPTY, CAPTURE_FORMAT_UNSUPPORTED,
    PATH_OUTSIDE_ROOTS.
    """
    table = read_window(context, file, Window())
    frames = table.frames
    span = statistics.span(frames)
    suggested = min(frames.height, _SUGGESTED_FRAMES)
    info = CaptureInfo(
        file=file,
        frame_count=frames.height,
        unique_ids=statistics.unique_ids(frames),
        unique_numeric_ids=statistics.data_frames(frames)["id"].n_unique(),
        interfaces=statistics.channels(frames),
        first_timestamp=span.first,
        last_timestamp=span.last,
        duration_seconds=span.duration,
        fd_frames=statistics.count(frames, "fd"),
        remote_frames=statistics.count(frames, "remote"),
        error_frames=statistics.count(frames, "error"),
        skipped_lines=table.skipped.count,
        backward_steps=span.backward_steps,
        suggested_max_frames=suggested,
        suggested_seconds=round(span.duration * suggested / frames.height, 3),
    )
    return Result(info, table.skipped.warnings() + span.warnings())


class IdRow(BaseModel):
    """One (channel, type, id); gaps in milliseconds, `rate_hz` over the whole duration."""

    channel: str
    arbitration_id: int
    arbitration_id_hex: str
    is_extended_id: bool
    pgn: int | None
    frame_count: int
    share: float
    rate_hz: float | None
    dlcs: list[int]
    first_seen: float
    last_seen: float
    mean_gap_ms: float | None
    min_gap_ms: float | None
    max_gap_ms: float | None
    gap_jitter_ms: float | None


class ChannelLoad(BaseModel):
    """One channel's bits; `data_phase_bits` are those of CAN FD at the data bit rate."""

    channel: str
    bits_minimum: int
    bits_estimate: int
    bits_maximum: int
    data_phase_bits: int
    load_percent_at_bitrate: dict[str, float]


class BusLoad(BaseModel):
    """The totals are over all channels, the load is that of the busiest."""

    assumptions: str = load.ASSUMPTIONS
    total_bits_estimate: int
    bits_per_second_estimate: float | None
    load_percent_at_bitrate: dict[str, float]
    channels: list[ChannelLoad]


class Stats(BaseModel):
    """Times in seconds. Error frames are in `error_frames` alone."""

    file: str
    offset: int
    total_frames: int
    error_frames: int
    remote_frames: int
    unique_arbitration_ids: int
    interfaces: list[str]
    first_timestamp: float | None
    last_timestamp: float | None
    duration_seconds: float
    backward_steps: int
    dlc_distribution: dict[str, int]
    bus_load: BusLoad
    top: int
    top_ids_returned: int
    top_ids: list[IdRow]


@registry.tool(Effect.READ)
def stats(
    context: Context,
    file: File,
    top: Annotated[int, Field(ge=1, le=1000, description="Ids to list.")] = 20,
    pgn: Annotated[
        int | None, Field(ge=0, le=0x3FFFF, description="Only this J1939 parameter group.")
    ] = None,
    sa: Annotated[
        str | None,
        Field(max_length=1000, description="Only these J1939 source addresses: `0x00,0x0B`."),
    ] = None,
    offset: Offset = 0,
    max_frames: MaxFrames = None,
    seconds: Seconds = None,
) -> Stats | Result:
    """Count a capture's frames by id with rates, gaps and jitter, and estimate the bus load.

    Errors: as capture_info; INVALID_MAX_FRAMES, INVALID_ANALYSIS_SECONDS, INVALID_SOURCE_ADDRESS.
    """
    window = Window(offset, max_frames, seconds)
    selection = _selection(pgn, sa)
    table = read_window(context, file, window).filter(selection)
    frames = table.frames
    span = statistics.span(frames) if frames.height else statistics.Span(0.0, 0.0, 0)
    rows = [_id_row(each) for each in statistics.by_id(frames, top)]
    result = Stats(
        file=file,
        offset=offset,
        total_frames=frames.height,
        error_frames=statistics.count(frames, "error"),
        remote_frames=statistics.count(frames, "remote"),
        unique_arbitration_ids=statistics.unique_ids(frames),
        interfaces=statistics.channels(frames),
        first_timestamp=span.first if frames.height else None,
        last_timestamp=span.last if frames.height else None,
        duration_seconds=span.duration,
        backward_steps=span.backward_steps,
        dlc_distribution=statistics.length_distribution(frames),
        bus_load=_bus_load(frames, span.duration),
        top=top,
        top_ids_returned=len(rows),
        top_ids=rows,
    )
    return Result(result, table.skipped.warnings() + span.warnings())


class Matches(BaseModel):
    """`events` are candump lines; `matched_frames` of `searched_frames` in the window fit."""

    file: str
    expression: str
    offset: int
    searched_frames: int
    matched_frames: int
    events: list[str]
    next_cursor: str | None


@registry.tool(Effect.READ)
def filter(
    context: Context,
    expression: Annotated[Expression, Positional()],
    file: File,
    offset: Offset = 0,
    max_frames: MaxFrames = None,
    seconds: Seconds = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Matches | Result:
    """Find the frames of a capture that match an expression, as candump lines.

    Errors: as stats; INVALID_FILTER_EXPRESSION, INVALID_CURSOR.
    """
    window = Window(offset, max_frames, seconds)
    wanted = condition(parse(expression))
    path = context.files.capture(file)
    query = Query("filter", file, version(path), expression, window)
    start = query.start(cursor) or 0
    table = window.of(candump.read(path), file)
    matching = table.filter(wanted)
    page = fitting(matching.slice(start, limit).lines(), context.answer_bytes // 2)
    result = Matches(
        file=file,
        expression=expression,
        offset=offset,
        searched_frames=len(table),
        matched_frames=len(matching),
        events=page,
        next_cursor=query.following(start, len(page), len(matching)),
    )
    return Result(result, table.skipped.warnings())


def _selection(pgn: int | None, sa: str | None) -> pl.Expr:
    selection = pl.lit(True)
    is_j1939 = pl.col("extended") & ~pl.col("error")
    if pgn is not None:
        selection &= is_j1939 & (pgn_column() == pgn)
    if sa is not None:
        selection &= is_j1939 & source_address_column().is_in(_addresses(sa))
    return selection


def _addresses(text: str) -> list[int]:
    addresses = []
    for word in re.split(r"[,\s]+", text.strip().strip(",")):
        try:
            address = int(word, 0) if word.lower().startswith("0x") else int(word)
        except ValueError:
            address = -1
        if not 0 <= address <= 0xFF:
            raise InvalidSourceAddressError(f"'{word}' is no source address in 0..255")
        addresses.append(address)
    return addresses


def _id_row(each: statistics.IdStatistics) -> IdRow:
    return IdRow(
        channel=each.channel,
        arbitration_id=each.arbitration_id,
        arbitration_id_hex=hex_id(each.arbitration_id, each.is_extended),
        is_extended_id=each.is_extended,
        pgn=pgn_of(each.arbitration_id) if each.is_extended else None,
        frame_count=each.frame_count,
        share=each.share,
        rate_hz=each.rate_hz,
        dlcs=each.dlcs,
        first_seen=each.first_seen,
        last_seen=each.last_seen,
        mean_gap_ms=each.mean_gap_ms,
        min_gap_ms=each.min_gap_ms,
        max_gap_ms=each.max_gap_ms,
        gap_jitter_ms=each.gap_jitter_ms,
    )


def _bus_load(frames: pl.DataFrame, duration: float) -> BusLoad:
    loads = load.channel_loads(frames)
    channels = [
        ChannelLoad(
            channel=each.channel,
            bits_minimum=each.minimum_bits,
            bits_estimate=each.estimated_bits,
            bits_maximum=each.maximum_bits,
            data_phase_bits=each.fast_bits,
            load_percent_at_bitrate={
                str(bitrate): each.percent(duration, bitrate)
                for bitrate in load.bitrates()
                if duration > 0
            },
        )
        for each in loads
    ]
    bits = sum(each.estimated_bits + each.fast_bits for each in loads)
    return BusLoad(
        total_bits_estimate=bits,
        bits_per_second_estimate=round(bits / duration, 1) if duration > 0 else None,
        load_percent_at_bitrate={
            str(bitrate): max((each.percent(duration, bitrate) for each in loads), default=0.0)
            for bitrate in load.bitrates()
            if duration > 0
        },
        channels=channels,
    )
