"""One CAN frame as a frozen value that cannot be invalid."""

from __future__ import annotations

from dataclasses import dataclass

MAX_STANDARD_ID = 0x7FF
MAX_EXTENDED_ID = 0x1FFFFFFF
MAX_CLASSIC_LENGTH = 8
FD_LENGTHS = (*range(9), 12, 16, 20, 24, 32, 48, 64)
"""Payload lengths in bytes that a CAN FD data length code can express (ISO 11898-1, 8.4.2.4)."""


class InvalidFrameError(ValueError):
    """The parts do not make a frame that a CAN controller could send or receive."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A classic CAN or CAN FD frame as seen on one channel.

    ``timestamp`` is in seconds since the epoch for live frames and as written for recorded ones.
    ``length`` is the payload length in bytes; it differs from ``len(data)`` only for a remote
    frame, which names a length and carries nothing. An error frame's ``arbitration_id`` holds the
    error class bits of Linux ``can/error.h`` and is not an identifier; it is neither extended,
    remote nor FD. ``bitrate_switch`` and ``error_state_indicator`` belong to FD frames alone.
    ``is_tx`` says that the frame left from this machine; on SocketCAN any program here may have
    sent it.
    """

    arbitration_id: int
    data: bytes = b""
    timestamp: float = 0.0
    channel: str = ""
    is_extended: bool = False
    is_fd: bool = False
    bitrate_switch: bool = False
    error_state_indicator: bool = False
    is_remote: bool = False
    is_error: bool = False
    is_tx: bool = False
    remote_length: int = 0

    def __post_init__(self) -> None:
        highest = MAX_EXTENDED_ID if self.is_extended or self.is_error else MAX_STANDARD_ID
        if not 0 <= self.arbitration_id <= highest:
            raise InvalidFrameError(
                f"identifier {self.arbitration_id:#x} is outside 0..{highest:#x}"
                f" ({'29' if highest > MAX_STANDARD_ID else '11'} bit)"
            )
        if self.is_error and (self.is_extended or self.is_remote or self.is_fd):
            raise InvalidFrameError("an error frame is neither extended, remote nor FD")
        if self.is_fd:
            self._check_fd()
        else:
            self._check_classic()

    def _check_fd(self) -> None:
        if len(self.data) not in FD_LENGTHS:
            raise InvalidFrameError(
                f"{len(self.data)} bytes: CAN FD carries 0..8, 12, 16, 20, 24, 32, 48 or 64"
            )
        if self.is_remote:
            raise InvalidFrameError("CAN FD has no remote frames")
        if self.remote_length:
            raise InvalidFrameError("only a remote frame has a remote length")

    def _check_classic(self) -> None:
        if len(self.data) > MAX_CLASSIC_LENGTH:
            raise InvalidFrameError(f"{len(self.data)} bytes: classic CAN carries at most 8")
        if self.bitrate_switch or self.error_state_indicator:
            raise InvalidFrameError(
                "bit rate switch and error state indicator exist in CAN FD only"
            )
        if self.is_remote and self.data:
            raise InvalidFrameError("a remote frame carries no data")
        if self.remote_length and not self.is_remote:
            raise InvalidFrameError("only a remote frame has a remote length")
        if not 0 <= self.remote_length <= MAX_CLASSIC_LENGTH:
            raise InvalidFrameError(
                f"remote length {self.remote_length}: classic CAN carries at most 8 bytes"
            )

    @property
    def length(self) -> int:
        return self.remote_length if self.is_remote else len(self.data)
