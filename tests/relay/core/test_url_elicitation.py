"""The error by which a legacy server sends the user of a 2026-07-28 client to a URL."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relay.core.old_server import FORMS, OldServer, calling, envelope
from tests.relay.core.rig import Json, Rig, error, notification

URLS: Json = {"elicitation": {"form": {}, "url": {}}}
CALL: Json = {"name": "t", "arguments": {"a": 1}}
DONE = "notifications/elicitation/complete"


def retry(rig: Rig, wanted: Json, action: str) -> None:
    """Send the request again as number 2, with that answer to each question."""
    responses = {key: {"action": action} for key in wanted["inputRequests"]}
    more = {"inputResponses": responses, "requestState": wanted["requestState"]}
    rig.ask(2, "tools/call", {**CALL, **more, "_meta": envelope(URLS)})


def waiting(rig: Rig) -> bool:
    """Whether the relay waits for something only so long."""
    return any(timer.startswith("run:") for timer in rig.timers)


def done(rig: Rig, server: OldServer, url_id: str) -> None:
    """The server says that the user is back from a URL."""
    rig.body(server.standing[-1], notification(DONE, {"elicitationId": url_id}))


def sent_to_url(
    capabilities: Json = URLS, ids: tuple[object, ...] = ("e1",)
) -> tuple[Rig, OldServer, Json]:
    rig, server, sent = calling(envelope(capabilities))
    urls = [{"mode": "url", "elicitationId": each, "url": f"https://x/{each}", "message": "go"}
            for each in ids]  # fmt: skip
    rig.reply(sent, error(sent.body["id"], -32042, "go there", {"elicitations": [*urls, 5, {}]}))
    return rig, server, rig.told_one()


@pytest.mark.obligation(22, 44)
def test_a_url_is_a_question_and_the_request_is_sent_again_once_the_user_is_back() -> None:
    rig, server, told = sent_to_url()
    wanted = told["result"]
    (question,) = wanted["inputRequests"].values()
    assert question == {
        "method": "elicitation/create",
        "params": {"mode": "url", "url": "https://x/e1", "message": "go"},
    }
    retry(rig, wanted, "accept")
    assert server.take() == []
    done(rig, server, "e1")
    again = server.take_one()
    assert again.body["params"] == CALL
    assert not waiting(rig)
    done(rig, server, "e1")
    assert server.take() == []
    server.answer(again, {"content": []})
    assert rig.told_one()["id"] == 2


def test_a_user_who_is_back_before_the_client_says_so_is_not_waited_for() -> None:
    rig, server, told = sent_to_url()
    done(rig, server, "e1")
    assert server.take() == []
    assert waiting(rig)  # the client still has to say so, in time
    retry(rig, told["result"], "accept")
    assert server.take_one().method == "tools/call"


def test_a_request_that_asks_first_may_send_the_user_to_a_url_in_the_end() -> None:
    rig, server, sent = calling(envelope(URLS))
    server.ask(sent, 41, "elicitation/create", {"message": "?"})
    rig.fire("run:")
    wanted = rig.told_one()["result"]
    urls = {"elicitations": [{"url": "https://x", "elicitationId": "e1"}]}
    server.end_with(sent, error(sent.body["id"], -32042, "go there", urls))
    retry(rig, wanted, "accept")
    wanted = rig.told_one()["result"]
    (question,) = wanted["inputRequests"].values()
    assert question["params"]["url"] == "https://x"
    retry(rig, wanted, "accept")
    done(rig, server, "e1")
    again = server.take_one()
    server.answer(again, {"content": []})
    assert rig.told_one()["result"]["resultType"] == "complete"


def test_all_urls_have_to_be_visited() -> None:
    rig, server, told = sent_to_url(ids=("a", "b"))
    retry(rig, told["result"], "accept")
    for name in ("a", "other", "b"):
        assert server.take() == []
        done(rig, server, name)
    assert server.take_one().method == "tools/call"


def test_a_server_that_never_says_that_the_user_is_back_is_asked_anyway() -> None:
    rig, server, told = sent_to_url()
    retry(rig, told["result"], "accept")
    rig.fire("run:")
    assert server.take_one().method == "tools/call"
    done(rig, server, "e1")
    assert server.take() == []


def test_a_url_without_an_id_is_not_waited_for() -> None:
    rig, server, told = sent_to_url(ids=(5,))
    retry(rig, told["result"], "accept")
    assert server.take_one().method == "tools/call"


def test_a_request_cancelled_while_the_user_is_away_is_not_sent_again() -> None:
    rig, server, told = sent_to_url()
    retry(rig, told["result"], "accept")
    rig.cancel(2)
    done(rig, server, "e1")
    assert server.take() == []
    assert rig.told() == []


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_declined_url_fails_the_request(action: str) -> None:
    rig, server, told = sent_to_url()
    retry(rig, told["result"], action)
    refusal = rig.told_one()["error"]
    assert refusal["code"] == -32603
    assert "https://x/e1" in refusal["message"]
    assert refusal["data"]["hint"]
    assert server.take() == []


def test_urls_that_nobody_answers_expire() -> None:
    rig, server, told = sent_to_url()
    rig.fire("run:")
    assert server.take() == []
    retry(rig, told["result"], "accept")
    assert rig.told_one()["error"]["code"] == -32602


@pytest.mark.obligation(20, 44)
def test_a_client_that_cannot_open_urls_is_told_what_it_lacks() -> None:
    _, _, told = sent_to_url(FORMS)
    assert told["error"]["code"] == -32021
    assert told["error"]["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


@pytest.mark.obligation(44)
@pytest.mark.parametrize("data", [None, {"elicitations": []}, {"elicitations": [{"url": 5}]}])
def test_the_error_without_a_url_is_an_error_of_another_code(data: Any) -> None:
    rig, _, sent = calling(envelope(URLS))
    rig.reply(sent, error(sent.body["id"], -32042, "go", data))
    assert rig.told_one()["error"] == {
        "code": -32603,
        "message": "go",
        "data": {"serverCode": -32042},
    }


def test_a_list_cannot_send_the_user_to_a_url() -> None:
    rig, _, sent = calling(envelope(URLS), method="tools/list")
    urls = {"elicitations": [{"url": "https://x", "elicitationId": "e"}]}
    rig.reply(sent, error(sent.body["id"], -32042, "go", urls))
    assert rig.told_one()["error"]["code"] == -32603
