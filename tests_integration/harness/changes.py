"""Being told of changes by the servers of ``mcp_2_changing`` and ``mcp_1_changing``."""

from __future__ import annotations

from tests_integration.harness.pairings import LEGACY_SERVERS, assert_quiet, client_of, on_servers
from tests_integration.harness.servers import Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import Json, LegacyClient, ModernClient, StdioClient

CHANGING = "note://changing"
OTHER = "note://other"

LISTS = ("tools", "prompts", "resources")

on_changing_servers = on_servers(
    "server_era", ("mcp-2.3", "modern"), ("mcp-2.0", "modern"), *LEGACY_SERVERS
)
on_legacy_changing_servers = on_servers("server_era", *LEGACY_SERVERS)


class Watcher:
    """A client behind a relay that speaks up in a given era, told of changes in its own way."""

    def __init__(self, stage: Stage, server: Server, client_era: str, server_era: str) -> None:
        self._stage = stage
        self._server = server
        self._server_era = server_era
        self.client = client_of(stage, client_era, server, "--protocol-era", server_era)

    def watch(self, *uris: str) -> int | None:
        """Subscribe to resources, and to all lists; the id of a modern client's listen."""
        listen: int | None = None
        if isinstance(self.client, ModernClient):
            lists = dict.fromkeys((f"{name}ListChanged" for name in LISTS), True)
            listen = self.client.listen(resourceSubscriptions=list(uris), **lists)
        else:
            for uri in uris:
                assert self.client.request("resources/subscribe", {"uri": uri}) == {}
        self.stands(*uris)
        return listen

    def stands(self, *uris: str) -> None:
        """Wait until the server has all without which it says nothing.

        What it has acknowledged to a client stands; other things it tells of itself.
        """
        if self._server_era == "legacy":
            self._server.says("stream begins", self._stage.deadline)
            for uri in uris:
                self._server.says(f"subscribed {uri}$", self._stage.deadline)
        elif isinstance(self.client, LegacyClient) and not uris:
            self._server.says("listen .* begins", self._stage.deadline)


def next_change(client: StdioClient) -> Json:
    """The next notification that a client has not taken yet."""
    return client.take(lambda message: "id" not in message, "a notification")


def what_changed(notification: Json) -> str:
    """The resource, or the list by its name, that is said to have changed."""
    method: str = notification["method"]
    if method == "notifications/resources/updated":
        uri: str = notification["params"]["uri"]
        return uri
    return method.removeprefix("notifications/").removesuffix("/list_changed")


def assert_told(client: StdioClient, *expected: str) -> None:
    """A client is told of these changes, in this order, and of nothing else."""
    assert tuple(what_changed(next_change(client)) for _ in expected) == expected
    assert_quiet(client)


def assert_told_all_over(client: StdioClient, *uris: str) -> None:
    """A client that missed something is told that all it subscribed to may have changed."""
    expected = [*LISTS, *uris]
    heard = [what_changed(next_change(client)) for _ in expected]
    assert sorted(heard) == sorted(expected)
