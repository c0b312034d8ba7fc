"""The questions of a legacy server in the middle of a 2026-07-28 client's request."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.events import Failure
from relay.core.legacy.run import MAX_QUESTIONS
from relay.core.legacy.runs import MAX_PARKED, PARKED_SECONDS
from tests.relay.core.old_server import (
    FORMS,
    SERVER_INFO,
    OldServer,
    calling,
    envelope,
    on_old_server,
)
from tests.relay.core.rig import PREFIX, Json, Rig, Sent, error, notification, result

FORM: Json = {"mode": "form", "message": "who?", "requestedSchema": {"type": "object"}}
ACCEPTED: Json = {"action": "accept", "content": {"n": 1.50}}
URLS: Json = {"elicitation": {"form": {}, "url": {}}}
CALL: Json = {"name": "t", "arguments": {"a": 1}}


def asked(
    question: Json | None = None,
    method: str = "elicitation/create",
    capabilities: Json | None = None,
    /,
    **more: Any,
) -> tuple[Rig, OldServer, Sent, Json]:
    """The server has asked something in the course of call 1; the client's request has ended."""
    rig, server, sent = calling(envelope(capabilities, **more))
    server.ask(sent, 41, method, question if question is not None else FORM)
    rig.fire("run:")
    return rig, server, sent, rig.told_one()["result"]


def retry(rig: Rig, number: object, wanted: Json, answer: object = ACCEPTED, **more: Any) -> None:
    """Send the request again, with the same answer to each question."""
    rig.ask(
        number,
        "tools/call",
        {
            **CALL,
            "_meta": envelope(**more),
            "inputResponses": dict.fromkeys(wanted["inputRequests"], answer),
            "requestState": wanted["requestState"],
        },
    )


@pytest.mark.obligation(22)
def test_a_question_ends_the_request_and_its_answer_takes_it_up_again() -> None:
    rig, server, sent, wanted = asked({**FORM, "elicitationId": "e", "_meta": {}, "task": {}})
    assert wanted["resultType"] == "input_required"
    assert wanted["_meta"] == SERVER_INFO
    assert list(wanted["inputRequests"].values()) == [
        {"method": "elicitation/create", "params": FORM}
    ]
    retry(rig, 2, wanted)
    assert server.take_one().body == result(41, ACCEPTED)
    assert rig.told() == []
    server.answer(sent, {"content": []})
    answer = rig.told_one()
    assert (answer["id"], answer["result"]["resultType"]) == (2, "complete")
    assert server.count("tools/call") == 1


def test_an_answer_keeps_its_bytes() -> None:
    rig, server, _, wanted = asked()
    (key,) = wanted["inputRequests"]
    answer = b'{"action": "accept",  "content":{"n":1.10}}'
    rig.line(
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"a":1},'
        b'"inputResponses":{"%s":%s},"requestState":"%s","_meta":{'
        b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}'
        % (key.encode(), answer, wanted["requestState"].encode())
    )
    assert server.take_one().raw == b'{"jsonrpc":"2.0","id":41,"result":%s}' % answer


def test_roots_are_asked_for_without_params() -> None:
    _, _, _, wanted = asked({}, "roots/list", {"roots": {}})
    assert list(wanted["inputRequests"].values()) == [{"method": "roots/list"}]


def test_questions_at_about_the_same_time_are_asked_together() -> None:
    rig, server, sent = calling(envelope({"elicitation": {}, "sampling": {}}))
    server.ask(sent, 1, "elicitation/create", FORM)
    server.ask(sent, "1", "sampling/createMessage", {"maxTokens": 5})
    rig.fire("run:")
    wanted = rig.told_one()["result"]
    methods = [each["method"] for each in wanted["inputRequests"].values()]
    assert methods == ["elicitation/create", "sampling/createMessage"]
    retry(rig, 2, wanted)
    assert [each.body for each in server.take()] == [result(1, ACCEPTED), result("1", ACCEPTED)]


def test_a_server_that_goes_on_asking_does_not_put_off_the_first_question() -> None:
    rig, server, sent = calling()
    server.ask(sent, 1, "elicitation/create", FORM)
    (timer,) = [timer for timer in rig.timers if timer.startswith("run:")]
    rig.timers[timer] = 0.001  # what is left of it
    server.ask(sent, 2, "elicitation/create", FORM)
    assert rig.timers[timer] == 0.001


def test_what_is_asked_while_the_user_thinks_does_not_cut_the_time_for_that() -> None:
    rig, server, sent, _ = asked()
    server.tell(sent, "notifications/cancelled", {"requestId": 41})
    server.ask(sent, 42, "elicitation/create", FORM)
    (seconds,) = [left for timer, left in rig.timers.items() if timer.startswith("run:")]
    assert seconds == PARKED_SECONDS


def test_an_answer_that_comes_before_the_client_is_asked_is_the_answer() -> None:
    rig, server, sent = calling()
    server.ask(sent, 1, "elicitation/create", FORM)
    server.answer(sent, {"content": []})
    assert rig.told_one()["result"]["resultType"] == "complete"
    assert not [timer for timer in rig.timers if timer.startswith("run:")]


def test_a_request_may_take_several_rounds() -> None:
    rig, server, sent, wanted = asked()
    for number in range(2, 6):
        retry(rig, number, wanted)
        assert server.take_one().body["result"] == ACCEPTED
        server.ask(sent, number, "elicitation/create", FORM)
        rig.fire("run:")
        round_ = rig.told_one()
        assert round_["id"] == number
        assert round_["result"]["requestState"] != wanted["requestState"]
        wanted = round_["result"]
    retry(rig, 9, wanted)
    server.take()
    server.answer(sent, {"content": []})
    assert rig.told_one()["id"] == 9


def test_what_is_asked_while_the_user_thinks_comes_in_the_next_round() -> None:
    rig, server, sent, wanted = asked()
    server.ask(sent, 42, "elicitation/create", {**FORM, "message": "more"})
    assert rig.told() == []
    retry(rig, 2, wanted)
    assert server.take_one().body["id"] == 41
    rig.fire("run:")
    (question,) = rig.told_one()["result"]["inputRequests"].values()
    assert question["params"]["message"] == "more"


@pytest.mark.parametrize("answer", [None, "yes", 5, []])
def test_a_question_without_a_legible_answer_is_asked_again(answer: object) -> None:
    rig, server, _, wanted = asked()
    retry(rig, 2, wanted, answer)
    assert server.take() == []
    rig.fire("run:")
    again = rig.told_one()["result"]
    assert again["inputRequests"] == wanted["inputRequests"]


def test_answers_that_nobody_asked_for_are_ignored() -> None:
    rig, server, _, wanted = asked()
    wanted["inputRequests"]["other"] = {}
    retry(rig, 2, wanted)
    assert server.take_one().body == result(41, ACCEPTED)


def test_the_servers_answer_in_the_meantime_is_given_at_once() -> None:
    rig, server, sent, wanted = asked()
    server.answer(sent, {"content": [1]})
    assert rig.told() == []
    retry(rig, 2, wanted)
    assert server.take() == []
    assert rig.told_one()["result"]["content"] == [1]


def test_a_loss_in_the_meantime_is_told_at_once() -> None:
    rig, _, sent, wanted = asked()
    rig.fail(sent, Failure.CLOSED, may_have_executed=True)
    retry(rig, 2, wanted)
    assert rig.told_one()["error"]["data"]["mayHaveExecuted"] is True


def test_a_question_that_the_server_withdraws_is_not_answered() -> None:
    rig, server, sent, wanted = asked()
    server.tell(sent, "notifications/cancelled", {"requestId": 41})
    retry(rig, 2, wanted)
    assert server.take() == []
    server.answer(sent, {"content": []})
    assert rig.told_one()["id"] == 2


def test_a_question_withdrawn_before_it_was_asked_is_never_asked() -> None:
    rig, server, sent = calling()
    server.ask(sent, 41, "elicitation/create", FORM)
    server.tell(sent, "notifications/cancelled", {"requestId": 41})
    rig.fire("run:")
    assert rig.told() == []
    assert server.take() == []
    server.answer(sent, {"content": []})
    assert rig.told_one()["id"] == 1


# -- the state --


@pytest.mark.obligation(22)
@pytest.mark.parametrize(
    "changed",
    [
        {"requestState": "guess"},
        {"requestState": 5},
        {"name": "other"},
        {"arguments": {"a": 2}},
        {"arguments": {"a": 1, "b": 1}},
    ],
)
def test_a_state_that_is_not_of_this_request_is_refused(changed: Json) -> None:
    rig, server, _sent, wanted = asked()
    params = {**CALL, "_meta": envelope(), "requestState": wanted["requestState"], **changed}
    rig.ask(2, "tools/call", params)
    assert rig.told_one()["error"]["code"] == -32602
    assert server.take() == []
    retry(rig, 3, wanted)  # which the refusal has not used up
    assert server.take_one().body == result(41, ACCEPTED)


def test_a_state_of_another_method_is_refused() -> None:
    rig, _, _, wanted = asked()
    rig.ask_modern(2, "prompts/get", {**CALL, "requestState": wanted["requestState"]})
    assert rig.told_one()["error"]["code"] == -32602


def test_a_state_is_used_once() -> None:
    rig, _, _, wanted = asked()
    retry(rig, 2, wanted)
    retry(rig, 3, wanted)
    assert rig.told_one()["error"]["code"] == -32602


def test_the_same_request_in_another_layout_is_the_same() -> None:
    rig, server, _, wanted = asked()
    line = (
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"arguments":{ "a" : 1 },"name":'
        f'"t","requestState":"{wanted["requestState"]}","inputResponses":{{"u":{{}}}},"_meta":'
    )
    rig.line(line.encode() + msgspec.json.encode(envelope()) + b"}}")
    assert server.take() == []
    rig.fire("run:")
    assert rig.told_one()["result"]["inputRequests"] == wanted["inputRequests"]


def test_states_depend_on_a_secret() -> None:
    states = []
    for secret in ("a", "b"):
        rig, server = on_old_server(secret=secret)
        rig.ask(1, "tools/call", {**CALL, "_meta": envelope()})
        server.ask(server.take_one(), 1, "elicitation/create", FORM)
        rig.fire("run:")
        states.append(rig.told_one()["result"]["requestState"])
    assert states[0] != states[1]
    assert all(len(state) >= 32 for state in states)


@pytest.mark.obligation(22)
@pytest.mark.parametrize(
    ("method", "capabilities", "answer"),
    [
        ("elicitation/create", FORMS, {"result": {"action": "cancel"}}),
        ("roots/list", {"roots": {}},
         {"error": {"code": -32603, "message": "the client gave no answer"}}),
    ],
)  # fmt: skip
def test_a_client_that_never_answers_is_given_up(
    method: str, capabilities: Json, answer: Json
) -> None:
    rig, server, sent, wanted = asked({}, method, capabilities)
    rig.fire("run:")
    first, second = server.take()
    assert first.body == {"jsonrpc": "2.0", "id": 41, **answer}
    assert second.body["method"] == "notifications/cancelled"
    assert second.body["params"]["requestId"] == sent.body["id"]
    rig.body(sent, error(sent.body["id"], -32800))
    rig.end(sent)
    assert rig.told() == []
    retry(rig, 2, wanted)
    assert rig.told_one()["error"]["code"] == -32602


def test_a_state_whose_answer_came_expires_too() -> None:
    rig, server, sent, wanted = asked()
    server.answer(sent, {"content": []})
    rig.fire("run:")
    assert server.take() == []
    retry(rig, 2, wanted)
    assert rig.told_one()["error"]["code"] == -32602


def test_the_oldest_parked_request_is_given_up_when_there_are_too_many() -> None:
    rig, server = on_old_server()
    states: list[Json] = []
    for number in range(MAX_PARKED + 1):
        rig.ask(number, "tools/call", {**CALL, "_meta": envelope()})
        server.ask(server.take_one(), number, "elicitation/create", FORM)
        gathering = [timer for timer, seconds in rig.timers.items() if seconds < 1]
        (timer,) = [timer for timer in gathering if timer.startswith("run:")]
        rig.fire(timer)
        states.append(rig.told_one()["result"])
    assert server.take()[0].body == result(0, {"action": "cancel"})
    retry(rig, "old", states[0])
    assert rig.told_one()["error"]["code"] == -32602
    retry(rig, "new", states[1])
    assert server.take_one().body == result(1, ACCEPTED)


# -- what cannot be asked --


@pytest.mark.obligation(20, 22)
@pytest.mark.parametrize(
    ("method", "params", "capabilities"),
    [
        ("elicitation/create", FORM, {}),
        ("elicitation/create", {"mode": "url", "url": "x:y"}, FORMS),
        ("elicitation/create", FORM, {"elicitation": {"url": {}}}),
        ("sampling/createMessage", {}, FORMS),
        ("sampling/createMessage", {"tools": []}, {"sampling": {}}),
        ("roots/list", {}, FORMS),
        ("vendor/ask", {}, FORMS),
    ],
)
def test_what_the_client_cannot_be_asked_is_refused(
    method: str, params: Json, capabilities: Json
) -> None:
    rig, server, sent = calling(envelope(capabilities))
    server.ask(sent, 5, method, params)
    assert server.take_one().body["error"]["code"] == -32601
    assert rig.told() == []
    server.answer(sent, {"content": []})
    assert rig.told_one()["id"] == 1


def test_a_request_that_takes_no_input_cannot_ask() -> None:
    _, server, sent = calling(method="tools/list")
    server.ask(sent, 5, "elicitation/create", FORM)
    assert server.take_one().body["error"]["code"] == -32601


def test_a_request_that_asks_without_end_is_refused() -> None:
    rig, server, sent = calling()
    for number in range(MAX_QUESTIONS + 1):
        server.ask(sent, number, "elicitation/create", FORM)
    assert server.take_one().body["error"]["code"] == -32601
    rig.fire("run:")
    assert len(rig.told_one()["result"]["inputRequests"]) == MAX_QUESTIONS


def standing(server: OldServer) -> Sent:
    return server.standing[-1]


def test_a_question_on_the_standing_stream_belongs_to_no_request_if_none_runs() -> None:
    rig, server, sent = calling()
    server.answer(sent, {"content": []})
    rig.told()
    rig.body(
        standing(server),
        {"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": FORM},
    )
    assert server.take_one().body["error"]["code"] == -32601


def test_a_question_on_the_standing_stream_belongs_to_the_only_request_that_runs() -> None:
    rig, server, _ = calling()
    rig.body(
        standing(server),
        {"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": FORM},
    )
    rig.fire("run:")
    assert rig.told_one()["result"]["resultType"] == "input_required"


def test_a_question_on_the_standing_stream_belongs_to_none_of_several_requests() -> None:
    rig, server, _ = calling()
    rig.ask_modern(2, "tools/call", CALL)
    server.take()
    rig.body(
        standing(server),
        {"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": FORM},
    )
    assert server.take_one().body["error"]["code"] == -32601


# -- cancellation, progress, the end --


@pytest.mark.obligation(17)
@pytest.mark.parametrize("when", ["gathering", "resumed", "asking again"])
def test_a_cancelled_request_is_cancelled_at_the_server_whatever_it_asks(when: str) -> None:
    rig, server, sent = calling()
    server.ask(sent, 41, "elicitation/create", FORM)
    number = 1
    if when != "gathering":
        rig.fire("run:")
        wanted = rig.told_one()["result"]
        number = 2
        retry(rig, 2, wanted, ACCEPTED if when == "resumed" else None)
        server.take()
    rig.cancel(number)
    told = server.take_one()
    assert told.body == notification("notifications/cancelled", {"requestId": sent.body["id"]})
    rig.body(sent, result(sent.body["id"], {}))
    rig.end(sent)
    assert rig.told() == []
    assert not [timer for timer in rig.timers if timer.startswith("run:")]


@pytest.mark.obligation(28)
def test_progress_goes_on_under_the_token_of_the_request_that_waits() -> None:
    rig, server, sent, wanted = asked(progressToken="a")
    progress = {"progressToken": "a", "progress": 1}
    server.tell(sent, "notifications/progress", progress)
    assert rig.told() == []  # nobody waits
    retry(rig, 2, wanted, progressToken=7)
    server.tell(sent, "notifications/progress", progress)
    assert rig.told_one() == notification(
        "notifications/progress", {**progress, "progressToken": 7}
    )


def test_log_messages_of_a_parked_request_are_dropped() -> None:
    rig, server, sent, wanted = asked(**{PREFIX + "logLevel": "debug"})
    server.tell(sent, "notifications/message", {"level": "error", "data": 1})
    retry(rig, 2, wanted)  # which wants none
    server.tell(sent, "notifications/message", {"level": "error", "data": 1})
    assert rig.told() == []


def test_parked_requests_do_not_hold_up_the_end() -> None:
    rig, server, _sent, _ = asked()
    rig.close()
    methods = [each.body["method"] for each in server.take() if each.raw]
    assert methods == ["notifications/cancelled"]
    rig.fire("ending")
    server.take()
    assert rig.exit_code == 0


@pytest.mark.parametrize("resumed", [False, True])
def test_a_signal_in_the_middle_of_a_call_says_that_it_may_have_been_executed(
    resumed: bool,
) -> None:
    rig, server, sent = calling()
    if resumed:
        server.ask(sent, 41, "elicitation/create", FORM)
        rig.fire("run:")
        retry(rig, 2, rig.told_one()["result"])
    rig.terminate()
    assert rig.told_one()["error"]["data"]["mayHaveExecuted"] is True


def test_a_signal_before_there_is_a_session_says_nothing_of_the_kind() -> None:
    rig, _ = on_old_server()
    rig.ask_modern(1, "tools/call", CALL)
    rig.terminate()
    assert "data" not in rig.told_one()["error"]


def test_a_stream_that_ends_after_the_question_is_a_loss_for_the_retry() -> None:
    rig, server, sent = calling()
    server.ask(sent, 41, "elicitation/create", FORM)
    rig.end(sent)
    assert rig.told_one()["error"]["code"] == -32603
