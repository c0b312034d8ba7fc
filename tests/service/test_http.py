"""Only this machine and the names its operator gave reach the service."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
import pytest
from anyio.abc import SocketStream
from starlette.applications import Starlette

from service.errors import BindFailedError, BindRefusedError
from service.http import GRACE_SECONDS, build_app, is_loopback, listen, serving, url_of
from service.mcp import build_server
from service.model.caller import Caller
from tests.service.sample_tools import Bench, dispatcher


def app(allowed_hosts: list[str] | None = None) -> Starlette:
    server = build_server(dispatcher(Bench(Caller("nobody"))), version="1.2")
    return build_app(server, lambda: {"ok": True, "version": "1.2", "buses": {}}, allowed_hosts)


async def raw(port: int, *head: str, length: int = 0) -> tuple[int, bytes]:
    """Status and body of one exchange with these header lines; the request's body never comes."""
    with anyio.fail_after(5):
        stream = await anyio.connect_tcp("127.0.0.1", port)
        async with stream:
            lines = [*head, f"Content-Length: {length}", "Connection: close", "", ""]
            await stream.send("\r\n".join(lines).encode())
            answer = b""
            try:
                while True:
                    answer += await stream.receive()
            except anyio.EndOfStream:
                top, _, content = answer.partition(b"\r\n\r\n")
                return int(top.split()[1]), content


@pytest.fixture
async def port() -> AsyncIterator[int]:
    with listen("127.0.0.1", 0) as bound:
        async with serving(app(["rig.example"]), bound):
            yield bound.getsockname()[1]


async def test_health_tells_version_and_buses(port: int) -> None:
    status, body = await raw(port, "GET /health HTTP/1.1", f"Host: 127.0.0.1:{port}")
    assert (status, body) == (200, b'{"ok":true,"version":"1.2","buses":{}}')


@pytest.mark.parametrize("path", ["/health", "/mcp"])
@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Host: evil.example", 421),
        ("Host: 127.0.0.1.evil.example:1", 421),
        ("Host: localhost:1\r\nOrigin: http://evil.example", 403),
        ("Host: localhost:1\r\nOrigin: null", 403),
    ],
)
async def test_a_page_of_another_site_reaches_nothing(
    port: int, path: str, header: str, status: int
) -> None:
    head = [f"GET {path} HTTP/1.1", header, "Accept: text/event-stream, application/json"]
    answered, body = await raw(port, *head)
    assert answered == status
    assert b"version" not in body


@pytest.mark.parametrize("host", ["localhost:9", "127.0.0.1:1", "[::1]:8765", "rig.example"])
async def test_loopback_names_and_those_of_the_operator_are_served(port: int, host: str) -> None:
    status, _ = await raw(port, "GET /health HTTP/1.1", f"Host: {host}")
    assert status == 200


@pytest.mark.parametrize("around", ["{}  ", "{}\t", " \t{} \t"])
async def test_white_space_around_a_header_value_is_no_part_of_it(port: int, around: str) -> None:
    host = around.format("rig.example")
    assert (await raw(port, "GET /health HTTP/1.1", f"Host: {host}"))[0] == 200


async def test_a_giant_body_is_refused(port: int) -> None:
    head = ["POST /mcp HTTP/1.1", "Host: localhost:1", "Content-Type: application/json"]
    status, _ = await raw(port, *head, length=5 * 1024 * 1024)
    assert status == 413


async def test_an_open_stream_ends_with_the_service_and_does_not_hold_it_up() -> None:
    with listen("127.0.0.1", 0) as bound, anyio.fail_after(GRACE_SECONDS - 1):
        async with serving(app(), bound):
            stream = await anyio.connect_tcp("127.0.0.1", bound.getsockname()[1])
            session = await opened_session(stream)
            lines = ["GET /mcp HTTP/1.1", "Host: localhost:1", "Accept: text/event-stream"]
            await stream.send("\r\n".join([*lines, session, "", ""]).encode())
            assert b"text/event-stream" in await stream.receive()
        rest = b""
        async with stream:
            with suppress(anyio.EndOfStream):
                while True:
                    rest += await stream.receive()
        assert rest.endswith(b"0\r\n\r\n")


async def opened_session(stream: SocketStream) -> str:
    """Initialize as a 2025-11-25 client does; the session's header line."""
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        b'"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}'
    )
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: localhost:1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
    ]
    await stream.send("\r\n".join([*lines, "", ""]).encode() + body)
    answer = b""
    while not answer.endswith(b"0\r\n\r\n"):
        answer += await stream.receive()
    head = answer.partition(b"\r\n\r\n")[0].decode().splitlines()
    return next(line for line in head if line.lower().startswith("mcp-session-id"))


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.5", "rig.example", "", "localhost.example", "8.8.8.8"]
)
def test_an_address_that_others_can_reach_is_refused(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(BindRefusedError) as raised:
        listen(host, 0)
    assert "ssh -L" in raised.value.hint


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BindFailedError, match=str(port)):
            listen("127.0.0.1", port)


def test_small_answers_are_not_held_back_by_nagle() -> None:
    with listen("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP  # what asyncio looks at before it sets NODELAY


def test_the_url_is_the_real_one() -> None:
    with listen("localhost", 0) as bound:
        port = bound.getsockname()[1]
        assert port > 0
        assert url_of(bound).endswith(f":{port}/mcp")
