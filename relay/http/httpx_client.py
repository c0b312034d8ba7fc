"""The HTTP/1.1 client for what goes through a proxy: httpx's transport under our contract.

httpx makes the connections, speaks to the proxy and keeps what can be used again. The rest is as
in :mod:`relay.http.direct`: the same headers, deadlines, redirects, decoding and errors. Of httpx
only the transport is used, so neither cookies nor anything of the environment get in.

Known to be worse than there: a refusal that comes while a large request is still being written is
heard once the server has taken the request or closed; bytes that a server sends behind a response
are taken for the next one; and an exchange costs several times the processor time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

import httpx

from relay.core.events import Failure
from relay.http.errors import HttpError, InvalidUrlError
from relay.http.headers import Headers, RequestHeaders, encoded
from relay.http.httpx_errors import cut_off, refusal_of, without_head
from relay.http.httpx_sending import Sending, Stage
from relay.http.interface import HttpRequest, Timeouts
from relay.http.parser import content_coding, joined
from relay.http.pool import IDLE_EXPIRY, MAX_IDLE
from relay.http.target import MAX_REDIRECTS, Target, parse_target
from relay.http.tls import facts, has_ended, tls_context
from relay.proxies import Proxy

_DEFAULT_TIMEOUTS = Timeouts()
_BODILESS = (204, 304)
_FRAMED = {"content-length", "transfer-encoding"}


class HttpxClient:
    """Makes exchanges with the server at one URL (:class:`relay.http.interface.HttpClient`).

    Redirects are followed as by :class:`relay.http.direct.DirectHttpClient`, through the same
    proxy.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Headers = (),
        timeouts: Timeouts = _DEFAULT_TIMEOUTS,
        tls: ssl.SSLContext | None = None,
        proxy: Proxy | None = None,
    ) -> None:
        """
        :param headers: sent with every request that does not name them itself.
        :param tls: for https; the system's authorities if ``None``.
        :param proxy: asked for every connection; ``None``: connect to the server itself.
        :raises HttpConfigError: if the URL or a header cannot be used.
        """
        self._target = parse_target(url)
        _url_of(self._target)
        self._headers = RequestHeaders(headers)
        self._timeouts = timeouts
        self._proxy = proxy
        self._new_transport = partial(
            httpx.AsyncHTTPTransport,
            verify=tls or tls_context(),
            trust_env=False,
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=MAX_IDLE,
                keepalive_expiry=IDLE_EXPIRY,
            ),
            proxy=None if proxy is None else httpx.Proxy(proxy.url, auth=proxy.credentials),
        )
        self._transport = self._new_transport()
        self._open = 0
        self._littered = False
        self._waits: set[asyncio.Timeout] = set()
        self._tls_facts: Mapping[str, str] | None = None
        self._closed = False

    @property
    def tls_facts(self) -> Mapping[str, str] | None:
        """Version, cipher and certificate of the latest TLS connection; ``None`` without one."""
        return self._tls_facts

    @asynccontextmanager
    async def exchange(self, request: HttpRequest) -> AsyncIterator[HttpxResponse]:
        self._open += 1
        try:
            response = await self._follow(request)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            self._open -= 1
            await self._tidy()

    async def aclose(self) -> None:
        self._closed = True
        for wait in self._waits:
            if not wait.expired():
                wait.reschedule(asyncio.get_running_loop().time())
        await self._transport.aclose()

    async def read(self, pieces: AsyncIterator[bytes], target: Target, idle: float | None) -> bytes:
        """Return the next piece of a body; nothing means its end.

        :raises HttpError: if the body cannot be completed.
        """
        try:
            async with self._wait(idle):
                return await anext(pieces, b"")
        except (httpx.TransportError, OSError) as error:
            if self._closed:
                raise _closed(may_have_executed=True) from error
            if isinstance(error, TimeoutError):
                raise HttpError(
                    Failure.IDLE_TIMEOUT,
                    f"{target.address} fell silent for {idle:g} s within a response",
                    may_have_executed=True,
                ) from None
            raise cut_off(error, target.address, "in the middle of the response") from error

    async def _follow(self, request: HttpRequest) -> HttpxResponse:
        target = self._target.of_request(request.target)
        for _ in range(MAX_REDIRECTS):
            response = await self._round_trip(target, request)
            if response.status not in (307, 308):
                return response
            redirected = target.redirected(response.headers.get("location", ""))
            if redirected is None:
                return response
            await response.aclose()
            target = redirected
        return await self._round_trip(target, request)

    async def _round_trip(self, target: Target, request: HttpRequest) -> HttpxResponse:
        """Send the request and wait for the head of the response."""
        headers = self._headers.of_request(target, request)
        sending = Sending(target, request.body, self._timeouts)
        wire = httpx.Request(
            request.method,
            _url_of(target),
            headers=[(encoded(name), encoded(value)) for name, value in headers],
            stream=sending,
            extensions={"trace": sending.trace, "timeout": {}},
        )
        if self._closed:
            raise _closed(may_have_executed=False)
        try:
            async with self._wait(self._timeouts.connect) as deadline:
                sending.limit(deadline)
                answer = await self._transport.handle_async_request(wire)
        except BaseException as error:
            await sending.close()
            self._littered |= self._proxy is not None and sending.stage is Stage.SECURING
            if not isinstance(error, (httpx.TransportError, OSError)):
                raise
            if self._closed:
                raise _closed(may_have_executed=sending.begun) from error
            raise without_head(error, sending, self._timeouts, self._proxy) from error
        idle = None if request.standing else self._timeouts.idle
        return await self._entered(HttpxResponse(answer, self, target, request.method, idle))

    async def _tidy(self) -> None:
        """Begin anew with no connections, as soon as none is in use.

        httpcore 1.0 keeps the tunnel of a failed handshake among its connections for ever.
        """
        if self._littered and not self._open and not self._closed:
            littered, self._transport = self._transport, self._new_transport()
            self._littered = False
            await littered.aclose()

    async def _entered(self, response: HttpxResponse) -> HttpxResponse:
        """Refuse a response that is none of the server's."""
        if response.tls is not None:
            self._tls_facts = facts(response.tls)
        target = response.target
        if response.status == 407 and self._proxy is not None and not target.tls:
            await response.aclose()
            raise refusal_of(self._proxy, "407", target)
        return response

    @asynccontextmanager
    async def _wait(self, seconds: float | None) -> AsyncIterator[asyncio.Timeout]:
        """Limit a wait; it ends with the client too."""
        async with asyncio.timeout(seconds) as scope:
            self._waits.add(scope)
            try:
                yield scope
            finally:
                self._waits.discard(scope)


class HttpxResponse:
    """A response on its connection (:class:`relay.http.interface.HttpResponse`)."""

    def __init__(
        self,
        answer: httpx.Response,
        client: HttpxClient,
        target: Target,
        method: str,
        idle: float | None,
    ) -> None:
        self.status = answer.status_code
        self.headers = joined(answer.headers.raw)
        self.target = target
        self.tls: ssl.SSLObject | None = answer.extensions["network_stream"].get_extra_info(
            "ssl_object"
        )
        self._client = client
        self._idle = idle
        self._stream = cast(httpx.AsyncByteStream, answer.stream)
        self._pieces = aiter(self._stream)
        self._over = False
        bodiless = method == "HEAD" or self.status in _BODILESS
        self._until_close = not bodiless and self.headers.keys().isdisjoint(_FRAMED)

    def chunks(self) -> AsyncIterator[bytes]:
        coding = content_coding(self.headers)
        if not coding:
            return self._plain()
        # Most servers of MCP do not compress: zlib is loaded for those that do.
        from relay.http.decoding import decoded

        return decoded(self._read, coding)

    async def aclose(self) -> None:
        """Leave the exchange: what is not read is lost, and the connection with it."""
        self._over = True
        await self._stream.aclose()

    async def _plain(self) -> AsyncIterator[bytes]:
        while data := await self._read():
            yield data

    async def _read(self) -> bytes:
        if self._over:
            raise RuntimeError("chunks() was read after its exchange was left")
        piece = await self._client.read(self._pieces, self.target, self._idle)
        if not piece and self._until_close and self.tls is not None and not has_ended(self.tls):
            detail = "the server closed the connection in the middle of the response"
            raise HttpError(Failure.CLOSED, detail, may_have_executed=True)
        return piece


def _url_of(target: Target) -> httpx.URL:
    try:
        return httpx.URL(
            scheme=target.scheme,
            host=target.host,
            port=target.port,
            raw_path=target.path.encode("ascii"),
        )
    except httpx.InvalidURL as error:
        raise InvalidUrlError(f"httpx does not take the URL of {target.address}: {error}") from None


def _closed(*, may_have_executed: bool) -> HttpError:
    return HttpError(
        Failure.CLOSED, "the HTTP client is closed", may_have_executed=may_have_executed
    )
