"""send: what it takes, what it refuses, and that only an armed bus ever sees a frame."""

from __future__ import annotations

import pytest

from service.model.frame import Frame
from tests.service.tools.rig import ARMED, UNARMED, Rig

CALL: dict[str, object] = {
    "interface": ARMED,
    "frame_id": "0x123",
    "data": "1122",
    "ack_active": True,
}


async def test_a_dry_run_is_the_default_and_sends_nothing(rig: Rig) -> None:
    envelope = await rig.call("send", **CALL)
    data = envelope["data"]
    assert (data["frame"], data["frame_id"], data["mode"]) == ("123#1122", "0x123", "dry_run")
    assert (data["armed"], data["refusal"], data["sent_at"]) == (True, None, None)
    assert envelope["warnings"][0].startswith("ACTIVE_TRANSMIT_DRY_RUN")
    assert rig.drivers[ARMED].sent == []


async def test_a_dry_run_says_what_the_gate_would(rig: Rig) -> None:
    data = await rig.data("send", **CALL | {"interface": UNARMED})
    assert not data["armed"]
    assert data["refusal"]["code"] == "TRANSMIT_NOT_ARMED"
    fd = await rig.data("send", **CALL, fd=True)
    assert fd["refusal"]["code"] == "BUS_NOT_FD"


async def test_an_armed_bus_carries_the_frame(rig: Rig) -> None:
    data = await rig.data("send", **CALL, dry_run=False)
    assert rig.drivers[ARMED].sent == [Frame(0x123, b"\x11\x22")]
    assert (data["mode"], data["sent_at"]) == ("active", rig.hub_clock.now())
    assert data["audit_id"]
    recent = await rig.data("bus_recent", interface=ARMED)
    assert recent["events"][0].endswith("123#1122 T")


@pytest.mark.parametrize("interface", [ARMED, UNARMED])
async def test_without_acknowledgement_nothing_happens(rig: Rig, interface: str) -> None:
    for dry_run in (True, False):
        call = CALL | {"interface": interface, "ack_active": False, "dry_run": dry_run}
        assert await rig.code("send", **call) == "ACTIVE_TRANSMIT_REQUIRES_ACK"
    assert rig.drivers[interface].sent == []


async def test_an_acknowledgement_arms_no_bus(rig: Rig) -> None:
    call = CALL | {"interface": UNARMED, "dry_run": False}
    assert await rig.code("send", **call) == "TRANSMIT_NOT_ARMED"
    assert rig.drivers[UNARMED].sent == []


async def test_the_acknowledgement_is_a_required_argument(rig: Rig) -> None:
    call = {key: value for key, value in CALL.items() if key != "ack_active"}
    assert await rig.code("send", **call) == "INVALID_ARGUMENTS"


@pytest.mark.parametrize(
    ("frame_id", "extended", "frame"),
    [
        ("0x123", None, "123#1122"),
        ("291", None, "123#1122"),
        ("0x7FF", None, "7FF#1122"),
        ("0x800", None, "00000800#1122"),
        ("2048", None, "00000800#1122"),
        ("0x0123", None, "00000123#1122"),
        ("0x18FEEE31", None, "18FEEE31#1122"),
        ("0x123", True, "00000123#1122"),
        ("0x0123", False, "123#1122"),
    ],
)
async def test_the_identifiers_type_follows_from_its_value_and_digits(
    rig: Rig, frame_id: str, extended: bool | None, frame: str
) -> None:
    data = await rig.data("send", **CALL | {"frame_id": frame_id, "extended": extended})
    assert data["frame"] == frame
    assert data["is_extended_id"] == (len(frame.split("#")[0]) == 8)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"frame_id": "18FEEE31"}, "INVALID_FRAME_ID"),
        ({"frame_id": "0123"}, "INVALID_FRAME_ID"),
        ({"frame_id": "--help"}, "INVALID_FRAME_ID"),
        ({"frame_id": "-1"}, "INVALID_FRAME_ID"),
        ({"frame_id": ""}, "INVALID_FRAME_ID"),
        ({"frame_id": "0x20000000"}, "INVALID_FRAME_ID"),
        ({"frame_id": "0x800", "extended": False}, "INVALID_FRAME_ID"),
        ({"data": "112"}, "INVALID_FRAME_DATA"),
        ({"data": "zz"}, "INVALID_FRAME_DATA"),
        ({"data": "11" * 9}, "INVALID_FRAME"),
        ({"data": "11" * 9, "fd": True}, "INVALID_FRAME"),
        ({"interface": "nowhere"}, "BUS_NOT_FOUND"),
        ({"dry_run": False, "fd": True}, "BUS_NOT_FD"),
    ],
)
async def test_what_makes_no_frame_is_refused(
    rig: Rig, changes: dict[str, object], code: str
) -> None:
    assert await rig.code("send", **CALL | changes) == code
    assert rig.drivers[ARMED].sent == []


@pytest.mark.parametrize("data", ["11 22 33", "11.22.33", "11:22:33", "0x112233", "112233"])
async def test_pasted_payloads_are_read(rig: Rig, data: str) -> None:
    sent = await rig.data("send", **CALL | {"data": data})
    assert sent["data"] == "112233"


async def test_a_forgotten_hex_prefix_is_suggested(rig: Rig) -> None:
    envelope = await rig.call("send", **CALL | {"frame_id": "18FEEE31"})
    assert envelope["errors"][0]["hint"] == "For hex write '0x18FEEE31'."


async def test_an_fd_frame_is_planned(rig: Rig) -> None:
    sent = await rig.data("send", **CALL | {"data": "11" * 12, "bitrate_switch": True})
    assert sent["frame"] == "123##5" + "11" * 12


async def test_a_driver_that_fails_is_an_error_of_the_call(rig: Rig) -> None:
    rig.drivers[ARMED].send_errors.append(OSError(105, "No buffer space available"))
    assert await rig.code("send", **CALL, dry_run=False) == "BUS_SEND_FAILED"
