"""What a start loads: the budget that keeps the relay quick on a laptop."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"mcp", "mcp_types", "pydantic", "httpx", "httpcore", "h11", "rich", "anyio", "click"}


def test_the_relay_loads_few_modules_and_no_heavy_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, relay.cli; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    assert "relay.core.session" in loaded
    assert len(loaded) < 220
