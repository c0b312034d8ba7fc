"""``python -m bench.relays``: this checkout's relay against peers and floors, as one table."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from bench.relays import linearity, measures, table
from bench.relays.client import running
from bench.relays.contenders import (
    OURS,
    PeerUnavailable,
    cache_folder,
    environment,
    ours,
    peers,
)
from bench.relays.rounds import Record, Rounds, server

ROUNDS = 4
SECONDS = 400.0
"""No round begins later than this."""

_EXPLANATION = """\
Ratios are medians of pairs that were measured within the same seconds. "noise" is the relay
against itself, "legacy" the target's figure for --protocol-era legacy; the rest divides the
relay's figure by the peer's or the floor's."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.relays", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small round without the peers")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to FILE")
    options = parser.parse_args()
    load = measures.QUICK if options.quick else measures.Load()
    surroundings = environment(cache_folder())
    with server(surroundings) as url:
        commands = ours(url)
        if not (options.quick or options.no_peers):
            try:
                commands |= peers(url)
            except PeerUnavailable as reason:
                _say(f"The peers are left out, and with them their targets. {reason}")
        rounds = Rounds(commands, surroundings, load)
        rounds.warm_up()
        began = time.monotonic()
        done = rounds.run(1 if options.quick else options.rounds, SECONDS)
        sizes = linearity.SIZES[:2] if options.quick else linearity.SIZES
        with running(commands[OURS], surroundings) as client:
            client.open()
            events = linearity.lines(client, sizes)
    print(*table.lines(rounds.records), "", *events, "", sep="\n")
    print(_EXPLANATION)
    print(f"{done} rounds, {time.monotonic() - began:.0f} s, big result {load.blob / 1e6:g} MB.")
    if options.json is not None:
        _write(options.json, rounds.records)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _write(path: Path, records: Mapping[str, Record]) -> None:
    """Every figure by contender and key, in the order of the turns."""
    figures = {
        name: {key: list(values.values()) for key, values in record.figures.items()}
        for name, record in records.items()
    }
    path.write_text(json.dumps(figures, indent=1), encoding="utf-8")


main()
