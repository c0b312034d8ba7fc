"""The comparison of relays runs without a network, judges rightly, and says what it left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.relays import contenders, table
from bench.relays.contenders import FLOOR_RELAY, MCP_STDIO, OURS, OURS_AGAIN, OURS_LEGACY
from bench.relays.rounds import Record
from bench.relays.table import ROWS, Row

ROOT = Path(__file__).parents[2]
FASTER = Row("rate", "calls", "/s", 4, at_least=True)
SMALLER = Row("time", "one call", "ms", 0.6)
BOUNDED = Row("lost", "lost", "", 0, base=None)


def record(**figures: list[float]) -> Record:
    """A record with one turn for each figure of a list."""
    made = Record()
    for key, values in figures.items():
        for number, value in enumerate(values):
            made.add((number, 0), {key: value})
    return made


def test_a_ratio_is_of_figures_of_the_same_turn() -> None:
    ours, theirs = record(time=[1, 20, 3]), record(time=[2, 40, 6])
    assert ours.ratio(theirs, "time") == 0.5


def test_a_turn_that_one_side_lacks_is_no_pair() -> None:
    ours, theirs = record(time=[1, 20]), record(time=[2])
    assert ours.ratio(theirs, "time") == 0.5
    assert ours.ratio(record(), "time") is None


@pytest.mark.parametrize(
    ("row", "mine", "other", "met"),
    [
        (SMALLER, 6.0, 10.0, True),
        (SMALLER, 6.1, 10.0, False),
        (FASTER, 40.0, 10.0, True),
        (FASTER, 39.0, 10.0, False),
        (BOUNDED, 0.0, 7.0, True),
        (BOUNDED, 1.0, 7.0, False),
    ],
)
def test_a_target_is_met_or_not(row: Row, mine: float, other: float, met: bool) -> None:
    records = {OURS: record(**{row.key: [mine]}), MCP_STDIO: record(**{row.key: [other]})}
    assert row.met(records, OURS) is met


def test_a_target_without_its_peer_is_open() -> None:
    assert SMALLER.met({OURS: record(time=[1])}, OURS) is None


def test_a_failure_is_told_under_the_table() -> None:
    names = (OURS, OURS_AGAIN, OURS_LEGACY, FLOOR_RELAY)
    records = {name: record() for name in names}
    records[FLOOR_RELAY].failures["it closed stdout"] = {"idle", "progress"}
    lines = table.lines(records)
    assert len(lines) == 1 + len(ROWS) + 1
    assert lines[-1] == "floor relay failed (idle, progress): it closed stdout"


def test_a_peer_that_cannot_be_installed_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(contenders.PeerUnavailable, match=r"mcp-stdio==.*No matching distribution"):
        contenders.peers("http://127.0.0.1:1/mcp")


@pytest.mark.timeout(120)  # a dozen processes one after the other, on a machine that may be busy
def test_a_quick_run_prints_a_figure_in_every_row(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench.relays", "--quick", "--json", str(figures)],
        cwd=ROOT,
        env={"XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()[1 : 1 + len(ROWS)]
    assert [row.label for row in ROWS if f"{row.label}  " not in done.stdout] == []
    assert [row for row in rows if row.split("  ")[1] == "-"] == []
    assert set(json.loads(figures.read_text(encoding="utf-8"))) == {
        *contenders.ours("http://unused.example/mcp")
    }
