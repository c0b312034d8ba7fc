"""A vehicle on a virtual bus: cyclic messages of a database, filled from a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

import cantools
from cantools.database.can import Database, Message

from service.buses.node import Node
from service.model.frame import MAX_CLASSIC_LENGTH, Frame
from service.rig.checksum import checksum
from service.rig.schedule import Schedule
from service.rig.transport import PACKET_SECONDS, broadcast

POLL_SECONDS = 0.02
"""How often the vehicle listens to what others send."""

SignalValues = dict[str, float]


class Vehicle(Protocol):
    """The model behind a database; ``t`` is in seconds since the rig started."""

    def values(self, message: str, t: float) -> SignalValues:
        """Physical values of every signal but AliveCounter and Checksum."""

    def heard(self, frame: Frame) -> None:
        """Another end of the bus sent a frame."""


class Simulation:
    """A ``Source``: sends each message at its cycle time from the node of its sender.

    What does not fit into a frame travels by J1939 broadcast. ``jitter`` is a share of the period.
    """

    def __init__(
        self,
        name: str,
        vehicle: Vehicle,
        make_node: Callable[[], Node],
        *,
        jitter: float = 0.0,
        seed: int = 1,
    ) -> None:
        self._name = name
        self._vehicle = vehicle
        self._schedule = Schedule(jitter, seed)
        self._sent = 0
        self._started: float | None = None
        self._counters: dict[str, int] = {}
        self._messages = [each for each in load(name).messages if each.cycle_time]
        self._own_ids = frozenset(each.frame_id for each in self._messages)
        senders = {each.senders[0] for each in self._messages}
        self._nodes: Mapping[str, Node] = {sender: make_node() for sender in sorted(senders)}

    def step(self, now: float) -> float:
        if self._started is None:
            self._started = now
            self._plan(now)
        self._listen()
        return min(self._schedule.run_due(now), now + POLL_SECONDS)

    def describe(self) -> str:
        return f"simulated rig '{self._name}': {self._sent} frames sent"

    def close(self) -> None:
        for node in self._nodes.values():
            node.close()

    def _plan(self, start: float) -> None:
        # Starts are spread over a few milliseconds, as the power-up of real ECUs is.
        for index, message in enumerate(self._messages):
            period = (message.cycle_time or 0) / 1000
            self._schedule.every(period, start + 0.0007 * index, self._sender_of(message))

    def _sender_of(self, message: Message) -> Callable[[float], None]:
        node = self._nodes[message.senders[0]]

        def send(due: float) -> None:
            data = self._payload(message, due - (self._started or 0.0))
            if len(data) <= MAX_CLASSIC_LENGTH:
                frame = Frame(message.frame_id, data, is_extended=message.is_extended_frame)
                self._send(node, frame, due)
            else:
                self._broadcast(node, message, data, due)

        return send

    def _broadcast(self, node: Node, message: Message, data: bytes, due: float) -> None:
        for index, frame in enumerate(broadcast(message.frame_id, data)):
            self._schedule.at(due + index * PACKET_SECONDS, partial(self._send, node, frame))

    def _payload(self, message: Message, t: float) -> bytes:
        values = self._vehicle.values(message.name, t)
        names = {signal.name for signal in message.signals}
        is_protected = {"AliveCounter", "Checksum"} <= names
        if is_protected:
            counter = self._counters[message.name] = (self._counters.get(message.name, -1) + 1) % 16
            values |= {"AliveCounter": counter, "Checksum": 0}
        # J1939-71 5.1.5: bits without a parameter are ones.
        data: bytes = message.encode(values, padding=message.is_extended_frame)
        return data[:7] + bytes([checksum(message.frame_id, data)]) if is_protected else data

    def _send(self, node: Node, frame: Frame, due: float) -> None:
        node.send(frame)
        self._sent += 1

    def _listen(self) -> None:
        heard = [node.received() for node in self._nodes.values()]
        for frame in heard[0]:  # every end hears the same frames from outside
            if frame.arbitration_id not in self._own_ids:
                self._vehicle.heard(frame)


def load(name: str) -> Database:
    """A database of the rig: ``powertrain`` or ``truck``."""
    path = Path(__file__).with_name(f"{name}.dbc")
    database = cantools.database.load_file(path, encoding="utf-8")
    if not isinstance(database, Database):
        raise TypeError(f"{path.name} is not a CAN database")
    return database
