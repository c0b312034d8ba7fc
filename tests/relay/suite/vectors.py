"""What the format's own runner made of its inputs, recorded by running it: ours makes the same.

An issue and a violation stand as ``CODE path``. The runner that was recorded is older than
``structuredContentMatchesSchema``; where that assertion matters the vector says what the runner
finds once the assertion is in its tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from relay.suite.issues import Issue
from relay.suite.schema_match import Violation

Vector = dict[str, Any]

_FOLDER = Path(__file__).parent / "vectors"

DIFFERENCES = {
    "input-undefined": "no JSON document holds undefined",
    "input-Date": "no JSON document holds a date",
    "input-cyclic": "no JSON document contains itself",
    "input-bigint": "a number in a JSON document is a double",
    "schemaVersion-undefined": "a member of a JSON document has a value or is absent",
}
"""The recorded inputs of which ours does not make the same, and why: no file can hold them."""


def vectors(section: str) -> list[Vector]:
    """The vectors of one section, without those that differ."""
    recorded: list[Vector] = json.loads((_FOLDER / f"{section}.json").read_text(encoding="utf-8"))
    return [vector for vector in recorded if vector.get("name") not in DIFFERENCES]


def on_each(section: str) -> pytest.MarkDecorator:
    """Run a test on each vector of a section, as its parameter ``vector``."""
    found = vectors(section)
    return pytest.mark.parametrize("vector", found, ids=_name)


def _name(vector: Vector) -> str:
    return vector.get("name") or vector.get("file") or f"{vector['schema']} {vector['value']}"


def lines(found: Iterable[Issue | Violation]) -> list[str]:
    """Issues or violations as the vectors write them."""
    return [f"{one.code} {one.path}" for one in found]
