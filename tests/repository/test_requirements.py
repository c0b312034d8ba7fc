"""What tests_integration promises to pin is pinned, peer by peer; each of its tests says what."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests_integration.collected import Collected, CollectionFailed, collect, collected
from tests_integration.manifest import (
    Requirement,
    Rule,
    UnknownRequirement,
    manifest,
    parse,
    requirement,
)

SMALL = """
peer = [{ name = "p", title = "a peer" }]
scenario = [{ name = "s", title = "a scenario" }]
rule = [{ id = "harness.r", sentence = "A rule." }]
discrepancy = [{ peer = "p", version = "1", what = "w", relay = "r", requirements = ["a.b"] }]
[[section]]
title = "One"
requirement = [{ id = "a.b", sentence = "It works.", peers = ["p"], scenario = "s" }]
"""


Tests = tuple[Collected, ...]


@pytest.fixture(scope="module")
def tests() -> Tests:
    """All of tests_integration; a folder that cannot be collected is tried once."""
    return collected()


@pytest.mark.parametrize("entry", manifest().requirements, ids=lambda entry: entry.id)
def test_a_requirement_is_shown_on_exactly_the_peers_that_it_names(
    entry: Requirement, tests: Tests
) -> None:
    shown_on = {peer for test in tests for one, peer in test.shows if one == entry.id}
    assert shown_on == set(entry.peers)


@pytest.mark.parametrize("entry", manifest().rule, ids=lambda entry: entry.id)
def test_a_rule_of_the_harness_has_a_test(entry: Rule, tests: Tests) -> None:
    assert [test.place for test in tests if entry.id in test.ids]


def test_every_test_says_what_it_shows(tests: Tests) -> None:
    assert [test.place for test in tests if not test.ids] == []


def test_no_test_bears_an_id_that_the_manifest_does_not_have(tests: Tests) -> None:
    assert {one for test in tests for one in manifest().unknown(tuple(test.ids))} == set()


# -- the data --


def test_the_small_manifest_is_accepted() -> None:
    [entry] = parse(SMALL).requirements
    assert entry.peers == ("p",)
    assert len(entry.eras) == 4


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ('peers = ["p"]', 'peers = ["q"]', "not a peer: q"),
        ('peers = ["p"]', "peers = []", "without a peer"),
        ('peer = "p"', 'peer = "q"', "not a peer: q"),
        ('scenario = "s"', 'scenario = "t"', "not a scenario: t"),
        (', scenario = "s"', "", "a scenario without a requirement: s"),
        ('requirements = ["a.b"]', 'requirements = ["a.c"]', "not a requirement: a.c"),
        ('id = "harness.r"', 'id = "a.b"', "given twice: a.b"),
        ('peers = ["p"]', 'peers = ["p"], eras = ["new-old"]', "Invalid enum value 'new-old'"),
        ('peers = ["p"]', 'peers = ["p"], spec = ["2027-01-01/basic"]', "no revision"),
        ('peers = ["p"]', 'peers = ["p"], color = "red"', "unknown field `color`"),
        ('sentence = "It works.", ', "", "missing required field `sentence`"),
    ],
)
def test_data_that_contradicts_itself_is_refused(right: str, wrong: str, complaint: str) -> None:
    assert SMALL.count(right) == 1
    with pytest.raises(msgspec.ValidationError, match=complaint):
        parse(SMALL.replace(right, wrong))


def test_a_test_cannot_bear_an_unknown_id_or_peer() -> None:
    with pytest.raises(UnknownRequirement, match="no-such"):
        requirement("era.probe-modern", "no-such")
    with pytest.raises(UnknownRequirement, match="nobody"):
        requirement("era.probe-modern", peer="nobody")


# -- how tests are collected --

TESTS = """
import pytest
from tests_integration.manifest import requirement

@pytest.fixture
def sdk(): raise AssertionError("a fixture ran")

@pytest.fixture
def reference(sdk): ...

@pytest.fixture
def peer(request): ...

@requirement("call.progress")
def test_on_a_fixture(reference): raise AssertionError("a test ran")

@requirement("call.progress", "call.headers")
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("peer", ["mcp-1", "mcp-2.0"], indirect=True)
def test_on_two(peer, steps): ...

@requirement("service.live-decode", peer="service")
def test_by_word(): ...

@requirement("harness.measured")
def test_of_a_rule(): ...

def test_of_nothing(): ...
"""


def test_peers_are_read_from_the_parameter_the_fixtures_or_the_mark(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    shows = {test.place: set(test.shows) for test in collect(tmp_path)}
    assert shows == {
        "test_some.py::test_on_a_fixture": {("call.progress", "mcp-2.3")},
        "test_some.py::test_on_two": {
            (one, peer)
            for one in ("call.progress", "call.headers")
            for peer in ("mcp-1", "mcp-2.0")
        },
        "test_some.py::test_by_word": {("service.live-decode", "service")},
        "test_some.py::test_of_a_rule": {("harness.measured", "")},
        "test_some.py::test_of_nothing": set(),
    }


def test_a_folder_that_cannot_be_collected_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text("import no_such_module\n", encoding="utf-8")
    with pytest.raises(CollectionFailed, match="no_such_module"):
        collect(tmp_path)
