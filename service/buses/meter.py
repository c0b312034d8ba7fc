"""How busy a bus was over the last seconds."""

from __future__ import annotations

import math
from collections import deque

from service.model.frame import Frame

WINDOW_SECONDS = 5

# Bits of a frame without its payload and without stuff bits, with three bits of intermission
# (ISO 11898-1, 10.4). FD frames are split where the bit rate may switch.
_CLASSIC_BITS = {False: 47, True: 67}
_FD_ARBITRATION_BITS = {False: 30, True: 49}
_FD_DATA_BITS = 5  # error state indicator and data length code
_FD_CRC_BITS = {False: 27, True: 32}  # with stuff count and fixed stuff bits; True: above 16 bytes


def seconds_on_wire(frame: Frame, bitrate: int, data_bitrate: int | None) -> float:
    """How long the frame occupies the bus, without dynamic stuff bits: up to a fifth too little.

    Bit rates are in bit/s. Error frames count nothing: their length is not known.
    """
    if frame.is_error:
        return 0.0
    payload = 8 * len(frame.data)
    if not frame.is_fd:
        return (_CLASSIC_BITS[frame.is_extended] + payload) / bitrate
    fast = _FD_DATA_BITS + payload + _FD_CRC_BITS[len(frame.data) > 16]
    fast_rate = data_bitrate if frame.bitrate_switch and data_bitrate else bitrate
    return _FD_ARBITRATION_BITS[frame.is_extended] / bitrate + fast / fast_rate


class Meter:
    """Frames per second and bus load over the last ``WINDOW_SECONDS``; monotonic time in seconds.

    Not synchronised: its owner calls it under a lock.
    """

    def __init__(self, started: float) -> None:
        self._started = started
        self._buckets: deque[tuple[int, int, float]] = deque(maxlen=WINDOW_SECONDS)

    def add(self, now: float, busy_seconds: float) -> None:
        second = math.floor(now)
        if self._buckets and self._buckets[-1][0] == second:
            _, frames, busy = self._buckets.pop()
            self._buckets.append((second, frames + 1, busy + busy_seconds))
        else:
            self._buckets.append((second, 1, busy_seconds))

    def rates(self, now: float) -> tuple[float, float]:
        """Frames per second, and the share of time (0..1) that the bus was busy."""
        oldest = math.floor(now) - WINDOW_SECONDS + 1
        window = now - max(self._started, oldest)
        if window <= 0:
            return 0.0, 0.0
        recent = [bucket for bucket in self._buckets if bucket[0] >= oldest]
        frames = sum(bucket[1] for bucket in recent)
        busy = sum(bucket[2] for bucket in recent)
        return frames / window, min(1.0, busy / window)
