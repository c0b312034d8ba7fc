"""The implementations that the contract tests run against."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import pytest

from relay.http.direct import DirectHttpClient
from relay.http.headers import Headers
from relay.http.httpx_client import HttpxClient
from relay.http.interface import HttpClient, Timeouts

TIMEOUTS = Timeouts()


class Implementation(Protocol):
    def __call__(
        self,
        url: str,
        *,
        headers: Headers = (),
        timeouts: Timeouts = TIMEOUTS,
        tls: ssl.SSLContext | None = None,
    ) -> HttpClient: ...


class Open(Protocol):
    """Makes a client that is closed at the end of the block."""

    def __call__(
        self,
        url: str,
        *,
        headers: Headers = (),
        timeouts: Timeouts = TIMEOUTS,
        tls: ssl.SSLContext | None = None,
    ) -> AbstractAsyncContextManager[HttpClient]: ...


@pytest.fixture(
    params=[pytest.param(DirectHttpClient, id="direct"), pytest.param(HttpxClient, id="httpx")]
)
def implementation(request: pytest.FixtureRequest) -> Implementation:
    chosen: Implementation = request.param
    return chosen


@pytest.fixture
def opened(implementation: Implementation) -> Open:
    @asynccontextmanager
    async def open_client(
        url: str,
        *,
        headers: Headers = (),
        timeouts: Timeouts = TIMEOUTS,
        tls: ssl.SSLContext | None = None,
    ) -> AsyncIterator[HttpClient]:
        client = implementation(url, headers=headers, timeouts=timeouts, tls=tls)
        try:
            yield client
        finally:
            await client.aclose()

    return open_client
