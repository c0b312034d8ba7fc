"""The python-can adapter and the nodes, on python-can's own virtual bus."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace

import can
import pytest

from service.buses.adapter import PythonCanAdapter, open_adapter
from service.buses.node import VirtualNode
from service.errors import BusOpenError, BusSendError
from service.model.bus_config import BusConfig
from service.model.frame import Frame, InvalidFrameError

CHANNEL = "tests.adapter"


@pytest.fixture
def adapter() -> Iterator[PythonCanAdapter]:
    opened = open_adapter(
        "engine", BusConfig(channel=CHANNEL, bitrate=500_000, fd=True, data_bitrate=2_000_000)
    )
    yield opened
    opened.close()


@pytest.fixture
def node() -> Iterator[VirtualNode]:
    opened = VirtualNode(CHANNEL)
    yield opened
    opened.close()


FRAMES = [
    Frame(0x123, b"\x01\x02"),
    Frame(0x123, b"\x01\x02", is_extended=True),
    Frame(0x7FF, is_remote=True, remote_length=5),
    Frame(0x1, bytes(12), is_fd=True, bitrate_switch=True, error_state_indicator=True),
    Frame(0x44, bytes(8), is_error=True),
]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_arrives_as_it_was_sent(
    frame: Frame, adapter: PythonCanAdapter, node: VirtualNode
) -> None:
    node.send(frame)
    received = adapter.recv(5)
    assert received
    assert (received.channel, received.is_tx) == ("engine", False)
    assert received.timestamp > 0
    assert replace(received, timestamp=0.0, channel="") == frame


def test_own_frames_come_back_marked_and_reach_the_others(
    adapter: PythonCanAdapter, node: VirtualNode
) -> None:
    assert adapter.echoes
    adapter.send(Frame(0x321, b"\x07"))
    echo = adapter.recv(5)
    assert echo
    assert echo.is_tx
    [heard] = node.received()
    assert (heard.arbitration_id, heard.data, heard.is_tx) == (0x321, b"\x07", False)
    assert node.received() == []


def test_silence_is_none(adapter: PythonCanAdapter) -> None:
    assert adapter.recv(0.001) is None


@pytest.mark.parametrize(
    "config",
    [
        BusConfig(interface="nosuchinterface"),
        BusConfig(interface="socketcan", channel="nosuchcan9"),
        BusConfig(interface="udp_multicast", channel="not an address"),
    ],
)
def test_a_channel_that_does_not_open_is_our_error_and_names_it(config: BusConfig) -> None:
    with pytest.raises(BusOpenError, match=config.interface):
        open_adapter("can0", config)


class StubBus(can.BusABC):
    """A python-can driver that fails as told."""

    def __init__(self, error: Exception | None = None, message: can.Message | None = None) -> None:
        super().__init__(channel="stub")
        self._error = error
        self._message = message
        self._is_shutdown = True  # nothing to clean up

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        if self._error:
            raise self._error

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        return self._message, True


def test_a_full_transmit_queue_is_explained() -> None:
    full = can.CanOperationError("Failed to transmit: No buffer space", errno.ENOBUFS)
    with pytest.raises(BusSendError, match="0x123") as caught:
        PythonCanAdapter(StubBus(full), "can0", echoes=True).send(Frame(0x123))
    assert "acknowledges" in caught.value.hint


@pytest.mark.parametrize(
    "error", [can.CanOperationError("timed out"), OSError(errno.ENETDOWN, "down"), ValueError()]
)
def test_any_other_refusal_of_the_driver_keeps_its_reason(error: Exception) -> None:
    with pytest.raises(BusSendError) as caught:
        PythonCanAdapter(StubBus(error), "can0", echoes=True).send(Frame(0x123))
    assert (str(error) or "ValueError") in caught.value.message
    assert caught.value.hint == BusSendError.hint


def test_a_message_that_is_no_frame_is_told_apart_from_a_broken_driver() -> None:
    message = can.Message(arbitration_id=0x123, is_extended_id=False, data=bytes(9), is_fd=True)
    with pytest.raises(InvalidFrameError):
        PythonCanAdapter(StubBus(message=message), "can0", echoes=True).recv(0.01)
