"""The simulated vehicles: what they send decodes, adds up, and answers to commands."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
from cantools.database.can import Database, Message
from cantools.database.namedsignalvalue import NamedSignalValue

from service.buses.fake import FakeNode
from service.model.frame import Frame
from service.model.j1939 import pgn, source_address
from service.rig.checksum import checksum, crc8_j1850
from service.rig.powertrain import COMMAND_ID, Powertrain
from service.rig.simulation import Simulation, Vehicle, load
from service.rig.transport import broadcast
from service.rig.truck import TROUBLE_CODES, Truck

Sent = list[tuple[float, Frame]]


class Bench:
    """A simulation stepped through time, with its nodes."""

    def __init__(self, name: str, vehicle: Vehicle, jitter: float = 0.0) -> None:
        self.database: Database = load(name)
        self.nodes: list[FakeNode] = []
        self.sent: Sent = []
        self.now = 1000.0
        self.simulation = Simulation(name, vehicle, self._make_node, jitter=jitter)

    def _make_node(self) -> FakeNode:
        self.nodes.append(FakeNode())
        return self.nodes[-1]

    def run(self, seconds: float) -> Sent:
        """What was sent meanwhile."""
        before = len(self.sent)
        end = self.now + seconds
        while self.now < end:
            following = self.simulation.step(self.now)
            for node in self.nodes:
                self.sent += [(self.now, frame) for frame in node.sent]
                node.sent = []
            self.now = following
        return self.sent[before:]

    def hear(self, frame: Frame) -> None:
        for node in self.nodes:
            node.hear(frame)

    def message(self, frame: Frame) -> Message:
        return self.database.get_message_by_frame_id(frame.arbitration_id)

    def decode(self, frame: Frame) -> dict[str, Any]:
        values = self.message(frame).decode(frame.data)
        assert isinstance(values, dict)
        return values

    def decoded(self, sent: Sent, name: str) -> list[dict[str, Any]]:
        wanted = self.database.get_message_by_name(name)
        return [self.decode(frame) for _, frame in sent if frame.arbitration_id == wanted.frame_id]


@pytest.fixture
def car() -> Bench:
    return Bench("powertrain", Powertrain())


@pytest.fixture
def truck() -> Bench:
    return Bench("truck", Truck(), jitter=0.03)


def command(headlamps: int, hazard: int, counter: int) -> Frame:
    data = bytes([headlamps | hazard << 2, 0, 0, 0, 0, 0, counter])
    return Frame(COMMAND_ID, data + bytes([checksum(COMMAND_ID, data)]))


def test_the_checksum_is_crc8_sae_j1850() -> None:
    assert crc8_j1850(b"123456789") == 0x4B
    assert checksum(0x0100, bytes(8)) == crc8_j1850(b"\x01\x00" + bytes(7))


@pytest.mark.parametrize("fixture", ["car", "truck"])
def test_every_cyclic_message_is_sent_in_its_period_and_decodes(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    bench: Bench = request.getfixturevalue(fixture)
    times = defaultdict(list)
    for at, frame in bench.run(10.0):
        message = bench.message(frame)
        assert frame.is_extended is message.is_extended_frame
        assert bench.decode(frame), message.name
        times[message.name].append(at)
    cyclic = [(each, each.cycle_time) for each in bench.database.messages if each.cycle_time]
    assert len(cyclic) >= 8
    for message, cycle_time in cyclic:
        seen = times["TPCM" if message.length > 8 else message.name]
        assert len(seen) == pytest.approx(10_000 / cycle_time, abs=1.5), message.name
        gaps = [later - earlier for earlier, later in pairwise(seen)]
        period = cycle_time / 1000
        assert all(gap == pytest.approx(period, rel=0.07) for gap in gaps), message.name


def test_counters_count_and_checksums_are_right(car: Bench) -> None:
    protected = defaultdict(list)
    for _, frame in car.run(3.0):
        message = car.message(frame)
        if any(signal.name == "Checksum" for signal in message.signals):
            assert frame.data[7] == checksum(frame.arbitration_id, frame.data), message.name
            protected[message.name].append(car.decode(frame)["AliveCounter"])
    assert set(protected) == {
        "EngineData",
        "TransmissionData",
        "VehicleSpeed",
        "BrakeData",
        "BodyStatus",
    }
    for name, counters in protected.items():
        assert counters == [number % 16 for number in range(len(counters))], name


def test_the_car_drives_a_plausible_round(car: Bench) -> None:
    sent = car.run(125.0)
    speeds = [each["VehicleSpeed"] for each in car.decoded(sent, "VehicleSpeed")]
    assert (min(speeds), max(speeds)) == (0, 100)
    assert max(abs(b - a) for a, b in pairwise(speeds)) < 1
    engine = car.decoded(sent, "EngineData")
    assert 760 < min(each["EngineSpeed"] for each in engine) < 800
    assert 2400 < max(each["EngineSpeed"] for each in engine) < 3000
    assert {str(each["EngineState"]) for each in engine} == {"Idle", "Running"}
    gears = {str(each["Gear"]) for each in car.decoded(sent, "TransmissionData")}
    assert gears == {"Neutral", *(f"Gear {number}" for number in range(1, 7))}
    coolant = [each["CoolantTemperature"] for each in car.decoded(sent, "EngineTemperature")]
    assert coolant == sorted(coolant)
    assert 18 <= coolant[0] < 20 < coolant[-1] < 90
    odometer = [each["Odometer"] for each in car.decoded(sent, "Odometer")]
    assert odometer == sorted(odometer)
    assert 1 < odometer[-1] - odometer[0] < 4


def test_the_status_message_takes_turns(car: Bench) -> None:
    pages = car.decoded(car.run(1.0), "VehicleStatus")
    names = [str(page["StatusPage"]) for page in pages]
    assert names[:6] == ["Electrics", "Oil", "Ambience"] * 2
    assert 13 < pages[0]["BatteryVoltage"] < 15
    assert "OilPressure" in pages[1]
    assert "BatteryVoltage" not in pages[1]


def test_a_command_changes_the_lights_and_is_confirmed(car: Bench) -> None:
    dark = car.decoded(car.run(0.5), "BodyStatus")[-1]
    assert (str(dark["Headlamps"]), str(dark["Hazard"])) == ("Off", "Off")
    car.hear(command(headlamps=2, hazard=1, counter=5))
    lit = car.decoded(car.run(1.0), "BodyStatus")
    assert (str(lit[-1]["Headlamps"]), str(lit[-1]["Hazard"])) == ("High", "On")
    assert (lit[-1]["CommandCounter"], lit[-1]["CommandsAccepted"]) == (5, 1)
    assert {str(each["TurnLeft"]) for each in lit} == {"Off", "On"}, "hazard lights blink"
    car.hear(command(headlamps=3, hazard=3, counter=6))
    same = car.decoded(car.run(0.5), "BodyStatus")[-1]
    assert (str(same["Headlamps"]), same["CommandsAccepted"]) == ("High", 2)


@pytest.mark.parametrize(
    ("bad", "rejected"),
    [
        (Frame(COMMAND_ID, command(2, 1, 6).data[:7] + b"\x00"), 1),
        (Frame(COMMAND_ID, command(2, 1, 6).data[:7]), 1),
        (command(2, 1, 5), 1),
        (Frame(COMMAND_ID, command(2, 1, 6).data, is_extended=True), 0),
        (Frame(COMMAND_ID, is_remote=True), 0),
        (Frame(0x2F2, command(2, 1, 6).data), 0),
    ],
)
def test_a_command_that_is_damaged_repeated_or_not_one_is_ignored(
    bad: Frame, rejected: int, car: Bench
) -> None:
    car.hear(command(headlamps=1, hazard=0, counter=5))
    car.run(0.2)
    car.hear(bad)
    status = car.decoded(car.run(0.5), "BodyStatus")[-1]
    assert (str(status["Headlamps"]), str(status["Hazard"])) == ("Low", "Off")
    assert (status["CommandsAccepted"], status["CommandsRejected"]) == (1, rejected)


def test_a_command_built_from_the_database_alone_is_obeyed(car: Bench) -> None:
    message = car.database.get_message_by_name("BodyCommand")
    values: dict[str, int | float | str | NamedSignalValue] = {
        "HeadlampRequest": "Low",
        "HazardRequest": "NoChange",
        "AliveCounter": 1,
    }
    draft = message.encode(values | {"Checksum": 0})
    value = crc8_j1850(message.frame_id.to_bytes(2, "big") + draft[:7])
    car.hear(Frame(message.frame_id, message.encode(values | {"Checksum": value})))
    assert str(car.decoded(car.run(0.5), "BodyStatus")[-1]["Headlamps"]) == "Low"


def reassemble(sent: Sent) -> list[tuple[int, bytes, list[float]]]:
    """PGN, payload and packet times of each broadcast (SAE J1939-21 5.10)."""
    done = []
    announced: tuple[int, int, int] | None = None
    payload, times = b"", list[float]()
    for at, frame in sent:
        if pgn(frame.arbitration_id) == 60416:
            assert announced is None, "the previous broadcast is not complete"
            assert (frame.data[0], frame.data[4]) == (32, 255)
            size, packets = int.from_bytes(frame.data[1:3], "little"), frame.data[3]
            announced = (int.from_bytes(frame.data[5:8], "little"), size, packets)
            payload, times = b"", [at]
        elif pgn(frame.arbitration_id) == 60160 and announced is not None:
            number, size, packets = announced
            assert frame.data[0] == len(times)
            payload += frame.data[1:]
            times.append(at)
            if frame.data[0] == packets:
                assert not payload[size:].strip(b"\xff")
                done.append((number, payload[:size], times))
                announced = None
    return done


def test_active_trouble_codes_travel_by_broadcast(truck: Bench) -> None:
    broadcasts = reassemble(truck.run(5.0))
    assert len(broadcasts) >= 4
    for number, payload, times in broadcasts:
        assert number == 65226
        assert payload[0] >> 2 & 3 == 1, "the amber warning lamp is on"
        codes = []
        for at in range(2, len(payload), 4):
            low, high, last = payload[at : at + 2], payload[at + 2], payload[at + 3]
            spn = int.from_bytes(low, "little") | (high >> 5) << 16
            codes.append((spn, high & 31, last & 127, last >> 7))
        assert codes == [(code.spn, code.fmi, code.count, 0) for code in TROUBLE_CODES]
        assert len(codes) == 3
        assert all(0.05 <= later - earlier <= 0.2 for earlier, later in pairwise(times))


def test_the_trucks_groups_come_from_their_addresses(truck: Bench) -> None:
    seen = {
        (pgn(frame.arbitration_id), source_address(frame.arbitration_id))
        for _, frame in truck.run(2.0)
    }
    assert seen == {
        (61444, 0x00),
        (61443, 0x00),
        (65262, 0x00),
        (60416, 0x00),
        (60160, 0x00),
        (61445, 0x03),
        (65265, 0x31),
        (65269, 0x31),
        (65217, 0x31),
    }


def test_the_trucks_unused_bits_are_ones_and_its_values_plausible(truck: Bench) -> None:
    sent = truck.run(60.0)
    engine = next(frame for _, frame in sent if pgn(frame.arbitration_id) == 61444)
    assert engine.data[6:] == b"\xff\xff"
    speeds = [each["WheelBasedVehicleSpeed"] for each in truck.decoded(sent, "CCVS1")]
    assert (speeds[0], round(speeds[-1])) == (0, 80)
    rpm = [each["EngineSpeed"] for each in truck.decoded(sent, "EEC1")]
    assert 550 < min(rpm) < max(rpm) < 2000


def test_a_simulation_leaves_the_bus_when_it_is_closed(car: Bench) -> None:
    car.run(0.1)
    assert car.simulation.describe() == f"simulated rig 'powertrain': {len(car.sent)} frames sent"
    car.simulation.close()
    assert len(car.nodes) == 5
    assert all(node.closed for node in car.nodes)


@pytest.mark.parametrize("length", [0, 8, 1786])
def test_a_broadcast_carries_only_what_needs_one(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} bytes"):
        broadcast(0x18FECA00, bytes(length))
