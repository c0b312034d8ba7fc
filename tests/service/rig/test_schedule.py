"""Deadlines: no drift, bounded jitter, no bursts after a pause."""

from __future__ import annotations

import math

import pytest

from service.rig.schedule import Schedule


def test_actions_run_in_the_order_of_their_deadlines() -> None:
    schedule, ran = Schedule(), []
    schedule.at(2.0, lambda due: ran.append(("b", due)))
    schedule.at(1.0, lambda due: ran.append(("a", due)))
    schedule.at(2.0, lambda due: ran.append(("c", due)))
    assert schedule.run_due(0.5) == 1.0
    assert schedule.run_due(2.0) == math.inf
    assert ran == [("a", 1.0), ("b", 2.0), ("c", 2.0)]


def test_a_period_does_not_drift_however_late_the_steps_come() -> None:
    schedule, ran = Schedule(), list[float]()
    schedule.every(0.1, 10.0, ran.append)
    now, lateness = 10.0, 0
    while now < 20:
        lateness += 1
        now = schedule.run_due(now) + 0.003 * (lateness % 7)
    assert ran == pytest.approx([10 + 0.1 * n for n in range(len(ran))])
    assert len(ran) >= 99


def test_jitter_is_bounded_repeatable_and_does_not_add_up() -> None:
    def run(seed: int) -> list[float]:
        schedule, ran = Schedule(0.03, seed), list[float]()
        schedule.every(0.1, 0.0, ran.append)
        now = 0.0
        while now < 30:
            now = schedule.run_due(now)
        return ran

    first = run(1)
    off = [due - 0.1 * n for n, due in enumerate(first)]
    assert max(map(abs, off)) <= 0.003 + 1e-9
    assert max(map(abs, off)) > 0.001
    assert run(1) == first
    assert run(2) != first


def test_cycles_missed_in_a_long_pause_are_left_out_in_phase() -> None:
    schedule, ran = Schedule(), list[float]()
    schedule.every(0.1, 0.0, ran.append)
    schedule.run_due(0.0)
    following = schedule.run_due(60.05)
    assert len(ran) <= 12
    assert following == pytest.approx(60.1)


def test_an_action_may_plan_another_one() -> None:
    schedule, ran = Schedule(), list[float]()
    schedule.at(1.0, lambda due: schedule.at(due + 0.5, ran.append))
    schedule.run_due(1.0)
    assert schedule.run_due(1.2) == 1.5
    schedule.run_due(1.5)
    assert ran == [1.5]
