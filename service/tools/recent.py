"""The tool that looks back: what a bus carried before anybody asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
from service.tools.history import (
    Row,
    Selector,
    databases_for,
    decoded_in,
    frames_of,
    lines_in,
    row_of,
    selector,
)
from service.tools.live import BusName, Decode, LiveDatabase, LiveExpression
from service.tools.paging import Cursor, Limit, Page, Query, fitting
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
    first = bus.ring.first_sequence if start is None else start
    budget = context.answer_bytes // 2
    shown, newest, warnings = list[Row](), list[LatestRow](), list[str]()
    if start is not None and not latest:
        page: Page[Row] = Page(budget)
        view = _scan(bus.ring, first, selected, lambda e: page.take(row_of(e, decoders)), limit)
        shown = page.rows
    else:
        entries: list[Entry] = []
        view = _scan(bus.ring, first, selected, partial(_keep, entries))
        if latest:
            groups = _latest(entries)
            newest = fitting((_latest_row(group, decoders) for group in groups[:limit]), budget)
            warnings = _hidden_ids(len(groups) - len(newest))
        else:
            wanted = entries[-limit:]
            shown = fitting((row_of(e, decoders) for e in reversed(wanted)), budget)[::-1]
            warnings = _hidden_rows(len(wanted) - len(shown))
    result = Recent(
        interface=interface,
        at=now,
        examined=view.examined,
        matched=view.matched,
        lost=view.lost,
        gaps=view.gaps,
        events=lines_in(shown),
        decoded=decoded_in(shown),
        latest=newest,
        next_cursor=query.cursor(view.end),
        more=view.end < bus.ring.next_sequence,
    )
    return Result(result, [*_warnings(view), *warnings])


@dataclass(slots=True)
class _View:
    """What a scan came by that ended before the sequence number ``end``."""

    end: int
    examined: int = 0
    matched: int = 0
    gaps: int = 0
    lost: int = 0


def _scan(
    ring: Ring,
    start: int,
    selected: Selector,
    take: Callable[[Entry], bool],
    limit: int | None = None,
) -> _View:
    """Offer the selected entries from ``start`` to the present as of now.

    Ends before one that is not taken, and behind the ``limit``-th. The history is looked at once:
    while it is written, a second look would find other entries.
    """
    view = _View(start)
    present = ring.next_sequence
    while view.end < present:
        part = ring.since(view.end, min(_CHUNK, present - view.end))
        view.lost += part.lost
        for entry in part.entries:
            view.end = entry.sequence
            shown = selected.shows(entry)
            if shown and not take(entry):
                return view
            view.end += 1
            view.examined += 1
            if shown:
                view.gaps += entry.gap is not None
                view.matched += entry.gap is None
                if view.matched + view.gaps == limit:
                    return view
        view.end = part.next_sequence
    return view


def _keep(entries: list[Entry], entry: Entry) -> bool:
    entries.append(entry)
    return True


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


def _warnings(view: _View) -> list[str]:
    warnings = []
    if view.lost:
        warnings.append(f"{view.lost} entries were overwritten before this call could see them")
    if view.gaps:
        warnings.append(f"frames may be missing at {view.gaps} places; see the lines '# gap'")
    return warnings


def _hidden_ids(count: int) -> list[str]:
    return [f"{count} more ids; raise 'limit' or use 'expression'"] if count > 0 else []


def _hidden_rows(count: int) -> list[str]:
    if count == 0:
        return []
    return [f"{count} older rows did not fit; read them from 'seconds' ago on, with the cursors"]
