"""The relay as a process in front of a server of 2024-11-05, over HTTP+SSE."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from tests.relay.peer import MODERN, PATIENCE, Json, McpServer, Relay, relay
from tests.relay.sse_peer import QUESTION_ID, VERSION, SseServer

SSE = ("--transport", "sse")


@pytest.fixture
async def server() -> AsyncIterator[SseServer]:
    async with SseServer().running() as running:
        yield running


def text_of(answer: Json) -> str:
    result = answer["result"]
    assert isinstance(result, dict), answer
    return str(result["content"][0]["text"])


def error_of(answer: Json) -> Json:
    error = answer["error"]
    assert isinstance(error, dict), answer
    return error


async def logged(client: Relay, text: str) -> None:
    """Read the log up to a line with this text."""
    assert client.process.stderr is not None
    with anyio.fail_after(PATIENCE):
        while text.encode() not in (line := await client.process.stderr.readline()):
            assert line, "the log ended"


async def test_a_session_from_handshake_to_end(server: SseServer) -> None:
    async with relay(server.url, *SSE) as client:
        opened = await client.initialize()
        assert opened["result"]["protocolVersion"] == VERSION  # type: ignore[index]
        assert text_of(await client.answer(client.call("big", size=3))) == "xxx"
        client.close_stdin()
        assert await client.rest() == []
        assert await client.exit_code() == 0
    assert server.targets[0] == ("GET", "/sse")
    assert {*server.targets[1:]} == {("POST", "/messages?session=1")}
    assert not any("mcp-session-id" in seen.headers for seen in server.seen)


@pytest.mark.parametrize("arguments", [(), ("--protocol-era", "legacy")])
@pytest.mark.parametrize("refusal", [400, 404, 405])
async def test_an_older_server_is_found_out(
    server: SseServer, arguments: tuple[str, ...], refusal: int
) -> None:
    server.refusal = refusal
    async with relay(server.url, *arguments) as client:
        await client.initialize()
        assert text_of(await client.answer(client.call("big", size=3))) == "xxx"
        await logged(client, "the server has HTTP+SSE of 2024-11-05")


async def test_a_wrong_url_is_an_error_that_says_so(server: SseServer) -> None:
    server.refusal = 404
    async with relay(f"{server.url}/not/there") as client:
        error = error_of(await client.initialize())
        assert "check the path of the URL" in str(error["data"])
    assert ("GET", "/sse/not/there") in server.targets


async def test_a_slow_call_holds_nothing_up(server: SseServer) -> None:
    async with relay(server.url, *SSE) as client:
        await client.initialize()
        slow = client.call("slow")
        await server.saw("tools/call")
        await client.answer(client.start("ping"))
        await client.answer(client.call("big", size=1))
        server.release()
        assert text_of(await client.answer(slow)) == "late"


async def test_a_cancel_reaches_the_server_and_no_answer_comes(server: SseServer) -> None:
    async with relay(server.url, *SSE) as client:
        await client.initialize()
        slow = client.call("slow")
        await server.saw("tools/call")
        client.cancel(slow)
        cancelled = await server.saw("notifications/cancelled")
        assert cancelled.message["params"] == {"requestId": slow}
        server.release()
        await client.answer(client.start("ping"))
        assert slow not in [message.get("id") for message in client.messages]


async def test_the_server_asks_in_the_middle_of_a_call(server: SseServer) -> None:
    async with relay(server.url, *SSE) as client:
        await client.initialize({"roots": {}})
        call = client.call("ask")
        question = await client.message()
        assert (question["id"], question["method"]) == (QUESTION_ID, "roots/list")
        client.send(id=QUESTION_ID, result={"roots": []})
        assert text_of(await client.answer(call)) == '{"roots": []}'


async def test_a_client_of_2026_is_served_too(server: SseServer) -> None:
    async with relay(server.url, era=MODERN) as client:
        call = client.call("big", size=3)
        assert text_of(await client.answer(call)) == "xxx"
        client.close_stdin()
        assert await client.exit_code() == 0


async def test_calls_in_flight_are_answered_after_stdin_ends(server: SseServer) -> None:
    async with relay(server.url, *SSE) as client:
        await client.initialize()
        calls = [client.call("slow") for _ in range(3)]
        await server.saw("tools/call", times=3)
        client.close_stdin()
        server.release()
        assert sorted(str(message["id"]) for message in await client.rest()) == [*map(str, calls)]
        assert await client.exit_code() == 0


async def test_the_size_limit_is_for_each_message_and_not_for_the_stream(
    server: SseServer,
) -> None:
    async with relay(server.url, *SSE, "--max-message-size", "1100000") as client:
        await client.initialize()
        for _ in range(20):
            answer = await client.answer(client.call("big", size=1_000_000))
            assert len(text_of(answer)) == 1_000_000
    assert server.sessions == 1


async def test_a_message_above_the_limit_ends_its_call_and_the_next_one_is_served(
    server: SseServer,
) -> None:
    async with relay(server.url, *SSE, "--max-message-size", "10K") as client:
        await client.initialize()
        error = error_of(await client.answer(client.call("big", size=20_000)))
        assert "--max-message-size" in str(error["data"])
        assert text_of(await client.answer(client.call("big", size=10))) == "x" * 10


async def test_a_stream_that_ends_ends_its_calls_and_the_session_is_made_anew(
    server: SseServer,
) -> None:
    async with relay(server.url, *SSE) as client:
        await client.initialize()
        slow = client.call("slow")
        with anyio.fail_after(PATIENCE):
            await server.is_slow.wait()
        server.end_streams()
        error = error_of(await client.answer(slow))
        assert error["data"]["mayHaveExecuted"] is True  # type: ignore[index]
        assert text_of(await client.answer(client.call("big", size=3))) == "xxx"
    first, second = await server.saw("initialize"), await server.saw("initialize", times=2)
    assert first.params == second.params
    assert server.targets[-1] == ("POST", "/messages?session=2")


async def test_a_server_that_restarts_is_waited_for() -> None:
    server = SseServer()
    async with server.running():
        pass  # it has a port now
    async with relay(server.url, *SSE) as client:
        handshake = client.start("initialize", {"protocolVersion": VERSION, "capabilities": {}})
        await logged(client, "cannot reach the server")
        async with server.running():
            await client.answer(handshake)
            client.send(method="notifications/initialized")
            await client.answer(client.start("ping"))
        await logged(client, "the session is lost")
        call = client.call("big", size=3)
        async with server.running():
            assert text_of(await client.answer(call)) == "xxx"


@pytest.mark.parametrize("arguments", [(), SSE])
async def test_a_server_that_starts_late_is_waited_for_and_named(
    arguments: tuple[str, ...],
) -> None:
    server = SseServer()
    async with server.running():
        pass  # it has a port now
    async with relay(server.url, *arguments) as client:
        handshake = client.start("initialize", {"protocolVersion": VERSION, "capabilities": {}})
        await logged(client, "cannot reach the server")
        async with server.running():
            assert "result" in await client.answer(handshake)


async def test_an_endpoint_of_another_origin_gets_nothing() -> None:
    async with McpServer().running() as other:
        elsewhere = f"http://127.0.0.1:{other.port}/messages"
        async with SseServer(elsewhere).running() as server, relay(server.url, *SSE) as client:
            error = error_of(await client.initialize())
            assert "nothing is sent there" in str(error["message"])
        assert other.seen == []


async def test_an_endpoint_may_be_an_absolute_url_of_the_same_origin() -> None:
    server = SseServer()
    async with server.running():
        server.endpoint = f"http://127.0.0.1:{server.port}/messages"
        async with relay(server.url, *SSE) as client:
            await client.initialize()
            await client.answer(client.start("ping"))


async def test_the_stream_is_closed_at_the_end(server: SseServer) -> None:
    async with relay(server.url, *SSE) as client:
        await client.initialize()
        client.close_stdin()
        assert await client.exit_code() == 0
        await server.hung_up("")  # a GET has no method
