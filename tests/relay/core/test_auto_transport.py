"""Finding out that a legacy server has HTTP+SSE and no streamable HTTP."""

from __future__ import annotations

import pytest

from relay.core.commands import Verb
from relay.core.events import Failure
from relay.core.options import Transport
from relay.core.session import ProtocolEra
from tests.relay.core.old_times import ENDPOINT, accept, answer, event, name_endpoint, restore
from tests.relay.core.rig import (
    INITIALIZED,
    INTRODUCTION,
    JSON,
    STREAM,
    Rig,
    Sent,
    error,
    notification,
    result,
    started,
)

FOUND = "the server has HTTP+SSE of 2024-11-05 and no streamable HTTP"
HTML = {"content-type": "text/html"}


def refused(status: int = 405, body: bytes = b"", transport: Transport = Transport.AUTO) -> Rig:
    """initialize was refused by something that speaks no JSON-RPC."""
    rig = started(ProtocolEra.LEGACY, transport=transport)
    rig.ask("init", "initialize", INTRODUCTION)
    post = rig.got_one()
    assert (post.verb, post.target) == (Verb.POST, "")
    rig.reply(post, body, status, HTML)
    return rig


def on_trial() -> tuple[Rig, Sent]:
    rig = refused()
    stream = rig.got_one()
    assert (stream.verb, stream.headers) == (Verb.GET, {"Accept": "text/event-stream"})
    return rig, stream


@pytest.mark.obligation(14)
@pytest.mark.parametrize("status", [400, 404, 405, 406, 415])
def test_a_refused_initialize_is_taken_to_the_endpoint_of_an_older_server(status: int) -> None:
    rig = refused(status, b"<html>Not Allowed</html>")
    assert rig.told() == []
    stream = rig.got_one()
    name_endpoint(rig, stream)
    assert FOUND in rig.notices
    post = rig.got_one()
    assert (post.target, post.method) == (ENDPOINT, "initialize")
    answer(rig, stream, post, INITIALIZED)
    assert rig.told_one() == result("init", INITIALIZED)
    rig.say(notification("notifications/initialized"))
    assert rig.got_one().target == ENDPOINT


def test_what_was_found_out_holds_when_the_session_is_lost() -> None:
    rig, stream = on_trial()
    name_endpoint(rig, stream)
    answer(rig, stream, rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/initialized"))
    accept(rig, rig.got_one())
    rig.end(stream)
    restore(rig)
    rig.ask(1, "ping")
    assert rig.got_one().target == ENDPOINT
    assert rig.notices.count(FOUND) == 1


def test_a_server_that_was_replaced_by_a_newer_one_is_found_out_too() -> None:
    rig, stream = on_trial()
    name_endpoint(rig, stream)
    answer(rig, stream, rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/initialized"))
    accept(rig, rig.got_one())
    rig.told()
    rig.end(stream)
    rig.ask(1, "ping")
    rig.fire("sse-again")
    rig.reply(rig.got_one(), status=405, headers=HTML)
    handshake = rig.got_one()
    assert (handshake.verb, handshake.target, handshake.method) == (Verb.POST, "", "initialize")
    rig.reply(handshake, result(handshake.body["id"], INITIALIZED))
    rig.reply(rig.got_one(), status=202, headers={})
    rig.succeed(next(sent for sent in rig.got() if sent.raw), {})
    assert rig.told()[-1] == result(1, {})


def test_a_server_that_is_gone_altogether_is_told_after_one_try_of_either_kind() -> None:
    rig, stream = on_trial()
    name_endpoint(rig, stream)
    answer(rig, stream, rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/initialized"))
    accept(rig, rig.got_one())
    rig.told()
    rig.end(stream)
    rig.ask(1, "ping")
    rig.fire("sse-again")
    for verb in (Verb.GET, Verb.POST, Verb.GET):
        sent = rig.got_one()
        assert sent.verb is verb
        rig.reply(sent, status=404, headers=HTML)
    assert rig.told_one()["id"] == 1
    assert rig.got() == []


@pytest.mark.parametrize("status", [404, 405, 401, 200])
def test_where_there_is_no_such_stream_the_first_refusal_is_told(status: int) -> None:
    rig, stream = on_trial()
    rig.reply(stream, b"<html>", status, HTML)
    told = rig.told_one()
    assert told["id"] == "init"
    assert told["error"]["data"]["status"] == 405
    assert rig.timers == {}
    assert rig.got() == []


def test_a_wrong_url_is_told_as_such() -> None:
    rig = refused(404)
    rig.reply(rig.got_one(), status=404, headers={})
    told = rig.told_one()["error"]
    assert told["code"] == -32601
    assert "check the path of the URL" in told["data"]["hint"]


def test_a_stream_without_an_endpoint_holds_the_client_up_for_two_seconds() -> None:
    rig, stream = on_trial()
    rig.head(stream, headers=STREAM)
    event(rig, stream, notification("notifications/message"))
    assert list(rig.timers.values()) == [2.0]
    rig.fire("sse-endpoint")
    assert rig.told()[-1]["error"]["data"]["status"] == 405
    assert rig.aborted == [stream.exchange]


def test_the_next_initialize_is_tried_the_new_way_first_again() -> None:
    rig, stream = on_trial()
    rig.reply(stream, status=404, headers={})
    rig.told()
    rig.ask("init", "initialize", INTRODUCTION)
    post = rig.got_one()
    assert (post.verb, post.target) == (Verb.POST, "")
    rig.succeed(post, INITIALIZED)
    assert rig.told_one()["result"] == INITIALIZED


@pytest.mark.parametrize(("status", "code"), [(400, -32600), (404, -32001), (405, -32000)])
def test_an_answer_in_json_rpc_is_not_that_of_an_older_server(status: int, code: int) -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), error(None, code), status, JSON)
    assert rig.told_one()["error"]["code"] == code
    assert rig.got() == []


@pytest.mark.parametrize("status", [401, 403, 413, 429, 500, 502])
def test_other_refusals_say_nothing_about_the_transport(status: int) -> None:
    rig = refused(status)
    assert rig.told_one()["error"]["data"]["status"] == status
    assert rig.got() == []


def test_a_failure_says_nothing_about_the_transport() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    rig.fail(rig.got_one(), Failure.TLS)
    assert rig.told_one()["error"]["data"]["failure"] == "tls"
    assert rig.got() == []


def test_a_refusal_that_breaks_off_says_nothing_about_the_transport() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    post = rig.got_one()
    rig.head(post, 405, HTML)
    rig.fail(post, Failure.PROTOCOL)
    assert rig.told_one()["error"]["data"]["failure"] == "protocol"
    assert rig.got() == []


def test_other_requests_do_not_try_the_transport() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(1, "tools/list")
    rig.reply(rig.got_one(), b"", 405, {})
    assert rig.told_one()["error"]["data"]["status"] == 405
    assert rig.got() == []


def test_a_set_transport_is_kept_to() -> None:
    rig = refused(405, transport=Transport.STREAMABLE_HTTP)
    assert rig.told_one()["error"]["data"]["status"] == 405
    assert rig.got() == []


def test_after_the_probe_the_same_way_leads_to_an_older_server() -> None:
    rig = started()
    rig.ask("init", "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), status=405, headers={})
    assert rig.session.protocol_era is ProtocolEra.LEGACY
    rig.reply(rig.got_one(), status=405, headers={})
    stream = rig.got_one()
    name_endpoint(rig, stream)
    answer(rig, stream, rig.got_one(), INITIALIZED)
    assert rig.told_one() == result("init", INITIALIZED)


def test_a_server_set_to_be_modern_is_never_asked_for_such_a_stream() -> None:
    rig = started(ProtocolEra.MODERN)
    rig.ask("init", "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), status=405, headers={})
    assert "error" in rig.told_one()
    assert rig.got() == []


def test_a_client_that_leaves_during_the_trial_is_not_waited_for() -> None:
    rig, stream = on_trial()
    rig.close()
    rig.fire("drain")
    assert stream.exchange in rig.aborted
    assert rig.timers == {}
    assert rig.exit_code == 0


def test_a_trial_whose_client_is_answered_already_comes_to_an_end() -> None:
    rig = started(ProtocolEra.LEGACY, total_timeout=8.0)
    rig.ask("init", "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), b"", 405, {})
    stream = rig.got_one()
    for _ in range(9):
        rig.fire("ageing")
    assert "overall limit" in rig.told_one()["error"]["message"]
    rig.reply(stream, status=404, headers={})
    rig.ask("init", "initialize", INTRODUCTION)
    assert rig.got_one().verb is Verb.POST


def test_an_open_call_is_cancelled_where_it_runs() -> None:
    rig, stream = on_trial()
    name_endpoint(rig, stream)
    answer(rig, stream, rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/initialized"))
    accept(rig, rig.got_one())
    rig.say(notification("notifications/roots/list_changed"))
    accept(rig, rig.got_one())
    rig.ask(1, "tools/call", {"name": "t"})
    post = rig.got_one()
    rig.cancel(1)
    accept(rig, post)
    rig.fire("cancel:")
    cancellation = rig.got_one()
    assert (cancellation.target, cancellation.method) == (ENDPOINT, "notifications/cancelled")
