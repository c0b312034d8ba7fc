"""The sample tools on stdin and stdout, as a process; ``wait_at_door`` opens after ``echo``."""

from __future__ import annotations

import anyio

from service.mcp import build_server, serve_stdio
from service.model.caller import Caller
from tests.service.sample_tools import Bench, dispatcher


async def main() -> None:
    await serve_stdio(build_server(dispatcher(Bench(Caller("nobody"))), version="1.2"))


anyio.run(main)
