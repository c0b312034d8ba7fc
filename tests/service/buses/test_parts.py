"""The parts of a bus that are functions: stamps, meter, controller state."""

from __future__ import annotations

import pytest

from service.buses.controller import ControllerState, describe, lost_frames, state_after
from service.buses.meter import Meter, seconds_on_wire
from service.buses.stamps import Stamps
from service.model.frame import Frame

HOST = 1_700_000_000.0


def error(arbitration_id: int, *data: int) -> Frame:
    return Frame(arbitration_id, bytes(data).ljust(8, b"\0"), is_error=True)


@pytest.mark.parametrize("adapter", [0.0, 42.0, HOST - 1.5, 2_684_545_240.8, float("nan")])
def test_a_stamp_unrelated_to_the_hosts_clock_is_replaced_and_said_so(adapter: float) -> None:
    stamps = Stamps()
    assert stamps.choose(adapter, HOST) == HOST
    assert stamps.source == "host"
    assert stamps.choose(HOST + 0.5, HOST + 1) == HOST + 1, "the clocks must not alternate"


def test_a_plausible_stamp_is_kept() -> None:
    stamps = Stamps()
    assert stamps.choose(HOST - 0.25, HOST) == HOST - 0.25
    assert stamps.source == "adapter"


def test_a_stamp_that_goes_back_is_replaced_alone() -> None:
    stamps = Stamps()
    stamps.choose(HOST, HOST)
    assert stamps.choose(HOST - 0.1, HOST + 0.2) == HOST + 0.2
    assert stamps.choose(HOST + 0.3, HOST + 0.4) == HOST + 0.3
    assert stamps.source == "adapter"


@pytest.mark.parametrize(
    ("frame", "state"),
    [
        (error(0x40), "bus-off"),
        (error(0x04, 0, 0x04), "error-warning"),
        (error(0x04, 0, 0x08), "error-warning"),
        (error(0x04, 0, 0x10), "error-passive"),
        (error(0x04, 0, 0x20), "error-passive"),
        (error(0x04, 0, 0x24), "error-passive"),
        (error(0x04, 0, 0x40), "error-active"),
        (error(0x100), "error-active"),
        (error(0x20), None),
        (error(0x04, 0, 0x01), None),
        (Frame(0x04, is_error=True), None),
    ],
)
def test_an_error_frame_tells_the_controllers_state(
    frame: Frame, state: ControllerState | None
) -> None:
    assert state_after(frame) == state


def test_an_error_frame_is_described_in_words() -> None:
    assert describe(error(0x20 | 0x80)) == "no acknowledgement, bus error"
    assert describe(error(0x1000)) == "error class 0x1000"


def test_an_overflow_is_told_from_other_controller_problems() -> None:
    assert lost_frames(error(0x04, 0, 0x01))
    assert lost_frames(error(0x04, 0, 0x02))
    assert not lost_frames(error(0x04, 0, 0x04))
    assert not lost_frames(error(0x80, 0, 0x01))


@pytest.mark.parametrize(
    ("frame", "seconds"),
    [
        (Frame(0x1, bytes(8)), 111 / 500_000),
        (Frame(0x1, bytes(8), is_extended=True), 131 / 500_000),
        (Frame(0x1, is_remote=True, remote_length=8), 47 / 500_000),
        (Frame(0x1, bytes(8), is_fd=True), (30 + 5 + 64 + 27) / 500_000),
        (
            Frame(0x1, bytes(64), is_fd=True, bitrate_switch=True),
            30 / 500_000 + (5 + 512 + 32) / 2_000_000,
        ),
        (Frame(0x4, bytes(8), is_error=True), 0.0),
    ],
)
def test_time_on_the_wire_follows_the_frame_format(frame: Frame, seconds: float) -> None:
    assert seconds_on_wire(frame, 500_000, 2_000_000) == pytest.approx(seconds)


def test_a_steady_stream_has_its_rate_and_load() -> None:
    meter = Meter(100.0)
    for tick in range(1000):
        meter.add(100.0 + tick / 100, 0.001)
    rate, load = meter.rates(109.999)
    assert rate == pytest.approx(100, rel=0.01)
    assert load == pytest.approx(0.1, rel=0.01)


def test_the_rate_of_a_young_bus_is_not_diluted_by_the_time_before_it() -> None:
    meter = Meter(100.5)
    for tick in range(50):
        meter.add(100.5 + tick / 100, 0.0)
    assert meter.rates(101.0)[0] == pytest.approx(100)


def test_a_silent_bus_has_no_rate() -> None:
    meter = Meter(0.0)
    assert meter.rates(0.0) == (0.0, 0.0)
    meter.add(0.5, 0.1)
    assert meter.rates(20.0) == (0.0, 0.0)
