"""A recorded drive on a bus, captured and decoded by a client: the values are cantools' own."""

from __future__ import annotations

import struct
from pathlib import Path

import anyio
import cantools
import pytest
from mcp import Client

from tests_integration.harness.sdk_client import relay
from tests_integration.harness.servers import service
from tests_integration.manifest import requirement
from tests_integration.test_sdk_clients import envelope

DATABASE = """VERSION ""
NS_ :
BS_:
BU_: VCU MOT
BO_ 474 MotorStatus: 8 MOT
 SG_ Voltage : 0|8@1+ (2,0) [0|510] "V" VCU
 SG_ Current : 18|11@0- (0.5,0) [-512|511.5] "A" VCU
 SG_ Speed : 39|16@0- (0.5,0) [-16384|16383.5] "rpm" VCU
BO_ 644 WheelSpeed: 8 VCU
 SG_ Left : 7|16@0+ (0.01,0) [0|655.35] "km/h" MOT
 SG_ Right : 23|16@0+ (0.01,0) [0|655.35] "km/h" MOT
 SG_ State : 32|2@1+ (1,0) [0|3] "" MOT
VAL_ 644 State 0 "off" 1 "rolling" 2 "locked" ;
"""


def drive() -> str:
    """Two hundred frames over two seconds, stamped like an old recording, looped by the service."""
    lines = []
    for step in range(100):
        stamp = 166.0 + step / 50
        motor = struct.pack(
            "<BBBBhBB", 150 + step % 50, 0, step % 32, 3 * step % 256, -50 * step, 0, 0
        )
        wheels = struct.pack(">HHBBBB", 100 * step, 99 * step, step % 3, 0, 0, 0)
        lines.append(f"({stamp:.6f}) can0 1DA#{motor.hex().upper()}")
        lines.append(f"({stamp + 0.001:.6f}) can0 284#{wheels.hex().upper()}")
    return "\n".join(lines) + "\n"


@requirement("service.live-decode", peer="service")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_captured_frames_decode_to_the_values_cantools_gives(
    workspace: Path, mode: str
) -> None:
    recording = workspace / "drive.log"
    recording.write_text(drive(), encoding="utf-8")
    (workspace / "databases" / "motor.dbc").write_text(DATABASE, encoding="utf-8")
    roots = ["--captures", str(workspace / "captures"), "--databases", str(workspace / "databases")]
    with service("--replay", str(recording), "--replay-loop", *roots) as server:
        with anyio.fail_after(60):
            async with Client(relay(server.url), mode=mode) as client:
                status = envelope(await client.call_tool("bus_status", {}))
                [bus] = [bus["name"] for bus in status["data"]["buses"]]
                capture = envelope(
                    await client.call_tool(
                        "capture",
                        {"interface": bus, "count": 60, "seconds": 15, "save_as": "live.log"},
                    )
                )
                decoded = envelope(
                    await client.call_tool(
                        "decode", {"file": "live.log", "dbc": "motor.dbc", "limit": 60}
                    )
                )
    assert capture["ok"], capture
    assert capture["data"]["frame_count"] == 60
    assert decoded["ok"], decoded
    database = cantools.database.load_string(DATABASE, database_format="dbc")
    assert isinstance(database, cantools.database.Database)
    rows = decoded["data"]["events"]
    assert len(rows) == 60
    for row in rows:
        identifier, payload = row["frame"].split()[2].split("#")
        expected = database.decode_message(
            int(identifier, 16), bytes.fromhex(payload), decode_choices=False
        )
        assert row["signals"] == expected
    saved = (workspace / "captures" / "live.log").read_text(encoding="utf-8").splitlines()
    assert [line.split()[2] for line in saved] == [row["frame"].split()[2] for row in rows]
