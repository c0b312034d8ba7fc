"""The tool that looks back: what a bus carried before anybody asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from service.buses.ring import Entry, Ring
from service.context import Context
from service.decode.decoder import Decoder
from service.errors import InvalidCursorError
from service.model.candump import format_line
from service.model.frame import Frame
from service.registry import Effect, Result
from service.tools.decoded import DecodedRow, decoded_row
from service.tools.history import Selector, databases_for, frames_of, rows, selector
from service.tools.live import BusName, Decode, LiveDatabase, LiveExpression
from service.tools.paging import Cursor, Limit, Query, fitting
from service.tools.registry import registry

_CHUNK = 4096


class LatestRow(BaseModel):
    """The newest frame of an identifier; `rate_hz` is null for a single frame."""

    frame: str
    count: int
    rate_hz: float | None
    decoded: DecodedRow | None


class Recent(BaseModel):
    """`events` (or `decoded`) oldest first; a line `# gap ...` marks where frames are missing.

    `lost` entries were overwritten before this call could see them. `next_cursor` reads on from
    where this answer ends; `more` says that there is something already.
    """

    interface: str
    at: float
    examined: int
    matched: int
    lost: int
    gaps: int
    events: list[str]
    decoded: list[DecodedRow]
    latest: list[LatestRow]
    next_cursor: str
    more: bool


@registry.tool(Effect.LISTEN)
def bus_recent(
    context: Context,
    interface: BusName,
    seconds: Annotated[
        float | None, Field(gt=0, le=86_400, description="From that long ago on, oldest first.")
    ] = None,
    expression: LiveExpression = None,
    latest: Annotated[
        bool, Field(description="Only the newest frame of each id, with count and rate.")
    ] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    decode: Decode = False,
    dbc: LiveDatabase = None,
) -> Recent | Result:
    """Show what a bus carried lately; the service always remembers the last frames.

    Without `seconds` and `cursor`: the newest frames. With `cursor`: what came after the previous
    answer, without a hole, or else `lost` says how much is missing.

    Errors: BUS_NOT_FOUND, INVALID_FILTER_EXPRESSION, INVALID_CURSOR, DBC_NOT_FOUND.
    """
    bus = context.hub[interface]
    selected = selector(expression)
    databases = databases_for(context, bus, decode, dbc)
    decoders = None if databases is None else [Decoder(each) for each in databases]
    query = Query("recent", interface)
    start = _start(bus.ring, query.start(cursor))
    now = context.clock()
    if start is None and seconds is not None:
        start = bus.ring.sequence_at(now - seconds)
    newest_only = start is None or latest
    first = bus.ring.first_sequence if start is None else start
    view = _scan(bus.ring, first, selected, None if newest_only else limit)
    groups = _latest(view.entries) if latest else []
    budget = context.answer_bytes // 2
    if newest_only:
        newest_first = () if latest else reversed(view.entries[-limit:])
        page = rows(newest_first, decoders, budget).reversed()
    else:
        page = rows(view.entries, decoders, budget)
        if len(page) < len(view.entries):  # the rest is for the next cursor, counts and all
            view = _scan(bus.ring, first, selected, len(page))
    newest = fitting((_latest_row(group, decoders) for group in groups[:limit]), budget)
    result = Recent(
        interface=interface,
        at=now,
        examined=view.examined,
        matched=view.matched,
        lost=view.lost,
        gaps=view.gaps,
        events=page.events,
        decoded=page.decoded,
        latest=newest,
        next_cursor=query.cursor(view.end),
        more=view.end < bus.ring.next_sequence,
    )
    return Result(result, _warnings(view, len(groups) - len(newest)))


@dataclass(slots=True)
class _View:
    """The selected entries of a scan that ended before the sequence number ``end``."""

    entries: Sequence[Entry]
    end: int
    examined: int
    matched: int
    gaps: int
    lost: int


def _scan(ring: Ring, start: int, selected: Selector, limit: int | None) -> _View:
    """From ``start`` to the present as of now, or until ``limit`` entries are selected."""
    present = ring.next_sequence
    entries: list[Entry] = []
    examined = gaps = lost = 0
    while start < present:
        part = ring.since(start, min(_CHUNK, present - start))
        lost += part.lost
        start = part.next_sequence
        for entry in part.entries:
            examined += 1
            if not selected.shows(entry):
                continue
            gaps += entry.gap is not None
            entries.append(entry)
            if limit is not None and len(entries) >= limit:
                return _View(entries, entry.sequence + 1, examined, len(entries) - gaps, gaps, lost)
    return _View(entries, start, examined, len(entries) - gaps, gaps, lost)


def _start(ring: Ring, position: int | None) -> int | None:
    if position is not None and position > ring.next_sequence:
        raise InvalidCursorError(
            f"the cursor is at entry {position}, the history ends at {ring.next_sequence}",
            hint="The service was restarted since; start again without a cursor.",
        )
    return position


@dataclass(slots=True)
class _Group:
    """The frames of one identifier; times are stamps in seconds."""

    newest: Frame
    first: float
    count: int = 0


def _latest(entries: Sequence[Entry]) -> list[_Group]:
    """One group per (extended, id), by number; error frames are reports and belong to none."""
    groups: dict[tuple[bool, int], _Group] = {}
    for frame in frames_of(entries):
        if frame.is_error:
            continue
        key = (frame.is_extended, frame.arbitration_id)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(frame, frame.timestamp)
        group.newest = frame
        group.count += 1
    return [groups[key] for key in sorted(groups)]


def _latest_row(group: _Group, decoders: Sequence[Decoder] | None) -> LatestRow:
    duration = group.newest.timestamp - group.first
    return LatestRow(
        frame=format_line(group.newest),
        count=group.count,
        rate_hz=round((group.count - 1) / duration, 2) if duration > 0 else None,
        decoded=None if decoders is None else decoded_row(group.newest, decoders),
    )


def _warnings(view: _View, hidden_ids: int) -> list[str]:
    warnings = []
    if view.lost:
        warnings.append(f"{view.lost} entries were overwritten before this call could see them")
    if view.gaps:
        warnings.append(f"frames may be missing at {view.gaps} places; see the lines '# gap'")
    if hidden_ids > 0:
        warnings.append(f"{hidden_ids} more ids; raise 'limit' or use 'expression'")
    return warnings
