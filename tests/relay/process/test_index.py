"""docs/relay-tests.md names tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.relay.peer.client import ROOT

TEXT = (ROOT / "docs" / "relay-tests.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:[\w/]+/)?test_\w+\.py(?:::\w+)?)`", TEXT)))


@pytest.mark.parametrize("named", NAMED)
def test_each_test_that_the_page_names_exists(named: str) -> None:
    path, _, function = named.partition("::")
    found = [ROOT / path] if "/" in path else list((ROOT / "tests" / "relay").rglob(path))
    assert found and all(each.exists() for each in found)
    assert f"def {function}" in found[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`((?:tests|bench)/[\w/]+)`", TEXT))))
def test_each_directory_that_the_page_names_exists(named: str) -> None:
    assert (ROOT / named).is_dir()
