"""The passenger car behind ``powertrain.dbc``; its body obeys ``BodyCommand``."""

from __future__ import annotations

import math

from service.model.frame import Frame
from service.rig.checksum import checksum
from service.rig.drive import (
    KMH_PER_MS,
    Drive,
    Gearbox,
    Leg,
    brake_pressure,
    pedal,
    warming,
)
from service.rig.simulation import SignalValues

DRIVE = Drive(
    [
        Leg(2, 0),  # soon off, for whoever has just started the rig
        Leg(22, 100),
        Leg(30, 100),
        Leg(10, 50),
        Leg(18, 50),
        Leg(12, 70),
        Leg(12, 0),
        Leg(14, 0),
    ]
)
GEARBOX = Gearbox(780, ((18, 120), (35, 70), (55, 48), (75, 36), (95, 29), (math.inf, 24)))

COMMAND_ID = 0x2F0
NO_CHANGE = 3
BLINK_SECONDS = 1 / 1.5
_ODOMETER_KM = 48_211.0
_TYRE_RPM_PER_KMH = 8.6
_PARK, _DRIVE = 0, 3
_IDLE, _RUNNING = 2, 3


class Body:
    """Lights that follow commands with the right checksum and a new counter."""

    def __init__(self) -> None:
        self.headlamps = 0
        self.hazard = 0
        self.accepted = 0
        self.rejected = 0
        self.counter: int | None = None

    def command(self, data: bytes) -> None:
        """Act on the payload of a ``BodyCommand``, or count it as rejected."""
        if len(data) != 8 or data[7] != checksum(COMMAND_ID, data):
            self.rejected += 1
            return
        headlamps, hazard, counter = data[0] & 3, data[0] >> 2 & 3, data[6] & 15
        if counter == self.counter:
            self.rejected += 1
            return
        self.counter = counter
        self.accepted += 1
        if headlamps != NO_CHANGE:
            self.headlamps = headlamps
        if hazard in (0, 1):
            self.hazard = hazard

    def values(self, t: float) -> SignalValues:
        lit = self.hazard if t % BLINK_SECONDS < BLINK_SECONDS / 2 else 0
        return {
            "Headlamps": self.headlamps,
            "Hazard": self.hazard,
            "TurnLeft": lit,
            "TurnRight": lit,
            "CommandCounter": self.counter or 0,
            "CommandsAccepted": self.accepted % 256,
            "CommandsRejected": self.rejected % 256,
        }


class Powertrain:
    """A ``Vehicle``."""

    def __init__(self) -> None:
        self._body = Body()
        self._page = -1
        self._messages = {
            "EngineData": _engine,
            "EngineTemperature": _temperature,
            "TransmissionData": _transmission,
            "WheelSpeeds": _wheels,
            "VehicleSpeed": _speed,
            "BrakeData": _brake,
            "BodyStatus": self._body.values,
            "Odometer": _odometer,
            "VehicleStatus": self._status,
        }

    def values(self, message: str, t: float) -> SignalValues:
        return self._messages[message](t)

    def heard(self, frame: Frame) -> None:
        if frame.arbitration_id == COMMAND_ID and not (frame.is_extended or frame.is_remote):
            self._body.command(frame.data)

    def _status(self, t: float) -> SignalValues:
        self._page = (self._page + 1) % 3
        rpm = GEARBOX.engine_speed(DRIVE.speed(t), t)
        pages: tuple[SignalValues, ...] = (
            {
                "BatteryVoltage": 13.9 + 0.1 * math.sin(t / 7),
                "AlternatorCurrent": 18 + 6 * math.sin(t / 11),
            },
            {
                "OilPressure": min(480.0, 90 + rpm * 0.14),
                "OilTemperature": warming(t, 98, 300),
            },
            {"AmbientTemperature": 18, "BarometricPressure": 100.8 + 0.2 * math.sin(t / 60)},
        )
        return {"StatusPage": self._page, **pages[self._page]}


def _engine(t: float) -> SignalValues:
    speed, acceleration = DRIVE.speed(t), DRIVE.acceleration(t)
    return {
        "EngineSpeed": GEARBOX.engine_speed(speed, t),
        "PedalPosition": pedal(speed, acceleration),
        "EngineTorque": 18 + 0.5 * speed + 90 * max(-0.4, acceleration),
        "EngineState": _RUNNING if GEARBOX.gear(speed) else _IDLE,
    }


def _temperature(t: float) -> SignalValues:
    return {
        "CoolantTemperature": warming(t, 90, 180),
        "IntakeAirTemperature": warming(t, 31, 240),
    }


def _transmission(t: float) -> SignalValues:
    speed = DRIVE.speed(t)
    return {
        "Gear": GEARBOX.gear(speed),
        "Selector": _DRIVE if 1.5 < t % DRIVE.period < DRIVE.period - 4 else _PARK,
        "OutputShaftSpeed": speed * _TYRE_RPM_PER_KMH * 3.4,
    }


def _wheels(t: float) -> SignalValues:
    speed = DRIVE.speed(t)
    curve = 0.01 * speed * math.sin(t / 9)  # the road bends: left and right wheels differ
    return {
        "WheelFrontLeft": speed - curve,
        "WheelFrontRight": speed + curve,
        "WheelRearLeft": speed - 0.9 * curve,
        "WheelRearRight": speed + 0.9 * curve,
    }


def _speed(t: float) -> SignalValues:
    speed = DRIVE.speed(t)
    return {
        "VehicleSpeed": speed,
        "LongitudinalAcceleration": DRIVE.acceleration(t),
        "Standstill": speed < 1 / KMH_PER_MS,
    }


def _brake(t: float) -> SignalValues:
    pressure = brake_pressure(DRIVE.acceleration(t))
    return {"BrakePressure": pressure, "BrakePedal": pressure > 0}


def _odometer(t: float) -> SignalValues:
    driven = DRIVE.distance(t) / 1000
    return {"Odometer": _ODOMETER_KM + driven, "FuelLevel": 20 + 40 * math.exp(-driven / 500)}
