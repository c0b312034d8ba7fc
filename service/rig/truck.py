"""The J1939 truck behind ``truck.dbc``, with three active trouble codes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from service.model.frame import Frame
from service.rig.drive import Drive, Gearbox, Leg, brake_pressure, pedal, warming
from service.rig.simulation import SignalValues

DRIVE = Drive(
    [
        Leg(3, 0),
        Leg(45, 80),
        Leg(60, 80),
        Leg(20, 55),
        Leg(25, 55),
        Leg(20, 0),
        Leg(17, 0),
    ]
)
GEARBOX = Gearbox(
    600,
    (
        (7, 200),
        (10, 142),
        (14, 103),
        (20, 73),
        (28, 52),
        (38, 38.5),
        (52, 28),
        (68, 21.5),
        (math.inf, 16.4),
    ),
)

_DISTANCE_KM = 412_870.0
_OFF, _ON = 0, 1


@dataclass(frozen=True, slots=True)
class TroubleCode:
    """SPN, failure mode and occurrence count as in SAE J1939-73 (5.7.1)."""

    spn: int
    fmi: int
    count: int


TROUBLE_CODES = (
    TroubleCode(spn=110, fmi=0, count=4),
    TroubleCode(spn=100, fmi=1, count=1),
    TroubleCode(spn=520_345, fmi=2, count=17),  # a manufacturer's own: needs all 19 bits
)


class Truck:
    """A ``Vehicle``; it listens to nobody."""

    def __init__(self) -> None:
        self._messages = {
            "EEC1": _engine,
            "EEC2": _load,
            "ETC2": _transmission,
            "CCVS1": _speed,
            "ET1": _temperature,
            "AMB": _ambient,
            "VDHR": _distance,
            "DM1": _trouble_codes,
        }

    def values(self, message: str, t: float) -> SignalValues:
        return self._messages[message](t)

    def heard(self, frame: Frame) -> None:
        """Nothing on this truck takes commands."""


def _engine(t: float) -> SignalValues:
    speed = DRIVE.speed(t)
    demand = pedal(speed, DRIVE.acceleration(t))
    return {
        "EngineTorqueMode": 1 if demand else 0,
        "DriverDemandTorque": demand,
        "ActualEngineTorque": 8 + 0.9 * demand,
        "EngineSpeed": GEARBOX.engine_speed(speed, t),
        "ControllingSourceAddress": 0x00,
    }


def _load(t: float) -> SignalValues:
    demand = pedal(DRIVE.speed(t), DRIVE.acceleration(t))
    return {"AcceleratorPedalPosition": demand, "EngineLoad": 12 + 0.85 * demand}


def _transmission(t: float) -> SignalValues:
    gear = GEARBOX.gear(DRIVE.speed(t))
    return {"SelectedGear": gear, "CurrentGear": gear}


def _speed(t: float) -> SignalValues:
    speed = DRIVE.speed(t)
    return {
        "ParkingBrakeSwitch": _ON if speed == 0 else _OFF,
        "WheelBasedVehicleSpeed": speed,
        "BrakeSwitch": _ON if brake_pressure(DRIVE.acceleration(t)) else _OFF,
    }


def _temperature(t: float) -> SignalValues:
    return {
        "EngineCoolantTemperature": warming(t, 88, 240),
        "FuelTemperature": warming(t, 36, 600),
        "EngineOilTemperature": warming(t, 102, 400),
    }


def _ambient(t: float) -> SignalValues:
    return {"BarometricPressure": 101, "AmbientAirTemperature": 18 + 0.5 * math.sin(t / 60)}


def _distance(t: float) -> SignalValues:
    return {"TotalVehicleDistance": _DISTANCE_KM + DRIVE.distance(t) / 1000}


def _trouble_codes(t: float) -> SignalValues:
    values: SignalValues = {
        "ProtectLamp": _OFF,
        "AmberWarningLamp": _ON,
        "RedStopLamp": _OFF,
        "MalfunctionIndicatorLamp": _OFF,
    }
    for number, code in enumerate(TROUBLE_CODES, start=1):
        values |= {
            f"Dtc{number}SpnLow": code.spn & 0xFFFF,
            f"Dtc{number}SpnHigh": code.spn >> 16,
            f"Dtc{number}Fmi": code.fmi,
            f"Dtc{number}Count": code.count,
            f"Dtc{number}ConversionMethod": 0,
        }
    return values
