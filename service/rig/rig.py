"""Everything that feeds the configured virtual buses, started and stopped together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from service.buses.clock import Clock, SystemClock
from service.buses.hub import Hub
from service.buses.node import Node, VirtualNode
from service.model.bus_config import BusConfig
from service.rig.powertrain import Powertrain
from service.rig.replay import Replay
from service.rig.simulation import Simulation
from service.rig.source import Runner, Source
from service.rig.truck import Truck

TRUCK_JITTER = 0.03
"""Share of the period by which the truck's messages come early or late, as real ones do."""


class Rig:
    """Simulations and replays of the buses that ask for one.

    With a ``hub``, each bus says in its status what feeds it. Start it when the buses are open:
    a virtual bus keeps nothing for those who come later.
    """

    def __init__(
        self,
        buses: Mapping[str, BusConfig],
        hub: Hub | None = None,
        *,
        make_node: Callable[[str], Node] = VirtualNode,
        clock: Clock | None = None,
    ) -> None:
        self._buses = {
            name: config for name, config in buses.items() if config.simulate or config.replay
        }
        self._hub = hub
        self._make_node = make_node
        self._clock = clock or SystemClock()
        self._runners: dict[str, Runner] = {}

    def start(self) -> None:
        """Errors: ReplayFileError; nothing runs then."""
        sources: dict[str, Source] = {}
        try:
            for name, config in self._buses.items():
                sources[name] = self._source(name, config)
        except BaseException:
            for source in sources.values():
                source.close()
            raise
        for name, source in sources.items():
            runner = self._runners[name] = Runner(source, name, self._clock)
            if self._hub is not None:
                self._hub[name].attach_source(runner.describe)
            runner.start()

    def stop(self) -> None:
        """End all of it within a bounded time; more than once does no harm."""
        for runner in self._runners.values():
            runner.stop()

    def describe(self) -> dict[str, str]:
        """What feeds each bus and how far it got, by bus name."""
        return {name: runner.describe() for name, runner in self._runners.items()}

    def _source(self, name: str, config: BusConfig) -> Source:
        make_node = partial(self._make_node, config.channel or name)
        if config.replay is not None:
            node = make_node()
            try:
                return Replay(Path(config.replay), node, loop=config.replay_loop)
            except BaseException:
                node.close()
                raise
        if config.simulate == "truck":
            return Simulation("truck", Truck(), make_node, jitter=TRUCK_JITTER)
        return Simulation("powertrain", Powertrain(), make_node)
