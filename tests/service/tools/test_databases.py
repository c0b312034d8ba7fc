"""decode, encode and dbc_inspect, called as a client calls them."""

from __future__ import annotations

import json

import pytest

from tests.service.decode.samples import OVERLAP, dbc
from tests.service.tools.rig import Rig

DRIVE = [
    "(0.000000) can0 100#E803030000000000",
    "(0.100000) can0 100#D007020000000000",
    "(0.200000) can0 555#11",
    "(0.300000) can0 100#E803000000000000",
]


async def test_a_capture_is_decoded_summary_first(rig: Rig) -> None:
    data = await rig.data("decode", file=rig.capture("d.log", *DRIVE), dbc="complex.dbc")
    assert (data["decoded_frames"], data["matched_messages"]) == (4, 3)
    assert data["messages"] == [{"message": "DriveState", "frames": 3}]
    assert data["unmatched_ids"] == [{"arbitration_id_hex": "0x555", "frames": 1}]
    [speed] = [row for row in data["signals"] if row["signal"] == "VehicleSpeed"]
    assert speed == {
        "message": "DriveState",
        "signal": "VehicleSpeed",
        "unit": "km/h",
        "count": 3,
        "min": 10.0,
        "max": 20.0,
        "last": 10.0,
        "label": None,
    }
    first = data["events"][0]
    assert first["frame"] == DRIVE[0]
    assert (first["message"], first["signals"]["Gear"]) == ("DriveState", 3)
    assert first["labels"] == {"Gear": "Drive"}


async def test_rows_are_paged_and_signals_chosen(rig: Rig) -> None:
    call = {
        "file": rig.capture("d.log", *DRIVE),
        "dbc": "complex.dbc",
        "signals": ["Gear", "DriveState.Counter"],
        "limit": 2,
    }
    first = await rig.data("decode", **call)
    assert [row["signals"] for row in first["events"]] == [
        {"Gear": 3, "Counter": 0},
        {"Gear": 2, "Counter": 0},
    ]
    assert [row["signal"] for row in first["signals"]] == ["Counter", "Gear"]
    rest = await rig.data("decode", **call, cursor=first["next_cursor"])
    assert [row["labels"] for row in rest["events"]] == [{"Gear": "Park"}]
    assert rest["next_cursor"] is None
    unknown = call | {"signals": ["Gaer"]}
    assert await rig.code("decode", **unknown) == "DBC_SIGNAL_INVALID"


async def test_no_frame_can_stop_a_decode(rig: Rig) -> None:
    file = rig.capture(
        "odd.log",
        "(0.0) can0 100#R8",
        "(0.1) can0 20000004#0004000000000000",
        "(0.2) can0 100#E803",
        "(0.3) can0 200#0511223344500000",
        "(0.4) can0 300#0000C07F000080FF",
        DRIVE[0],
    )
    envelope = await rig.call("decode", file=file, dbc="complex.dbc")
    assert envelope["ok"]
    data = envelope["data"]
    assert (data["skipped_frames"], data["matched_messages"]) == (2, 4)
    short, unknown, nan, whole = data["events"]
    assert short["signals"] == {"VehicleSpeed": 10.0}
    assert short["notes"] == ["truncated: 2 of 8 bytes"]
    assert unknown["signals"] == {"Page": 5, "PackCharge": 40.0}
    assert nan["signals"] == {"Latitude": None, "Longitude": None}
    assert whole["signals"]["VehicleSpeed"] == 10.0
    assert any("Latitude is nan (1 frames)" in warning for warning in envelope["warnings"])
    json.dumps(envelope, allow_nan=False)


async def test_an_extended_frame_is_not_decoded_as_a_standard_one(rig: Rig) -> None:
    file = rig.capture("e.log", "(0.0) can0 00000555#1122334455667788", DRIVE[0])
    database = rig.database("s.dbc", dbc("BO_ 1365 M: 8 Node"))
    data = await rig.data("decode", file=file, dbc=database)
    assert (data["matched_messages"], data["unmatched_frames"]) == (0, 2)


async def test_j1939_frames_are_matched_by_group(rig: Rig) -> None:
    data = await rig.data("decode", file="sample.candump", dbc="truck.dbc")
    assert {row["message"] for row in data["messages"]} == {"CCVS1", "EEC1", "ET1"}
    assert data["matched_by_pgn"] >= 2
    assert "matched by PGN 65262 from source address 0x31" in data["events"][0]["notes"]


async def test_overlapping_and_duplicate_definitions_are_warnings(rig: Rig) -> None:
    file = rig.capture("o.log", "(0.0) can0 064#ABCDEFFEFF123400")
    rig.database("overlap.dbc", OVERLAP)
    envelope = await rig.call("decode", file=file, dbc="overlap.dbc")
    assert envelope["ok"]
    assert "overlapping" in envelope["warnings"][0]
    assert envelope["data"]["events"][0]["signals"]["Signed"] == -1.0
    rig.database("dup.dbc", dbc("BO_ 100 A: 8 Node", "", "BO_ 100 B: 8 Node"))
    envelope = await rig.call("dbc_inspect", dbc="dup.dbc")
    assert "'A' and 'B' have the same identifier" in envelope["warnings"][0]


async def test_databases_that_are_not_there_or_broken_have_codes(rig: Rig) -> None:
    rig.database("broken.dbc", "nonsense")
    assert await rig.code("dbc_inspect", dbc="complx.dbc") == "DBC_NOT_FOUND"
    assert await rig.code("dbc_inspect", dbc="broken.dbc") == "DBC_LOAD_FAILED"
    assert await rig.code("dbc_inspect", dbc="../x.dbc") == "PATH_OUTSIDE_ROOTS"
    assert await rig.code("encode", dbc="-", message="M") == "STDIN_MCP_EXCLUDED"


async def test_a_frame_is_made_from_signals(rig: Rig) -> None:
    envelope = await rig.call(
        "encode", dbc="complex.dbc", message="DriveState", signals=["Gear=Drive", "Counter=10"]
    )
    data = envelope["data"]
    assert data["frame"] == "100#000003000000000A"
    assert (data["frame_id"], data["is_extended_id"], data["data"]) == (
        "0x100",
        False,
        "000003000000000A",
    )
    assert data["signals"]["Gear"] == 3
    assert {"signal": "Checksum", "value": 0} in data["filled_signals"]
    assert "Checksum" in envelope["warnings"][0]


async def test_an_fd_frame_is_made(rig: Rig) -> None:
    data = await rig.data(
        "encode", dbc="complex.dbc", message="Identity", signals=["HardwareRevision=7"]
    )
    assert data["is_fd"]
    assert data["frame"] == "00000400##4" + "00" * 8 + "07" + "00" * 7


@pytest.mark.parametrize(
    ("message", "signals", "code"),
    [
        ("Nothing", [], "DBC_MESSAGE_NOT_FOUND"),
        ("DriveState", ["Nothing=1"], "DBC_SIGNAL_INVALID"),
        ("DriveState", ["VehicleSpeed=999"], "DBC_SIGNAL_INVALID"),
        ("DriveState", ["--crc-algorithm=x"], "DBC_SIGNAL_INVALID"),
        ("DriveState", ["VehicleSpeed"], "INVALID_SIGNAL_ASSIGNMENT"),
    ],
)
async def test_what_cannot_be_encoded_is_refused(
    rig: Rig, message: str, signals: list[str], code: str
) -> None:
    assert await rig.code("encode", dbc="complex.dbc", message=message, signals=signals) == code


async def test_the_messages_of_a_database_are_listed(rig: Rig) -> None:
    data = await rig.data("dbc_inspect", dbc="complex.dbc")
    assert data["database"]["message_count"] == 5
    assert data["database"]["signal_count"] == 20
    assert [each["name"] for each in data["messages"]][:2] == ["DriveState", "CellReport"]
    assert data["messages"][0]["cycle_time_ms"] == 10
    assert data["signals"] == []


async def test_one_message_has_its_signals_and_a_drawing(rig: Rig) -> None:
    data = await rig.data("dbc_inspect", dbc="complex.dbc", message="drivestate", layout=True)
    [message] = data["messages"]
    assert len(message["layout"].encode()) > 1024
    gear = next(each for each in data["signals"] if each["name"] == "Gear")
    assert gear["choices"]["3"] == "Drive"
    assert gear["comment"] == "The gear that is engaged."
    assert await rig.code("dbc_inspect", dbc="complex.dbc", message="X") == "DBC_MESSAGE_NOT_FOUND"


@pytest.mark.parametrize(
    ("search", "messages", "signals"),
    [
        ("cellvolt", ["CellReport"], ["CellVoltage1", "CellVoltage2"]),
        ("^(L|l)", ["Position"], ["Latitude", "Longitude"]),
        ("speedgroup", ["SpeedGroup"], ["WheelSpeed"]),
        ("(", [], []),
        ("(a+)+$x", [], []),
        ("nothing like it", [], []),
    ],
)
async def test_names_are_searched_by_text_or_regular_expression(
    rig: Rig, search: str, messages: list[str], signals: list[str]
) -> None:
    data = await rig.data("dbc_inspect", dbc="complex.dbc", search=search)
    assert [each["name"] for each in data["messages"]] == messages
    assert sorted(each["name"] for each in data["signals"]) == signals


async def test_signals_alone_are_paged(rig: Rig) -> None:
    names = []
    cursor = None
    for _ in range(3):
        data = await rig.data(
            "dbc_inspect", dbc="complex.dbc", signals_only=True, limit=8, cursor=cursor
        )
        assert (data["messages"], data["found"]) == ([], 20)
        names += [each["name"] for each in data["signals"]]
        cursor = data["next_cursor"]
    assert cursor is None
    assert len(set(names)) == 20


async def test_every_message_of_the_fixture_can_be_drawn(rig: Rig) -> None:
    data = await rig.data("dbc_inspect", dbc="complex.dbc", layout=True)
    assert all(each["layout"] and each["signal_tree"] for each in data["messages"])
