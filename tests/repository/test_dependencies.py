"""Each dependency is bounded on both sides, locked by hash, and no index host is named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def declared() -> list[str]:
    """Every requirement string of ``pyproject.toml``, whatever table it stands in."""
    project = PROJECT["project"]
    lists = [
        PROJECT["build-system"]["requires"],
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    return [text for requirements in lists for text in requirements]


def locked() -> dict[str, Version]:
    pins = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)", LOCK, re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in pins}


@pytest.mark.parametrize("text", declared())
def test_a_dependency_has_a_lower_and_an_upper_bound(text: str) -> None:
    operators = {specifier.operator for specifier in Requirement(text).specifier}
    assert operators & {">=", "==", "~="}, f"{text}: no lower bound"
    assert operators & {"<", "<=", "==", "~="}, f"{text}: no upper bound"


@pytest.mark.parametrize("text", declared())
def test_the_lock_satisfies_what_is_declared(text: str) -> None:
    requirement = Requirement(text)
    pins = locked()
    name = canonicalize_name(requirement.name)
    assert name in pins, f"{name} is not in requirements.lock; run `make lock`"
    assert requirement.specifier.contains(pins[name]), f"{name} {pins[name]}; run `make lock`"


def test_every_locked_package_is_pinned_by_hash() -> None:
    blocks = re.split(r"\n(?=[A-Za-z0-9])", LOCK)
    unhashed = [block.split()[0] for block in blocks if "==" in block and "--hash=" not in block]
    assert unhashed == []


def test_the_lock_names_no_index() -> None:
    assert "://" not in LOCK
    assert "--index-url" not in LOCK
