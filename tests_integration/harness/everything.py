"""The servers of the TypeScript SDK: its ``server-everything``, as npm installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests_integration.harness.deadline import Deadline
from tests_integration.harness.environments import Environment, environment
from tests_integration.harness.process import ROOT, Process
from tests_integration.harness.servers import START_SECONDS, Peer, Server

PROGRAM = "@modelcontextprotocol/server-everything/dist/index.js"
LISTENING = ROOT / "tests_integration" / "peers" / "listening.mjs"
TRANSPORTS = {
    "dual": ("streamableHttp", "/mcp"),
    "legacy": ("streamableHttp", "/mcp"),
    "sse": ("sse", "/sse"),
}
"""The kinds: how the program names a transport, and its path. The program keeps all events of
Streamable HTTP and knows no revision later than 2025-11-25."""


class Everything(Peer):
    """Each server is a process of its own."""

    def __init__(self, node: Environment) -> None:
        self._node = node
        self._running: dict[str, Process] = {}

    def start(self, kind: str = "dual", port: str = "0") -> Server:
        transport, path = TRANSPORTS[kind]
        command = (self._node.node, "--import", LISTENING.as_uri(), self._node.module(PROGRAM))
        process = Process((*command, transport), {"PORT": port})
        try:
            address = process.says(r"listening on (http://\S+)", Deadline(START_SECONDS))[1]
        except AssertionError:
            self._end(process)
            raise
        self._running[address + path] = process
        return Server(address + path, process)

    def kill(self, server: Server) -> None:
        """End a server as a crash does, unless it has ended already."""
        if process := self._running.pop(server.url, None):
            self._end(process)

    def close(self) -> None:
        while self._running:
            self._end(self._running.popitem()[1])

    def _end(self, process: Process) -> None:
        process.kill()
        process.close()


@contextmanager
def everything() -> Iterator[Everything]:
    """The servers of the TypeScript SDK; errors are those of ``environment("node")``."""
    servers = Everything(environment("node"))
    try:
        yield servers
    finally:
        servers.close()
