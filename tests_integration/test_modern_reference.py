"""The six scenarios that the harness began with, for both clients, on servers of 2026-07-28.

The clients are written by hand, the servers are the SDK's, and the relay finds out the era itself.
Where a scenario is about what a server gets, the server says so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import count

import pytest

from tests_integration.harness.pairings import (
    client_of,
    on_modern_releases,
    text_of,
    with_both_clients,
)
from tests_integration.harness.peers import on
from tests_integration.harness.questions import ANSWERS, answer_to, retry
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage, logged
from tests_integration.harness.stdio_client import CLIENT, LEGACY, META, MODERN, Json
from tests_integration.manifest import requirement

SERVER_INFO = {"name": "reference", "version": "1.0"}
LISTS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
CHANGING = "note://changing"
QUIET = "note://quiet"  # which the server leaves out of what it acknowledges
FOUND_MODERN = "INFO relay.core: protocol era: modern (auto-detected)"
LISTEN_ENDED = [
    "INFO relay.core: subscriptions/listen: the server ended it",
    (
        "WARNING relay.core: the server tells of no more changes; "
        "it is asked to once the client fetches again"
    ),
    "INFO relay.core: the server tells of changes again; what was missed is said to have changed",
]
ALL_CHANGES = [
    "prompts/list_changed",
    "resources/list_changed",
    "resources/updated",
    "tools/list_changed",
]
ENOUGH_SECONDS = 2.0
"""Twice what the relay waits before it opens a listen again that it takes for lost."""

_keys = (f"six-{number}" for number in count())


# -- 1: the probe --


@requirement("era.probe-modern")
@on("mcp-2.3", "mcp-2.0", "service")
def test_the_probe_classifies_a_server_of_all_revisions_as_modern(stage: Stage, peer: Peer) -> None:
    client = stage.legacy(stage.server(peer))
    assert client.request("tools/list")["tools"]
    code, stderr = stage.end(client)
    assert (code, logged(stderr)) == (0, [FOUND_MODERN])


# -- 2: handshake, list and call --


@requirement("call.result-translated")
@on_modern_releases
def test_a_legacy_client_shakes_hands_lists_and_calls_in_the_words_of_its_revision(
    stage: Stage, peer: Peer
) -> None:
    client = stage.unopened(stage.server(peer))
    assert client.initialize() == {
        "protocolVersion": LEGACY,
        "capabilities": {
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "tools": {"listChanged": True},
        },
        "serverInfo": SERVER_INFO,
        "instructions": "A server nobody here wrote.",
    }
    listed = client.request("tools/list")
    assert listed.keys() == {"tools"}
    assert {"add", "greet", "hold"} < {tool["name"] for tool in listed["tools"]}
    assert client.call("add", a=2, b=3) == {
        "content": [{"type": "text", "text": "5"}],
        "structuredContent": {"result": 5},
        "isError": False,
    }
    assert client.request("ping") == {}


@requirement("call.result-translated")
@on("service")
def test_a_legacy_client_gets_the_results_of_our_service_without_what_is_newer(
    stage: Stage, peer: Peer
) -> None:
    client = stage.legacy(stage.server(peer))
    assert client.request("tools/list").keys() == {"tools"}
    result = client.call("bus_status")
    assert result.keys() <= {"content", "structuredContent", "isError"}
    assert result["structuredContent"]["ok"]


@requirement("call.headers", "call.meta")
@with_both_clients
@on_modern_releases
def test_a_call_bears_its_headers_and_says_of_itself_what_a_modern_server_must_know(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    roots = {"listChanged": True} if client_era == "legacy" else {}
    able: Json = {"elicitation": {}, "roots": roots}
    client = client_of(stage, client_era, stage.server(peer), capabilities=able)
    own = {"progressToken": "mine", "vendor.example/key": [1, {"a": None}]}
    seen = json.loads(text_of(client.call("reveal", own)))
    expected = {
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "reveal",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    assert expected.items() <= seen["headers"].items()
    assert not {"mcp-session-id", "last-event-id"} & seen["headers"].keys()
    assert seen["meta"] == {
        META + "protocolVersion": MODERN,
        META + "clientInfo": CLIENT,
        META + "clientCapabilities": {"elicitation": {}, "roots": {}},
        **own,
    }


@requirement("call.headers")
@with_both_clients
@on_modern_releases
def test_a_server_that_compares_headers_and_body_is_content_with_every_kind_of_request(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    """The SDK refuses a request whose ``Mcp-Name`` or ``Mcp-Method`` is not that of its body."""
    client = client_of(stage, client_era, stage.server(peer))
    [note] = client.request("resources/read", {"uri": "note://one"})["contents"]
    assert note["text"] == "grüße, 世界"
    letter = client.request("prompts/get", {"name": "letter", "arguments": {"to": "Ann"}})
    assert letter["messages"][0]["content"]["text"] == "Dear Ann,"
    for method in ("resources/list", "resources/templates/list", "prompts/list"):
        assert client.request(method)
    unknown = client.error(client.start("resources/read", {"uri": "note://grüße"}))
    assert (unknown["code"], unknown["data"]) == (-32602, {"uri": "note://grüße"})


@requirement("call.param-headers")
@with_both_clients
@on_modern_releases
@pytest.mark.parametrize(
    ("region", "header"),
    [("eu-west", "eu-west"), (" Zürich", "=?base64?IFrDvHJpY2g=?=")],
    ids=["as it is", "encoded"],
)
def test_an_annotated_argument_is_mirrored_into_its_header(
    stage: Stage, peer: Peer, client_era: str, region: str, header: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer))
    assert text_of(client.call("steer", region=region, count=3)) == header


@requirement("call.meta")
@on_modern_releases
def test_a_modern_client_gets_what_a_modern_server_says_as_it_is(stage: Stage, peer: Peer) -> None:
    client = stage.modern(stage.server(peer))
    assert client.discover()["supportedVersions"] == [MODERN]
    listed = client.request("tools/list")
    assert {"resultType", "ttlMs", "cacheScope", "_meta"} < listed.keys()
    assert client.call("add", a=2, b=3) == {
        "content": [{"type": "text", "text": "5"}],
        "structuredContent": {"result": 5},
        "isError": False,
        "resultType": "complete",
        "_meta": {META + "serverInfo": SERVER_INFO},
    }


@requirement("call.progress")
@with_both_clients
@on_modern_releases
def test_progress_arrives_under_the_token_of_the_client(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer))
    for token in ("grüße", 7):
        call = client.start_call("count", {"progressToken": token}, steps=3)
        assert text_of(client.result(call)) == "counted to 3"
        heard = [client.told("notifications/progress")["params"] for _ in range(3)]
        assert heard == [
            {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
            for step in (1, 2, 3)
        ]
    assert client.process.lines.left() == []


# -- 3: questions within a call --


@requirement("mrtr.full-loop")
@on_modern_releases
def test_a_question_goes_the_whole_way_round_under_the_id_of_its_call(
    stage: Stage, peer: Peer
) -> None:
    client = stage.legacy(stage.server(peer), capabilities={"elicitation": {}})
    call = client.start_call("greet", greeting="hello")
    question = client.told("elicitation/create")
    assert question["params"] == {
        "message": "What is your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "title": "Name"}},
            "required": ["name"],
        },
    }
    client.respond(question, {"action": "accept", "content": {"name": "Ann"}})
    assert client.result(call) == {
        "content": [{"type": "text", "text": "hello Ann"}],
        "structuredContent": {"result": "hello Ann"},
        "isError": False,
    }
    assert client.process.lines.left() == []


@requirement("mrtr.full-loop")
@on_modern_releases
def test_user_model_and_roots_are_asked_within_one_call(stage: Stage, peer: Peer) -> None:
    able: Json = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}
    client = stage.legacy(stage.server(peer), capabilities=able)
    call = client.start_call("interview")
    for _ in ANSWERS:
        question = client.take(lambda message: "method" in message and "id" in message)
        client.respond(question, answer_to(question))
    assert text_of(client.result(call)) == "Ann 30 word file:///truck"
    assert client.process.lines.left() == []


@requirement("mrtr.pass-through")
@on_modern_releases
def test_a_modern_client_is_given_the_question_and_repeats_the_call_itself(
    stage: Stage, peer: Peer
) -> None:
    able: Json = {"elicitation": {}, "sampling": {}, "roots": {}}
    client = stage.modern(stage.server(peer), capabilities=able)
    call: Json = {"name": "interview", "arguments": {}}
    wanted = client.request("tools/call", call)
    assert wanted["resultType"] == "input_required"
    again = retry(call, wanted)
    assert len(again["inputResponses"]) == len(ANSWERS)
    state: str = wanted["requestState"]
    # The server seals its states: one that was changed on the way is refused.
    spoilt = {**again, "requestState": state[:-1] + ("A" if state[-1] != "A" else "B")}
    refused = client.error(client.start("tools/call", spoilt))
    assert (refused["code"], refused["data"]) == (-32602, {"reason": "invalid_request_state"})
    assert text_of(client.request("tools/call", again)) == "Ann 30 word file:///truck"


@requirement("mrtr.withheld-capability")
@with_both_clients
@on_modern_releases
def test_a_client_that_cannot_be_asked_is_told_which_capability_it_lacks(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer), capabilities={"roots": {}})
    error = client.error(client.start_call("greet", greeting="hello"))
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert text_of(client.call("add", a=2, b=3)) == "5"


# -- 4: subscribe, publish, forward --


def begun(stage: Stage, server: Server) -> tuple[str, Json]:
    """The next listen that a server has been asked for: its id and its filter, as they came."""
    match = server.says(r"listen (\S+) begins with (.*)", stage.deadline)
    return match[1], json.loads(match[2])


@requirement("listen.filter", "listen.forwarded")
@on_modern_releases
def test_what_is_subscribed_to_is_nested_in_the_filter_and_its_updates_are_forwarded(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer, "changing")
    client = stage.legacy(server)
    assert begun(stage, server)[1] == LISTS
    assert client.request("resources/subscribe", {"uri": CHANGING}) == {}
    assert begun(stage, server)[1] == {**LISTS, "resourceSubscriptions": [CHANGING]}
    client.call("touch", uri="note://other")
    client.call("touch")
    assert client.drain() == [updated(CHANGING)]
    assert client.request("resources/unsubscribe", {"uri": CHANGING}) == {}
    client.call("touch")
    assert begun(stage, server)[1] == LISTS
    assert client.drain() == []


def updated(uri: str) -> Json:
    """What a legacy client hears of a change."""
    method = "notifications/resources/updated"
    return {"jsonrpc": "2.0", "method": method, "params": {"uri": uri}}


@requirement("listen.forwarded")
@on_modern_releases
def test_what_a_tool_publishes_reaches_a_client_that_has_subscribed_to_it(
    stage: Stage, peer: Peer
) -> None:
    client = stage.legacy(stage.server(peer))
    assert client.request("resources/subscribe", {"uri": "note://one"}) == {}
    client.call("publish", uri="note://two")
    client.call("publish", uri="note://one")
    assert client.drain() == [updated("note://one")]


@requirement("listen.honoured")
@on_modern_releases
def test_a_subscription_that_the_server_leaves_out_is_refused_and_the_others_stay(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer, "changing")
    client = stage.legacy(server)
    assert client.request("resources/subscribe", {"uri": CHANGING}) == {}
    refused = client.error(client.start("resources/subscribe", {"uri": QUIET}))
    assert refused["code"] == -32602
    client.call("touch", uri=QUIET)
    client.call("touch")
    assert client.drain() == [updated(CHANGING)]


@requirement("listen.honoured", "listen.forwarded")
@on_modern_releases
def test_a_modern_client_gets_the_acknowledgement_and_the_updates_of_its_own_listen(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer, "changing")
    client = stage.modern(server)
    wanted = {"resourceSubscriptions": [QUIET, CHANGING], "toolsListChanged": True}
    listen = client.start("subscriptions/listen", {"notifications": wanted})
    named = {META + "subscriptionId": listen}
    assert begun(stage, server) == (str(listen), wanted)
    granted = {"resourceSubscriptions": [CHANGING], "toolsListChanged": True}
    acknowledged = client.told("notifications/subscriptions/acknowledged")
    assert acknowledged["params"] == {"notifications": granted, "_meta": named}
    client.call("touch", uri=QUIET)
    client.call("touch")
    heard = client.told("notifications/resources/updated")
    assert heard["params"] == {"uri": CHANGING, "_meta": named}
    client.cancel(listen)
    server.says(f"listen {listen} ends", stage.deadline)
    client.call("touch")
    assert client.drain() == []


# -- 5: a graceful end --


def assert_no_listen_begins(stage: Stage, server: Server) -> None:
    lines = server.process.lines.drain(ENOUGH_SECONDS, stage.deadline)
    assert not [line for line in lines if b"begins" in line]


@requirement("listen.graceful-end")
@on_modern_releases
def test_a_legacy_clients_listen_that_the_server_ends_in_good_order_is_not_opened_again_by_itself(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer, "changing")
    client = stage.legacy(server)
    client.request("resources/subscribe", {"uri": CHANGING})
    begun(stage, server)
    listen, _ = begun(stage, server)
    client.call("touch")
    assert client.told("notifications/resources/updated") == updated(CHANGING)
    client.call("hang_up")
    server.says(f"listen {listen} ends", stage.deadline)
    client.call("touch")
    assert_no_listen_begins(stage, server)
    # It may have had more to say; and nothing of what came after it has been said.
    methods = [message["method"] for message in client.drain()]
    assert sorted(methods) == [f"notifications/{kind}" for kind in ALL_CHANGES]
    # What a client fetches it wants to hear of.
    client.request("resources/read", {"uri": CHANGING})
    assert begun(stage, server)[1] == {**LISTS, "resourceSubscriptions": [CHANGING]}
    assert client.told("notifications/resources/updated") == updated(CHANGING)
    code, stderr = stage.end(client)
    assert (code, logged(stderr)) == (0, [FOUND_MODERN, *LISTEN_ENDED])


@requirement("listen.graceful-end")
@on_modern_releases
def test_a_modern_client_gets_the_result_of_a_listen_that_the_server_ends_in_good_order(
    stage: Stage, peer: Peer
) -> None:
    server = stage.server(peer, "changing")
    client = stage.modern(server)
    listen = client.listen(resourceSubscriptions=[CHANGING])
    begun(stage, server)
    client.call("hang_up")
    ended = client.result(listen)
    assert ended["resultType"] == "complete"
    assert ended["_meta"][META + "subscriptionId"] == listen
    assert_no_listen_begins(stage, server)
    client.call("touch")
    assert client.drain() == []


# -- 6: cancellation closes the POST --


@requirement("cancel.mid-stream", "cancel.latency", "call.progress")
@with_both_clients
@on_modern_releases
def test_a_cancelled_call_has_its_post_closed_and_its_tool_cancelled(
    stage: Stage,
    peer: Peer,
    client_era: str,
    measured: Callable[[str, float], None],
    request: pytest.FixtureRequest,
) -> None:
    key, server = next(_keys), stage.server(peer)
    client = client_of(stage, client_era, server)
    call = client.start_call("hold", {"progressToken": "mine"}, key=key, loud=True)
    # Only what has come out of the relay proves that the response has begun.
    heard = client.told("notifications/progress")
    assert heard["params"]["progressToken"] == "mine"
    server.says(f"started {key}$", stage.deadline)
    sent = time.perf_counter()
    client.cancel(call)
    server.says(f"cancelled {key}$", stage.deadline)
    latency = time.perf_counter() - sent
    measured(f"{request.node.callspec.id}: to cancel a tool within its response", latency)
    assert text_of(client.call("add", a=2, b=3)) == "5"
    assert client.drain() == []
    # A release that refuses notifications would have been complained about.
    code, stderr = stage.end(client)
    assert (code, logged(stderr)) == (0, [FOUND_MODERN])
    assert client.process.lines.left() == []
