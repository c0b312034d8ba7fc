"""bus_status, bus_recent and capture on buses with drivers that do what the test says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from service.buses.bus import Bus
from service.errors import BusNotFoundError
from service.model.frame import Frame
from tests.service.tools.rig import ARMED, UNARMED, Rig


async def fed(rig: Rig, bus: str, *items: Frame | Exception) -> None:
    """Give frames to a bus' driver and wait until all of them are in the history."""
    target = rig.context.hub[bus]
    before = target.ring.next_sequence
    rig.drivers[bus].feed(*items)
    await _until_sequence(target, before + len(items))


async def _until_sequence(bus: Bus, sequence: int) -> None:
    with anyio.fail_after(5):
        while bus.ring.next_sequence < sequence:
            await anyio.lowlevel.checkpoint()


def numbered(count: int, start: int = 0) -> list[Frame]:
    return [Frame(0x100 + index % 3, bytes([index])) for index in range(start, start + count)]


def payloads(lines: list[str]) -> list[int]:
    return [int(line.split("#")[1][:2], 16) for line in lines]


async def test_every_bus_says_how_it_is(rig: Rig) -> None:
    await fed(rig, ARMED, *numbered(3))
    data = await rig.data("bus_status")
    bench, vehicle = data["buses"]
    assert (bench["name"], bench["state"], bench["armed"]) == (ARMED, "open", True)
    assert (bench["frames"], bench["next_sequence"]) == (3, 3)
    assert bench["databases"] == ["complex.dbc"]
    assert (vehicle["name"], vehicle["armed"]) == (UNARMED, False)
    one = await rig.data("bus_status", interface=UNARMED)
    assert [row["name"] for row in one["buses"]] == [UNARMED]
    assert await rig.code("bus_status", interface="nowhere") == BusNotFoundError.code


async def test_a_bus_in_trouble_is_a_warning(rig: Rig) -> None:
    await fed(rig, ARMED, Frame(0x40, bytes(8), is_error=True))
    envelope = await rig.call("bus_status", interface=ARMED)
    assert envelope["data"]["buses"][0]["controller"] == "bus-off"
    assert envelope["warnings"] == [f"bus '{ARMED}': the controller is bus-off"]


async def test_the_newest_frames_are_shown_and_reading_goes_on_without_a_hole(rig: Rig) -> None:
    await fed(rig, ARMED, *numbered(10))
    first = await rig.data("bus_recent", interface=ARMED, limit=4)
    assert payloads(first["events"]) == [6, 7, 8, 9]
    assert not first["more"]
    await fed(rig, ARMED, *numbered(6, start=10))
    second = await rig.data("bus_recent", interface=ARMED, limit=4, cursor=first["next_cursor"])
    assert payloads(second["events"]) == [10, 11, 12, 13]
    assert second["more"]
    third = await rig.data("bus_recent", interface=ARMED, limit=4, cursor=second["next_cursor"])
    assert payloads(third["events"]) == [14, 15]
    assert (third["lost"], third["more"]) == (0, False)
    nothing = await rig.data("bus_recent", interface=ARMED, cursor=third["next_cursor"])
    assert (nothing["events"], nothing["next_cursor"]) == ([], third["next_cursor"])


async def test_frames_overwritten_since_the_cursor_are_counted(rig: Rig) -> None:
    await fed(rig, UNARMED, *numbered(1))
    first = await rig.data("bus_recent", interface=UNARMED)
    await fed(rig, UNARMED, *numbered(30, start=1))  # the history holds 20
    envelope = await rig.call("bus_recent", interface=UNARMED, cursor=first["next_cursor"])
    data = envelope["data"]
    assert payloads(data["events"]) == list(range(11, 31))
    assert data["lost"] == 10
    assert envelope["warnings"] == ["10 entries were overwritten before this call could see them"]


async def test_a_window_of_seconds_begins_that_long_ago(rig: Rig) -> None:
    await fed(rig, ARMED, *numbered(2))
    rig.hub_clock.advance(10)
    await fed(rig, ARMED, *numbered(2, start=2))
    recent = await rig.data("bus_recent", interface=ARMED, seconds=5, limit=1)
    assert payloads(recent["events"]) == [2]
    rest = await rig.data("bus_recent", interface=ARMED, cursor=recent["next_cursor"])
    assert payloads(rest["events"]) == [3]
    everything = await rig.data("bus_recent", interface=ARMED, seconds=60)
    assert payloads(everything["events"]) == [0, 1, 2, 3]


async def test_an_expression_selects_and_gaps_stay_visible(rig: Rig) -> None:
    await fed(rig, ARMED, *numbered(3), OSError("unplugged"), *numbered(3, start=3))
    data = await rig.data("bus_recent", interface=ARMED, expression="id==0x100")
    assert payloads([line for line in data["events"] if not line.startswith("#")]) == [0, 3]
    [gap] = [line for line in data["events"] if line.startswith("# gap")]
    assert "unplugged" in gap
    assert (data["gaps"], data["matched"], data["examined"]) == (1, 2, 7)


async def test_the_latest_frame_of_each_id_has_count_and_rate(rig: Rig) -> None:
    for index in range(6):
        await fed(rig, ARMED, Frame(0x100, bytes([index])))
        rig.hub_clock.advance(0.5)
    await fed(rig, ARMED, Frame(0x100, b"\x77", is_extended=True))
    data = await rig.data("bus_recent", interface=ARMED, latest=True)
    standard, extended = data["latest"]
    assert standard["frame"].endswith("100#05")
    assert (standard["count"], standard["rate_hz"]) == (6, 2.0)
    assert extended["frame"].endswith("00000100#77")
    assert (extended["count"], extended["rate_hz"]) == (1, None)
    assert data["events"] == []
    fewer = await rig.call("bus_recent", interface=ARMED, latest=True, limit=1)
    assert len(fewer["data"]["latest"]) == 1
    assert fewer["warnings"] == ["1 more ids; raise 'limit' or use 'expression'"]


async def test_frames_are_decoded_with_the_buses_own_database_or_another(rig: Rig) -> None:
    await fed(rig, ARMED, Frame(0x100, bytes.fromhex("E803030000000000")), Frame(0x7FF))
    own = await rig.data("bus_recent", interface=ARMED, decode=True)
    drive, unknown = own["decoded"]
    assert (drive["message"], drive["labels"]) == ("DriveState", {"Gear": "Drive"})
    assert (unknown["message"], own["events"]) == (None, [])
    latest = await rig.data("bus_recent", interface=ARMED, latest=True, dbc="complex.dbc")
    assert latest["latest"][0]["decoded"]["signals"]["VehicleSpeed"] == 10.0
    code = await rig.code("bus_recent", interface=UNARMED, decode=True)
    assert code == "DBC_NOT_FOUND"


async def test_senseless_looks_back_are_refused(rig: Rig) -> None:
    assert await rig.code("bus_recent", interface="nowhere") == "BUS_NOT_FOUND"
    assert await rig.code("bus_recent", interface=ARMED, cursor="7") == "INVALID_CURSOR"
    assert await rig.code("bus_recent", interface=ARMED, seconds=0) == "INVALID_ARGUMENTS"
    assert await rig.code("bus_recent", interface=ARMED, limit=0) == "INVALID_ARGUMENTS"
    code = await rig.code("bus_recent", interface=ARMED, expression="id =")
    assert code == "INVALID_FILTER_EXPRESSION"


async def test_a_cursor_from_before_a_restart_is_refused(rig: Rig) -> None:
    await fed(rig, ARMED, *numbered(3))
    cursor = (await rig.data("bus_recent", interface=ARMED))["next_cursor"]
    ahead = "99" + cursor[cursor.index("-") :]
    assert await rig.code("bus_recent", interface=ARMED, cursor=ahead) == "INVALID_CURSOR"


async def captured(
    rig: Rig, items: Sequence[Frame | Exception], **arguments: object
) -> dict[str, Any]:
    """Call ``capture`` and feed the bus once it listens."""
    result: dict[str, Any] = {}

    async def call() -> None:
        result.update(await rig.call("capture", interface=ARMED, **arguments))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            while rig.context.hub[ARMED].status().subscribers == 0:
                await anyio.lowlevel.checkpoint()
            rig.drivers[ARMED].feed(*items)
    return result


async def test_a_capture_ends_at_its_count(rig: Rig) -> None:
    await fed(rig, ARMED, *numbered(5))  # from before: not part of it
    envelope = await captured(rig, numbered(20, start=100), count=10, seconds=5, limit=3)
    data = envelope["data"]
    assert (data["frame_count"], data["ended_by"], data["lost"]) == (10, "count", 0)
    assert payloads(data["events"]) == [100, 101, 102]
    assert {row["arbitration_id_hex"]: row["frames"] for row in data["ids"]} == {
        "0x101": 4,
        "0x100": 3,
        "0x102": 3,
    }
    assert rig.context.hub[ARMED].status().subscribers == 0


async def test_a_capture_ends_after_its_seconds_with_what_came(rig: Rig) -> None:
    envelope = await captured(rig, numbered(3), seconds=0.3)
    assert envelope["ok"]
    assert (envelope["data"]["frame_count"], envelope["data"]["ended_by"]) == (3, "seconds")


async def test_a_saved_capture_is_whole_and_readable_by_the_other_tools(rig: Rig) -> None:
    items: list[Frame | Exception] = [*numbered(4), OSError("unplugged"), *numbered(4, start=4)]
    envelope = await captured(rig, items, count=8, limit=1, save_as="night", seconds=5)
    data = envelope["data"]
    assert (data["file"], len(data["events"]), data["gaps"]) == ("night.candump", 1, 1)
    text = (rig.root / "captures/night.candump").read_text()
    assert "# gap" in text
    info = await rig.data("capture_info", file="night.candump")
    assert (info["frame_count"], info["skipped_lines"]) == (8, 0)
    assert await rig.code("capture", interface=ARMED, save_as="night") == "CAPTURE_EXISTS"
    assert await rig.code("capture", interface=ARMED, save_as="../x") == "INVALID_FILE_NAME"


async def test_a_capture_selects_and_decodes(rig: Rig) -> None:
    drive = Frame(0x100, bytes.fromhex("E803030000000000"))
    envelope = await captured(
        rig, [Frame(0x7FF), drive, drive], count=2, seconds=5, expression="id==0x100", decode=True
    )
    rows = envelope["data"]["decoded"]
    assert [row["message"] for row in rows] == ["DriveState", "DriveState"]
    assert envelope["data"]["events"] == []


@pytest.mark.parametrize(
    "arguments", [{"seconds": 20.1}, {"seconds": 0}, {"count": 0}, {"limit": 5000}]
)
async def test_a_capture_has_bounds(rig: Rig, arguments: dict[str, object]) -> None:
    assert await rig.code("capture", interface=ARMED, **arguments) == "INVALID_ARGUMENTS"


async def test_a_bus_that_closes_ends_the_capture_with_a_warning(rig: Rig) -> None:
    bus = rig.context.hub[ARMED]
    bus.stop()
    assert bus.join(5)
    envelope = await rig.call("capture", interface=ARMED, seconds=5)
    assert envelope["data"]["ended_by"] == "bus closed"
    assert envelope["warnings"] == [f"bus '{ARMED}' is closed: frames may be missing"]
    status = await rig.call("bus_status", interface=ARMED)
    assert status["warnings"] == [f"bus '{ARMED}' is closed"]


async def test_an_option_like_bus_name_is_just_no_bus(rig: Rig) -> None:
    assert await rig.code("capture", interface="-h") == "BUS_NOT_FOUND"
