"""The tables of docs/relay-behaviour.md as data, for the tests that hold the relay to them."""

from __future__ import annotations

from tests.relay.peer.client import ROOT

PAGE = ROOT / "docs" / "relay-behaviour.md"


def rows(heading: str) -> list[dict[str, str]]:
    """The first table under ``## heading``: each row by its column names."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    names, _, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    table = []
    for row in body:
        if row[0] == "---" or len(row) != len(names):
            break
        table.append(dict(zip(names, row, strict=True)))
    return table
