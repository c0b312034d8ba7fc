"""What the tests put at both ends of the relay: a server on a socket, and a client on pipes."""

from __future__ import annotations

from tests.relay.peer.client import Relay, environment, relay
from tests.relay.peer.mcp import McpServer, OldMcpServer
from tests.relay.peer.server import HttpServer, Seen
from tests.relay.peer.wire import LEGACY, MODERN, PATIENCE, Json

__all__ = [
    "LEGACY",
    "MODERN",
    "PATIENCE",
    "HttpServer",
    "Json",
    "McpServer",
    "OldMcpServer",
    "Relay",
    "Seen",
    "environment",
    "relay",
]
