"""The rig on real virtual buses: runs beside the hub, survives faults, stops in time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import pytest

from service.buses.clock import SystemClock
from service.buses.fake import FakeClock, FakeNode
from service.buses.hub import Hub
from service.errors import ReplayFileError
from service.model.bus_config import BusConfig
from service.model.caller import LOCAL
from service.model.frame import Frame
from service.rig.checksum import checksum
from service.rig.rig import Rig
from service.rig.source import RETRY_SECONDS, Runner
from service.safety.audit import Audit
from service.safety.gate import Gate, TransmitRequest


@contextmanager
def running(buses: dict[str, BusConfig]) -> Iterator[tuple[Hub, Rig]]:
    hub = Hub(buses)
    rig = Rig(buses, hub)
    hub.open()
    try:
        rig.start()
        yield hub, rig
    finally:
        rig.stop()
        hub.close()


async def test_a_permitted_command_visibly_switches_the_lights_on() -> None:
    buses = {"car": BusConfig(channel="tests.rig.car", simulate="powertrain", armed=True)}
    data = bytes([0b0010, 0, 0, 0, 0, 0, 1])
    frame = Frame(0x2F0, data + bytes([checksum(0x2F0, data)]))
    with running(buses) as (hub, rig), closing(Audit()) as audit:
        with hub["car"].subscribe() as entries:
            permit = Gate(["car"], audit).permit(
                TransmitRequest("car", (frame,), LOCAL, "test", ack_active=True)
            )
            hub["car"].send(permit)
            echo = await entries.wait_for(lambda each: each.arbitration_id == 0x2F0, 5)
            assert echo.is_tx
            status = await entries.wait_for(
                lambda each: each.arbitration_id == 0x2F1 and each.data[0] & 3 == 2, 5
            )
        assert not status.is_tx
        assert "simulated rig 'powertrain'" in str(hub["car"].status().source)
        assert rig.describe().keys() == {"car"}


async def test_a_replay_reaches_its_bus_and_only_that(tmp_path: Path) -> None:
    path = tmp_path / "drive.log"
    path.write_text("(1.0) a 123#01\n(1.001) b 124#02\n", encoding="utf-8")
    buses = {
        "log": BusConfig(channel="tests.rig.log", replay=str(path), replay_loop=True),
        "silent": BusConfig(channel="tests.rig.silent"),
    }
    with running(buses) as (hub, _):
        with hub["log"].subscribe() as entries, anyio.fail_after(5):
            found = [(await anext(entries)).frame for _ in range(6)]
        assert {frame.arbitration_id for frame in found if frame} == {0x123, 0x124}
        assert {frame.channel for frame in found if frame} == {"log"}
        assert hub["silent"].status().frames == 0
        assert hub["silent"].status().source is None
        assert str(hub["log"].status().source).startswith("replay of drive.log")


def test_a_recording_that_is_missing_is_told_at_the_start_and_nothing_runs() -> None:
    nodes: list[FakeNode] = []

    def make_node(channel: str) -> FakeNode:
        nodes.append(FakeNode())
        return nodes[-1]

    buses = {"car": BusConfig(simulate="truck"), "log": BusConfig(replay="/nowhere.log")}
    rig = Rig(buses, make_node=make_node)
    with pytest.raises(ReplayFileError, match="nowhere"):
        rig.start()
    assert nodes
    assert all(node.closed for node in nodes)
    assert rig.describe() == {}
    rig.stop()


class Faulty:
    """A source that fails once, then goes on and ends."""

    def __init__(self) -> None:
        self.steps = 0
        self.closed = threading.Event()
        self.seen: list[str] = []
        self.runner: Runner | None = None

    def step(self, now: float) -> float | None:
        self.steps += 1
        if self.runner is not None:
            self.seen.append(self.runner.describe())
        if self.steps == 1:
            raise RuntimeError("broken")
        return now + 0.25 if self.steps < 4 else None

    def describe(self) -> str:
        return "faulty"

    def close(self) -> None:
        self.closed.set()


@pytest.mark.filterwarnings("error")
def test_a_fault_of_a_source_is_seen_and_its_traffic_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source, clock = Faulty(), FakeClock()
    runner = source.runner = Runner(source, "faulty", clock)
    runner.start()
    assert source.closed.wait(5)
    runner.stop()
    assert source.seen == [
        "faulty",
        "faulty (failed, tried again: RuntimeError('broken'))",
        "faulty",
        "faulty",
    ]
    assert sum(clock.waits) == pytest.approx(RETRY_SECONDS / 2 + 2 * 0.25)
    assert "broken" in caplog.text


def test_a_runner_that_never_started_stops() -> None:
    Runner(Faulty(), "idle", SystemClock()).stop()
