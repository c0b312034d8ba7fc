"""The door to python-can: frames in and out of one channel, and its errors made ours."""

from __future__ import annotations

import errno
from typing import Protocol

import can

from service.errors import BusOpenError, BusSendError
from service.model.bus_config import BusConfig
from service.model.frame import Frame

SEND_SECONDS = 1.0
"""How long a driver may wait for room in its transmit queue."""

_TAKES_OWN_MESSAGES = frozenset(
    {"etas", "ixxat", "kvaser", "neovi", "nixnet", "pcan", "socketcan", "vector", "virtual"}
)
"""Interfaces of python-can that can hand back what they sent (``receive_own_messages``)."""

_QUEUE_FULL_HINT = (
    "The transmit queue is full because no frame leaves: nobody acknowledges (no other node, wrong"
    " bit rate, termination) or the controller is off the bus. See bus_status, and on the rig"
    " 'ip -details -statistics link show CHANNEL'; more queue ('txqueuelen') only hides it."
)


class Adapter(Protocol):
    """One open channel. ``recv`` is called by one thread, ``send`` by one at a time."""

    @property
    def echoes(self) -> bool:
        """Whether sent frames come back from ``recv`` with ``is_tx``."""

    def recv(self, timeout: float) -> Frame | None:
        """The next frame, or None after ``timeout`` seconds.

        Errors: InvalidFrameError (what came is no frame; later ones may be); any other exception
        means that the channel has to be opened again.
        """

    def send(self, frame: Frame) -> None:
        """Hand one frame to the driver. Errors: BusSendError."""

    def close(self) -> None:
        """Let go of the channel; a pending ``recv`` may fail."""


class Opener(Protocol):
    def __call__(self, name: str, config: BusConfig) -> Adapter:
        """Open the channel of bus ``name``. Errors: BusOpenError."""


class PythonCanAdapter:
    """An ``Adapter`` on a python-can bus. ``channel`` is the name that its frames get."""

    def __init__(self, bus: can.BusABC, channel: str, *, echoes: bool) -> None:
        self._bus = bus
        self._channel = channel
        self._echoes = echoes

    @property
    def echoes(self) -> bool:
        return self._echoes

    def recv(self, timeout: float) -> Frame | None:
        message = self._bus.recv(timeout)
        return None if message is None else _from_message(message, self._channel)

    def send(self, frame: Frame) -> None:
        try:
            self._bus.send(_to_message(frame), timeout=SEND_SECONDS)
        except (can.CanError, OSError, ValueError, NotImplementedError) as error:
            raise _send_error(frame, error) from error

    def close(self) -> None:
        self._bus.shutdown()


def open_adapter(name: str, config: BusConfig) -> PythonCanAdapter:
    """The configured channel through python-can. Errors: BusOpenError."""
    arguments: dict[str, str | int | float | bool] = {}
    if config.bitrate is not None:
        arguments["bitrate"] = config.bitrate
    if config.fd:
        arguments["fd"] = True
    if config.data_bitrate is not None:
        arguments["data_bitrate"] = config.data_bitrate
    echoes = config.interface in _TAKES_OWN_MESSAGES
    if echoes:
        arguments["receive_own_messages"] = True
    arguments.update(config.options)
    channel = config.channel or name
    try:
        bus = _open(config.interface, channel, arguments)
    except (
        can.CanError,
        OSError,
        ImportError,
        ValueError,
        TypeError,
        NotImplementedError,
    ) as error:
        raise BusOpenError(f"{config.interface} channel '{channel}': {_reason(error)}") from error
    return PythonCanAdapter(bus, name, echoes=echoes and bool(arguments["receive_own_messages"]))


def open_virtual(channel: str) -> PythonCanAdapter:
    """A further end of python-can's virtual bus; by construction never a piece of hardware."""
    return PythonCanAdapter(_open("virtual", channel, {}), channel, echoes=False)


def _open(
    interface: str, channel: str, arguments: dict[str, str | int | float | bool]
) -> can.BusABC:
    # Without ignore_config, files in the home folder and the environment would be merged in.
    return can.Bus(channel=channel, interface=interface, ignore_config=True, **arguments)  # type: ignore[arg-type]


def _from_message(message: can.Message, channel: str) -> Frame:
    is_error = message.is_error_frame
    return Frame(
        arbitration_id=message.arbitration_id,
        data=b"" if message.is_remote_frame else bytes(message.data),
        timestamp=message.timestamp,
        channel=channel,
        is_extended=message.is_extended_id and not is_error,
        is_fd=message.is_fd and not is_error,
        bitrate_switch=message.is_fd and message.bitrate_switch,
        error_state_indicator=message.is_fd and message.error_state_indicator,
        is_remote=message.is_remote_frame and not is_error,
        is_error=is_error,
        is_tx=not message.is_rx,
        remote_length=message.dlc if message.is_remote_frame and not is_error else 0,
    )


def _to_message(frame: Frame) -> can.Message:
    return can.Message(
        arbitration_id=frame.arbitration_id,
        is_extended_id=frame.is_extended,
        is_remote_frame=frame.is_remote,
        is_error_frame=frame.is_error,
        dlc=frame.length,
        data=frame.data,
        is_fd=frame.is_fd,
        bitrate_switch=frame.bitrate_switch,
        error_state_indicator=frame.error_state_indicator,
    )


def _send_error(frame: Frame, error: Exception) -> BusSendError:
    message = f"identifier {frame.arbitration_id:#x}: {_reason(error)}"
    number = error.error_code if isinstance(error, can.CanError) else getattr(error, "errno", None)
    if number == errno.ENOBUFS:
        return BusSendError(message, hint=_QUEUE_FULL_HINT)
    return BusSendError(message)


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
