"""A legacy client on a modern server that asks back: rounds of questions before the answer."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec
import pytest

from relay.core.commands import ClearTimer, Emit, SetTimer
from relay.core.events import Failure, TimerFired
from relay.core.inflight import MAX_REPEATS, FromClient, Inflight
from relay.core.messages import RequestId, parse_client
from relay.core.modern.legacy_client import LegacyClient
from relay.core.modern.rounds import MAX_QUESTIONS, MAX_ROUNDS, Rounds
from relay.core.options import Options
from tests.relay.core.asking import (
    ACCEPTED,
    FORM,
    ROOTS,
    SAMPLE,
    URL,
    calling,
    client,
    void,
    wants,
)
from tests.relay.core.rig import (
    error,
    result,
)

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'


@pytest.mark.obligation(19, 21)
def test_a_question_reaches_the_client_and_its_answer_completes_the_call() -> None:
    rig = client()
    leg = calling(rig)
    (question,) = wants(rig, leg, {"ask": FORM}, "opaque")
    assert (question["method"], question["params"]) == (FORM["method"], FORM["params"])
    rig.say(result(question["id"], ACCEPTED))
    again = rig.got_one()
    assert again.body["id"] != leg.body["id"]
    params = again.body["params"]
    assert params.pop("inputResponses") == {"ask": ACCEPTED}
    assert params.pop("requestState") == "opaque"
    assert params == leg.body["params"]
    assert again.headers == leg.headers
    rig.succeed(again, {"content": [], "resultType": "complete"})
    assert rig.told_one() == result(1, {"content": []})
    assert (
        rig.timers.keys() & {timer for timer in rig.timers if timer.startswith("rounds")} == set()
    )


@pytest.mark.obligation(19)
def test_state_and_answers_go_up_byte_for_byte() -> None:
    rig = client()
    leg = calling(rig)
    rig.reply(
        leg,
        b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"\\u00fc/",'
        b'"inputRequests":{"k":{"method":"roots/list"}}}}',
    )
    question = rig.told_one()
    assert question["params"] == {}
    answer = b'{ "roots": [], "n": 1.10 }'
    rig.line(b'{"jsonrpc":"2.0","id":"%b","result":%b}' % (question["id"].encode(), answer))
    raw = rig.got_one().raw
    assert b'"requestState":"\\u00fc/"' in raw
    assert b'"inputResponses":{"k":%b}' % answer in raw


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
def test_prompts_and_resources_may_ask_too(method: str) -> None:
    rig = client()
    rig.ask(1, method, {"name": "p", "uri": "x:y"})
    (question,) = wants(rig, rig.got_one(), {"ask": ROOTS})
    rig.say(result(question["id"], {"roots": []}))
    again = rig.got_one()
    assert again.body["params"]["inputResponses"] == {"ask": {"roots": []}}
    assert "requestState" not in again.body["params"]


@pytest.mark.obligation(29)
def test_other_requests_may_not_ask() -> None:
    rig = client()
    rig.ask(1, "tools/list")
    (told,) = wants(rig, rig.got_one(), {"ask": ROOTS})
    assert "input_required" in told["error"]["message"]


@pytest.mark.obligation(21)
def test_all_questions_of_a_round_are_put_at_once_and_answered_in_any_order() -> None:
    rig = client()
    asked = {"form": FORM, "url": URL, "sample": SAMPLE, "roots": ROOTS}
    questions = wants(rig, calling(rig), asked)
    methods = [question["method"] for question in questions]
    assert methods == [each["method"] for each in asked.values()]
    for number, question in reversed(list(enumerate(questions))):
        assert rig.got() == []
        rig.say(result(question["id"], {"n": number}))
    responses = rig.got_one().body["params"]["inputResponses"]
    assert responses == {key: {"n": number} for number, key in enumerate(asked)}


def test_rounds_repeat_and_each_one_bears_only_what_belongs_to_it() -> None:
    rig = client()
    first = calling(rig)
    (question,) = wants(rig, first, {"a": FORM}, "s1")
    rig.say(result(question["id"], ACCEPTED))
    second = rig.got_one()
    (question,) = wants(rig, second, {"b": ROOTS})
    rig.say(result(question["id"], {"roots": []}))
    third = rig.got_one()
    assert third.body["params"]["inputResponses"] == {"b": {"roots": []}}
    assert "requestState" not in third.body["params"]
    assert len({sent.body["id"] for sent in (first, second, third)}) == 3
    rig.reply(third, error(third.body["id"], -32602, "Invalid state"), 400)
    assert rig.told_one() == error(1, -32602, "Invalid state")
    assert not [timer for timer in rig.timers if timer.startswith("rounds")]


def test_members_that_only_a_round_may_set_are_not_taken_from_the_client() -> None:
    rig = client()
    rig.ask(1, "tools/call", {"name": "t", "inputResponses": {"x": 1}, "requestState": "x"})
    (question,) = wants(rig, rig.got_one(), {"a": ROOTS})
    rig.say(result(question["id"], {"roots": []}))
    again = rig.got_one()
    assert again.body["params"]["inputResponses"] == {"a": {"roots": []}}
    assert "requestState" not in again.body["params"]
    wants(rig, again)
    rig.fire("pause")
    assert set(rig.got_one().body["params"]) == {"name", "_meta"}


def test_questions_of_several_calls_do_not_mix() -> None:
    rig = client()
    (first,) = wants(rig, calling(rig, 1), {"q": ROOTS}, "one")
    (second,) = wants(rig, calling(rig, "1"), {"q": ROOTS}, "two")
    assert first["id"] != second["id"]
    rig.say(result(second["id"], {"roots": [2]}))
    again = rig.got_one()
    assert again.body["params"]["requestState"] == "two"
    rig.succeed(again, {"content": []})
    assert rig.told_one()["id"] == "1"
    rig.say(result(first["id"], {"roots": [1]}))
    assert rig.got_one().body["params"]["requestState"] == "one"


@pytest.mark.parametrize("asked", [None, {}])
@pytest.mark.parametrize("state", ["s", None])
def test_a_server_without_questions_is_asked_again_after_a_growing_pause(
    asked: Any, state: Any
) -> None:
    rig = client()
    leg = calling(rig)
    for pause in (0.05, 0.1, 0.2, 0.25, 0.25):
        assert wants(rig, leg, asked, state) == []
        assert rig.got() == []
        (timer,) = [timer for timer in rig.timers if timer.startswith("pause")]
        assert rig.timers[timer] == pause
        rig.fire("pause")
        leg = rig.got_one()
        assert "inputResponses" not in leg.body["params"]
        assert leg.body["params"].get("requestState") == state
    rig.succeed(leg, {"content": []})
    assert rig.told_one()["id"] == 1


def test_nulls_are_no_questions_and_no_state() -> None:
    rig = client()
    value = {"resultType": "input_required", "inputRequests": None, "requestState": None}
    rig.succeed(calling(rig), value)
    rig.fire("pause")
    assert "requestState" not in rig.got_one().body["params"]


# -- ends --


@pytest.mark.obligation(21)
def test_an_error_of_the_client_ends_the_call_and_its_other_questions() -> None:
    rig = client()
    first, second, third = wants(rig, calling(rig), {"a": FORM, "b": ROOTS, "c": SAMPLE})
    rig.say(result(first["id"], ACCEPTED))
    rig.say(error(second["id"], -1, "User rejected", {"x": 1}))
    assert rig.told() == [void(third), error(1, -1, "User rejected", {"x": 1})]
    rig.say(result(third["id"], {}))
    assert (rig.got(), rig.told()) == ([], [])


@pytest.mark.obligation(17)
def test_cancelling_a_call_voids_its_open_questions() -> None:
    rig = client()
    first, second = wants(rig, calling(rig), {"a": FORM, "b": ROOTS})
    rig.say(result(first["id"], ACCEPTED))
    rig.cancel(1)
    assert rig.told() == [void(second)]
    for question in (first, second):
        rig.say(result(question["id"], ACCEPTED))
        rig.say(error(question["id"], -1))
    assert (rig.got(), rig.told(), rig.aborted) == ([], [], [])
    assert "nothing asks for it" in rig.notices[-1]


def test_cancelling_during_a_pause_ends_it() -> None:
    rig = client()
    wants(rig, calling(rig))
    rig.cancel(1)
    assert not [timer for timer in rig.timers if timer.startswith(("pause", "rounds"))]
    assert (rig.got(), rig.told()) == ([], [])


def test_cancelling_a_later_leg_closes_its_exchange() -> None:
    rig = client()
    (question,) = wants(rig, calling(rig), {"a": FORM})
    rig.say(result(question["id"], ACCEPTED))
    leg = rig.got_one()
    rig.cancel(1)
    assert rig.aborted == [leg.exchange]
    assert rig.told() == []
    assert not any(timer.startswith("rounds:") for timer in rig.timers)


@pytest.mark.obligation(21)
def test_the_rounds_of_a_call_are_bounded() -> None:
    rig = client()
    leg = calling(rig)
    for _ in range(MAX_ROUNDS):
        (question,) = wants(rig, leg, {"q": ROOTS})
        rig.say(result(question["id"], {"roots": []}))
        leg = rig.got_one()
    (told,) = wants(rig, leg, {"q": ROOTS})
    assert (told["id"], told["error"]["code"]) == (1, -32603)
    assert f"{MAX_ROUNDS}" in told["error"]["message"]
    assert "hint" in told["error"]["data"]


@pytest.mark.obligation(21)
def test_open_questions_are_bounded_over_all_calls() -> None:
    rig = client()
    questions = wants(rig, calling(rig, 1), {f"q{n}": ROOTS for n in range(MAX_QUESTIONS)})
    assert len(questions) == MAX_QUESTIONS
    (told,) = wants(rig, calling(rig, 2), {"q": ROOTS})
    assert told["id"] == 2
    assert f"{MAX_QUESTIONS} questions" in told["error"]["message"]
    rig.say(result(questions[0]["id"], {}))
    assert len(wants(rig, calling(rig, 3), {"q": ROOTS})) == 1
    rig.cancel(1)
    rig.told()
    asked = {f"q{n}": ROOTS for n in range(MAX_QUESTIONS - 1)}
    assert len(wants(rig, calling(rig, 4), asked)) == MAX_QUESTIONS - 1


@pytest.mark.obligation(21)
@pytest.mark.parametrize("asked", [{"q": ROOTS}, None], ids=["asked", "paused"])
def test_a_call_that_is_held_here_too_long_is_ended(asked: Any) -> None:
    rig = client()
    questions = wants(rig, calling(rig), asked)
    assert [seconds for timer, seconds in rig.timers.items() if timer.startswith("rounds")] == [600]
    rig.fire("rounds")
    *voids, told = rig.told()
    assert voids == [void(question) for question in questions]
    assert "600 s" in told["error"]["message"]
    assert rig.got() == []


@pytest.mark.obligation(21)
def test_a_server_at_work_may_take_longer_but_may_not_ask_again() -> None:
    rig = client()
    legs = []
    for number in (1, 2, 3):
        wants(rig, calling(rig, number), {})
        rig.fire("pause")
        legs.append(rig.got_one())
        rig.fire("rounds")
    assert (rig.told(), rig.aborted) == ([], [])
    rig.succeed(legs[0], {"content": []})
    assert rig.told_one() == result(1, {"content": []})
    for leg, asked in zip(legs[1:], [{"q": ROOTS}, None], strict=True):
        (told,) = wants(rig, leg, asked)
        assert "600 s" in told["error"]["message"]


def test_a_leg_that_is_lost_ends_the_call() -> None:
    rig = client()
    (question,) = wants(rig, calling(rig), {"q": ROOTS})
    rig.say(result(question["id"], {"roots": []}))
    rig.fail(rig.got_one(), Failure.IDLE_TIMEOUT, may_have_executed=True)
    told = rig.told_one()
    assert (told["id"], told["error"]["data"]["mayHaveExecuted"]) == (1, True)
    assert not [timer for timer in rig.timers if timer.startswith("rounds")]


def test_an_answer_too_deep_to_pass_on_ends_the_call() -> None:
    rig = client()
    (question,) = wants(rig, calling(rig), {"q": ROOTS})

    def response(request_id: str, depth: int) -> bytes:
        nested = b"[" * depth + b"]" * depth
        return b'{"jsonrpc":"2.0","id":"%b","result":%b}' % (request_id.encode(), nested)

    accepted, refused = 1, 200_000
    while refused - accepted > 1:  # the deepest answer that is accepted as a message
        depth = (accepted + refused) // 2
        rig.line(response("nobody", depth))
        accepted, refused = (accepted, depth) if rig.told() else (depth, refused)
    rig.line(response(question["id"], accepted))
    told = rig.told_one()
    assert told["id"] == 1
    assert "too deeply" in told["error"]["message"]


def test_a_client_that_leaves_does_not_hold_up_the_end_with_questions() -> None:
    rig = client()
    (question,) = wants(rig, calling(rig), {"q": ROOTS})
    rig.close()
    answer, voided = rig.told()
    assert "stdin" in answer["error"]["message"]
    assert voided == void(question)
    assert rig.exit_code == 0


def test_a_pause_is_waited_for_at_the_end() -> None:
    rig = client()
    wants(rig, calling(rig))
    rig.close()
    assert rig.exit_code is None
    rig.fire("pause")
    rig.succeed(rig.got_one(), {"content": []})
    assert rig.told_one()["id"] == 1
    assert rig.exit_code == 0


def test_a_signal_voids_the_questions() -> None:
    rig = client()
    (question,) = wants(rig, calling(rig), {"q": ROOTS})
    rig.terminate()
    answer, withdrawn = rig.told()
    assert answer["id"] == 1
    assert withdrawn == void(question)


def test_a_response_to_nothing_goes_nowhere() -> None:
    rig = client()
    rig.say(result("nobody", {}))
    rig.say(error(None, -32600))
    assert (rig.got(), rig.told()) == ([], [])
    assert "nothing asks for it" in rig.notices[-1]


def test_answers_with_line_separators_stay_on_one_line() -> None:
    rig = client()
    (question,) = wants(rig, calling(rig), {"k\u2028": FORM}, "\u2029")
    rig.say(result(question["id"], {"action": "accept", "content": {"x": "\u2028"}}))
    sent = rig.got_one()
    assert sent.body["params"]["requestState"] == "\u2029"
    assert sent.body["params"]["inputResponses"]["k\u2028"]["content"] == {"x": "\u2028"}
    assert msgspec.json.decode(sent.raw)["method"] == "tools/call"


def test_a_call_that_ended_elsewhere_is_let_go_in_time() -> None:
    inflight = Inflight()
    rounds = Rounds(inflight, count(1), LegacyClient(Options(), "2026-07-28"))
    call = inflight.admit(parse_client(CALL), RequestId(b"1"))
    assert call is not None
    timers = [each.timer for each in rounds.ask(call, {}) if isinstance(each, SetTimer)]
    deadline, pause_over = timers
    rounds.receive(TimerFired(pause_over))
    inflight.abandon(call)
    cleared = [ClearTimer(timer) for timer in timers]
    assert rounds.receive(TimerFired(deadline)) == cleared
    assert rounds.receive(TimerFired(deadline)) == []


def test_a_call_does_not_begin_anew_without_end() -> None:
    inflight = Inflight()
    rounds = Rounds(inflight, count(1), LegacyClient(Options(), "2026-07-28"))
    message = parse_client(CALL)
    call = inflight.admit(message, RequestId(b"1"))
    assert call is not None
    for _ in range(MAX_REPEATS):
        rounds.ask(call, {})
        rounds.farewell()
        assert inflight.to_repeat() == FromClient(message, call)
    rounds.ask(call, {})
    (emitted,) = [command for command in rounds.farewell() if isinstance(command, Emit)]
    assert b"another protocol era" in emitted.line
    assert inflight.to_repeat() is None
