"""Whether the time of a server-sent event is proportional to its size.

The parser alone is fed in this process, in pieces of a TCP segment and of 64 KiB; then the whole
relay carries events of the same sizes. A parser that looks at its buffer again for each piece
shows itself here and nowhere else: at 16 MB it needs many times longer for each megabyte. Each
size is measured with the same number of bytes in all, so memory and caches cost the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bench.relays.client import Client
from bench.relays.table import aligned
from relay.core.sse import SseDecoder

SIZES = (1, 2, 4, 8, 16)
"""Megabytes of one event, which is one ``data:`` line."""

BOUND = 2.0
"""How much longer a megabyte may take in a larger event than in the smallest, noise included.

Looking at all of it again for each piece would make it 16.
"""

_SEGMENT = 1448  # bytes of a TCP segment on Ethernet
_CHUNK = 1 << 16
_PASSES = 5


def lines(client: Client, sizes: Sequence[int]) -> list[str]:
    """A table: ms per MB at the first size, and the others relative to it."""
    total = max(sizes)
    kinds: dict[str, Callable[[int], float]] = {
        f"parser, pieces of {_SEGMENT} B": lambda size: _parse(size, total // size, _SEGMENT),
        "parser, pieces of 64 KiB": lambda size: _parse(size, total // size, _CHUNK),
        f"relay, chunks of {_SEGMENT} B": lambda size: _carry(
            client, size, total // size, _SEGMENT
        ),
        "relay, chunks of 64 KiB": lambda size: _carry(client, size, total // size, _CHUNK),
    }
    first, *rest = sizes
    header = ("one event", f"{first} MB", *(f"{size} MB" for size in rest), "target", "met")
    return aligned([header, *(_row(label, run, sizes) for label, run in kinds.items())])


def _row(label: str, run: Callable[[int], float], sizes: Sequence[int]) -> tuple[str, ...]:
    # All sizes in each pass, so that noise of a second meets all of them.
    passes = [[run(size) for size in sizes] for _ in range(_PASSES)]
    first, *rest = [min(times) for times in zip(*passes, strict=True)]
    ratios = [each / first for each in rest]
    return (
        label,
        f"{first / max(sizes) * 1e3:.2f} ms",
        *(f"{each:.2f}x" for each in ratios),
        f"<= {BOUND:g}x",
        "yes" if all(each <= BOUND for each in ratios) else "NO",
    )


def _parse(megabytes: int, count: int, piece: int) -> float:
    """CPU seconds for ``count`` events of a size, all of which are kept."""
    body = (b"data: " + b"x" * (megabytes * 1_000_000) + b"\n\n") * count
    pieces = [body[start : start + piece] for start in range(0, len(body), piece)]
    decoder = SseDecoder(0)
    began = time.thread_time()
    events = [event for each in pieces for event in decoder.feed(each)]
    took = time.thread_time() - began
    assert [len(event.data) for event in events] == [megabytes * 1_000_000] * count
    return took


def _carry(client: Client, megabytes: int, count: int, chunk: int) -> float:
    size = megabytes * 1_000_000
    return sum(client.call("event", bytes=size, chunk=chunk) for _ in range(count))
