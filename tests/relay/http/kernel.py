"""What the kernel knows of a connection."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.relay.http.server import PATIENCE

KERNEL_CONNECTIONS = Path("/proc/net/tcp")

_KEEPALIVE_RUNS = "02"  # field "tr" of proc_net_tcp
_PAUSE = 0.01  # seconds


async def keepalive_of_connection_to(port: int) -> None:
    """Return once the keepalive timer runs for a connection to this port on 127.0.0.1.

    For a moment another timer may, while the last bytes are not acknowledged.
    """
    for _ in range(int(PATIENCE / _PAUSE)):
        if _KEEPALIVE_RUNS in _timers(f"0100007F:{port:04X}"):
            return
        await asyncio.sleep(_PAUSE)
    raise AssertionError("no keepalive timer runs")


def _timers(remote: str) -> list[str]:
    rows = [line.split() for line in KERNEL_CONNECTIONS.read_text().splitlines()[1:]]
    return [row[5].partition(":")[0] for row in rows if row[2] == remote]
