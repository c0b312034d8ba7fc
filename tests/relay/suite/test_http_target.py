"""A server at a URL: what is sent to it, and what its answers mean, in either era."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from relay.core.events import Failure
from relay.http.errors import HttpError, InvalidUrlError
from relay.http.fake import FakeHttpClient, FakeResponse
from relay.http.interface import HttpRequest
from relay.settings import Settings
from relay.suite.channel import Broken, Lost, NotOpened, TimedOut
from relay.suite.document import Object
from relay.suite.eras import EraChoice
from relay.suite.judgement import RpcError, RpcResult
from relay.suite.outcome import CaseStatus
from relay.suite.targets.http import HttpTarget, http_target
from relay.suite.targets.session import McpSession
from tests.relay.peer import LEGACY, MODERN, McpServer
from tests.relay.suite.examples import call, listing
from tests.relay.suite.fake_session import Witnessed
from tests.relay.suite.stub import calls, plan, ran

LONG = 30.0
CALL: Object = {"name": "ok", "arguments": {}}
SSE = {"content-type": "text/event-stream"}

Json = Any
Handle = Callable[[Json], FakeResponse | None]


def body(
    message: Json, status: int = 200, headers: Mapping[str, str] | None = None
) -> FakeResponse:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return FakeResponse([data], status, {"content-type": "application/json", **(headers or {})})


def event(message: Json, *fields: str) -> bytes:
    lines = [*fields, f"data: {json.dumps({'jsonrpc': '2.0', **message})}", "", ""]
    return "\n".join(lines).encode()


def failing(failure: Failure) -> FakeResponse:
    return FakeResponse(before_head=[HttpError(failure, "it failed", may_have_executed=True)])


class Remote:
    """A scripted server of one era; ``handle`` sees each request but the handshake."""

    def __init__(self, era: str, handle: Handle, session: str | None = "s1") -> None:
        self.era = era
        self.client = FakeHttpClient(self._respond)
        self._handle = handle
        self._session = session

    def target(self) -> HttpTarget:
        return HttpTarget(lambda: self.client, EraChoice(self.era))

    async def opened(self, witness: Witnessed | None = None) -> McpSession:
        return await self.target().open(LONG, witness or Witnessed())

    @property
    def said(self) -> list[Json]:
        """The messages that it was sent."""
        return [json.loads(request.body) for request in self.client.requests if request.body]

    def headers(self, index: int) -> dict[str, str]:
        return dict(self.client.requests[index].headers)

    def _respond(self, request: HttpRequest) -> FakeResponse:
        message = json.loads(request.body) if request.body else {"method": request.method}
        number = message.get("id")
        if message.get("method") == "initialize":
            result = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "remote"}}
            headers = {"mcp-session-id": self._session} if self._session else {}
            return body({"id": number, "result": result}, headers=headers)
        if message.get("method") == "server/discover":
            return body({"id": number, "result": {"supportedVersions": [MODERN]}})
        response = self._handle(message)
        return response or FakeResponse(status=202)


def answering(response: FakeResponse | Callable[[Json], FakeResponse]) -> Handle:
    """Answer tool calls like this, and accept all else."""

    def handle(message: Json) -> FakeResponse | None:
        if message.get("method") != "tools/call":
            return None
        return response(message) if callable(response) else response

    return handle


async def answered(remote: Remote, params: Object = CALL) -> Any:
    session = await remote.opened()
    try:
        return await session.request("tools/call", params, LONG)
    finally:
        await session.close()


def fine(message: Json) -> FakeResponse:
    return body({"id": message["id"], "result": {"content": []}})


# -- real servers --


@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_suite_runs_against_a_server_of_either_era(era: str) -> None:
    async with McpServer(era).running() as server:
        cases = [
            listing("echo", "slow"),
            calls("echo", text="hello"),
            calls("slow", timeout_ms=300),
            calls("echo", "again", text="hello"),
        ]
        target = http_target(Settings(url=server.url))
        outcome, _ = await ran(plan(*cases), target)
        passed, late = CaseStatus.PASSED, CaseStatus.TIMED_OUT
        assert [case.status for case in outcome.cases] == [passed, passed, late, passed]
        assert outcome.server is not None
        assert outcome.server.revision == era
        methods = [seen.method or seen.verb for seen in server.seen]
        legacy = ["initialize", "notifications/initialized"] if era == LEGACY else []
        cancelled = ["notifications/cancelled"] if era == LEGACY else []
        assert methods == [
            *["server/discover", *legacy, "tools/list", "tools/call", "tools/call"],
            *[*cancelled, "tools/call", *(["DELETE"] if era == LEGACY else [])],
        ]
        if era == MODERN:
            await server.hung_up("tools/call")


async def test_nobody_listens_at_the_url() -> None:
    async with McpServer().running() as server:
        url = server.url
    outcome, _ = await ran(plan(call()), http_target(Settings(url=url)))
    assert outcome.stop is not None
    assert outcome.stop.kind == "connectionFailed"
    assert outcome.stop.message.startswith("the server cannot be reached: ")
    assert outcome.ends == ()


async def test_a_url_that_is_none_is_told_before_anything_is_sent() -> None:
    def broken() -> FakeHttpClient:
        raise InvalidUrlError("no URL")

    with pytest.raises(NotOpened, match="no URL"):
        await HttpTarget(broken).open(LONG, Witnessed())
    with pytest.raises(NotOpened, match="neither http"):
        await http_target(Settings(url="ftp://host/")).open(LONG, Witnessed())


# -- what is sent --


async def test_a_legacy_request_names_session_and_revision() -> None:
    remote = Remote("legacy", answering(fine))
    assert await answered(remote) == RpcResult({"content": []})
    assert "Mcp-Session-Id" not in remote.headers(0)
    for index in (1, 2, 3):
        assert remote.headers(index)["Mcp-Session-Id"] == "s1"
        assert remote.headers(index)["MCP-Protocol-Version"] == "2025-11-25"
    assert remote.client.requests[3].method == "DELETE"
    assert remote.client.closed


async def test_a_server_without_sessions_has_none_to_end() -> None:
    remote = Remote("legacy", answering(fine), session=None)
    await answered(remote)
    assert [request.method for request in remote.client.requests] == ["POST"] * 3
    assert "Mcp-Session-Id" not in remote.headers(2)


async def test_a_modern_request_names_itself_in_headers_and_meta() -> None:
    remote = Remote("modern", answering(fine))
    await answered(remote, {"name": "ö\ud800k", "arguments": {}})
    headers = remote.headers(1)
    assert headers["MCP-Protocol-Version"] == MODERN
    assert headers["Mcp-Method"] == "tools/call"
    assert headers.get("Mcp-Name", "=?base64?").startswith("=?base64?")
    meta = remote.said[1]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == MODERN
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
    assert "io.modelcontextprotocol/clientInfo" in meta


# -- answers --


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_answer_may_come_on_a_stream(era: str) -> None:
    def stream(message: Json) -> FakeResponse:
        told = event({"method": "notifications/message", "params": {}})
        other = event({"id": 999, "result": {}})
        answer = event({"id": message["id"], "result": {"content": []}})
        return FakeResponse([told, b": ping\n\n", other, answer[:9], answer[9:]], 200, SSE)

    remote = Remote(era, answering(stream))
    assert await answered(remote) == RpcResult({"content": []})
    assert all(exchange.complete for exchange in remote.client.exchanges if exchange.request.body)


async def test_a_stream_that_stays_open_behind_the_answer_is_left() -> None:
    def stream(message: Json) -> FakeResponse:
        answer = event({"id": message["id"], "result": {}})
        return FakeResponse([answer, asyncio.Event()], 200, SSE)

    remote = Remote("modern", answering(stream))
    assert await answered(remote) == RpcResult({})
    assert remote.client.exchanges[1].aborted


async def test_a_stream_that_breaks_off_behind_the_answer_does_no_harm() -> None:
    def stream(message: Json) -> FakeResponse:
        answer = event({"id": message["id"], "result": {}})
        gone = HttpError(Failure.CLOSED, "gone", may_have_executed=True)
        return FakeResponse([answer, gone], 200, SSE)

    assert await answered(Remote("modern", answering(stream))) == RpcResult({})


@pytest.mark.parametrize("broken_off", [True, False])
async def test_a_stream_that_a_legacy_server_ends_early_is_resumed(broken_off: bool) -> None:
    asked: list[int] = []

    def handle(message: Json) -> FakeResponse | None:
        if message["method"] == "tools/call":
            asked.append(message["id"])
            gone = HttpError(Failure.CLOSED, "gone", may_have_executed=True)
            start = b"id: e1\nretry: 10\ndata:\n\n"
            return FakeResponse([start, gone] if broken_off else [start], 200, SSE)
        if message["method"] == "GET":
            return FakeResponse([event({"id": asked[0], "result": {}})], 200, SSE)
        return None

    remote = Remote("legacy", handle)
    assert await answered(remote) == RpcResult({})
    [index] = [n for n, request in enumerate(remote.client.requests) if request.method == "GET"]
    assert remote.headers(index)["Last-Event-ID"] == "e1"
    assert remote.headers(index)["Mcp-Session-Id"] == "s1"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_stream_without_an_answer_is_none(era: str) -> None:
    silent = FakeResponse([event({"method": "notifications/x"})], 200, SSE)
    with pytest.raises(Broken, match="ended the stream without an answer"):
        await answered(Remote(era, answering(silent)))


async def test_requests_of_a_legacy_server_are_answered_on_the_way() -> None:
    def stream(message: Json) -> FakeResponse:
        ping = event({"id": "q1", "method": "ping"})
        roots = event({"id": "q2", "method": "roots/list"})
        answer = event({"id": message["id"], "result": {}})
        return FakeResponse([ping, roots, b"data: nonsense\n\n", answer], 200, SSE)

    witness = Witnessed()
    remote = Remote("legacy", answering(stream))
    session = await remote.opened(witness)
    await session.request("tools/call", CALL, LONG)
    await asyncio.wait_for(remote.client.started(4), LONG)
    replies = {message["id"]: message for message in remote.said if "method" not in message}
    assert replies["q1"]["result"] == {}
    assert replies["q2"]["error"]["code"] == -32601
    assert witness.notes[0] == "the server asked for roots/list in vain"
    assert witness.notes[1].startswith("the server sent an event that is no message")
    await session.close()


async def test_a_reply_that_the_server_does_not_take_holds_nobody_up() -> None:
    def handle(message: Json) -> FakeResponse | None:
        if message.get("method") == "tools/call":
            asked = event({"id": "q", "method": "ping"})
            answer = event({"id": message["id"], "result": {}})
            return FakeResponse([asked, answer], 200, SSE)
        return None if "method" in message else FakeResponse(before_head=[asyncio.Event()])

    remote = Remote("legacy", handle)
    session = await remote.opened()
    await session.request("tools/call", CALL, LONG)
    await asyncio.wait_for(remote.client.started(3), LONG)
    await session.close()
    assert remote.client.exchanges[3].aborted


@pytest.mark.parametrize("status", [200, 400, 500])
async def test_a_json_rpc_error_is_one_whatever_the_status(status: int) -> None:
    def refuse(message: Json) -> FakeResponse:
        return body({"id": message["id"], "error": {"code": -32602, "message": "no"}}, status)

    assert await answered(Remote("legacy", answering(refuse))) == RpcError(-32602, "no")


async def test_an_error_without_an_id_is_the_answer_to_the_request_of_its_exchange() -> None:
    unnamed = body({"id": None, "error": {"code": -32700, "message": "no JSON"}}, 400)
    assert await answered(Remote("modern", answering(unnamed))) == RpcError(-32700, "no JSON")


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (FakeResponse([], 202), "HTTP 202 with an empty body"),
        (FakeResponse([b"<html>sign in"], 200, {"content-type": "text/html"}), "sign in"),
        (FakeResponse([b"no"], 401), "HTTP 401"),
        (body({"id": 7_000, "result": {}}), "no answer in its body"),
        (failing(Failure.PROTOCOL), "it failed"),
    ],
)
async def test_what_is_no_answer_says_what_it_was(response: FakeResponse, said: str) -> None:
    with pytest.raises(Broken, match=said):
        await answered(Remote("legacy", answering(response)))


async def test_a_malformed_error_is_no_answer() -> None:
    def malformed(message: Json) -> FakeResponse:
        return body({"id": message["id"], "error": "no"})

    with pytest.raises(Broken, match='the error is "no"'):
        await answered(Remote("legacy", answering(malformed)))


async def test_an_answer_that_is_too_large_is_none() -> None:
    def large(message: Json) -> FakeResponse:
        result = {"id": message["id"], "result": "x" * 5000}
        if message["params"]["name"] == "ok":
            return body(result)
        return FakeResponse([event(result)], 200, SSE)

    remote = Remote("modern", answering(large))
    target = HttpTarget(lambda: remote.client, EraChoice.MODERN, 1000)
    session = await target.open(LONG, Witnessed())
    for name in ("ok", "streamed"):
        with pytest.raises(Broken, match="exceeds"):
            await session.request("tools/call", {"name": name}, LONG)
    await session.close()


# -- loss and time --


async def test_a_session_that_the_server_does_not_know_any_more_is_lost() -> None:
    gone = body({"id": None, "error": {"code": -32600, "message": "Session not found"}}, 404)
    remote = Remote("legacy", answering(gone))
    session = await remote.opened()
    with pytest.raises(Lost, match="lost the session"):
        await session.request("tools/call", CALL, LONG)
    with pytest.raises(Lost):
        await session.request("tools/call", CALL, LONG)
    assert session.lost is not None
    await session.close()
    assert "DELETE" not in [request.method for request in remote.client.requests]


async def test_an_unknown_method_at_404_is_an_answer() -> None:
    def unknown(message: Json) -> FakeResponse:
        return body({"id": message["id"], "error": {"code": -32601, "message": "no"}}, 404)

    assert await answered(Remote("legacy", answering(unknown))) == RpcError(-32601, "no")


@pytest.mark.parametrize("failure", [Failure.CONNECT, Failure.TLS, Failure.CLOSED])
async def test_a_server_that_cannot_be_reached_any_more_is_lost(failure: Failure) -> None:
    with pytest.raises(Lost, match="it failed"):
        await answered(Remote("modern", answering(failing(failure))))


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_request_that_times_out_is_ended_as_its_era_has_it(era: str) -> None:
    waiting = FakeResponse(before_head=[asyncio.Event()])
    remote = Remote(era, answering(waiting))
    session = await remote.opened()
    with pytest.raises(TimedOut):
        await session.request("tools/call", CALL, 0.05)
    methods = [message["method"] for message in remote.said]
    [exchange] = [one for one in remote.client.exchanges if b'"tools/call"' in one.request.body]
    assert exchange.aborted
    if era == "legacy":
        assert remote.said[-1]["params"]["requestId"] == remote.said[-2]["id"]
    assert ("notifications/cancelled" in methods) == (era == "legacy")
    await session.close()


async def test_what_the_server_says_to_a_farewell_does_not_matter() -> None:
    def handle(message: Json) -> FakeResponse | None:
        return failing(Failure.CLOSED) if message["method"] == "DELETE" else None

    session = await Remote("legacy", handle).opened()
    assert await session.close() is None


# -- headers that a tool wants --

ANNOTATED: Json = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}
REFUSED: Json = {"code": -32020, "message": "Mcp-Param-Region is missing"}


def wanting_headers(tools: list[Json]) -> Handle:
    """A server that refuses calls whose body has no counterpart in the headers."""
    refusals = iter([True])
    listed = iter(tools)

    def handle(message: Json) -> FakeResponse:
        number = message["id"]
        if message["method"] == "tools/list":
            page = next(listed)
            return body({"id": number, **page})
        if next(refusals, False):
            return body({"id": number, "error": REFUSED}, 400)
        return body({"id": number, "result": {"content": []}})

    return handle


async def test_headers_that_a_tool_wants_are_looked_up_once_it_asks_for_them() -> None:
    pages = [
        {"result": {"tools": [{"name": "other"}, 7], "nextCursor": "2"}},
        {"result": {"tools": [{"name": "ok", "inputSchema": ANNOTATED}]}},
    ]
    witness = Witnessed()
    remote = Remote("modern", wanting_headers(pages))
    session = await remote.opened(witness)
    params: Object = {"name": "ok", "arguments": {"region": "eu"}}
    assert await session.request("tools/call", params, LONG) == RpcResult({"content": []})
    assert await session.request("tools/call", params, LONG) == RpcResult({"content": []})
    assert [message["method"] for message in remote.said] == [
        "server/discover",
        *["tools/call", "tools/list", "tools/list", "tools/call", "tools/call"],
    ]
    assert "Mcp-Param-Region" not in remote.headers(1)
    assert remote.headers(4)["Mcp-Param-Region"] == "eu"
    assert remote.headers(5)["Mcp-Param-Region"] == "eu"
    numbers = [message["id"] for message in remote.said]
    assert len(set(numbers)) == len(numbers)
    assert len(witness.notes) == 1
    await session.close()


@pytest.mark.parametrize(
    "page",
    [
        {"result": {"tools": []}},
        {"result": {"tools": [{"name": "ok", "inputSchema": {"x-mcp-header": 7}}]}},
        {"result": {}},
        {"result": 7},
        {"error": {"code": -32603, "message": "no"}},
    ],
)
async def test_a_refusal_that_no_header_can_mend_is_the_answer(page: Json) -> None:
    remote = Remote("modern", wanting_headers([page]))
    assert await answered(remote) == RpcError(-32020, REFUSED["message"])


async def test_a_refusal_for_headers_of_anything_but_a_tool_is_the_answer() -> None:
    def refuse(message: Json) -> FakeResponse:
        return body({"id": message["id"], "error": REFUSED}, 400)

    session = await Remote("modern", refuse).opened()
    assert await session.request("tools/list", {}, LONG) == RpcError(-32020, REFUSED["message"])
    await session.close()
