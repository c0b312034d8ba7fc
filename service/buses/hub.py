"""All configured buses by name."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from service.buses.adapter import Opener, open_adapter
from service.buses.bus import Bus
from service.buses.clock import Clock, SystemClock
from service.errors import BusNotFoundError
from service.model.bus_config import BusConfig

OPEN_SECONDS = 2.0
"""How long ``open`` waits for the first attempts; slower buses open in the background."""
CLOSE_SECONDS = 3.0
"""How long ``close`` waits for all readers together; a stuck driver is left behind."""


class Hub:
    """Iterates over the buses in the order of the configuration."""

    def __init__(
        self,
        configs: Mapping[str, BusConfig],
        *,
        opener: Opener = open_adapter,
        clock: Clock | None = None,
    ) -> None:
        chosen = clock or SystemClock()
        self._buses = {
            name: Bus(name, config, opener=opener, clock=chosen) for name, config in configs.items()
        }

    def open(self) -> None:
        """Start every bus and wait a moment for its first attempt. A bus that cannot be opened
        disturbs no other: it is tried again for as long as the hub is open."""
        for bus in self:
            bus.start()
        deadline = time.monotonic() + OPEN_SECONDS
        for bus in self:
            bus.wait_while("opening", deadline - time.monotonic())

    def close(self) -> None:
        """Close all buses; returns in bounded time whatever a driver does."""
        for bus in self:
            bus.stop()
        deadline = time.monotonic() + CLOSE_SECONDS
        for bus in self:
            bus.join(deadline - time.monotonic())

    @property
    def names(self) -> list[str]:
        return list(self._buses)

    def __iter__(self) -> Iterator[Bus]:
        return iter(self._buses.values())

    def __len__(self) -> int:
        return len(self._buses)

    def __contains__(self, name: object) -> bool:
        return name in self._buses

    def __getitem__(self, name: str) -> Bus:
        """Errors: BusNotFoundError, which lists the names there are."""
        if name not in self._buses:
            names = ", ".join(self._buses) or "none"
            raise BusNotFoundError(
                f"there is no bus '{name}'; configured: {names}", data={"buses": self.names}
            )
        return self._buses[name]
