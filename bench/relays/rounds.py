"""Rounds: all contenders are alive and take turns batch by batch, so that noise meets all alike."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from bench.relays.client import Client, RelayFailure, running
from bench.relays.measures import PHASES, Load, Phase, Sample

Turn = tuple[int, int]
"""Round and repetition: what has the same turn was measured within the same seconds."""


@dataclass
class Record:
    """All that was measured of one contender: its figures by key and turn, and its failures."""

    figures: dict[str, dict[Turn, float]] = field(default_factory=dict)
    failures: dict[str, set[str]] = field(default_factory=dict)
    """What went wrong, and in which phases."""

    def add(self, turn: Turn, sample: Sample) -> None:
        for key, value in sample.items():
            if value is not None:
                self.figures.setdefault(key, {})[turn] = value

    def median(self, key: str) -> float | None:
        values = self.figures.get(key)
        return statistics.median(values.values()) if values else None

    def ratio(self, base: Record, key: str) -> float | None:
        """The median of the ratios to ``base`` of the same turn."""
        others = base.figures.get(key, {})
        pairs = [
            value / others[turn]
            for turn, value in self.figures.get(key, {}).items()
            if others.get(turn)
        ]
        return statistics.median(pairs) if pairs else None


class Rounds:
    """Runs rounds of all phases for contenders given by their commands."""

    def __init__(
        self, commands: Mapping[str, list[str]], environment: Mapping[str, str], load: Load
    ) -> None:
        self._commands = commands
        self._environment = environment
        self._load = load
        self.records = {name: Record() for name in commands}

    def warm_up(self) -> None:
        """Start each once, unmeasured: modules are compiled and files come into memory."""
        for name, command in self._commands.items():
            with self._noting_failure(name, "warm-up"), running(command, self._environment) as one:
                one.open()
                one.finish()

    def run(self, rounds: int, seconds: float) -> int:
        """Run up to ``rounds`` rounds, none of them begun after ``seconds``; return how many."""
        began = time.monotonic()
        for number in range(rounds):
            if number and time.monotonic() - began > seconds:
                return number
            self._round(number)
            print(
                f"round {number + 1} of {rounds}: {time.monotonic() - began:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        return rounds

    def _round(self, number: int) -> None:
        clients: dict[str, Client] = {}
        with ExitStack() as processes:
            for name, phase, repetition in self._turns(number):
                with self._noting_failure(name, phase.name):
                    sample = self._sample(name, phase, clients, processes)
                    self.records[name].add((number, repetition), sample)
                    continue
                if name in clients:
                    clients.pop(name).kill()  # the next phase gets a new one

    def _turns(self, number: int) -> Iterator[tuple[str, Phase, int]]:
        """Who does what next; each repetition begins with another contender."""
        names = list(self._commands)
        for phase in PHASES:
            for repetition in range(min(phase.repetitions, self._load.max_repetitions)):
                shift = (number + repetition) % len(names)
                for name in names[shift:] + names[:shift]:
                    yield name, phase, repetition

    def _sample(
        self, name: str, phase: Phase, clients: dict[str, Client], processes: ExitStack
    ) -> Sample:
        start = running(self._commands[name], self._environment)
        if phase.alone:
            with start as client:
                return phase.run(client, self._load)
        if name not in clients:
            clients[name] = processes.enter_context(start)
            clients[name].open()
        return phase.run(clients[name], self._load)

    @contextmanager
    def _noting_failure(self, name: str, doing: str) -> Iterator[None]:
        try:
            yield
        except RelayFailure as failure:
            self.records[name].failures.setdefault(str(failure), set()).add(doing)


@contextmanager
def server(environment: Mapping[str, str]) -> Iterator[str]:
    """Run the server; yield its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.relays.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(environment),
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise SystemExit("the server of the benchmark did not start")
        yield url
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
