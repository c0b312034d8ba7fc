"""Run the demonstration: `make demo`, or `python -m demo` in the project's environment."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import anyio

from demo.programs import ProgramError, relay_client, serving
from demo.screen import Screen
from demo.session import play

WORKS_WITHIN_SECONDS = 50.0


async def demonstrate(screen: Screen, workspace: Path) -> None:
    """Start the service, let a client talk to it through the relay, end both."""
    with anyio.fail_after(WORKS_WITHIN_SECONDS):
        screen.step("Start canferry-service on the simulated rig, as its operator would")
        async with serving(workspace) as url:
            screen.say(f"serving {url}; 'powertrain' is armed by the operator, 'truck' is not")
            screen.step("Start canferry-relay against it, as a desktop agent would, over stdio")
            async with relay_client(url, workspace) as client:
                await play(client, screen)
        screen.step("Done: the relay and the service have ended, nothing is left running")


def main() -> int:
    screen = Screen()
    with tempfile.TemporaryDirectory(prefix="canferry-demo-") as folder:
        workspace = Path(folder)
        try:
            anyio.run(demonstrate, screen, workspace)
        except (ProgramError, TimeoutError) as error:
            screen.failed(str(error) or f"not done within {WORKS_WITHIN_SECONDS:.0f} s")
            for log in sorted(workspace.glob("*.log")):
                screen.log_tail(log)
            return 1
        except KeyboardInterrupt:
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
