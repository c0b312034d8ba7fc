"""The direct HTTP client against the floor: a bare asyncio protocol that knows the answer's size.

Both make the same echo calls of about 200 bytes to the same server process over loopback, in turns,
so that a busy machine slows both; the ratio is what counts.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import cast

from relay.http.direct import DirectHttpClient
from relay.http.interface import HttpRequest

BODY = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","text":"%s"}}' % (
    b"x" * 120
)
REQUEST = HttpRequest(
    "POST",
    (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")),
    BODY,
)
RESPONSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
IN_FLIGHT = (1, 16, 64)
SECONDS = 0.5
ROUNDS = 4

Call = Callable[[], Awaitable[None]]


class EchoServer(asyncio.Protocol):
    """Answers each request with its body; requests here fit one read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        body = data.partition(b"\r\n\r\n")[2]
        self._transport.write(RESPONSE_HEAD % len(body) + body)


class FloorClient(asyncio.Protocol):
    """Writes prepared bytes and waits for as many as the answer has."""

    def __init__(self, host: str) -> None:
        lines = [f"POST /mcp HTTP/1.1\r\nHost: {host}"]
        lines += [f"{name}: {value}" for name, value in REQUEST.headers]
        lines.append(f"Content-Length: {len(BODY)}\r\n\r\n")
        self._request = "\r\n".join(lines).encode() + BODY
        self._expected = len(RESPONSE_HEAD % len(BODY)) + len(BODY)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._missing -= len(data)
        if self._missing == 0:
            self._answered.set_result(None)

    async def call(self) -> None:
        self._missing = self._expected
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(self._request)
        await self._answered


async def rate(calls: list[Call]) -> float:
    """Calls per second with each of ``calls`` running in a loop of its own."""
    until = time.perf_counter() + SECONDS
    done = 0

    async def repeat(call: Call) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await call()
            done += 1

    begun = time.perf_counter()
    await asyncio.gather(*map(repeat, calls))
    return done / (time.perf_counter() - begun)


async def measure(port: int) -> None:
    client = DirectHttpClient(f"http://127.0.0.1:{port}/mcp", idle_expiry=60)

    async def direct() -> None:
        async with client.exchange(REQUEST) as response:
            body = b"".join([chunk async for chunk in response.chunks()])
        assert body == BODY

    loop = asyncio.get_running_loop()
    floor: list[Call] = []
    for _ in range(max(IN_FLIGHT)):
        _, protocol = await loop.create_connection(
            lambda: FloorClient(f"127.0.0.1:{port}"), "127.0.0.1", port
        )
        floor.append(protocol.call)
    print("in flight   floor calls/s   direct calls/s   ratio")
    for count in IN_FLIGHT:
        rounds = [(await rate(floor[:count]), await rate([direct] * count)) for _ in range(ROUNDS)]
        best_floor = max(bare for bare, _ in rounds)
        best = max(ours for _, ours in rounds)
        print(f"{count:9}   {best_floor:13,.0f}   {best:14,.0f}   {best / best_floor:5.2f}")
    await client.aclose()


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(EchoServer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def main() -> None:
    server = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "serve", stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    try:
        await measure(int(await server.stdout.readline()))
    finally:
        server.kill()
        await server.wait()


if __name__ == "__main__":
    asyncio.run(serve() if "serve" in sys.argv[1:] else main())
