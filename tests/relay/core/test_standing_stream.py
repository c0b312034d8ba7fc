"""The stream on which a legacy server speaks of its own accord."""

from __future__ import annotations

from typing import Any

import pytest

from relay.core.commands import Level, Notice, Verb
from relay.core.events import Failure, ServerFailed, ServerSent
from relay.core.legacy.standing import FIRST_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS
from relay.core.session import ProtocolEra
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

CHANGED = notification("notifications/tools/list_changed")


def asked(session: str | None = "s1") -> tuple[Rig, Sent]:
    """The handshake is over, and the server is asked for its stream."""
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    headers = JSON if session is None else {**JSON, "mcp-session-id": session}
    rig.reply(rig.got_one(), result("init", INITIALIZED), headers=headers)
    rig.say(notification("notifications/initialized"))
    rig.reply(rig.got_one(), status=202, headers={})
    rig.told()
    return rig, rig.got_one()


def listening() -> tuple[Rig, Sent]:
    """The stream is open."""
    rig, stream = asked()
    rig.head(stream, 200, STREAM)
    return rig, stream


def asked_again(rig: Rig) -> Sent:
    """Let the pause before the next request for the stream pass."""
    rig.fire("standing")
    return rig.got_one()


def pause(rig: Rig) -> float:
    """How long the relay waits before it asks for the stream again."""
    (seconds,) = [seconds for name, seconds in rig.timers.items() if name.startswith("standing")]
    return seconds


@pytest.mark.obligation(30, 32)
def test_the_stream_is_asked_for_once_the_handshake_is_over() -> None:
    _, stream = asked()
    assert stream.verb is Verb.GET
    assert stream.raw == b""
    assert stream.headers == {
        "Accept": "text/event-stream",
        "Mcp-Session-Id": "s1",
        "MCP-Protocol-Version": "2025-11-25",
    }


def test_a_server_without_sessions_is_asked_too() -> None:
    _, stream = asked(session=None)
    assert stream.verb is Verb.GET
    assert "Mcp-Session-Id" not in stream.headers


def test_what_the_server_takes_before_the_handshake_is_over_opens_no_stream() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask("init", "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/roots/list_changed"))
    rig.reply(rig.got_one(), status=202, headers={})
    assert rig.got() == []


def test_the_stream_is_asked_for_once() -> None:
    rig, _ = listening()
    rig.say(notification("notifications/initialized"))
    rig.reply(rig.got_one(), status=202, headers={})
    assert rig.got() == []


def test_what_the_server_says_there_reaches_the_client() -> None:
    rig, stream = listening()
    rig.body(stream, CHANGED)
    assert rig.told() == [CHANGED]
    question = {"jsonrpc": "2.0", "id": "g1", "method": "roots/list"}
    rig.body(stream, question)
    assert rig.told() == [question]
    rig.say(result("g1", {"roots": []}))
    assert rig.got_one().body == result("g1", {"roots": []})


def test_a_response_on_the_stream_answers_nothing() -> None:
    rig, stream = listening()
    rig.ask(1, "tools/list")
    rig.body(stream, result(1, {"tools": []}))
    assert rig.told() == []
    rig.succeed(rig.got_one(), {"tools": []})
    assert rig.told_one()["id"] == 1


@pytest.mark.obligation(32)
@pytest.mark.parametrize("status", [204, 302, 400, 401, 403, 404, 405, 406, 409])
def test_a_server_that_offers_no_stream_is_not_asked_again(status: int) -> None:
    rig, stream = asked()
    rig.reply(stream, status=status, headers={})
    assert rig.timers == {}
    rig.ask(1, "tools/list")
    rig.succeed(rig.got_one(), {})
    assert rig.told_one()["id"] == 1
    assert rig.got() == []
    assert not any("session is lost" in text for text in rig.notices)


def test_a_page_that_is_no_stream_is_not_asked_for_again() -> None:
    rig, stream = asked()
    rig.reply(stream, b"<html></html>", 200, {"content-type": "text/html"})
    assert rig.timers == {}


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_server_in_trouble_is_asked_again(status: int) -> None:
    rig, stream = asked()
    rig.reply(stream, status=status, headers={})
    assert asked_again(rig).headers == stream.headers


@pytest.mark.parametrize("failure", [Failure.CONNECT, Failure.CLOSED, Failure.IDLE_TIMEOUT])
@pytest.mark.parametrize("opened", [True, False])
def test_a_stream_that_breaks_off_is_asked_for_again(failure: Failure, opened: bool) -> None:
    rig, stream = asked()
    if opened:
        rig.head(stream, 200, STREAM)
    rig.fail(stream, failure)
    assert pause(rig) == FIRST_SECONDS
    again = asked_again(rig)
    rig.head(again, 200, STREAM)
    rig.body(again, CHANGED)
    assert rig.told() == [CHANGED]


def test_the_pause_grows_while_the_stream_brings_nothing() -> None:
    rig, stream = asked()
    pauses = []
    for _ in range(12):
        rig.fail(stream, Failure.CONNECT)
        pauses.append(pause(rig))
        stream = asked_again(rig)
    assert pauses[:6] == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_SECONDS]
    assert pauses[-1] == LONGEST_SECONDS
    rig.head(stream, 200, STREAM)
    rig.body(stream, CHANGED)
    rig.end(stream)
    assert pause(rig) == FIRST_SECONDS


def test_the_operator_is_warned_of_a_troubled_stream_once() -> None:
    rig, stream = listening()
    rig.end(stream)
    assert rig.notices[-1] == "the standing stream has ended"
    levels = []
    for _ in range(3):
        failed = ServerFailed(asked_again(rig).exchange, Failure.CONNECT, "", False)
        levels += [command.level for command in rig.feed(failed) if isinstance(command, Notice)]
    assert levels == [Level.WARNING, Level.DEBUG, Level.DEBUG]


@pytest.mark.obligation(33)
@pytest.mark.parametrize(
    ("event_id", "header"), [("7", "7"), ("", None), ("a\nb", None), ("ü", None)]
)
def test_what_was_missed_is_asked_for_by_the_last_event_id(
    event_id: str, header: str | None
) -> None:
    rig, stream = listening()
    rig.feed(ServerSent(stream.exchange, b"", event_id=event_id))
    rig.end(stream)
    stream = asked_again(rig)
    assert stream.headers.get("Last-Event-ID") == header
    rig.head(stream, 200, STREAM)
    rig.end(stream)  # without an id of its own
    assert asked_again(rig).headers.get("Last-Event-ID") == header


@pytest.mark.obligation(33)
@pytest.mark.parametrize(
    ("retry", "seconds"), [(0, SHORTEST_SECONDS), (250, 0.25), (5_000, 5.0), (90_000, 90.0)]
)
def test_the_server_says_how_long_the_pause_is(retry: int, seconds: float) -> None:
    rig, stream = listening()
    rig.feed(ServerSent(stream.exchange, b"", event_id="1", retry=retry))
    rig.body(stream, CHANGED)
    rig.end(stream)
    assert pause(rig) == seconds
    rig.fail(asked_again(rig), Failure.CONNECT)
    assert pause(rig) == min(2 * seconds, max(seconds, LONGEST_SECONDS))


@pytest.mark.obligation(31)
@pytest.mark.parametrize(
    ("status", "body"), [(404, b""), (404, error(None, -32600, "Session not found"))]
)
def test_a_stream_that_was_open_finds_the_session_lost(status: int, body: Any) -> None:
    rig, stream = listening()
    rig.end(stream)
    rig.reply(asked_again(rig), body, status)
    handshake = rig.got_one()
    assert handshake.method == "initialize"
    headers = {**JSON, "mcp-session-id": "s2"}
    rig.reply(handshake, result(handshake.body["id"], INITIALIZED), headers=headers)
    rig.reply(rig.got_one(), status=202, headers={})
    again = rig.got_one()
    assert (again.verb, again.headers["Mcp-Session-Id"]) == (Verb.GET, "s2")
    assert rig.told() == []


@pytest.mark.parametrize("status", [400, 401, 404])
def test_so_does_one_that_is_refused_for_the_session(status: int) -> None:
    rig, stream = asked()
    rig.reply(stream, b"Invalid or missing session ID", status, {"content-type": "text/plain"})
    assert rig.got_one().method == "initialize"


def test_a_stream_that_loses_each_session_does_not_make_sessions_without_end() -> None:
    rig, stream = asked()
    rig.reply(stream, b"session not found", 404)
    handshake = rig.got_one()
    headers = {**JSON, "mcp-session-id": "s2"}
    rig.reply(handshake, result(handshake.body["id"], INITIALIZED), headers=headers)
    rig.reply(rig.got_one(), status=202, headers={})
    rig.reply(rig.got_one(), b"session not found", 404)
    assert rig.got() == []
    rig.ask(1, "ping")
    assert rig.got_one().method == "initialize"


def test_a_new_session_closes_the_stream_of_the_old_one() -> None:
    rig, stream = listening()
    rig.feed(ServerSent(stream.exchange, b"", event_id="7"))
    rig.end(stream)
    stream = asked_again(rig)
    assert stream.headers["Last-Event-ID"] == "7"
    rig.ask(1, "ping")
    rig.reply(rig.got_one(), status=404, headers={})
    assert rig.aborted == [stream.exchange]
    handshake = rig.got_one()
    rig.reply(handshake, result(handshake.body["id"], INITIALIZED), headers=JSON)
    rig.reply(rig.got_one(), status=202, headers={})
    again, ping = rig.got()
    assert "Last-Event-ID" not in again.headers
    assert ping.method == "ping"


def test_a_pause_ends_with_its_session() -> None:
    rig, stream = listening()
    rig.end(stream)
    rig.ask("again", "initialize", INTRODUCTION)
    assert rig.timers == {}
    assert rig.got_one().method == "initialize"


@pytest.mark.obligation(43)
def test_the_stream_is_closed_before_its_session() -> None:
    rig, stream = listening()
    rig.close()
    assert rig.aborted == [stream.exchange]
    ended = rig.got_one()
    assert ended.verb is Verb.DELETE
    rig.reply(ended, status=404, headers={})
    assert rig.exit_code == 0


def test_no_stream_is_asked_for_at_the_end() -> None:
    rig = started(ProtocolEra.LEGACY)
    rig.ask(0, "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), INITIALIZED)
    rig.say(notification("notifications/initialized"))
    initialized = rig.got_one()
    rig.terminate()
    rig.got()
    rig.reply(initialized, status=202, headers={})
    assert rig.got() == []
