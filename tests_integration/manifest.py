"""What the tests of this folder pin, as ``requirements.toml`` has it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import pytest

DATA = Path(__file__).with_name("requirements.toml")

Pairing: TypeAlias = Literal["legacy-legacy", "legacy-modern", "modern-legacy", "modern-modern"]
PAIRINGS: tuple[Pairing, ...] = (
    "legacy-legacy",
    "legacy-modern",
    "modern-legacy",
    "modern-modern",
)
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the data; a field that its type does not know is an error."""


class Peer(Entry, frozen=True):
    """Who stands at the other end of the wire."""

    name: str
    title: str


class Scenario(Entry, frozen=True):
    """One of the six that the harness began with, by the name that it had there."""

    name: str
    title: str


class Requirement(Entry, frozen=True):
    """What a test may show, and the peers on which it is shown."""

    id: str
    sentence: str
    peers: tuple[str, ...]
    spec: tuple[str, ...] = ()
    eras: tuple[Pairing, ...] = PAIRINGS
    scenario: str | None = None

    def __post_init__(self) -> None:
        if not self.peers:
            raise ValueError(f"{self.id}: a requirement without a peer is a rule")
        for place in self.spec:
            if place.split("/")[0] not in REVISIONS:
                raise ValueError(f"{self.id}: {place} begins with no revision of the specification")


class Section(Entry, frozen=True):
    """Requirements that belong together."""

    title: str
    requirement: tuple[Requirement, ...]


class Rule(Entry, frozen=True):
    """A requirement of the harness itself: it holds whoever the peer is."""

    id: str
    sentence: str


class Discrepancy(Entry, frozen=True):
    """What a peer does otherwise than one would think, and what we do about it."""

    peer: str
    version: str
    what: str
    relay: str
    requirements: tuple[str, ...] = ()


class Manifest(Entry, frozen=True):
    """The whole of the data, which names nothing that it does not say."""

    peer: tuple[Peer, ...]
    scenario: tuple[Scenario, ...]
    section: tuple[Section, ...]
    rule: tuple[Rule, ...]
    discrepancy: tuple[Discrepancy, ...] = ()

    def __post_init__(self) -> None:
        ids = [entry.id for entry in self.entries]
        _refuse("given twice", {one for one in ids if ids.count(one) > 1})
        named = chain.from_iterable(entry.requirements for entry in self.discrepancy)
        _refuse("not a requirement", set(named) - {entry.id for entry in self.requirements})
        peers = chain.from_iterable(entry.peers for entry in self.requirements)
        differing = (entry.peer for entry in self.discrepancy)
        _refuse("not a peer", {*peers, *differing} - {entry.name for entry in self.peer})
        scenarios = {entry.name for entry in self.scenario}
        parts = {entry.scenario for entry in self.requirements if entry.scenario is not None}
        _refuse("not a scenario", parts - scenarios)
        _refuse("a scenario without a requirement", scenarios - parts)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return tuple(chain.from_iterable(section.requirement for section in self.section))

    @property
    def entries(self) -> tuple[Requirement | Rule, ...]:
        """All that a test can show."""
        return (*self.requirements, *self.rule)

    def unknown(self, ids: tuple[str, ...]) -> Iterator[str]:
        """Those that are neither a requirement's nor a rule's."""
        known = {entry.id for entry in self.entries}
        return (one for one in ids if one not in known)


def _refuse(why: str, names: set[str]) -> None:
    if names:
        raise ValueError(f"{why}: {', '.join(sorted(names))}")


class UnknownRequirement(LookupError):
    """A test bears an id that the manifest does not have."""


def parse(text: str) -> Manifest:
    """The manifest in a text.

    Errors: ``msgspec.ValidationError``, which names the place in the data.
    """
    return msgspec.convert(tomllib.loads(text), Manifest)


@cache
def manifest() -> Manifest:
    return parse(DATA.read_text(encoding="utf-8"))


def requirement(*ids: str, peer: str | None = None) -> pytest.MarkDecorator:
    """Say what a test shows; ``peer``: on whom, where no fixture of the test says so.

    Errors: UnknownRequirement for an id or a peer that the manifest does not have.
    """
    if unknown := list(manifest().unknown(ids)):
        raise UnknownRequirement(f"{', '.join(unknown)}: not in {DATA.name}")
    if peer is not None and peer not in {entry.name for entry in manifest().peer}:
        raise UnknownRequirement(f"{peer}: not a peer in {DATA.name}")
    return pytest.mark.requirement(*ids, peer=peer)
