"""What the agent of the demonstration does, call by call."""

from __future__ import annotations

from typing import Any

import anyio
from mcp import Client

from demo.programs import ProgramError
from demo.screen import Screen
from service.rig.checksum import checksum

LIVE_SECONDS = 4
LIVE_RATE_HZ = 4
CAPTURE = "drive.log"

Envelope = dict[str, Any]
Data = dict[str, Any]


async def call(client: Client, tool: str, **arguments: object) -> Envelope:
    """A tool's envelope, whether the call went well or not."""
    result = await client.call_tool(tool, arguments)
    if not isinstance(result.structured_content, dict):
        raise ProgramError(f"{tool} {arguments}: {result.content}")
    return result.structured_content


async def data_of(client: Client, tool: str, **arguments: object) -> Data:
    """A tool's data; ProgramError if the call failed."""
    envelope = await call(client, tool, **arguments)
    if not envelope["ok"]:
        raise ProgramError(f"{tool} {arguments}: {envelope['errors']}")
    data: Data = envelope["data"]
    return data


async def play(client: Client, screen: Screen) -> None:
    await look_around(client, screen)
    await watch_live(client, screen)
    await transmit(client, screen)
    await capture_and_analyse(client, screen)


async def look_around(client: Client, screen: Screen) -> None:
    listed = (await client.list_tools()).tools
    if server := client.server_info:
        screen.say(f"connected to {server.name} {server.version} at {client.protocol_version}")
    screen.tools(listed)
    screen.step("bus_status: how is the rig?")
    screen.buses((await data_of(client, "bus_status"))["buses"])


async def watch_live(client: Client, screen: Screen) -> None:
    screen.step(f"bus_recent: the powertrain live and decoded, {LIVE_SECONDS} s")
    with screen.live() as show:
        for _ in range(LIVE_SECONDS * LIVE_RATE_HZ):
            recent = await data_of(
                client, "bus_recent", interface="powertrain", latest=True, decode=True
            )
            show(recent["latest"])
            await anyio.sleep(1 / LIVE_RATE_HZ)


async def transmit(client: Client, screen: Screen) -> None:
    screen.step("send: switch the headlamps to high beam")
    frame = await headlamp_command(client)
    request = {"frame_id": frame["frame_id"], "data": frame["data"], "ack_active": True}
    screen.say(f"encode made {frame['frame']} from BodyCommand")

    refused = await call(client, "send", interface="truck", dry_run=False, **request)
    if refused["ok"]:
        raise ProgramError("an unarmed bus let a frame through")
    screen.refused("on 'truck', which its operator did not arm", refused["errors"][0])

    planned = await data_of(client, "send", interface="powertrain", **request)
    screen.say(f"dry run on 'powertrain': {planned['frame']} planned, nothing sent")

    before = await headlamps(client)
    sent = await data_of(client, "send", interface="powertrain", dry_run=False, **request)
    screen.allowed(f"on 'powertrain': {sent['frame']} sent, audit record {sent['audit_id']}")
    after = await headlamps(client, until="High")
    screen.say(f"the body ECU answers on the bus: headlamps {before} -> {after}")


async def headlamp_command(client: Client) -> Data:
    """A BodyCommand whose counter and checksum the body accepts, as its database describes."""
    signals = ["HeadlampRequest=High", "HazardRequest=NoChange", "AliveCounter=1"]
    encoding = {"dbc": "powertrain.dbc", "message": "BodyCommand"}
    draft = await data_of(client, "encode", signals=signals, **encoding)
    check = checksum(int(draft["frame_id"], 16), bytes.fromhex(draft["data"]))
    return await data_of(client, "encode", signals=[*signals, f"Checksum={check}"], **encoding)


async def headlamps(client: Client, until: str | None = None) -> str:
    """The body's headlamp state; with ``until``, once it is that, asked for two seconds at most."""
    state = "unknown"
    for _ in range(20):
        recent = await data_of(
            client,
            "bus_recent",
            interface="powertrain",
            latest=True,
            decode=True,
            expression="id == 0x2F1",
        )
        for row in recent["latest"]:
            state = row["decoded"]["labels"]["Headlamps"]
        if until in (None, state):
            return state
        await anyio.sleep(0.1)
    raise ProgramError(f"the headlamps are {state}, not {until}")


async def capture_and_analyse(client: Client, screen: Screen) -> None:
    screen.step("capture: two seconds of the powertrain, saved and analysed")
    captured = await data_of(
        client, "capture", interface="powertrain", seconds=2, save_as=CAPTURE, limit=3
    )
    screen.say(
        f"{captured['frame_count']} frames of {captured['unique_ids']} ids"
        f" in {captured['duration_seconds']:.1f} s, {captured['lost']} lost,"
        f" saved as '{captured['file']}'"
    )
    screen.frames(captured["events"])
    screen.statistics(await data_of(client, "stats", file=CAPTURE, top=5))
    screen.signals(await data_of(client, "decode", file=CAPTURE, dbc="powertrain.dbc", limit=1))
