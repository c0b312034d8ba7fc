"""The journey: smooth, repeating, and consistent with itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rig import powertrain, truck
from service.rig.drive import Drive, Gearbox, Leg, brake_pressure, pedal, warming

DRIVES = [powertrain.DRIVE, truck.DRIVE]
TIMES = st.floats(0, 2_000)


@pytest.mark.parametrize("drive", DRIVES)
@given(t=TIMES)
def test_speed_has_no_jumps_and_agrees_with_acceleration_and_distance(
    drive: Drive, t: float
) -> None:
    step = 0.001
    speed, later = drive.speed(t), drive.speed(t + step)
    assert -1e-9 <= speed <= 130
    assert abs(later - speed) < 0.05
    assert (later - speed) / 3.6 / step == pytest.approx(drive.acceleration(t), abs=0.01)
    driven = drive.distance(t + step) - drive.distance(t)
    assert driven / step == pytest.approx((speed + later) / 2 / 3.6, abs=0.01)


def test_distance_is_the_area_under_the_speed() -> None:
    drive = Drive([Leg(10, 36), Leg(10, 36), Leg(20, 0)])
    assert drive.distance(10) == pytest.approx(50)
    assert drive.distance(20) == pytest.approx(150)
    assert drive.distance(40) == pytest.approx(250)
    assert drive.distance(120) == pytest.approx(750)


def test_gears_follow_the_speed_and_the_engine_never_stalls() -> None:
    box = Gearbox(800, ((20, 100), (50, 50), (1e9, 30)))
    assert [box.gear(speed) for speed in (0, 5, 20, 49, 300)] == [0, 1, 2, 2, 3]
    assert box.engine_speed(100, 0.0) == 3000
    assert box.engine_speed(0, 0.0) == 800
    assert box.engine_speed(1, 0.0) == 800


def test_pedals_and_temperatures_stay_in_their_ranges() -> None:
    assert pedal(0, 0) == 0
    assert pedal(100, 9) == 100
    assert pedal(50, -5) == 0
    assert brake_pressure(-0.2) == 0
    assert brake_pressure(-2.3) == pytest.approx(44)
    assert warming(0, 90, 180) == 18
    assert warming(1e6, 90, 180) == pytest.approx(90)
