"""The client's open requests, and the room where they wait."""

from __future__ import annotations

from relay.core.commands import Emit
from relay.core.errors import Problem
from relay.core.inflight import Call, FromClient, Inflight, Lobby
from relay.core.messages import RequestId, parse_client, parse_server, request

ONE = RequestId(b"1")
PING = parse_client(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')


def opened(inflight: Inflight) -> Call:
    call = inflight.admit(PING, ONE)
    assert call is not None
    return call


def test_a_call_is_answered_once() -> None:
    inflight = Inflight()
    call = opened(inflight)
    assert len(inflight.end(call, b"{}")) == 1
    assert inflight.end(call, b"{}") == []
    assert inflight.fail(call, Problem(-1, "m")) == []


def test_a_cancelled_call_is_not_answered() -> None:
    inflight = Inflight()
    call = opened(inflight)
    inflight.abandon(call)
    assert not inflight.is_open(call)
    assert inflight.end(call, b"{}") == []


def test_an_id_is_free_again_once_its_call_is_over() -> None:
    inflight = Inflight()
    old = opened(inflight)
    assert inflight.admit(PING, ONE) is None
    inflight.abandon(old)
    new = opened(inflight)
    assert inflight.end(old, b"{}") == []
    assert inflight.find(ONE) is new
    assert list(inflight) == [new]


def test_a_response_to_another_id_is_put_under_the_clients() -> None:
    inflight = Inflight()
    call = opened(inflight)
    wire_id = inflight.new_id()
    inflight.repeat(call, parse_client(request(wire_id, "ping", {})))
    again = inflight.to_repeat()
    assert again is not None
    assert again.message.request_id == call.wire_id == wire_id
    (response,) = parse_server(b'{"jsonrpc":"2.0","id":%b,"result":{"x":1.0}}' % wire_id)
    assert inflight.respond(call, response) == [
        Emit(b'{"jsonrpc":"2.0","id":1,"result":{"x":1.0}}')
    ]


def test_what_left_the_lobby_makes_room_in_it() -> None:
    inflight = Inflight()
    lobby = Lobby(max_bytes=len(PING.raw))
    waiting = FromClient(PING, opened(inflight))
    assert lobby.admit(waiting)
    assert not lobby.admit(FromClient(PING))
    assert lobby.next() is waiting
    assert lobby.admit(waiting)
    assert waiting.call is not None
    assert lobby.remove(waiting.call)
    assert not lobby.remove(waiting.call)
    assert lobby.admit(FromClient(PING))
    assert lobby.calls() == []
    assert len(lobby.drain()) == 1
    assert len(lobby) == 0
