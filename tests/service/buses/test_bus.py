"""A bus: survives its driver, tells what it knows, loses nothing in silence."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import anyio
import pytest

from service.buses.bus import Bus
from service.buses.fake import FakeAdapter, FakeClock, FakeDriver
from service.buses.hub import Hub
from service.buses.ring import Entry
from service.errors import (
    BusNotFdError,
    BusNotFoundError,
    BusNotOpenError,
    BusOffError,
    BusOpenError,
    BusSendError,
    PermitForeignError,
    PermitUsedError,
)
from service.model.bus_config import BusConfig
from service.model.caller import LOCAL
from service.model.frame import Frame, InvalidFrameError
from service.safety.audit import Audit
from service.safety.gate import Gate, TransmitRequest
from service.safety.permit import Permit

BUS_OFF = Frame(0x40, bytes(8), is_error=True)
RESTARTED = Frame(0x100, bytes(8), is_error=True)


@contextmanager
def running(
    driver: FakeDriver, *, config: BusConfig | None = None, clock: FakeClock | None = None
) -> Iterator[Bus]:
    bus = Bus("can0", config or BusConfig(bitrate=500_000), opener=driver, clock=clock)
    bus.start()
    try:
        yield bus
    finally:
        bus.stop()
        assert bus.join(5)


def permit(clock: FakeClock, *frames: Frame, bus: str = "can0") -> Permit:
    with closing(Audit()) as audit:
        gate = Gate([bus], audit, clock=clock.monotonic)
        return gate.permit(TransmitRequest(bus, frames, LOCAL, "test", ack_active=True))


async def test_frames_reach_history_and_subscribers_with_the_name_of_the_bus() -> None:
    driver, clock = FakeDriver(), FakeClock()
    with running(driver, clock=clock) as bus, bus.subscribe() as entries:
        driver.feed(Frame(1, b"a", clock.now(), "can0"), Frame(2, timestamp=clock.now()))
        with anyio.fail_after(5):
            first, second = await anext(entries), await anext(entries)
        assert (first.sequence, second.sequence) == (0, 1)
        assert first.frame == Frame(1, b"a", clock.now(), "can0")
        assert bus.ring.since(0, 10).entries == (first, second)
        status = bus.status()
        assert (status.state, status.frames, status.clock) == ("open", 2, "adapter")
        assert (status.first_sequence, status.next_sequence, status.overwritten) == (0, 2, 0)
        clock.advance(1)
        assert bus.status().frames_per_second == pytest.approx(2)
        assert bus.status().load == pytest.approx((47 + 8 + 47) / 500_000)
        assert bus.status().last_frame_age == pytest.approx(1)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENETDOWN, "down"), RuntimeError("driver"), KeyError("x")]
)
async def test_a_reader_whose_driver_raises_marks_a_gap_and_goes_on(error: Exception) -> None:
    driver, clock = FakeDriver(), FakeClock()
    with running(driver, clock=clock) as bus, bus.subscribe() as entries:
        driver.feed(Frame(1), error, Frame(2))
        with anyio.fail_after(5):
            before, gap, after = [await anext(entries) for _ in range(3)]
        assert before.frame
        assert gap.gap
        assert repr(error) in gap.gap.reason
        assert after.frame
        assert [each.sequence for each in (before, gap, after)] == [0, 1, 2]
        status = bus.status()
        assert status.state == "open"
        assert (status.errors, status.gaps, status.frames) == (1, 1, 2)
        assert status.last_error == repr(error)
        assert status.last_error_at is not None
        assert driver.adapters[0].closed
        assert len(driver.adapters) == 2


async def test_reopening_backs_off_is_one_gap_and_starts_over_after_success() -> None:
    driver, clock = FakeDriver(), FakeClock()
    with running(driver, clock=clock) as bus, bus.subscribe() as entries:
        driver.open_errors = [BusOpenError("no such device") for _ in range(8)]
        driver.feed(OSError("gone"), Frame(1), OSError("again"), Frame(2))
        with anyio.fail_after(5):
            items = [await anext(entries) for _ in range(4)]
        assert [entry.gap is not None for entry in items] == [True, False, True, False]
        assert clock.waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5, 0.1])
        assert bus.status().gaps == 2
        assert bus.status().errors == 10


def test_a_bus_that_cannot_be_opened_says_so_and_disturbs_no_other() -> None:
    def opener(name: str, config: BusConfig) -> object:
        if name == "bad":
            raise BusOpenError("socketcan channel 'can7': no such device")
        return FakeDriver()(name, config)

    hub = Hub({"bad": BusConfig(), "good": BusConfig()}, opener=opener)  # type: ignore[arg-type]
    hub.open()
    try:
        assert hub["good"].wait_until("open", 5)
        bad = hub["bad"].status()
        assert (bad.state, bad.gaps) == ("reopening", 0)
        assert bad.last_error == "socketcan channel 'can7': no such device"
    finally:
        hub.close()
    assert [bus.status().state for bus in hub] == ["closed", "closed"]


async def test_one_raising_driver_leaves_the_other_bus_alone() -> None:
    drivers = {"a": FakeDriver(), "b": FakeDriver()}
    hub = Hub(
        {"a": BusConfig(), "b": BusConfig()},
        opener=lambda name, config: drivers[name](name, config),
        clock=FakeClock(),
    )
    hub.open()
    try:
        with hub["a"].subscribe() as from_a, hub["b"].subscribe() as from_b:
            drivers["a"].feed(RuntimeError("broken"), Frame(1))
            drivers["b"].feed(Frame(2), Frame(3))
            with anyio.fail_after(5):
                assert [(await anext(from_a)).gap is None for _ in range(2)] == [False, True]
                assert [(await anext(from_b)).gap is None for _ in range(2)] == [True, True]
        assert hub["b"].status().errors == 0
    finally:
        hub.close()


async def test_something_that_is_no_frame_leaves_a_gap_without_reopening() -> None:
    driver = FakeDriver()
    with running(driver) as bus, bus.subscribe() as entries:
        driver.feed(InvalidFrameError("9 bytes"), Frame(1))
        with anyio.fail_after(5):
            gap, frame = await anext(entries), await anext(entries)
        assert gap.gap
        assert "9 bytes" in gap.gap.reason
        assert frame.frame
        assert len(driver.adapters) == 1


async def test_a_slow_subscriber_loses_its_oldest_entries_and_knows_how_many() -> None:
    driver = FakeDriver()
    with running(driver) as bus, bus.subscribe(capacity=3) as slow, bus.subscribe() as quick:
        driver.feed(*(Frame(number) for number in range(10)))
        with anyio.fail_after(5):
            assert [(await anext(quick)).sequence for _ in range(10)] == list(range(10))
            assert [(await anext(slow)).sequence for _ in range(3)] == [7, 8, 9]
        assert (slow.dropped, quick.dropped, bus.status().dropped) == (7, 0, 7)
        assert bus.status().subscribers == 2
    assert bus.status().subscribers == 0


async def test_a_subscriber_that_raises_harms_nobody_else() -> None:
    driver = FakeDriver()

    def broken(frame: Frame) -> bool:
        raise LookupError("unknown multiplexer")

    with running(driver) as bus, bus.subscribe() as good:
        with bus.subscribe() as bad:
            driver.feed(Frame(1), Frame(2))
            with anyio.fail_after(5), pytest.raises(LookupError):
                await bad.wait_for(broken, 5)
        with anyio.fail_after(5):
            assert [(await anext(good)).sequence for _ in range(2)] == [0, 1]


async def test_wait_for_gives_the_first_frame_that_matches_or_times_out() -> None:
    driver = FakeDriver()
    with running(driver) as bus, bus.subscribe() as entries:
        driver.feed(Frame(1), RuntimeError("gap between"), Frame(2), Frame(3))
        found = await entries.wait_for(lambda frame: frame.arbitration_id > 1, 5)
        assert found.arbitration_id == 2
        with pytest.raises(TimeoutError):
            await entries.wait_for(lambda frame: frame.arbitration_id == 9, 0.01)


async def test_closing_a_bus_ends_its_subscriptions() -> None:
    driver = FakeDriver()
    with running(driver) as bus:
        assert bus.wait_until("open", 5)
        entries, waiting = bus.subscribe(), bus.subscribe()
    with anyio.fail_after(5):
        assert [entry async for entry in entries] == []
        with pytest.raises(BusNotOpenError):
            await waiting.wait_for(lambda frame: True, 5)
        assert [entry async for entry in bus.subscribe()] == []


def test_a_subscription_whose_loop_is_gone_does_not_stop_the_reader() -> None:
    driver = FakeDriver()
    with running(driver) as bus:

        async def forget() -> None:
            bus.subscribe()

        anyio.run(forget)

        async def listen() -> Entry:
            with bus.subscribe() as entries, anyio.fail_after(5):
                driver.feed(Frame(1))
                return await anext(entries)

        assert anyio.run(listen).frame


async def test_error_frames_tell_the_controllers_state() -> None:
    driver, clock = FakeDriver(), FakeClock()
    with running(driver, clock=clock) as bus, bus.subscribe() as entries:
        presumed = bus.status()
        assert (presumed.controller, presumed.controller_since) == ("error-active", None)
        driver.feed(Frame(0x4, b"\0\x30" + bytes(6), is_error=True), BUS_OFF, BUS_OFF)
        with anyio.fail_after(5):
            for _ in range(3):
                await anext(entries)
        status = bus.status()
        assert (status.controller, status.bus_off_count) == ("bus-off", 1)
        assert status.controller_since == clock.now()
        assert (status.frames, status.error_frames) == (0, 3)
        assert status.last_error_frame == "bus-off"
        driver.feed(RESTARTED)
        with anyio.fail_after(5):
            await anext(entries)
        assert bus.status().controller == "error-active"


async def test_hearing_another_node_shows_that_bus_off_is_over() -> None:
    driver = FakeDriver()
    with running(driver) as bus, bus.subscribe() as entries:
        driver.feed(BUS_OFF, Frame(1, is_tx=True))
        with anyio.fail_after(5):
            await anext(entries), await anext(entries)
        assert bus.status().controller == "bus-off"
        driver.feed(Frame(1))
        with anyio.fail_after(5):
            await anext(entries)
        assert bus.status().controller == "error-active"


async def test_an_overflow_of_the_controller_is_a_gap() -> None:
    driver = FakeDriver()
    with running(driver) as bus, bus.subscribe() as entries:
        driver.feed(Frame(0x4, b"\0\x01" + bytes(6), is_error=True))
        with anyio.fail_after(5):
            frame, gap = await anext(entries), await anext(entries)
        assert frame.frame
        assert gap.gap
        assert "overflowed" in gap.gap.reason


async def test_a_permitted_frame_is_sent_and_seen_in_history() -> None:
    driver, clock = FakeDriver(), FakeClock()
    with running(driver, clock=clock) as bus, bus.subscribe() as entries:
        assert bus.wait_until("open", 5)
        bus.send(permit(clock, Frame(0x123, b"\x01"), Frame(0x124)))
        with anyio.fail_after(5):
            echoes = [(await anext(entries)).frame for _ in range(2)]
        assert [frame.arbitration_id for frame in driver.sent] == [0x123, 0x124]
        assert echoes[0] == Frame(0x123, b"\x01", clock.now(), "can0", is_tx=True)
        assert bus.status().frames_sent == 2


async def test_what_another_program_of_this_machine_sends_is_not_counted_as_sent_here() -> None:
    driver = FakeDriver(echoes=True)
    with running(driver) as bus, bus.subscribe() as entries:
        driver.feed(Frame(0x123, is_tx=True))
        with anyio.fail_after(5):
            await anext(entries)
        status = bus.status()
        assert (status.frames, status.frames_sent) == (1, 0)


async def test_an_adapter_that_echoes_is_not_doubled() -> None:
    driver, clock = FakeDriver(echoes=True), FakeClock()
    with running(driver, clock=clock) as bus, bus.subscribe() as entries:
        assert bus.wait_until("open", 5)
        bus.send(permit(clock, Frame(0x123)))
        driver.feed(Frame(0x123, is_tx=True), Frame(0x7))
        with anyio.fail_after(5):
            found = [(await anext(entries)).frame for _ in range(2)]
        assert [frame and frame.arbitration_id for frame in found] == [0x123, 0x7]


def test_a_permit_is_good_once_and_on_its_own_bus() -> None:
    driver, clock = FakeDriver(), FakeClock()
    with running(driver, clock=clock) as bus:
        assert bus.wait_until("open", 5)
        with pytest.raises(PermitForeignError):
            bus.send(permit(clock, Frame(1), bus="can1"))
        once = permit(clock, Frame(1))
        bus.send(once)
        with pytest.raises(PermitUsedError):
            bus.send(once)
        assert len(driver.sent) == 1


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(BusSendError("full"), "full"), (ValueError("driver bug"), "driver bug")],
)
def test_a_failed_send_says_how_far_it_came(raised: Exception, expected: str) -> None:
    driver, clock = FakeDriver(), FakeClock()
    with running(driver, clock=clock) as bus:
        assert bus.wait_until("open", 5)
        bus.send(permit(clock, Frame(1)))
        driver.send_errors = [raised]
        with pytest.raises(BusSendError, match=expected) as caught:
            bus.send(permit(clock, Frame(2), Frame(3)))
        assert caught.value.data["sent"] == 0
        assert caught.value.data["frames"] == 2
        assert caught.value.data["audit_id"]


def test_a_bus_that_is_off_reopening_or_classic_refuses_what_it_cannot_send() -> None:
    driver, clock = FakeDriver(), FakeClock()
    bus = Bus("can0", BusConfig(), opener=driver, clock=clock)
    with pytest.raises(BusNotOpenError, match="opening"):
        bus.send(permit(clock, Frame(1)))
    with pytest.raises(BusNotFdError):
        bus.send(permit(clock, Frame(1, is_fd=True)))
    assert bus.join(1)
    assert driver.sent == []


async def test_nothing_is_queued_on_a_controller_that_is_bus_off() -> None:
    driver, clock = FakeDriver(), FakeClock()
    with running(driver, clock=clock) as bus, bus.subscribe() as entries:
        driver.feed(BUS_OFF)
        with anyio.fail_after(5):
            await anext(entries)
        with pytest.raises(BusOffError):
            bus.send(permit(clock, Frame(1)))
        assert driver.sent == []


async def test_a_driver_that_does_not_return_is_left_behind_in_bounded_time() -> None:
    entered, release = threading.Event(), threading.Event()

    class Stuck(FakeAdapter):
        def recv(self, timeout: float) -> Frame | None:
            entered.set()
            release.wait(10)
            return None

    bus = Bus("can0", BusConfig(), opener=lambda name, config: Stuck(FakeDriver()))
    bus.start()
    assert entered.wait(5)
    entries = bus.subscribe()
    bus.stop()
    assert not bus.join(0.01)
    assert bus.status().state == "closed"
    with anyio.fail_after(5):
        assert [entry async for entry in entries] == []
    release.set()
    assert bus.join(5)
    assert bus.status().state == "closed"


async def test_a_driver_that_cannot_even_close_does_not_stop_the_reader() -> None:
    driver = FakeDriver()
    driver.close_error = RuntimeError("already gone")
    with running(driver, clock=FakeClock()) as bus, bus.subscribe() as entries:
        driver.feed(OSError("gone"), Frame(1))
        with anyio.fail_after(5):
            assert (await anext(entries)).gap
            assert (await anext(entries)).frame


def test_an_unknown_name_lists_the_buses() -> None:
    hub = Hub({"can0": BusConfig(), "can1": BusConfig()})
    assert (hub.names, len(hub), "can1" in hub) == (["can0", "can1"], 2, True)
    with pytest.raises(BusNotFoundError, match="can0, can1"):
        hub["can9"]
    hub.close()


def test_the_status_names_what_feeds_the_bus() -> None:
    bus = Bus("can0", BusConfig(armed=True, channel="vcan9"), opener=FakeDriver())
    assert bus.status().source is None
    bus.attach_source(lambda: "replay of drive.candump")
    status = bus.status()
    assert status.source == "replay of drive.candump"
    assert (status.armed, status.channel, status.load) == (True, "vcan9", None)
