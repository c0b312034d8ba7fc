"""An ECU's end of a virtual bus: how simulated and replayed traffic gets there."""

from __future__ import annotations

from typing import Protocol

from service.buses.adapter import open_virtual
from service.model.frame import Frame


class Node(Protocol):
    def send(self, frame: Frame) -> None:
        """Put a frame on the bus, stamped with the present."""

    def received(self) -> list[Frame]:
        """What other ends sent since the last call; to be called often, it is not bounded."""

    def close(self) -> None:
        """Leave the bus."""


class VirtualNode:
    """A ``Node`` on python-can's virtual bus; it cannot reach hardware."""

    def __init__(self, channel: str) -> None:
        self._adapter = open_virtual(channel)

    def send(self, frame: Frame) -> None:
        self._adapter.send(frame)

    def received(self) -> list[Frame]:
        frames = []
        while (frame := self._adapter.recv(0)) is not None:
            frames.append(frame)
        return frames

    def close(self) -> None:
        self._adapter.close()
