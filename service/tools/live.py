"""Tools that watch live buses: what state they are in, and what comes from now on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

from anyio import move_on_after, to_thread
from pydantic import BaseModel, Field

from service.analysis import stats as statistics
from service.arguments import Reads
from service.buses.bus import Bus
from service.buses.ring import Entry
from service.context import Context
from service.decode.decoder import Decoder
from service.logs.table import from_frames
from service.registry import Effect, Positional, Result
from service.tools.decoded import DecodedRow
from service.tools.history import (
    Row,
    Selector,
    databases_for,
    decoded_in,
    entry_line,
    frames_of,
    lines_in,
    row_of,
    selector,
)
from service.tools.paging import Limit, fitting
from service.tools.registry import registry
from service.tools.text import hex_id

_LONGEST_SECONDS = 20
_MOST_FRAMES = 100_000
_LISTED_IDS = 20

BusName = Annotated[str, Positional(), Field(description="A bus; bus_status lists them.")]
LiveExpression = Annotated[
    str | None, Field(max_length=1000, description="Only these frames; as for filter.")
]
Decode = Annotated[bool, Field(description="Rows in words of the bus' databases, or of `dbc`.")]
LiveDatabase = Annotated[str | None, Reads(), Field(description="Decode with this database.")]


class BusRow(BaseModel):
    """One bus. Times in seconds since the epoch, ages in seconds, `load` is a share (0..1).

    `state` is the channel's, `controller` what error frames told of the controller. History holds
    the entries from `first_sequence` up to `next_sequence`; older ones are `overwritten`.
    """

    name: str
    driver: str
    channel: str
    bitrate: int | None
    fd: bool
    armed: bool
    databases: list[str]
    source: str | None
    state: str
    controller: str
    controller_since: float | None
    bus_off_count: int
    frames: int
    frames_sent: int
    frames_per_second: float
    last_frame_age: float | None
    load: float | None
    error_frames: int
    last_error_frame: str | None
    errors: int
    last_error: str | None
    last_error_at: float | None
    gaps: int
    clock: str
    first_sequence: int
    next_sequence: int
    overwritten: int
    dropped: int


class BusStatusList(BaseModel):
    """One row per bus."""

    at: float
    buses: list[BusRow]


@registry.tool(Effect.LISTEN)
def bus_status(
    context: Context,
    interface: Annotated[
        str | None, Positional(), Field(description="Only this bus; all of them by default.")
    ] = None,
) -> BusStatusList | Result:
    """Say how every bus is: state, controller, errors, rate, load, history, armed or not.

    Errors: BUS_NOT_FOUND.
    """
    buses = [context.hub[interface]] if interface is not None else list(context.hub)
    found = [_bus_row(bus) for bus in buses]
    result = BusStatusList(at=context.clock(), buses=found)
    warnings = [
        f"bus '{row.name}' is {row.state}" + (f": {row.last_error}" if row.last_error else "")
        for row in found
        if row.state != "open"
    ]
    warnings += [
        f"bus '{row.name}': the controller is {row.controller}"
        for row in found
        if row.controller != "error-active"
    ]
    return Result(result, warnings)


class CapturedId(BaseModel):
    """How often an identifier came."""

    arbitration_id_hex: str
    frames: int
    rate_hz: float | None


class Capture(BaseModel):
    """What came while listening; `events` are the first rows, a saved `file` has all."""

    interface: str
    mode: str = "passive"
    frame_count: int
    unique_ids: int
    duration_seconds: float
    frames_per_second: float | None
    lost: int
    gaps: int
    ended_by: str
    ids: list[CapturedId]
    events: list[str]
    decoded: list[DecodedRow]
    file: str | None


@registry.tool(Effect.RECORD)
async def capture(
    context: Context,
    interface: BusName,
    count: Annotated[
        int | None, Field(ge=1, le=_MOST_FRAMES, description="End after that many frames.")
    ] = None,
    seconds: Annotated[
        float, Field(gt=0, le=_LONGEST_SECONDS, description="End after that long.")
    ] = 2.0,
    expression: LiveExpression = None,
    save_as: Annotated[
        str | None,
        Field(max_length=128, description="Keep all frames as a new capture of this name."),
    ] = None,
    limit: Limit = 50,
    decode: Decode = False,
    dbc: LiveDatabase = None,
) -> Capture | Result:
    """Listen to a bus from now on, until `count` frames or `seconds` are over.

    For what has already been seen use bus_recent.

    Errors: BUS_NOT_FOUND, INVALID_FILTER_EXPRESSION, DBC_NOT_FOUND, CAPTURE_EXISTS,
    INVALID_FILE_NAME, CAPTURE_WRITE_FAILED.
    """
    bus = context.hub[interface]
    selected = selector(expression)
    databases = await to_thread.run_sync(databases_for, context, bus, decode, dbc)
    decoders = None if databases is None else [Decoder(each) for each in databases]
    if save_as is not None:
        # A name that cannot be is refused before listening.
        await to_thread.run_sync(context.files.new_capture, save_as)
    heard = await _listen(bus, selected, count or _MOST_FRAMES, seconds)
    file = None
    if save_as is not None:
        write = partial(_write, entries=heard.entries)
        file = (await to_thread.run_sync(context.files.write_capture, save_as, write)).name
    wanted = heard.entries[:limit]
    shown = await to_thread.run_sync(_first_rows, wanted, decoders, context.answer_bytes // 2)
    result = await to_thread.run_sync(_summary, interface, heard, shown, file)
    warnings = _warnings(bus, heard, count)
    if len(shown) < len(wanted):
        hidden = len(wanted) - len(shown)
        warnings.append(f"{hidden} more rows did not fit; read a capture saved with 'save_as'")
    return Result(result, warnings)


@dataclass(slots=True)
class _Heard:
    """``lost`` frames came faster than they could be taken."""

    ended_by: str = "seconds"
    entries: list[Entry] = field(default_factory=list)
    frames: int = 0
    lost: int = 0


async def _listen(bus: Bus, selected: Selector, count: int, seconds: float) -> _Heard:
    heard = _Heard()
    with bus.subscribe() as subscription, move_on_after(seconds):
        async for entry in subscription:
            if not selected.shows(entry):
                continue
            heard.entries.append(entry)
            heard.frames += entry.frame is not None
            if heard.frames >= count:
                heard.ended_by = "count"
                break
        else:
            heard.ended_by = "bus closed"
    heard.lost = subscription.dropped
    return heard


def _write(path: Path, entries: Sequence[Entry]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{entry_line(entry)}\n" for entry in entries)


def _first_rows(
    entries: Sequence[Entry], decoders: Sequence[Decoder] | None, budget: int
) -> list[Row]:
    return fitting((row_of(entry, decoders) for entry in entries), budget)


def _summary(interface: str, heard: _Heard, shown: list[Row], file: str | None) -> Capture:
    frames = from_frames(frames_of(heard.entries)).frames
    duration = statistics.span(frames).duration if frames.height else 0.0
    return Capture(
        interface=interface,
        frame_count=frames.height,
        unique_ids=statistics.unique_ids(frames),
        duration_seconds=duration,
        frames_per_second=round(frames.height / duration, 1) if duration > 0 else None,
        lost=heard.lost,
        gaps=len(heard.entries) - frames.height,
        ended_by=heard.ended_by,
        ids=[
            CapturedId(
                arbitration_id_hex=hex_id(each.arbitration_id, each.is_extended),
                frames=each.frame_count,
                rate_hz=each.rate_hz,
            )
            for each in statistics.by_id(frames, _LISTED_IDS)
        ],
        events=lines_in(shown),
        decoded=decoded_in(shown),
        file=file,
    )


def _warnings(bus: Bus, heard: _Heard, count: int | None) -> list[str]:
    warnings = []
    status = bus.status()
    if status.state != "open":
        why = f" ({status.last_error})" if status.last_error else ""
        warnings.append(f"bus '{bus.name}' is {status.state}{why}: frames may be missing")
    if heard.lost:
        warnings.append(f"{heard.lost} entries came too fast to be taken; bus_recent may have them")
    if heard.ended_by == "count" and count is None:
        warnings.append(f"ended at {_MOST_FRAMES} frames, the most that one call takes")
    return warnings


def _bus_row(bus: Bus) -> BusRow:
    status = bus.status()
    return BusRow(
        name=status.name,
        driver=status.interface,
        channel=status.channel,
        bitrate=status.bitrate,
        fd=status.fd,
        armed=status.armed,
        databases=bus.config.databases,
        source=status.source,
        state=status.state,
        controller=status.controller,
        controller_since=status.controller_since,
        bus_off_count=status.bus_off_count,
        frames=status.frames,
        frames_sent=status.frames_sent,
        frames_per_second=round(status.frames_per_second, 1),
        last_frame_age=None if status.last_frame_age is None else round(status.last_frame_age, 3),
        load=None if status.load is None else round(status.load, 4),
        error_frames=status.error_frames,
        last_error_frame=status.last_error_frame,
        errors=status.errors,
        last_error=status.last_error,
        last_error_at=status.last_error_at,
        gaps=status.gaps,
        clock=status.clock,
        first_sequence=status.first_sequence,
        next_sequence=status.next_sequence,
        overwritten=status.overwritten,
        dropped=status.dropped,
    )
