"""A vehicle's journey as functions of time: smooth, repeatable, and consistent with itself."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

KMH_PER_MS = 3.6
AMBIENT_CELSIUS = 18.0


@dataclass(frozen=True, slots=True)
class Leg:
    """``seconds`` in which the speed changes smoothly to ``speed`` in km/h."""

    seconds: float
    speed: float


class Drive:
    """Repeats its legs; time is in seconds since the start, and every leg starts at the speed of
    the one before. The last leg ends at the speed that the first one starts from."""

    def __init__(self, legs: Sequence[Leg]) -> None:
        self._legs = tuple(legs)
        self._ends = tuple(accumulate(leg.seconds for leg in legs))
        self.period = self._ends[-1]
        self._distances = (0.0, *accumulate(self._length(index, 1.0) for index in range(len(legs))))

    def speed(self, t: float) -> float:
        """km/h."""
        index, share = self._locate(t)
        start, end = self._speeds(index)
        return start + (end - start) * share * share * (3 - 2 * share)

    def acceleration(self, t: float) -> float:
        """m/s^2."""
        index, share = self._locate(t)
        start, end = self._speeds(index)
        slope = 6 * share * (1 - share) / self._legs[index].seconds
        return (end - start) * slope / KMH_PER_MS

    def distance(self, t: float) -> float:
        """Metres since the start."""
        index, share = self._locate(t)
        rounds = math.floor(t / self.period)
        return rounds * self._distances[-1] + self._distances[index] + self._length(index, share)

    def _locate(self, t: float) -> tuple[int, float]:
        at = t % self.period
        index = min(bisect_right(self._ends, at), len(self._legs) - 1)
        leg = self._legs[index]
        return index, 1 - (self._ends[index] - at) / leg.seconds

    def _speeds(self, index: int) -> tuple[float, float]:
        return self._legs[index - 1].speed, self._legs[index].speed

    def _length(self, index: int, share: float) -> float:
        start, end = self._speeds(index)
        # The integral of the speed above, from the start of the leg.
        mean = start * share + (end - start) * (share**3 - share**4 / 2)
        return mean * self._legs[index].seconds / KMH_PER_MS


@dataclass(frozen=True, slots=True)
class Gearbox:
    """``steps`` are (speed in km/h up to which a gear is engaged, engine rpm per km/h)."""

    idle_rpm: float
    steps: tuple[tuple[float, float], ...]

    def gear(self, speed: float) -> int:
        """0 (neutral) at a standstill, then 1 and up."""
        if speed < 0.5:
            return 0
        limits = [limit for limit, _ in self.steps[:-1]]
        return 1 + bisect_right(limits, speed)

    def engine_speed(self, speed: float, t: float) -> float:
        """rpm; an idling engine hunts a little."""
        idle = self.idle_rpm + 12 * math.sin(2 * math.pi * 0.7 * t)
        gear = self.gear(speed)
        return max(idle, speed * self.steps[gear - 1][1]) if gear else idle


def pedal(speed: float, acceleration: float) -> float:
    """Accelerator in percent: what overcomes drag and gives the acceleration."""
    if speed < 0.5 and acceleration <= 0:
        return 0.0
    return min(100.0, max(0.0, 0.15 * speed + 32 * acceleration))


def brake_pressure(acceleration: float) -> float:
    """bar; coasting does the first tenths of a m/s^2."""
    return max(0.0, -acceleration - 0.3) * 22


def warming(t: float, final: float, seconds: float) -> float:
    """A temperature in degrees Celsius that nears ``final`` from the ambient one."""
    return AMBIENT_CELSIUS + (final - AMBIENT_CELSIUS) * (1 - math.exp(-t / seconds))
