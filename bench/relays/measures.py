"""What is measured of one relay: each phase does its work once and returns its figures."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.relays import procstat
from bench.relays.client import Client, RelayFailure

ECHO_TEXT = "hello relay " * 4
BEHIND_A_SLEEP = 20
EVENT_CHUNK = 1 << 16
PROGRESS_SECONDS = 20.0
LATE_SECONDS = 0.5
SETTLE_SECONDS = 0.3

Sample = dict[str, float | None]


@dataclass(frozen=True)
class Load:
    """How much work a phase is. ``seconds`` bounds a batch of calls for the slow ones."""

    calls: int = 100
    seconds: float = 1.0
    notifications: int = 10_000
    blob: int = 10_000_000
    sleep: float = 1.0
    max_repetitions: int = 5


QUICK = Load(calls=20, notifications=500, blob=1_000_000, sleep=0.3, max_repetitions=1)


def start_and_end(client: Client, _load: Load) -> Sample:
    started = client.open()
    return {"start_ms": started * 1e3, "exit_ms": client.finish() * 1e3}


def idle(client: Client, _load: Load) -> Sample:
    client.call("echo", text="warm")
    time.sleep(SETTLE_SECONDS)  # not a wait for anything: "idle" is a while after the last call
    return {"idle_mib": procstat.rss_mib(client.pid)}


def sequential(client: Client, load: Load) -> Sample:
    client.call("echo", text=ECHO_TEXT)
    times: list[float] = []
    cpu = procstat.cpu_seconds(client.pid)
    until = time.perf_counter() + load.seconds
    while len(times) < load.calls and time.perf_counter() < until:
        times.append(client.call("echo", text=ECHO_TEXT))
    used = _since(cpu, procstat.cpu_seconds(client.pid))
    return {"echo_ms": statistics.median(times) * 1e3, "cpu_1": _per_thousand(used, len(times))}


def in_flight(client: Client, load: Load, width: int) -> Sample:
    """Keep ``width`` calls open until the batch is sent."""
    outstanding = {client.start("echo", text=ECHO_TEXT) for _ in range(width)}
    sent, done = width, 0
    cpu = procstat.cpu_seconds(client.pid)
    began = time.perf_counter()
    while outstanding:
        outstanding.remove(client.reply(outstanding))
        done += 1
        if sent < load.calls * 4 and time.perf_counter() - began < load.seconds:
            outstanding.add(client.start("echo", text=ECHO_TEXT))
            sent += 1
    took = time.perf_counter() - began
    used = _since(cpu, procstat.cpu_seconds(client.pid))
    return {f"rate_{width}": done / took, f"cpu_{width}": _per_thousand(used, done)}


def behind_a_sleep(client: Client, load: Load) -> Sample:
    slow = client.start("sleep", seconds=load.sleep)
    took = 0.0
    waiting = {slow}
    for _ in range(BEHIND_A_SLEEP):
        began = time.perf_counter()
        quick = client.start("echo", text=ECHO_TEXT)
        waiting.add(quick)
        while quick in waiting:
            waiting.remove(client.reply(waiting))
        took += time.perf_counter() - began
    if slow in waiting:
        client.reply({slow})
    return {"behind_ms": took * 1e3}


def big_json(client: Client, load: Load) -> Sample:
    procstat.reset_peak(client.pid)
    times = [client.call("blob", bytes=load.blob) for _ in range(2)]
    return {"json_ms": min(times) * 1e3, "json_mib": procstat.peak_mib(client.pid)}


def big_event(client: Client, load: Load) -> Sample:
    procstat.reset_peak(client.pid)
    took = client.call("event", bytes=load.blob, chunk=EVENT_CHUNK)
    return {"event_ms": took * 1e3, "event_mib": procstat.peak_mib(client.pid)}


def progress(client: Client, load: Load) -> Sample:
    """Notifications per second from the call to the last one, late ones included."""
    began = last = time.perf_counter()
    call = client.start("progress", count=load.notifications)
    seen, answered = 0, False
    while not (answered and seen == load.notifications):
        patience = LATE_SECONDS if answered else began + PROGRESS_SECONDS - time.perf_counter()
        try:
            line = client.line(patience)
        except RelayFailure:
            if not seen:
                raise
            break
        if b'"notifications/progress"' in line:
            seen, last = seen + 1, time.perf_counter()
        else:
            answered = answered or b'"id":%d' % call in line.replace(b" ", b"")
    return {
        "progress_rate": seen / (last - began) if seen else None,
        "progress_lost": float(load.notifications - seen),
    }


@dataclass(frozen=True)
class Phase:
    """A phase; ``alone`` has a process of its own each time, the others share one per round."""

    name: str
    repetitions: int
    run: Callable[[Client, Load], Sample]
    alone: bool = False


PHASES = (
    Phase("start and end", 5, start_and_end, alone=True),
    Phase("idle", 1, idle),
    Phase("one at a time", 4, sequential),
    Phase("16 in flight", 3, lambda client, load: in_flight(client, load, 16)),
    Phase("64 in flight", 3, lambda client, load: in_flight(client, load, 64)),
    Phase("behind a sleep", 1, behind_a_sleep),
    Phase("big result as JSON", 2, big_json),
    Phase("big result as SSE", 1, big_event),
    Phase("progress", 2, progress),
)


def _since(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before


def _per_thousand(seconds: float | None, calls: int) -> float | None:
    return None if seconds is None else seconds * 1000 / calls
