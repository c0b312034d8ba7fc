"""Changes of resources and of lists reach clients of either era, from servers of either era."""

from __future__ import annotations

from tests_integration.harness.changes import (
    CHANGING,
    LISTS,
    OTHER,
    Watcher,
    assert_told,
    assert_told_all_over,
    next_change,
    on_changing_servers,
    what_changed,
)
from tests_integration.harness.pairings import assert_quiet, on_modern_releases, with_both_clients
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import (
    META,
    Json,
    LegacyClient,
    ModernClient,
    StdioClient,
)
from tests_integration.manifest import requirement

ELSEWHERE = "note://elsewhere"


# -- resources --


@requirement("listen.forwarded")
@with_both_clients
@on_changing_servers
def test_of_several_resources_a_client_is_told_of_each_change_of_those_that_it_has_subscribed_to(
    stage: Stage, peer: Peer, server_era: str, client_era: str
) -> None:
    watcher = Watcher(stage, stage.server(peer, "changing"), client_era, server_era)
    watcher.watch(CHANGING, OTHER)
    client = watcher.client
    for uri in (OTHER, ELSEWHERE, CHANGING, OTHER):
        client.call("touch", uri=uri)
    client.call("burst", count=64)
    assert_told(client, OTHER, CHANGING, OTHER, *[CHANGING] * 64)


@requirement("listen.forwarded")
@on_changing_servers
def test_a_legacy_client_hears_no_more_of_what_it_has_unsubscribed_from(
    stage: Stage, peer: Peer, server_era: str
) -> None:
    server = stage.server(peer, "changing")
    watcher = Watcher(stage, server, "legacy", server_era)
    watcher.watch(CHANGING, OTHER)
    client = watcher.client
    assert client.request("resources/unsubscribe", {"uri": CHANGING}) == {}
    for uri in (CHANGING, OTHER):
        client.call("touch", uri=uri)
    assert_told(client, OTHER)
    if server_era == "legacy":
        server.says(f"unsubscribed {CHANGING}$", stage.deadline)


@requirement("listen.forwarded")
@on_changing_servers
def test_two_listens_of_a_modern_client_end_independently(
    stage: Stage, peer: Peer, server_era: str
) -> None:
    """A legacy server has one subscription for both, until the last of them has ended."""
    server = stage.server(peer, "changing")
    watcher = Watcher(stage, server, "modern", server_era)
    client = watcher.client
    assert isinstance(client, ModernClient)
    first = watcher.watch(CHANGING)
    second = client.listen(resourceSubscriptions=[CHANGING])
    client.call("touch")
    assert sorted(subscription_of(next_change(client)) for _ in range(2)) == [first, second]
    assert first is not None
    client.cancel(first)
    client.call("touch")
    assert subscription_of(next_change(client)) == second
    assert_quiet(client)
    client.cancel(second)
    if server_era == "legacy":
        server.says(f"unsubscribed {CHANGING}$", stage.deadline)
    client.call("touch")
    assert_quiet(client)


def subscription_of(message: Json) -> int:
    """The listen that a notification is for."""
    listen: int = message["params"]["_meta"][META + "subscriptionId"]
    return listen


# -- lists --


@requirement("listen.list-changed")
@with_both_clients
@on_changing_servers
def test_each_list_that_changes_is_told_of_and_is_longer(
    stage: Stage, peer: Peer, server_era: str, client_era: str
) -> None:
    watcher = Watcher(stage, stage.server(peer, "changing"), client_era, server_era)
    watcher.watch()
    client = watcher.client
    for name in LISTS:
        before = client.request(f"{name}/list")[name]
        client.call(f"announce_{name}")
        assert what_changed(next_change(client)) == name
        assert len(client.request(f"{name}/list")[name]) == len(before) + 1
    assert_quiet(client)


@requirement("listen.list-changed")
@on_changing_servers
def test_a_modern_client_is_told_of_no_list_that_it_has_not_asked_for(
    stage: Stage, peer: Peer, server_era: str
) -> None:
    watcher = Watcher(stage, stage.server(peer, "changing"), "modern", server_era)
    client = watcher.client
    assert isinstance(client, ModernClient)
    client.listen(promptsListChanged=True)
    watcher.stands()
    for name in LISTS:
        client.call(f"announce_{name}")
    assert_told(client, "prompts")


# -- the end of a listen --


def assert_no_listen_begins(server: Server) -> None:
    assert not [line for line in server.process.lines.left() if b"begins" in line]


def listening(stage: Stage, server: Server) -> LegacyClient:
    """A legacy client that has subscribed, and whose listens are all begun."""
    client = stage.legacy(server)
    assert client.request("resources/subscribe", {"uri": CHANGING}) == {}
    for _ in ("of the lists", "of the resource, too"):
        server.says("listen .* begins", stage.deadline)
    return client


@requirement("listen.anew", "listen.graceful-end")
@on_modern_releases
def test_a_legacy_client_that_subscribes_again_after_the_server_has_hung_up_is_told_again(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer, "changing")
    client = listening(stage, server)
    client.call("hang_up")
    # Nothing tells why a listen ends, so something may have been left unsaid.
    assert_told_all_over(client, CHANGING)
    client.call("touch")
    assert_quiet(client)
    assert_no_listen_begins(server)
    assert client.request("resources/subscribe", {"uri": CHANGING}) == {}
    assert_told_all_over(client, CHANGING)
    client.call("touch")
    assert_told(client, CHANGING)


BURST = 5
"""Changes at once, of which a listen is told of two where the backlog holds one event."""


@requirement("listen.one-event-backlog")
@on_modern_releases
def test_a_burst_beyond_the_backlog_is_not_lost_for_a_legacy_client_that_reads_upon_a_change(
    stage: Stage, peer: Peer
) -> None:
    """The server ends a listen whose backlog is full, in the words of one that it hangs up."""
    server = stage.server(peer, "one-event")
    client = listening(stage, server)
    client.call("burst", count=BURST)
    assert [what_changed(next_change(client)) for _ in range(2)] == [CHANGING, CHANGING]
    assert_told_all_over(client, CHANGING)  # in place of the rest
    assert_quiet(client)
    assert_no_listen_begins(server)
    assert read(client) == f"changed {BURST} times"
    # To fetch is to go on with it.
    assert_told_all_over(client, CHANGING)
    client.call("touch")
    assert_told(client, CHANGING)


@requirement("listen.one-event-backlog")
@on_modern_releases
def test_a_modern_client_gets_the_result_of_a_listen_that_a_burst_has_ended(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer, "one-event")
    client = stage.modern(server)
    listen = client.listen(resourceSubscriptions=[CHANGING])
    server.says("listen .* begins", stage.deadline)
    client.call("burst", count=BURST)
    assert client.result(listen)["resultType"] == "complete"
    assert_told(client, CHANGING, CHANGING)
    # It knows, and it is its turn: it listens again, and reads what it was not told of.
    assert_no_listen_begins(server)
    client.listen(resourceSubscriptions=[CHANGING])
    assert read(client) == f"changed {BURST} times"
    client.call("touch")
    assert_told(client, CHANGING)


def read(client: StdioClient) -> str:
    """What the changing resource says."""
    [content] = client.request("resources/read", {"uri": CHANGING})["contents"]
    text: str = content["text"]
    return text
