"""The check: what it reports of a server, in words and in JSON."""

from __future__ import annotations

import asyncio
import json
import signal

import anyio
import pytest

from relay.check import Report, as_json, as_text, check
from relay.core.events import Failure
from relay.core.options import Options, ProtocolEra, Transport
from relay.core.session import Session
from relay.http.errors import HttpError
from relay.http.fake import FakeHttpClient, FakeResponse
from relay.http.interface import HttpRequest

URL = "http://rig.example/mcp"
DONE = FakeResponse([], 202, {})
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}, "logging": {}},
    "serverInfo": {"name": "rig", "version": "7"},
}


def result(request_id: int, value: object) -> FakeResponse:
    return FakeResponse(
        [json.dumps({"jsonrpc": "2.0", "id": request_id, "result": value}).encode()]
    )


def tools(count: int, cursor: str | None = None) -> dict[str, object]:
    page: dict[str, object] = {"tools": [{"name": str(n)} for n in range(count)]}
    return page if cursor is None else {**page, "nextCursor": cursor}


def serving(*responses: FakeResponse) -> FakeHttpClient:
    """A server that answers POST and DELETE in this order, and has no standing stream."""
    script = iter(responses)

    def respond(request: HttpRequest) -> FakeResponse:
        return FakeResponse(status=405) if request.method == "GET" else next(script)

    return FakeHttpClient(respond)


async def report_of(*responses: FakeResponse) -> tuple[Report, FakeHttpClient]:
    http = serving(*responses)
    session = Session(Options(protocol_era=ProtocolEra.LEGACY))
    with anyio.fail_after(5):
        return await check(session, http, URL), http


async def test_it_counts_the_tools_of_all_pages() -> None:
    pages = [result(2, tools(3, "c")), result(3, tools(2, "")), result(4, tools(1))]
    report, http = await report_of(result(1, HELLO), DONE, *pages)
    assert report.ok and report.tools == 6
    assert (report.era, report.protocol_version) == ("legacy", "2025-06-18")
    assert (report.server_name, report.server_version) == ("rig", "7")
    assert report.capabilities == ["logging", "tools"]
    assert list(report.latency_ms) == ["initialize", "notifications/initialized", "tools/list"]
    assert http.closed


def opened(capabilities: dict[str, object]) -> FakeResponse:
    """The answer to ``initialize`` that opens a session."""
    hello = {"jsonrpc": "2.0", "id": 1, "result": {**HELLO, "capabilities": capabilities}}
    headers = {"content-type": "application/json", "mcp-session-id": "s-1"}
    return FakeResponse([json.dumps(hello).encode()], headers=headers)


def deletes(http: FakeHttpClient) -> list[str | None]:
    """The sessions that were deleted."""
    return [
        {name.lower(): value for name, value in request.headers}.get("mcp-session-id")
        for request in http.requests
        if request.method == "DELETE"
    ]


async def test_the_session_it_opened_is_deleted() -> None:
    report, http = await report_of(opened({}), DONE, FakeResponse([], 204, {}))
    assert report.ok and report.tools is None
    assert deletes(http) == ["s-1"]


@pytest.mark.parametrize(
    "failing",
    [
        FakeResponse([b"broken"], 500, {}),
        FakeResponse([HttpError(Failure.CLOSED, "gone", may_have_executed=True)]),
        result(2, tools(1, "again")),
    ],
    ids=["status", "connection", "pages"],
)
async def test_a_session_is_deleted_however_the_check_ends(failing: FakeResponse) -> None:
    def respond(request: HttpRequest) -> FakeResponse:
        if request.method != "POST":
            return FakeResponse(status=405)
        message = json.loads(request.body)
        if message["method"] == "initialize":
            return opened({"tools": {}})
        if message["method"] == "tools/list":
            asked = message["id"]
            return failing if failing.status != 200 or asked == 2 else result(asked, tools(1, "x"))
        return DONE

    http = FakeHttpClient(respond)
    with anyio.fail_after(20):
        report = await check(Session(Options(protocol_era=ProtocolEra.LEGACY)), http, URL)
    assert not report.ok
    assert deletes(http) == ["s-1"]


async def test_a_signal_ends_the_check_and_its_session() -> None:
    def respond(request: HttpRequest) -> FakeResponse:
        if request.method != "POST":
            return FakeResponse(status=405)
        if b'"initialize"' in request.body:
            return opened({"tools": {}})
        return FakeResponse(before_head=[asyncio.Event()]) if b'"id"' in request.body else DONE

    http = FakeHttpClient(respond)
    session = Session(Options(protocol_era=ProtocolEra.LEGACY))
    with anyio.fail_after(5):
        checking = asyncio.create_task(check(session, http, URL))
        while not any(b"tools/list" in request.body for request in http.requests):
            await http.started(len(http.requests))
        signal.raise_signal(signal.SIGINT)
        report = await checking
    assert not report.ok and report.error and "SIGINT" in report.error
    assert deletes(http) == ["s-1"]


async def test_the_transport_is_that_which_carried_the_session() -> None:
    report, _ = await report_of(result(1, HELLO), DONE, result(2, tools(1)))
    assert report.transport == "streamable HTTP"


async def test_over_two_endpoints_a_latency_runs_to_the_answer() -> None:
    """HTTP+SSE of 2024-11-05: a POST is accepted, its answer comes on the stream."""
    answers = [asyncio.Event() for _ in range(2)]
    lines = [
        {"jsonrpc": "2.0", "id": 1, "result": {**HELLO, "protocolVersion": "2024-11-05"}},
        {"jsonrpc": "2.0", "id": 2, "result": tools(4)},
    ]
    steps: list[bytes | asyncio.Event] = [b"event: endpoint\ndata: /messages?s=1\n\n"]
    for gate, line in zip(answers, lines, strict=True):
        steps += [gate, b"data: " + json.dumps(line).encode() + b"\n\n"]
    stream = FakeResponse([*steps, asyncio.Event()], headers={"content-type": "text/event-stream"})
    waiting = iter(answers)

    def respond(request: HttpRequest) -> FakeResponse:
        if request.method == "GET":
            return stream
        if b'"id"' in request.body:
            next(waiting).set()
        return DONE

    http = FakeHttpClient(respond)
    options = Options(protocol_era=ProtocolEra.LEGACY, transport=Transport.SSE)
    with anyio.fail_after(10):
        report = await check(Session(options), http, URL)
    assert report.ok and report.tools == 4
    assert (report.transport, report.era) == ("HTTP+SSE", "legacy")
    assert list(report.latency_ms) == ["initialize", "tools/list"]
    assert {request.target for request in http.requests} == {"", "/messages?s=1"}


async def test_a_server_that_asks_something_is_refused_and_the_check_goes_on() -> None:
    asked = json.dumps({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}).encode()
    answer = json.dumps({"jsonrpc": "2.0", "id": 2, "result": tools(1)}).encode()
    refused = asyncio.Event()
    stream = FakeResponse(
        [b"data: " + asked + b"\n\n", refused, b"data: " + answer + b"\n\n"],
        headers={"content-type": "text/event-stream"},
    )
    http = serving(result(1, HELLO), DONE, stream, DONE)
    session = Session(Options(protocol_era=ProtocolEra.LEGACY))
    with anyio.fail_after(5):
        checking = asyncio.create_task(check(session, http, URL))
        exchange = await http.started(4)
        refused.set()
        report = await checking
    assert report.ok and report.tools == 1
    sent = json.loads(exchange.request.body)
    assert (sent["id"], sent["error"]["code"]) == ("q", -32601)


@pytest.mark.parametrize(
    ("responses", "says", "next_step"),
    [
        ([FakeResponse([b"denied"], 401, {})], "HTTP 401", "--bearer-env"),
        (
            [FakeResponse([b"<html>"], 200, {"content-type": "text/html"})],
            "text/html",
            "MCP server",
        ),
        ([result(1, {"no": "version"})], "initialize: ", "breaks the protocol"),
        (
            [
                FakeResponse(
                    [b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not today"}}']
                )
            ],
            "not today",
            "server's log",
        ),
        (
            [result(1, HELLO), DONE, *(result(n, tools(1, "again")) for n in range(2, 1002))],
            "more than 1000 pages",
            "never ends",
        ),
    ],
)
async def test_a_failure_has_a_reason_and_a_next_step(
    responses: list[FakeResponse], says: str, next_step: str
) -> None:
    report, _ = await report_of(*responses)
    assert not report.ok and report.error is not None and report.remedy is not None
    assert says in report.error and next_step in report.remedy


async def test_a_fault_of_the_relay_is_a_failed_check_and_not_a_hang() -> None:
    report, _ = await report_of()  # the fake takes no request: a fault in the exchange
    assert (report.ok, report.error) == (False, "the relay stopped")


def test_the_text_is_aligned_and_coloured_only_when_asked() -> None:
    report = Report(
        URL,
        ok=True,
        era="modern",
        transport="streamable HTTP",
        server_name="rig",
        tools=94,
        latency_ms={"tools/list": 5.1},
        proxy="http://proxy:3128 (from HTTPS_PROXY)",
        tls={"version": "TLSv1.3"},
    )
    assert as_text(report, colour=False).splitlines() == [
        URL,
        "  server       rig",
        "  era          modern",
        "  transport    streamable HTTP",
        "  tools        94",
        "  tools/list   5.1 ms",
        "  proxy        http://proxy:3128 (from HTTPS_PROXY)",
        "  TLS version  TLSv1.3",
        "ok",
    ]
    assert as_text(report, colour=True).endswith("\x1b[32mok\x1b[0m")


def test_a_failed_check_reads_as_one() -> None:
    text = as_text(Report(URL, error="HTTP 401", remedy="give a token"), colour=False)
    assert text.splitlines() == [URL, "failed: HTTP 401", "next step: give a token"]


def test_text_of_the_server_does_not_reach_the_terminal_as_commands() -> None:
    report = Report(URL, server_name="rig\x1b[2J", error="line\nbreak\x07", remedy="-")
    assert as_text(report, colour=False).splitlines()[1:3] == [
        "  server  rig\\x1b[2J",
        "failed: line | break\\x07",
    ]


def test_the_json_holds_every_field() -> None:
    assert json.loads(as_json(Report(URL))).keys() == Report.__dataclass_fields__.keys()


async def test_of_a_server_that_is_not_there_nothing_is_claimed() -> None:
    nobody = HttpError(Failure.CONNECT, "connection refused", may_have_executed=False)
    http = FakeHttpClient([FakeResponse(before_head=[nobody])])
    with anyio.fail_after(5):
        report = await check(Session(Options(probe_timeout=0.01)), http, URL)
    assert not report.ok and report.error and "connection refused" in report.error
    assert (report.era, report.protocol_version, report.latency_ms) == (None, None, {})


async def test_a_revision_that_the_server_refused_is_not_reported_as_its_own() -> None:
    old = FakeResponse([b"no such method"], 404, {"content-type": "text/plain"})
    http = serving(old, result(1, HELLO), DONE, result(2, tools(1)))
    with anyio.fail_after(5):
        report = await check(Session(Options()), http, URL)
    assert report.ok
    assert (report.era, report.protocol_version) == ("legacy", "2025-06-18")
