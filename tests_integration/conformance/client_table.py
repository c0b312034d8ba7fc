"""What is expected of every scenario that the suite has for clients, as ``client.toml`` says it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

DATA = Path(__file__).with_name("client.toml")


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scenarios with a reason in common.

    Where something is refused, ``answer`` is part of the error that the client gets for it.
    """

    reason: str
    scenarios: tuple[str, ...]
    answer: str = ""


class Leg(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client of one revision, through the relay, to the suite's server of the same or another."""

    client: str
    revision: str
    """Of the server."""
    release: str
    """Of the suite."""
    arguments: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    refuses: tuple[Group, ...] = ()
    """These pass, too, for the suite wants to see its server refused."""
    fails: tuple[Group, ...] = ()
    left_out: tuple[Group, ...] = ()
    """Not judged: a result would say nothing of the relay."""

    def __post_init__(self) -> None:
        names = [each.scenario for each in self.expected()] + self.names(self.left_out)
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{self.name}: named twice: {', '.join(sorted(twice))}")
        if not all(group.answer for group in (*self.refuses, *self.fails)):
            raise ValueError(f"{self.name}: what is refused is refused with an answer")

    @property
    def name(self) -> str:
        return f"{self.client} to {self.revision}, {self.release}"

    @staticmethod
    def names(groups: tuple[Group, ...]) -> list[str]:
        return [name for group in groups for name in group.scenarios]

    def expected(self) -> Iterator[Expected]:
        """Each scenario that is run."""
        for name in self.passes:
            yield Expected(self, name, passes=True)
        for group in self.refuses:
            for name in group.scenarios:
                yield Expected(self, name, passes=True, answer=group.answer)
        for group in self.fails:
            for name in group.scenarios:
                yield Expected(self, name, passes=False, answer=group.answer)

    def listed(self) -> set[str]:
        return {each.scenario for each in self.expected()} | set(self.names(self.left_out))


class Expected(msgspec.Struct, frozen=True):
    """What one scenario is to come to on one leg."""

    leg: Leg
    scenario: str
    passes: bool
    answer: str = ""
    """The error with which the client is refused; without one, it gets all it asks for."""

    @property
    def name(self) -> str:
        return f"{self.leg.name}: {self.scenario}"


class Excuse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A check whose warning is not counted; its failure is."""

    check: str
    reason: str


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of the file."""

    excused: tuple[Excuse, ...]
    leg: tuple[Leg, ...]

    def of(self, release: str) -> tuple[Leg, ...]:
        """The legs of a release of the suite."""
        return tuple(leg for leg in self.leg if leg.release == release)

    def expected(self) -> list[Expected]:
        return [each for leg in self.leg for each in leg.expected()]


def read_table() -> Table:
    return msgspec.convert(tomllib.loads(DATA.read_text(encoding="utf-8")), Table)
