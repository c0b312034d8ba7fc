"""Pages under the answer's byte limit: cut rows go to the next page, never out of the world."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dispatch import Limits
from service.model.candump import format_line
from service.model.frame import Frame
from service.tools.paging import fitting
from tests.service.tools.rig import ARMED, UNARMED, Rig, opened
from tests.service.tools.test_live import fed

SMALL = Limits(response_bytes=4096)
DRIVE = [
    Frame(0x100, index.to_bytes(2, "little") + bytes(6), timestamp=index / 100, channel="can0")
    for index in range(120)
]


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Rig]:
    """A rig whose answers hold far fewer rows than a call may ask for."""
    with opened(tmp_path, limits=SMALL) as made:
        yield made


async def pages(rig: Rig, tool: str, rows: str, **arguments: object) -> list[object]:
    """All rows of all pages; no page may be cut after its cursor was made."""
    collected: list[object] = []
    cursor = None
    with anyio.fail_after(10):
        while True:
            page = await rig.data(tool, cursor=cursor, limit=1000, **arguments)
            assert "truncated" not in page
            assert page[rows]
            collected += page[rows]
            cursor = page["next_cursor"]
            if cursor is None or page.get("more") is False:
                return collected


async def test_pages_of_a_filter_hold_every_frame_once(narrow: Rig) -> None:
    file = narrow.capture("drive.log", *map(format_line, DRIVE))
    found = await pages(narrow, "filter", "events", file=file, expression="all")
    assert found == [format_line(frame) for frame in DRIVE]


async def test_pages_of_a_decode_hold_every_frame_once(narrow: Rig) -> None:
    file = narrow.capture("drive.log", *map(format_line, DRIVE))
    rows = await pages(narrow, "decode", "events", file=file, dbc="complex.dbc")
    assert [row["frame"] for row in rows if isinstance(row, dict)] == [
        format_line(frame) for frame in DRIVE
    ]


async def test_pages_of_a_database_hold_every_signal_once(narrow: Rig) -> None:
    whole = await narrow.data("dbc_inspect", dbc="complex.dbc", limit=1)
    rows = await pages(narrow, "dbc_inspect", "signals", dbc="complex.dbc", signals_only=True)
    assert len(rows) == whole["database"]["signal_count"]


@pytest.mark.parametrize("decode", [False, True])
async def test_reading_a_history_on_holds_every_frame_once(narrow: Rig, decode: bool) -> None:
    await fed(narrow, ARMED, *DRIVE)
    rows = "decoded" if decode else "events"
    seen = await pages(narrow, "bus_recent", rows, interface=ARMED, seconds=86_400, decode=decode)
    lines = [row["frame"] if isinstance(row, dict) else str(row) for row in seen]
    assert [line.split("#")[1] for line in lines] == [frame.data.hex().upper() for frame in DRIVE]


async def test_the_newest_frames_are_shown_when_not_all_fit(narrow: Rig) -> None:
    await fed(narrow, ARMED, *DRIVE)
    page = await narrow.data("bus_recent", interface=ARMED, limit=1000)
    assert "truncated" not in page
    assert page["matched"] == len(DRIVE) > len(page["events"])
    newest = [frame.data.hex().upper() for frame in DRIVE][-len(page["events"]) :]
    assert [line.split("#")[1] for line in page["events"]] == newest


async def test_a_summary_that_does_not_fit_says_how_much_is_missing(tmp_path: Path) -> None:
    with opened(tmp_path, limits=Limits(response_bytes=2048)) as rig:
        file = rig.capture("drive.log", format_line(DRIVE[0]))
        envelope = await rig.call("decode", file=file, dbc="complex.dbc")
        whole = await rig.data("dbc_inspect", dbc="complex.dbc", message="DriveState")
    hidden = whole["messages"][0]["signal_count"] - len(envelope["data"]["signals"])
    assert hidden > 0
    assert any(warning.startswith(f"{hidden} more signals") for warning in envelope["warnings"])


async def test_rows_that_do_not_fit_are_told(narrow: Rig) -> None:
    await fed(narrow, ARMED, *DRIVE)
    recent = await narrow.call("bus_recent", interface=ARMED, limit=100)
    hidden = 100 - len(recent["data"]["events"])
    assert f"{hidden} older rows did not fit" in recent["warnings"][0]


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads take turns as often as they can: what may come between two looks does come."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("busy_threads")
async def test_a_history_that_is_written_while_it_is_read_loses_nothing_uncounted(
    narrow: Rig,
) -> None:
    """The ring holds 20 entries, a page fewer: much is overwritten, and all of it is counted."""
    cursor = (await narrow.data("bus_recent", interface=UNARMED))["next_cursor"]
    frames = [Frame(0x100, index.to_bytes(3, "big")) for index in range(40_000)]
    narrow.drivers[UNARMED].feed(*frames)  # its reader writes while the pages are read
    call = {"interface": UNARMED, "limit": 20, "decode": True, "dbc": "complex.dbc"}
    position = lost = 0
    with anyio.fail_after(20):
        while position < len(frames):
            page = await narrow.data("bus_recent", **call, cursor=cursor)
            shown = [int(row["frame"].split("#")[1], 16) for row in page["decoded"]]
            position += page["lost"]
            assert shown == list(range(position, position + len(shown)))
            position += len(shown)
            lost += page["lost"]
            cursor = page["next_cursor"]
    assert position == len(frames)
    assert lost > 0


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(min_value=0, max_value=400))
def test_a_page_is_the_longest_beginning_that_fits(rows: list[str], budget: int) -> None:
    kept = fitting(iter(rows), budget)
    assert kept == rows[: len(kept)]
    sizes = [len(json.dumps(row, ensure_ascii=False).encode()) + len(",") for row in rows]
    assert len(kept) <= 1 or sum(sizes[: len(kept)]) <= budget
    if len(kept) < len(rows):
        assert sum(sizes[: len(kept) + 1]) > budget
        assert kept
