"""The ``check`` command: a short session with a server, and what it showed.

It is a client in the same process on the relay's own shell, core and HTTP path, so what works
here works for a real client, and the other way round.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import msgspec

from relay import __version__
from relay.core.commands import Command, Request
from relay.core.events import (
    ClientClosed,
    ClientLine,
    Event,
    ExchangeId,
    ServerAnswered,
    ServerEnded,
    ServerSent,
)
from relay.core.versions import LEGACY_VERSIONS, MODERN_VERSIONS
from relay.http.interface import HttpClient
from relay.logs import printable
from relay.shell import Core, Recorder, Shell, termination_signals

_PROTOCOL_VERSION = LEGACY_VERSIONS[-1]
_MAX_PAGES = 1000
_METHOD_NOT_FOUND = -32601
_STREAMABLE_HTTP, _HTTP_SSE = "streamable HTTP", "HTTP+SSE"
_GREEN, _RED = 32, 31  # ECMA-48, 8.3.117 (SGR)

JsonObject = dict[str, object]


class CheckError(Exception):
    """The server could not be used; the text says why, ``remedy`` what to try next."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


@dataclass(slots=True)
class Report:
    """What a check found. Latencies are milliseconds from a request to the end of its answer."""

    url: str
    ok: bool = False
    era: str | None = None
    protocol_version: str | None = None
    server_name: str | None = None
    server_version: str | None = None
    capabilities: list[str] = field(default_factory=list)
    tools: int | None = None
    latency_ms: dict[str, float] = field(default_factory=dict)
    transport: str | None = None
    proxy: str | None = None
    tls: Mapping[str, str] | None = None
    error: str | None = None
    remedy: str | None = None


class _Answer(msgspec.Struct):
    """As much of a JSON-RPC message as a check looks at."""

    id: int | str | None = None
    method: str | None = None
    result: JsonObject | None = None
    error: JsonObject | None = None


class InProcessClient:
    """An MCP client of the 2025 revisions that lives in this process."""

    def __init__(self) -> None:
        self._said: asyncio.Queue[Event] = asyncio.Queue()
        self._waiting: dict[int | str | None, asyncio.Future[_Answer]] = {}
        self._last_id = 0
        self.latency_ms: dict[str, float] = {}
        """From each request to its answer, as a client sees it."""

    async def events(self) -> AsyncIterator[Event]:
        while True:
            yield await self._said.get()

    def send(self, line: bytes) -> None:
        """Take one message from the relay: give an answer to who waits, refuse what is asked."""
        message = msgspec.json.decode(line, type=_Answer)
        if message.method is None:
            if waiter := self._waiting.pop(message.id, None):
                waiter.set_result(message)
        elif message.id is not None:
            error = {"code": _METHOD_NOT_FOUND, "message": "this client only checks"}
            self._say({"id": message.id, "error": error})

    async def room(self) -> None:
        """There is always room: nothing here is slow."""

    async def close(self) -> None:
        """End what still waits: the relay will answer nothing more."""
        for waiter in self._waiting.values():
            waiter.set_exception(CheckError("the relay stopped", "see the log lines above"))
        self._waiting.clear()

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """Return the result of a request; :class:`CheckError` with the text of its error."""
        self._last_id += 1
        waiter = self._waiting[self._last_id] = asyncio.get_running_loop().create_future()
        begun = time.perf_counter()
        self._say({"id": self._last_id, "method": method, "params": params})
        answer = await waiter
        self.latency_ms.setdefault(method, _milliseconds_since(begun))
        if answer.error is not None:
            raise CheckError(f"{method}: {answer.error.get('message')}", _remedy(answer.error))
        return answer.result or {}

    def notify(self, method: str) -> None:
        self._say({"method": method})

    def finish(self) -> None:
        """Close, as a client closes stdin."""
        self._said.put_nowait(ClientClosed())

    def _say(self, message: JsonObject) -> None:
        self._said.put_nowait(ClientLine(msgspec.json.encode({"jsonrpc": "2.0", **message})))


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request on its way: its method, when it left, and the revision it claimed."""

    method: str
    at: float
    protocol_version: str | None


class _Watcher:
    """Takes times, versions and the transport from what passes the shell."""

    def __init__(self, also: Recorder | None) -> None:
        self._also = also
        self.latency_ms: dict[str, float] = {}
        self.protocol_version: str | None = None
        self.transport: str | None = None
        self._open: dict[ExchangeId, _Sent] = {}

    def record(self, event: Event, commands: list[Command]) -> None:
        if self._also is not None:
            self._also(event, commands)
        match event:
            case ServerAnswered(exchange=exchange, status=status) if exchange in self._open:
                if status < 300:
                    self._accepted(self._open[exchange])
            case ServerSent(event="endpoint"):  # 2024-11-05, basic/transports
                self.transport = _HTTP_SSE
            case ServerEnded(exchange=exchange) if exchange in self._open:
                sent = self._open.pop(exchange)
                self.latency_ms.setdefault(sent.method, _milliseconds_since(sent.at))
            case _:
                pass
        for command in commands:
            if isinstance(command, Request) and command.body:
                method = msgspec.json.decode(command.body, type=_Answer).method or "answer"
                headers = {name.lower(): value for name, value in command.headers}
                version = headers.get("mcp-protocol-version")
                self._open[command.exchange] = _Sent(method, time.perf_counter(), version)

    def _accepted(self, sent: _Sent) -> None:
        """Learn from a request that the server took: what was only tried is not the server's."""
        self.protocol_version = sent.protocol_version or self.protocol_version
        self.transport = self.transport or _STREAMABLE_HTTP


def as_json(report: Report) -> str:
    """One JSON object on one line, with every field of :class:`Report`."""
    return msgspec.json.encode(report).decode()


def as_text(report: Report, *, colour: bool) -> str:
    """Aligned lines for a person."""
    rows = {
        "server": " ".join(filter(None, (report.server_name, report.server_version))) or None,
        "era": report.era,
        "transport": report.transport,
        "protocol version": report.protocol_version,
        "capabilities": ", ".join(report.capabilities) or None,
        "tools": None if report.tools is None else str(report.tools),
        **{method: f"{latency} ms" for method, latency in report.latency_ms.items()},
        "proxy": report.proxy,
        **{f"TLS {name}": value for name, value in (report.tls or {}).items()},
    }
    shown = {name: value for name, value in rows.items() if value is not None}
    width = max(map(len, shown), default=0)
    lines = [
        report.url,
        *(f"  {name:<{width}}  {printable(value)}" for name, value in shown.items()),
    ]
    if report.ok:
        lines.append(_painted("ok", _GREEN, colour))
    else:
        lines.append(_painted(f"failed: {printable(report.error or '')}", _RED, colour))
        lines.append(f"next step: {report.remedy}")
    return "\n".join(lines)


def _milliseconds_since(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 1)


def _painted(text: str, code: int, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


async def check(
    core: Core,
    http: HttpClient,
    url: str,
    *,
    max_message_size: int = 0,
    record: Recorder | None = None,
) -> Report:
    """Open a session, list all tools, close it; what fails is in the report."""
    client, watcher, report = InProcessClient(), _Watcher(record), Report(url)
    shell = Shell(core, client, http, max_message_size=max_message_size, record=watcher.record)
    # A signal must not leave the session on the server.
    with termination_signals(shell.terminate):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(shell.run())
            try:
                await _talk(client, report)
                report.ok = True
            except CheckError as error:
                report.error, report.remedy = str(error), error.remedy
            client.finish()
    report.transport = watcher.transport
    # Over HTTP+SSE the answer to a request does not come with the response to its POST.
    over_sse = watcher.transport == _HTTP_SSE
    report.latency_ms = client.latency_ms if over_sse else watcher.latency_ms
    report.protocol_version = watcher.protocol_version or report.protocol_version
    if report.protocol_version is not None:
        report.era = "modern" if report.protocol_version in MODERN_VERSIONS else "legacy"
    return report


async def _talk(client: InProcessClient, report: Report) -> None:
    client_info = {"name": "canferry-relay check", "version": __version__}
    opened = await client.request(
        "initialize",
        {"protocolVersion": _PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client_info},
    )
    try:
        server = msgspec.convert(opened, type=_Opened)
    except msgspec.ValidationError as error:
        raise CheckError(f"initialize: {error}", "the server breaks the protocol") from error
    report.protocol_version = server.protocolVersion
    report.server_name = server.serverInfo.name
    report.server_version = server.serverInfo.version
    report.capabilities = sorted(server.capabilities)
    client.notify("notifications/initialized")
    if "tools" in server.capabilities:
        report.tools = await _count_tools(client)


async def _count_tools(client: InProcessClient) -> int:
    total = 0
    params: JsonObject = {}
    for _ in range(_MAX_PAGES):
        page = await client.request("tools/list", params)
        tools = page.get("tools")
        total += len(tools) if isinstance(tools, list) else 0
        cursor = page.get("nextCursor")
        if cursor is None:
            return total
        params = {"cursor": cursor}
    raise CheckError(f"tools/list: more than {_MAX_PAGES} pages", "the server's cursor never ends")


class _Implementation(msgspec.Struct):
    name: str = "unnamed"
    version: str = "unknown"


class _Opened(msgspec.Struct):
    """The result of ``initialize`` (2025-11-25, basic/lifecycle)."""

    protocolVersion: str
    capabilities: JsonObject
    serverInfo: _Implementation


def _remedy(error: JsonObject) -> str:
    data = error.get("data")
    hint = data.get("hint") if isinstance(data, dict) else None
    return str(hint or "read the server's log; --log-level debug shows each step of the relay")
