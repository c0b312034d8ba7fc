"""What legacy servers ask in the course of a call: of clients of their era, and of 2026-07-28's.

To a legacy client the server's requests go as they are. A modern one gets ``input_required``, and
brings its answers in another request, while the server's own waits.
"""

from __future__ import annotations

from itertools import count

import pytest

from tests_integration.harness.pairings import (
    client_of,
    on_legacy_sdk_servers,
    text_of,
    with_both_clients,
)
from tests_integration.harness.peers import on
from tests_integration.harness.questions import ABLE, answer_to, converse, retry
from tests_integration.harness.servers import Peer
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import (
    META,
    Json,
    ModernClient,
    StdioClient,
)
from tests_integration.manifest import requirement

ASKED = "What is your name?"
ANN: Json = {"action": "accept", "content": {"name": "Ann"}}
BEN: Json = {"action": "accept", "content": {"name": "Ben"}}
INTERVIEW: Json = {"name": "interview", "arguments": {}}

_keys = (f"ask-{number}" for number in count())


def greeting(words: str) -> Json:
    """The params of a call that asks for a name."""
    return {"name": "greet", "arguments": {"greeting": words}}


def consulting(key: str, *, forever: bool = False) -> Json:
    """The params of a call whose server says when it starts, is answered and is cancelled."""
    return {"name": "consult", "arguments": {"key": key, "forever": forever}}


def assert_well(client: StdioClient) -> None:
    """The relay goes on, and has said nothing that was not taken."""
    assert text_of(client.call("add", a=2, b=3)) == "5"
    assert client.process.lines.left() == []


# -- all that can be asked --


@requirement("ask.legacy")
@on_legacy_sdk_servers
def test_user_model_and_roots_are_asked_of_a_legacy_client_within_one_call(
    stage: Stage, peer: Peer, kind: str
) -> None:
    server = stage.server(peer, kind)
    client = stage.legacy(server, capabilities=ABLE)
    server.says("stream begins", stage.deadline)  # mcp 1.x asks for roots there
    heard: list[Json] = []

    def answer(question: Json) -> Json:
        heard.append(question)
        return answer_to(question)

    assert text_of(converse(client, "interview", answer)) == "Ann 30 word file:///truck"
    assert [question["method"] for question in heard] == [
        "elicitation/create",
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
    ]
    form = heard[0]["params"]["requestedSchema"]
    assert form["properties"] == {"name": {"type": "string", "title": "Name"}}
    assert heard[2]["params"]["maxTokens"] == 5
    assert_well(client)


@requirement("ask.modern-client")
@on_legacy_sdk_servers
def test_user_model_and_roots_are_asked_of_a_modern_client_in_as_many_rounds_as_it_takes(
    stage: Stage, peer: Peer, kind: str
) -> None:
    server = stage.server(peer, kind)
    client = stage.modern(server, capabilities=ABLE)
    client.request("tools/list")
    server.says("stream begins", stage.deadline)
    result, states, heard = client.request("tools/call", INTERVIEW), set[str](), list[Json]()
    while result["resultType"] == "input_required":
        assert result["_meta"].keys() == {META + "serverInfo"}
        states.add(result["requestState"])
        heard += result["inputRequests"].values()
        result = client.request("tools/call", retry(INTERVIEW, result))
    assert (result["resultType"], text_of(result)) == ("complete", "Ann 30 word file:///truck")
    assert len(states) > 1
    # What a question is in a result: a method, and params if there are any.
    assert [question["method"] for question in heard] == [
        "elicitation/create",
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
    ]
    assert all(question.keys() <= {"method", "params"} for question in heard)
    assert heard[0]["params"]["message"] == ASKED
    assert "_meta" not in heard[0]["params"]
    assert_well(client)


# -- several questions at a time --


@requirement("ask.crossed")
@on_legacy_sdk_servers
def test_two_questions_to_a_legacy_client_are_answered_in_the_opposite_order(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.legacy(stage.server(peer, kind), capabilities=ABLE)
    morning = client.start("tools/call", greeting("good morning"))
    first = client.told("elicitation/create")
    evening = client.start("tools/call", greeting("good evening"))
    second = client.told("elicitation/create")
    client.respond(second, BEN)
    assert text_of(client.result(evening)) == "good evening Ben"
    client.respond(first, ANN)
    assert text_of(client.result(morning)) == "good morning Ann"
    assert_well(client)


@requirement("ask.crossed")
@on_legacy_sdk_servers
def test_two_questions_to_a_modern_client_are_answered_in_the_opposite_order(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.modern(stage.server(peer, kind), capabilities=ABLE)
    calls = [greeting("good morning"), greeting("good evening")]
    morning, evening = [
        client.result(number) for number in [client.start("tools/call", call) for call in calls]
    ]
    assert not morning["inputRequests"].keys() & evening["inputRequests"].keys()
    later = client.request("tools/call", retry(calls[1], evening, lambda _: BEN))
    earlier = client.request("tools/call", retry(calls[0], morning, lambda _: ANN))
    assert (text_of(earlier), text_of(later)) == ("good morning Ann", "good evening Ben")
    assert_well(client)


@requirement("ask.crossed")
@on_legacy_sdk_servers
def test_a_question_may_have_the_id_that_the_client_has_given_to_the_call(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.legacy(stage.server(peer, kind), capabilities=ABLE)
    call = client.start("tools/call", greeting("good morning"))
    first = client.told("elicitation/create")
    client.respond(first, ANN)
    assert text_of(client.result(call)) == "good morning Ann"
    # Servers count, so it is known which id the next question will have.
    client.ask(first["id"] + 1, "tools/call", greeting("good evening"))
    second = client.told("elicitation/create")
    assert second["id"] == first["id"] + 1
    client.respond(second, BEN)
    assert text_of(client.result(second["id"])) == "good evening Ben"
    assert_well(client)


# -- no answer --


@requirement("ask.declined")
@pytest.mark.parametrize("action", ["decline", "cancel"])
@with_both_clients
@on_legacy_sdk_servers
def test_a_question_that_the_user_does_not_answer_ends_the_call_at_the_server(
    stage: Stage, peer: Peer, kind: str, client_era: str, action: str
) -> None:
    client = client_of(stage, client_era, stage.server(peer, kind), capabilities=ABLE)
    result = converse(client, "greet", lambda _: {"action": action}, greeting="hello")
    assert result["isError"]
    assert action in text_of(result)
    assert_well(client)


@requirement("ask.declined")
@on_legacy_sdk_servers
def test_a_legacy_client_may_answer_a_question_with_an_error(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.legacy(stage.server(peer, kind), capabilities=ABLE)
    call = client.start("tools/call", consulting(next(_keys)))
    question = client.told("elicitation/create")
    client.send(id=question["id"], error={"code": -32603, "message": "no screen to ask on"})
    assert "no screen to ask on" in str(client.answer(call))
    assert_well(client)


@requirement("ask.declined")
@on_legacy_sdk_servers
def test_a_modern_client_is_not_asked_for_what_it_has_not_declared(
    stage: Stage, peer: Peer, kind: str
) -> None:
    """The SDK leaves it to the other side to refuse what a tool asks without looking."""
    client = stage.modern(stage.server(peer, kind), capabilities={"roots": {}})
    refused = client.answer(client.start("tools/call", consulting(next(_keys))))
    assert "the client has not declared elicitation" in str(refused)
    assert_well(client)


@requirement("ask.declined")
@with_both_clients
@on("mcp-2.3", "mcp-2.0")
def test_a_legacy_server_that_looks_first_says_which_capability_a_client_lacks(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    server = stage.server(peer, "legacy")
    client = client_of(stage, client_era, server, capabilities={"roots": {}})
    error = client.error(client.start("tools/call", greeting("hello")))
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert_well(client)


# -- cancelled --


@requirement("ask.cancelled")
@on_legacy_sdk_servers
def test_a_legacy_client_cancels_a_call_while_its_question_is_open(
    stage: Stage, peer: Peer, kind: str
) -> None:
    server, key = stage.server(peer, kind), next(_keys)
    client = stage.legacy(server, capabilities=ABLE)
    call = client.start("tools/call", consulting(key))
    question = client.told("elicitation/create")
    client.cancel(call)
    server.says(f"cancelled {key}$", stage.deadline)
    # mcp 2.x takes the question back; nothing else is heard.
    withdrawn = [message["params"]["requestId"] for message in client.drain()]
    assert withdrawn in ([], [question["id"]])
    # A late answer does no harm; mcp 1.x logs one that it no longer waits for.
    client.respond(question, ANN)
    assert {message["method"] for message in client.drain()} <= {"notifications/message"}
    assert_well(client)


@requirement("ask.cancelled")
@on_legacy_sdk_servers
def test_a_modern_client_cancels_the_request_that_has_brought_the_answer(
    stage: Stage, peer: Peer, kind: str
) -> None:
    server, key = stage.server(peer, kind), next(_keys)
    client = stage.modern(server, capabilities=ABLE)
    call = consulting(key, forever=True)
    wanted = client.request("tools/call", call)
    running = client.start("tools/call", retry(call, wanted))
    server.says(f"answered {key}$", stage.deadline)
    client.cancel(running)
    server.says(f"cancelled {key}$", stage.deadline)
    assert client.drain() == []
    assert_well(client)


@requirement("ask.cancelled")
@on_legacy_sdk_servers
def test_a_question_that_a_modern_client_never_answers_holds_up_nothing_and_ends_with_the_relay(
    stage: Stage, peer: Peer, kind: str
) -> None:
    server, key = stage.server(peer, kind), next(_keys)
    client = stage.modern(server, capabilities=ABLE)
    assert client.request("tools/call", consulting(key))["resultType"] == "input_required"
    assert_well(client)
    code, _ = stage.end(client)
    server.says(f"cancelled {key}$", stage.deadline)
    assert code == 0


# -- rounds that go astray --


@requirement("ask.modern-client")
@on_legacy_sdk_servers
def test_a_modern_client_that_comes_without_the_answer_is_asked_again(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client = stage.modern(stage.server(peer, kind), capabilities=ABLE)
    call = greeting("hello")
    wanted = client.request("tools/call", call)
    empty = {**call, "inputResponses": {}, "requestState": wanted["requestState"]}
    again = client.request("tools/call", empty)
    assert again["inputRequests"] == wanted["inputRequests"]
    assert text_of(client.request("tools/call", retry(call, again))) == "hello Ann"
    assert_well(client)


def assert_refused(client: ModernClient, params: Json) -> None:
    error = client.error(client.start("tools/call", params))
    assert error["code"] == -32602
    assert "requestState" in error["message"]
    assert error["data"]["hint"]


@requirement("ask.foreign-state")
@on_legacy_sdk_servers
def test_a_state_that_is_not_of_this_request_is_refused_and_the_right_one_still_works(
    stage: Stage, peer: Peer, kind: str
) -> None:
    server = stage.server(peer, kind)
    client, other = (stage.modern(server, capabilities=ABLE) for _ in range(2))
    call = greeting("hello")
    right, foreign = (each.request("tools/call", call) for each in (client, other))
    spoilt = right["requestState"][:-1] + ("0" if right["requestState"][-1] != "0" else "1")
    for state in (spoilt, foreign["requestState"], ""):
        assert_refused(client, {**retry(call, right), "requestState": state})
    assert_refused(client, {**retry(call, right), **greeting("good-bye")})
    assert_refused(client, {**retry(call, right), **INTERVIEW})
    assert text_of(client.request("tools/call", retry(call, right))) == "hello Ann"
    assert text_of(other.request("tools/call", retry(call, foreign))) == "hello Ann"
    assert_well(client)


@requirement("ask.foreign-state")
@on_legacy_sdk_servers
def test_a_state_is_good_for_one_round(stage: Stage, peer: Peer, kind: str) -> None:
    client = stage.modern(stage.server(peer, kind), capabilities=ABLE)
    first = client.request("tools/call", INTERVIEW)
    second = client.request("tools/call", retry(INTERVIEW, first))
    assert second["resultType"] == "input_required"
    assert_refused(client, retry(INTERVIEW, first))
    third = client.request("tools/call", retry(INTERVIEW, second))
    assert third["resultType"] == "input_required"
    assert_refused(client, retry(INTERVIEW, second))
    assert_well(client)


# -- what else a call tells, before and after its question --


def progress_told(client: StdioClient) -> tuple[object, float]:
    """The token and the value of the next report of progress."""
    params = client.told("notifications/progress")["params"]
    return params["progressToken"], params["progress"]


def asked_with_progress(stage: Stage, peer: Peer, kind: str) -> tuple[ModernClient, Json, Json]:
    """A client that has been told of progress and then asked: its call, and what is wanted."""
    client = stage.modern(stage.server(peer, kind), capabilities=ABLE)
    call = consulting(next(_keys))
    wanted = client.request("tools/call", {**call, "_meta": {"progressToken": "first"}})
    assert progress_told(client) == ("first", 1)
    return client, call, wanted


@requirement("call.progress", "ask.modern-client")
@on_legacy_sdk_servers
def test_progress_comes_under_the_token_of_the_request_that_is_open(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client, call, wanted = asked_with_progress(stage, peer, kind)
    answering = {**retry(call, wanted), "_meta": {"progressToken": 2}}
    assert text_of(client.request("tools/call", answering)) == "accept"
    assert progress_told(client) == (2, 2)
    assert_well(client)


@requirement("call.progress", "ask.modern-client")
@on_legacy_sdk_servers
def test_an_answer_that_asks_for_no_progress_is_told_of_none(
    stage: Stage, peer: Peer, kind: str
) -> None:
    client, call, wanted = asked_with_progress(stage, peer, kind)
    assert text_of(client.request("tools/call", retry(call, wanted))) == "accept"
    assert_well(client)
