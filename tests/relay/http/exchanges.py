"""Short ways to say what a client is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import pytest

from relay.http.errors import HttpError
from relay.http.interface import HttpClient, HttpRequest
from tests.relay.http.server import PATIENCE

GET = HttpRequest("GET")
POST = HttpRequest("POST", (("Content-Type", "application/json"),), b'{"id":1}')


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


async def fetch(client: HttpClient, request: HttpRequest = POST) -> Answer:
    """One whole exchange."""
    with anyio.fail_after(PATIENCE):
        async with client.exchange(request) as response:
            body = b"".join([chunk async for chunk in response.chunks()])
            return Answer(response.status, dict(response.headers), body)


async def failure_of(client: HttpClient, request: HttpRequest = POST) -> HttpError:
    """The error that an exchange ends with."""
    with pytest.raises(HttpError) as caught:
        await fetch(client, request)
    return caught.value
