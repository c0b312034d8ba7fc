"""What is expected of every scenario that the suite has for servers, as ``server.toml`` says it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("server.toml")


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scenarios with a reason in common.

    Where ``checks`` are named, the scenarios are to miss these and no others.
    """

    reason: str
    scenarios: tuple[str, ...]
    checks: tuple[str, ...] = ()


class Leg(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run of a release of the suite against one server."""

    server: Literal["fixture", "service"]
    revision: str
    release: str
    """Of the suite."""
    arguments: tuple[str, ...]
    passes: tuple[str, ...]
    fails: tuple[Group, ...] = ()
    left_out: tuple[Group, ...] = ()
    """Not judged: a result would say nothing of this server."""

    def __post_init__(self) -> None:
        names = [*self.passes, *self.names(self.fails), *self.names(self.left_out)]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{self.name}: named twice: {', '.join(sorted(twice))}")

    @property
    def name(self) -> str:
        return f"{self.server} {self.revision} {self.release}"

    @staticmethod
    def names(groups: tuple[Group, ...]) -> list[str]:
        return [name for group in groups for name in group.scenarios]

    def judged(self) -> set[str]:
        """The scenarios with a result that counts."""
        return {*self.passes, *self.names(self.fails)}

    def listed(self) -> set[str]:
        return self.judged() | set(self.names(self.left_out))


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of the file."""

    leg: tuple[Leg, ...]

    def of(self, release: str) -> set[str]:
        """The scenarios that any leg of a release of the suite names."""
        return {name for leg in self.leg if leg.release == release for name in leg.listed()}


def read_table() -> Table:
    return msgspec.convert(tomllib.loads(DATA.read_text(encoding="utf-8")), Table)
