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


def test_a_call_that_is_over_does_not_begin_anew() -> None:
    inflight = Inflight()
    call = opened(inflight)
    inflight.abandon(call)
    inflight.repeat(call)
    assert inflight.to_repeat() is None


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


def test_an_error_passes_byte_for_byte_under_the_clients_own_id() -> None:
    inflight = Inflight()
    call = opened(inflight)
    line = b'{"jsonrpc":"2.0","id":1,"error":{"code": -1, "message":"m"},"more":1.0}'
    (response,) = parse_server(line)
    assert inflight.respond(call, response) == [Emit(line)]


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


def test_the_lobby_holds_what_its_bytes_allow() -> None:
    lobby = Lobby(max_bytes=2 * len(PING.raw))
    assert [lobby.admit(FromClient(PING)) for _ in range(3)] == [True, True, False]
    lobby.next()
    assert [lobby.admit(FromClient(PING)) for _ in range(2)] == [True, False]
    lobby.drain()
    assert [lobby.admit(FromClient(PING)) for _ in range(3)] == [True, True, False]
