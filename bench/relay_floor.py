"""What the relay costs above the least a Python relay can cost: start-up, latency, throughput.

The floor is one keep-alive socket and one message at a time, with no protocol at all. Both run as
processes against the same server and take turns, so the ratios hold on a busy machine.

    python bench/relay_floor.py
"""

from __future__ import annotations

import asyncio
import http.client
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

ROUNDS = 3
STARTS = 3
CALLS = 300
IN_FLIGHT = 64
PARALLEL_CALLS = 1500


class Server(asyncio.Protocol):
    """Answers every POST at once: the handshake of 2025-11-25, and an echo of anything else."""

    def __init__(self) -> None:
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            marker = head.find(b"content-length:")
            size = int(head[marker + 15 :].split(b"\r\n", 1)[0]) if marker >= 0 else 0
            if len(self.buffer) < end + 4 + size:
                return
            body = self.buffer[end + 4 : end + 4 + size]
            self.buffer = self.buffer[end + 4 + size :]
            self.transport.write(answer(head, body))


def answer(head: bytes, body: bytes) -> bytes:
    if not head.startswith(b"post"):
        return b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"
    message = json.loads(body)
    if "id" not in message:
        return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    reply: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "server/discover":
        reply["error"] = {"code": -32601, "message": "no such method"}
    else:
        reply["result"] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "floor", "version": "1"},
            "content": [{"type": "text", "text": "x" * 100}],
        }
    text = json.dumps(reply).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(text) + text


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def floor(url: str) -> None:
    """Relay line by line, knowing nothing."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    headers = {"Content-Type": "application/json"}
    for line in sys.stdin.buffer:
        connection.request("POST", parts.path, line, headers)
        if body := connection.getresponse().read():
            sys.stdout.buffer.write(body + b"\n")
            sys.stdout.buffer.flush()


class Client:
    """A client that talks to a relay process, one line at a time."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next_id = 0

    def send(self, method: str) -> None:
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": {}}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "the relay ended"

    def call(self, method: str = "tools/call") -> float:
        """Seconds from a request to its answer."""
        began = time.perf_counter()
        self.send(method)
        self.receive()
        return time.perf_counter() - began

    def flood(self, calls: int, in_flight: int) -> float:
        """Calls per second with this many open."""
        began = time.perf_counter()
        for _ in range(in_flight):
            self.send("tools/call")
        for _ in range(calls - in_flight):
            self.receive()
            self.send("tools/call")
        for _ in range(in_flight):
            self.receive()
        return calls / (time.perf_counter() - began)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def server() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, __file__, "--server"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def measure(url: str) -> dict[str, list[tuple[float, float]]]:
    """Figures of (relay, floor), in turns."""
    commands = (
        [sys.executable, "-m", "relay", "--log-level", "error", url],
        [sys.executable, __file__, "--floor", url],
    )
    figures: dict[str, list[tuple[float, float]]] = {}

    def note(name: str, pair: list[float]) -> None:
        figures.setdefault(name, []).append((pair[0], pair[1]))

    for _ in range(STARTS):
        pair = []
        for command in commands:
            began = time.perf_counter()
            client = Client(command)
            client.call("initialize")
            pair.append((time.perf_counter() - began) * 1000)
            client.close()
        note("start to first answer, ms", pair)
    clients = [Client(command) for command in commands]
    for client in clients:
        client.call("initialize")
    for _ in range(ROUNDS):
        series = [[client.call() * 1000 for _ in range(CALLS)] for client in clients]
        note("one call at a time, p50 ms", [statistics.median(times) for times in series])
        floods = [client.flood(PARALLEL_CALLS, IN_FLIGHT) for client in clients]
        note(f"{IN_FLIGHT} in flight, calls/s", floods)
    for client in clients:
        client.close()
    return figures


def main() -> None:
    if sys.argv[1:2] == ["--server"]:
        asyncio.run(serve())
    elif sys.argv[1:2] == ["--floor"]:
        floor(sys.argv[2])
    else:
        with server() as url:
            figures = measure(url)
        print(f"{'':28} {'relay':>9} {'floor':>9} {'ratio':>6}")
        for name, pairs in figures.items():
            mine, least = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(a / b for a, b in pairs)
            print(f"{name:28} {mine:9.2f} {least:9.2f} {ratio:6.2f}")


if __name__ == "__main__":
    main()
