"""Credentials that may change while the relay runs: a client that asks for them each time.

This is where authorization flows plug in. What decides about credentials is behind
:class:`Credentials`; that one request is repeated at most once, and that many refusals at the same
time start one renewal, is decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec.structs import replace

from relay.core.events import Failure
from relay.http.errors import HttpError
from relay.http.headers import Headers
from relay.http.interface import HttpClient, HttpRequest, HttpResponse

_REFUSALS = (401, 403)  # RFC 6750, 3.1: 403 with insufficient_scope asks for more rights


class Credentials(Protocol):
    """What the server lets us in for. Neither method may raise anything but ``HttpError``."""

    async def headers(self) -> Headers:
        """Return what to send with a request now; may wait, if they are about to expire."""

    async def refused(self, status: int, headers: Mapping[str, str]) -> bool:
        """Hear that the server refused the current ones with 401 or 403, and do about it what can
        be done; true if :meth:`headers` are others now and the request is worth another try.

        :param headers: of the response, names in lower case.
        """


class AuthorizedHttpClient:
    """A client whose requests carry credentials (:class:`relay.http.interface.HttpClient`).

    A request that the server refuses did not run, so it is sent once more if there are other
    credentials by then. The second response is final, whatever it is.
    """

    def __init__(self, http: HttpClient, credentials: Credentials) -> None:
        self._http = http
        self._credentials = credentials
        self._renewal: asyncio.Task[bool] | None = None

    @asynccontextmanager
    async def exchange(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        sent = await self._credentials.headers()
        async with self._http.exchange(_with(request, sent)) as response:
            if response.status not in _REFUSALS or not await self._changed(sent, response):
                yield response
                return
        renewed = await self._credentials.headers()
        async with self._http.exchange(_with(request, renewed)) as response:
            yield response

    async def aclose(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
        await self._http.aclose()

    async def _changed(self, sent: Headers, response: HttpResponse) -> bool:
        """Whether there are other credentials than those that were refused.

        The renewal belongs to all requests that wait for it, so it outlives any one of them.
        """
        if await self._credentials.headers() != sent:
            return True  # renewed while this request was on its way
        if self._renewal is None:
            refused = self._credentials.refused(response.status, response.headers)
            self._renewal = asyncio.get_running_loop().create_task(refused)
            self._renewal.add_done_callback(self._renewed)
        renewal = self._renewal
        await asyncio.wait([renewal])
        if renewal.cancelled():
            raise HttpError(Failure.CLOSED, "the HTTP client is closed", may_have_executed=False)
        return renewal.result()

    def _renewed(self, renewal: asyncio.Task[bool]) -> None:
        self._renewal = None
        if not renewal.cancelled():
            renewal.exception()  # taken here, in case every request has gone meanwhile


def _with(request: HttpRequest, credentials: Headers) -> HttpRequest:
    """Add credentials to a request, except where it has a header of that name itself."""
    taken = {name.lower() for name, _ in request.headers}
    added = [(name, value) for name, value in credentials if name.lower() not in taken]
    return replace(request, headers=(*request.headers, *added))
