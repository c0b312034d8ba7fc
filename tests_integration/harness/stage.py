"""What one test starts, ended in the order that the harness demands."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TypeVar

from tests_integration.harness.deadline import Deadline
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stdio_client import (
    RELAY,
    Json,
    LegacyClient,
    ModernClient,
    StdioClient,
)

AnyClient = TypeVar("AnyClient", bound=StdioClient)


def logged(stderr: str) -> list[str]:
    """The lines of a relay's log, without their times."""
    return [line.split(" ", 1)[1] for line in stderr.splitlines()]


class Stage:
    """The clients and the servers of one test.

    Relays end before the servers, whatever the order they were started in: a relay may hold a
    request open that a server would otherwise wait for.
    """

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self._clients: list[StdioClient] = []
        self._ended: list[StdioClient] = []
        self._servers: list[tuple[Peer, Server]] = []

    def server(self, peer: Peer, kind: str = "dual") -> Server:
        """A server for this test alone."""
        server = peer.start(kind)
        if not self._servers:
            # One process may speak for the servers of many tests.
            server.process.lines.forget()
        self._servers.append((peer, server))
        return server

    def legacy(
        self, server: Server, *options: str, capabilities: Json | None = None
    ) -> LegacyClient:
        """A client of 2025-06-18 behind a relay to ``server``, its handshake done."""
        client = self._client(LegacyClient, server, options)
        client.initialize(capabilities)
        return client

    def modern(
        self, server: Server, *options: str, capabilities: Json | None = None
    ) -> ModernClient:
        """A client of 2026-07-28 behind a relay to ``server``."""
        client = self._client(ModernClient, server, options)
        return client.with_capabilities(capabilities or {})

    def unopened(
        self, server: Server, *options: str, environ: Mapping[str, str] | None = None
    ) -> LegacyClient:
        """A client that has said nothing yet."""
        return self._client(LegacyClient, server, options, environ)

    def _client(
        self,
        kind: type[AnyClient],
        server: Server,
        options: tuple[str, ...],
        environ: Mapping[str, str] | None = None,
    ) -> AnyClient:
        client = kind((*RELAY, server.url, *options), self.deadline, environ)
        self._clients.append(client)
        return client

    def end(self, client: StdioClient) -> tuple[int, str]:
        """End one relay now; its exit code and the whole of its stderr."""
        self._clients.remove(client)
        self._ended.append(client)
        return client.close(), client.process.stderr()

    def close(self) -> None:
        """End the relays, newest first, and then the servers; one that fails keeps no other."""
        with ExitStack() as last:
            for peer, server in self._servers:
                last.callback(peer.kill, server)
            for client in tuple(self._clients):
                last.callback(self.end, client)
            self._servers.clear()

    def transcripts(self) -> list[tuple[str, str]]:
        """What each relay wrote to stderr, and what its client did not take, under a title."""
        return [
            (
                f"relay {number}",
                "\n".join([client.process.stderr(), *map(repr, client.process.lines.left())]),
            )
            for number, client in enumerate([*self._ended, *self._clients], 1)
        ]
