"""Exchanges over TLS, and what is said when it fails."""

from __future__ import annotations

import asyncio
import gc
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from relay.core.events import Failure
from relay.http.direct import DirectHttpClient
from relay.http.errors import HttpError, TlsConfigError
from relay.http.interface import HttpRequest, Timeouts
from relay.http.tls import tls_context
from tests.relay.http.conftest import Open
from tests.relay.http.exchanges import failure_of, fetch
from tests.relay.http.server import PATIENCE, Peer, serve

CERTS = Path(__file__).parent / "certs"
AUTHORITY = str(CERTS / "authority.pem")
CLIENT = str(CERTS / "client.pem")


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    """A transport that is not closed warns when it is collected, and warnings are errors."""
    yield
    gc.collect()


def server_side(certificate: str = "server.pem", *, ask: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / certificate)
    if ask:
        context.load_verify_locations(AUTHORITY)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def answering(peer: Peer) -> None:
    while True:
        request = await peer.request()
        await peer.answer(b"ok " + request.body)


async def test_an_exchange_over_tls(opened: Open) -> None:
    body = bytes(range(256)) * 4000
    async with (
        serve(answering, tls=server_side()) as server,
        opened(server.url, tls=tls_context(cacert=AUTHORITY)) as client,
    ):
        for _ in range(3):
            answer = await fetch(client, HttpRequest("POST", (), body))
            assert answer.body == b"ok " + body
    assert len(server.peers) == 1


async def test_cancelling_over_tls_closes_the_connection_at_once(opened: Open) -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        begun.set()
        await peer.closed()
        closed.set()

    async with (
        serve(handler, tls=server_side()) as server,
        opened(server.url, tls=tls_context(cacert=AUTHORITY)) as client,
    ):
        task = asyncio.get_running_loop().create_task(fetch(client))
        with anyio.fail_after(PATIENCE):
            await begun.wait()
            task.cancel()
            await closed.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_unknown_authority_is_refused_and_the_option_named(opened: Open) -> None:
    async with serve(answering, tls=server_side()) as server, opened(server.url) as client:
        error = await failure_of(client)
    assert error.failure is Failure.TLS
    assert f"the certificate of 127.0.0.1:{server.port} is not accepted" in error.detail
    assert "unable to get local issuer certificate" in error.detail
    assert "if the authority is your own, name its file with --cacert" in error.detail
    assert not error.may_have_executed


async def test_an_expired_certificate_is_refused(opened: Open) -> None:
    async with (
        serve(answering, tls=server_side("expired.pem")) as server,
        opened(server.url, tls=tls_context(cacert=AUTHORITY)) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.TLS
    assert "expired" in error.detail
    assert "clock" in error.detail


async def test_a_certificate_for_another_name_is_refused(opened: Open) -> None:
    async with (
        serve(answering, tls=server_side("client.pem")) as server,
        opened(server.url, tls=tls_context(cacert=AUTHORITY)) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.TLS
    assert "it is not for 127.0.0.1" in error.detail


async def test_verification_can_be_switched_off(opened: Open) -> None:
    async with (
        serve(answering, tls=server_side("expired.pem")) as server,
        opened(server.url, tls=tls_context(insecure=True)) as client,
    ):
        assert (await fetch(client)).status == 200


async def test_a_client_certificate_is_shown(opened: Open) -> None:
    subjects = []

    async def handler(peer: Peer) -> None:
        await peer.request()
        subjects.append(peer.writer.get_extra_info("peercert")["subject"])
        await peer.answer(b"ok")

    async with (
        serve(handler, tls=server_side(ask=True)) as server,
        opened(server.url, tls=tls_context(cacert=AUTHORITY, cert=CLIENT)) as client,
    ):
        assert (await fetch(client)).body == b"ok"
    assert subjects == [((("commonName", "test client"),),)]


async def test_a_missing_client_certificate_ends_the_exchange(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        # By hand, because asyncio's server does not send the alert that other servers send.
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = server_side(ask=True).wrap_bio(incoming, outgoing, server_side=True)
        with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
            while True:
                with suppress(ssl.SSLWantReadError):
                    tls.do_handshake()
                await peer.send(outgoing.read())
                with anyio.fail_after(PATIENCE):
                    incoming.write(await peer.reader.read(1 << 16))
        await peer.send(outgoing.read())
        await peer.closed()

    async with (
        serve(handler) as server,
        opened(server.url.replace("http:", "https:"), tls=tls_context(cacert=AUTHORITY)) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.TLS
    assert "CERTIFICATE_REQUIRED" in error.detail
    assert "--cert" in error.detail


async def test_an_http_server_under_an_https_url_is_recognised(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await peer.closed()

    async with (
        serve(handler) as server,
        opened(server.url.replace("http:", "https:")) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.TLS
    assert "is it an http:// URL?" in error.detail
    assert not error.may_have_executed


async def test_a_server_that_never_shakes_hands(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.closed()

    async with (
        serve(handler) as server,
        opened(server.url.replace("http:", "https:"), timeouts=Timeouts(connect=0.05)) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert error.detail == f"no connection to 127.0.0.1:{server.port} within 0.05 s"
    assert not error.may_have_executed


async def test_a_server_that_hangs_up_on_the_handshake(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.reader.read(1 << 16)

    async with (
        serve(handler) as server,
        opened(server.url.replace("http:", "https:")) as client,
    ):
        error = await failure_of(client)
    assert error.failure is Failure.CONNECT
    assert "closed the connection while it was being set up" in error.detail
    assert not error.may_have_executed


async def test_an_https_server_under_an_http_url_is_recognised(opened: Open) -> None:
    async with (
        serve(answering, tls=server_side()) as server,
        opened(server.url.replace("https:", "http:")) as client,
    ):
        error = await failure_of(client)
    assert error.failure in (Failure.PROTOCOL, Failure.CLOSED)


async def test_a_body_that_ends_without_the_end_of_tls_is_cut_off(opened: Open) -> None:
    """Without a length, only the close of TLS tells an end from a cut (RFC 9112, 9.8)."""

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\npart of a bo")
        with anyio.fail_after(PATIENCE):
            await read.wait()
        peer.writer.transport.abort()

    read = asyncio.Event()
    async with (
        serve(handler, tls=server_side()) as server,
        opened(server.url, tls=tls_context(cacert=AUTHORITY)) as client,
        client.exchange(HttpRequest("GET")) as response,
    ):
        chunks = response.chunks()
        assert await anext(chunks) == b"part of a bo"
        read.set()
        with anyio.fail_after(PATIENCE), pytest.raises(HttpError) as caught:
            await anext(chunks)
    assert caught.value.failure is Failure.CLOSED
    assert "in the middle of the response" in caught.value.detail


async def test_a_body_may_end_with_the_end_of_tls(opened: Open) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nwhole")

    async with (
        serve(handler, tls=server_side()) as server,
        opened(server.url, tls=tls_context(cacert=AUTHORITY)) as client,
    ):
        assert (await fetch(client)).body == b"whole"


async def test_a_redirect_from_http_to_https_of_the_same_host_is_followed(opened: Open) -> None:
    async def redirecting(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.answer(b"", f"Location: {secure.url}", status=308)

    async with (
        serve(answering, tls=server_side()) as secure,
        serve(redirecting) as server,
        opened(server.url, tls=tls_context(cacert=AUTHORITY)) as client,
    ):
        answer = await fetch(client, HttpRequest("POST", (), b"body"))
    assert answer.body == b"ok body"


async def test_the_facts_of_a_connection_are_known() -> None:
    async with serve(answering, tls=server_side()) as server:
        client = DirectHttpClient(server.url, tls=tls_context(cacert=AUTHORITY))
        assert client.tls_facts is None
        await fetch(client)
        await client.aclose()
    facts = client.tls_facts
    assert facts is not None
    assert facts["version"] == "TLSv1.3"
    assert facts["subject"] == "commonName=localhost"
    assert facts["issuer"] == "commonName=canferry test authority"
    assert facts["expires"] == "Jan  1 00:00:00 2120 GMT"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cacert": "/nowhere.pem"}, "--cacert: '/nowhere.pem'"),
        ({"cacert": __file__}, "--cacert: "),
        ({"cert": "/nowhere.pem"}, "--cert: '/nowhere.pem'"),
        ({"cert": AUTHORITY}, "--cert: "),
        ({"cert": CLIENT, "key": str(CERTS / "server.pem")}, "--key"),
        ({"cert": CLIENT, "key": str(CERTS / "locked.key")}, "is encrypted"),
    ],
)
def test_files_that_cannot_be_used_are_named_with_their_option(
    options: dict[str, str], said: str
) -> None:
    with pytest.raises(TlsConfigError) as caught:
        tls_context(cacert=options.get("cacert"), cert=options.get("cert"), key=options.get("key"))
    assert said in str(caught.value)
