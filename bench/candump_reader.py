"""Frames per second of the columnar candump reader against python-can's, on one file in one run.

python -m bench.candump_reader [--frames 300000]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import can

from service.logs.candump import read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("--frames", type=int, default=300_000)
    frames: int = parser.parse_args().frames
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.log"
        write_log(path, frames)
        megabytes = path.stat().st_size / 1e6
        print(f"{frames} frames, {megabytes:.1f} MB; best of three, interleaved")
        ours = theirs = float("inf")
        for _ in range(3):
            ours = min(ours, seconds(lambda: len(read(path)), frames))
            theirs = min(
                theirs, seconds(lambda: sum(1 for _ in can.CanutilsLogReader(path)), frames)
            )
    print(f"canferry    {frames / ours:12,.0f} frames/s")
    print(f"python-can  {frames / theirs:12,.0f} frames/s")
    print(f"ratio       {theirs / ours:12.1f}")


class _Raw(argparse.RawDescriptionHelpFormatter):
    """Keeps the example of the docstring on its own line."""


def write_log(path: Path, frames: int) -> None:
    """A truck's share of 11-bit, 29-bit, short and CAN FD frames, the same on every run."""
    rng = random.Random(1)
    with path.open("w", encoding="ascii") as file:
        for index in range(frames):
            stamp = 1_700_000_000 + index / 2000
            kind = rng.random()
            if kind < 0.45:
                frame = f"{rng.randrange(0x800):03X}#{rng.randbytes(8).hex().upper()}"
            elif kind < 0.9:
                frame = f"{rng.randrange(1 << 29):08X}#{rng.randbytes(8).hex().upper()}"
            elif kind < 0.95:
                frame = f"{rng.randrange(0x800):03X}#{rng.randbytes(2).hex().upper()}"
            else:
                frame = f"{rng.randrange(0x800):03X}##5{rng.randbytes(32).hex().upper()}"
            file.write(f"({stamp:.6f}) can0 {frame}\n")


def seconds(run: Callable[[], int], expected: int) -> float:
    started = time.perf_counter()
    count = run()
    elapsed = time.perf_counter() - started
    if count != expected:
        raise SystemExit(f"read {count} of {expected} frames")
    return elapsed


if __name__ == "__main__":
    main()
