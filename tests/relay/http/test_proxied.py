"""Exchanges through a proxy, and what is said when the proxy is the reason that there are none."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.httpx_client import HttpxClient
from relay.http.interface import HttpRequest, Timeouts
from relay.http.tls import tls_context
from relay.proxies import Proxy
from tests.relay.http.exchanges import failure_of, fetch
from tests.relay.http.kernel import KERNEL_CONNECTIONS, keepalive_of_connection_to
from tests.relay.http.proxy import HttpProxy, serve_proxy
from tests.relay.http.server import PATIENCE, Handler, Peer, Server, serve
from tests.relay.http.test_failures import unused_port
from tests.relay.http.test_tls import AUTHORITY, server_side

SECURE = pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
AT_ONCE = 2.0  # seconds; less than any connection is kept at rest


async def answering(peer: Peer) -> None:
    while True:
        request = await peer.request()
        await peer.answer(b"ok " + request.body)


@asynccontextmanager
async def through(
    proxy: Proxy, url: str, timeouts: Timeouts | None = None
) -> AsyncIterator[HttpxClient]:
    tls = tls_context(cacert=AUTHORITY)
    client = HttpxClient(url, proxy=proxy, tls=tls, timeouts=timeouts or Timeouts())
    try:
        yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def serving(handler: Handler, *, secure: bool) -> AsyncIterator[Server]:
    async with serve(handler, tls=server_side() if secure else None) as server:
        yield server


def assert_the_proxy_is_named(error: HttpError, proxy: Proxy) -> None:
    assert f"the proxy is {proxy.url} (from {proxy.source})" in error.detail
    assert "--proxy none" in error.detail and "NO_PROXY" in error.detail
    assert not error.may_have_executed


@SECURE
async def test_an_exchange_goes_through_the_proxy(secure: bool) -> None:
    async with (
        serve_proxy() as proxy,
        serving(answering, secure=secure) as server,
        through(proxy.seen_by(), server.url) as client,
    ):
        for body in (b"one", b"two"):
            answer = await fetch(client, HttpRequest("POST", (), body))
            assert answer.body == b"ok " + body
        assert (client.tls_facts is not None) == secure
    [request] = proxy.received
    if secure:
        assert (request.method, request.path) == ("CONNECT", f"127.0.0.1:{server.port}")
    else:
        assert (request.method, request.path) == ("POST", server.url)
    assert "proxy-authorization" not in request.headers
    assert len(server.peers) == 1


@SECURE
async def test_the_proxy_is_shown_its_credentials_and_the_server_is_not(secure: bool) -> None:
    seen = []

    async def handler(peer: Peer) -> None:
        seen.append((await peer.request()).headers)
        await peer.answer()

    async with (
        serve_proxy(("ann", "s3cret:x")) as proxy,
        serving(handler, secure=secure) as server,
        through(proxy.seen_by(("ann", "s3cret:x")), server.url) as client,
    ):
        assert (await fetch(client)).status == 200
    if secure:  # in absolute form it is the proxy that takes the header away
        assert "proxy-authorization" not in seen[0]


@SECURE
@pytest.mark.parametrize("credentials", [None, ("ann", "wr0ng")], ids=["none", "wrong"])
async def test_a_proxy_that_wants_other_credentials_is_no_answer_of_the_server(
    secure: bool, credentials: tuple[str, str] | None
) -> None:
    async with (
        serve_proxy(("ann", "s3cret")) as proxy,
        serving(answering, secure=secure) as server,
        through(proxy.seen_by(credentials), server.url) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert "HTTP 407" in error.detail
    assert ("does not accept" in error.detail) == (credentials is not None)
    assert "wr0ng" not in error.detail
    assert_the_proxy_is_named(error, proxy.seen_by())
    assert server.peers == []


@SECURE
async def test_a_proxy_that_is_not_there_is_named(secure: bool) -> None:
    proxy = Proxy(f"http://127.0.0.1:{await unused_port()}", "ALL_PROXY", asked_for=False)
    scheme = "https" if secure else "http"
    async with through(proxy, f"{scheme}://rig.example/mcp") as client:
        error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert error.detail.startswith(f"connection refused by {proxy.url.removeprefix('http://')}; ")
    assert_the_proxy_is_named(error, proxy)


async def test_a_proxy_whose_name_is_unknown_is_named() -> None:
    proxy = Proxy("http://proxy.invalid:3128", "ALL_PROXY", asked_for=False)
    async with through(proxy, "https://rig.example/mcp") as client:
        error = await failure_of(client)
    assert "'proxy.invalid' cannot be resolved" in error.detail
    assert_the_proxy_is_named(error, proxy)


async def test_a_server_that_the_proxy_cannot_reach() -> None:
    port = await unused_port()
    async with (
        serve_proxy() as proxy,
        through(proxy.seen_by(), f"https://127.0.0.1:{port}/mcp") as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert f"does not connect to 127.0.0.1:{port} (HTTP 502" in error.detail
    assert_the_proxy_is_named(error, proxy.seen_by())


@pytest.mark.parametrize("answer", [b"SSH-2.0-x\r\n", b"\x15\x03\x01\x00\x02\x02\x16", b""])
async def test_what_answers_is_no_proxy(answer: bytes) -> None:
    async def handler(peer: Peer) -> None:
        await peer.head()
        await peer.send(answer)

    async with serve(handler) as server:
        proxy = HttpProxy(server.port).seen_by()
        async with through(proxy, "https://rig.example/mcp") as client:
            error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert "does not answer as an HTTP proxy does" in error.detail
    assert_the_proxy_is_named(error, proxy)


async def test_a_proxy_that_never_answers() -> None:
    async def handler(peer: Peer) -> None:
        await peer.closed()

    async with serve(handler) as server:
        proxy = HttpProxy(server.port).seen_by()
        timeouts = Timeouts(connect=0.05)
        async with through(proxy, "https://rig.example/mcp", timeouts) as client:
            error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert f"no connection to 127.0.0.1:{server.port} within 0.05 s" in error.detail
    assert_the_proxy_is_named(error, proxy)


async def test_a_server_that_never_answers_behind_a_proxy() -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.closed()

    async with (
        serve_proxy() as proxy,
        serving(handler, secure=True) as server,
        through(proxy.seen_by(), server.url, Timeouts(head=0.05)) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.HEADERS_TIMEOUT
    assert error.may_have_executed


async def test_the_certificate_of_the_server_is_verified_behind_a_proxy() -> None:
    async with (
        serve_proxy() as proxy,
        serve(answering, tls=server_side("expired.pem")) as server,
        through(proxy.seen_by(), server.url) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.TLS
    assert f"the certificate of 127.0.0.1:{server.port} is not accepted" in error.detail
    assert_the_proxy_is_named(error, proxy.seen_by())


async def test_handshakes_that_fail_leave_nothing_behind() -> None:
    def tunnels() -> int:
        gc.collect()
        kinds = (type(thing).__name__ for thing in gc.get_objects())
        return sum(kind == "AsyncTunnelHTTPConnection" for kind in kinds)

    before = tunnels()
    async with (
        serve_proxy() as proxy,
        serve(answering, tls=server_side("expired.pem")) as server,
        through(proxy.seen_by(), server.url) as client,
    ):
        for _ in range(5):
            assert (await failure_of(client)).failure is Failure.TLS
        assert tunnels() == before


@SECURE
async def test_cancelling_before_the_head_reaches_the_server_at_once(secure: bool) -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        begun.set()
        await peer.closed()
        closed.set()

    async with (
        serve_proxy() as proxy,
        serving(handler, secure=secure) as server,
        through(proxy.seen_by(), server.url) as client,
    ):
        task = asyncio.get_running_loop().create_task(fetch(client))
        with anyio.fail_after(PATIENCE):
            await begun.wait()
            task.cancel()
        with anyio.fail_after(AT_ONCE):
            await closed.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_cancelling_within_the_handshake_closes_the_tunnel() -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.reader.read(1)
        begun.set()
        await peer.closed()
        closed.set()

    async with (
        serve_proxy() as proxy,
        serve(handler) as server,
        through(proxy.seen_by(), server.url.replace("http:", "https:")) as client,
    ):
        task = asyncio.get_running_loop().create_task(fetch(client))
        with anyio.fail_after(PATIENCE):
            await begun.wait()
            task.cancel()
        with anyio.fail_after(AT_ONCE):
            await closed.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.skipif(not KERNEL_CONNECTIONS.exists(), reason="only Linux tells")
@SECURE
async def test_a_proxy_that_is_gone_will_be_noticed(secure: bool) -> None:
    """httpx sets no option on a socket that it opens to a proxy."""
    async with (
        serve_proxy() as proxy,
        serving(answering, secure=secure) as server,
        through(proxy.seen_by(), server.url) as client,
    ):
        await fetch(client)
        await keepalive_of_connection_to(proxy.port)
