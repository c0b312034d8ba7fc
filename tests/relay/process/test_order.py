"""Nothing waits for a slow call, in any pairing of eras: order is shown by gates, not by times."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable

import pytest

from tests.relay.peer import LEGACY, MODERN, Json, McpServer, OldMcpServer, Relay, relay


class Pair:
    """A client and a server of given eras with the relay between them."""

    def __init__(self, client: Relay, server: McpServer) -> None:
        self.client = client
        self.server = server

    async def begin_slow(self) -> int:
        """A call that the server has and does not answer before it is released."""
        before = sum(seen.method == "tools/call" for seen in self.server.seen)
        slow = self.client.call("slow")
        await self.server.saw("tools/call", before + 1)
        return slow

    async def end_slow(self, slow: int) -> None:
        """The slow call is answered now, and was not before."""
        assert slow not in [message.get("id") for message in self.client.messages]
        self.server.release()
        assert "result" in await self.client.answer(slow)


PAIRINGS: dict[str, tuple[str, Callable[[], McpServer]]] = {
    "legacy client, legacy server": (LEGACY, lambda: McpServer(LEGACY)),
    "legacy client, HTTP+SSE server": (LEGACY, OldMcpServer),
    "legacy client, modern server": (LEGACY, lambda: McpServer(MODERN)),
    "modern client, modern server": (MODERN, lambda: McpServer(MODERN)),
    "modern client, legacy server": (MODERN, lambda: McpServer(LEGACY)),
    "modern client, HTTP+SSE server": (MODERN, OldMcpServer),
}
FOR_LEGACY_CLIENTS = [name for name in PAIRINGS if name.startswith("legacy client")]


@pytest.fixture(params=PAIRINGS)
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    era, make_server = PAIRINGS[request.param]
    async with make_server().running() as server, relay(server.url, era=era) as client:
        await client.open({"elicitation": {}})
        yield Pair(client, server)


async def test_a_list_passes_a_slow_call(pair: Pair) -> None:
    slow = await pair.begin_slow()
    await pair.client.answer(pair.client.start("tools/list"))
    await pair.end_slow(slow)


async def test_a_ping_passes_a_slow_call(pair: Pair) -> None:
    slow = await pair.begin_slow()
    ping = await pair.client.answer(pair.client.start("ping"))
    # 2026-07-28 knows no ping: there the server's refusal is what passes.
    assert ("error" if pair.client.era == MODERN else "result") in ping
    await pair.end_slow(slow)


async def test_a_second_call_passes_a_slow_one(pair: Pair) -> None:
    slow = await pair.begin_slow()
    answer = await pair.client.answer(pair.client.call("echo", text="quick"))
    assert "quick" in json.dumps(answer["result"])
    await pair.end_slow(slow)


@pytest.mark.obligation(17)
async def test_a_cancellation_passes_a_slow_call_and_the_cancelled_one_gets_no_answer(
    pair: Pair,
) -> None:
    slow = await pair.begin_slow()
    cancelled = await pair.begin_slow()
    pair.client.cancel(cancelled)
    if pair.server.era == MODERN:
        await pair.server.hung_up("tools/call")
    else:
        called = await pair.server.saw("tools/call", times=2)
        told = await pair.server.saw("notifications/cancelled")
        assert told.params["requestId"] == called.message["id"]
    await pair.client.answer(pair.client.call("echo", text="after"))
    await pair.end_slow(slow)
    await pair.client.answer(pair.client.call("echo", text="at last"))
    assert cancelled not in [message.get("id") for message in pair.client.messages]


async def test_progress_passes_a_slow_call(pair: Pair) -> None:
    slow = await pair.begin_slow()
    counting = pair.client.call("count", meta={"progressToken": "p"}, steps=3)
    await pair.client.answer(counting)
    notes = [note for note in pair.client.messages if note.get("method")]
    assert [note["params"] for note in notes] == [
        {"progressToken": "p", "progress": step} for step in (1, 2, 3)
    ]
    await pair.end_slow(slow)


async def test_fifty_calls_are_with_the_server_at_once(pair: Pair) -> None:
    calls = [pair.client.call("slow") for _ in range(50)]
    await pair.server.saw("tools/call", 50)
    pair.server.release()
    assert set(await pair.client.answers(calls)) == set(calls)


@pytest.mark.obligation(21)
@pytest.mark.parametrize("pair", FOR_LEGACY_CLIENTS, indirect=True)
async def test_a_client_s_answer_passes_slow_calls_and_the_calls_that_asked(pair: Pair) -> None:
    """Two calls ask at once, so that each answer has to find its own way."""
    client = pair.client
    slow = await pair.begin_slow()
    asking = [client.call("ask", question=name) for name in ("one", "two")]
    questions = [await client.message() for _ in asking]
    assert {question["method"] for question in questions} == {"elicitation/create"}
    for question in reversed(questions):
        params = question["params"]
        assert isinstance(params, dict)
        client.send(id=question["id"], result={"action": "accept", "content": params})
    answers = await client.answers(asking)
    assert "sure of one?" in json.dumps(answers[asking[0]]["result"])
    assert "sure of two?" in json.dumps(answers[asking[1]]["result"])
    await pair.end_slow(slow)


async def test_a_modern_client_answers_a_modern_server_by_asking_again() -> None:
    async with (
        McpServer(MODERN).running() as server,
        relay(server.url, era=MODERN) as client,
    ):
        pair = Pair(client, server)
        await client.open()
        slow = await pair.begin_slow()
        asked = await client.answer(client.call("ask", question="one"))
        assert "inputRequests" in json.dumps(asked["result"])
        responses = {"sure": {"action": "decline"}}
        retry: Json = {
            "name": "ask",
            "arguments": {"question": "one"},
            "inputResponses": responses,
        }
        answer = await client.answer(client.start("tools/call", retry))
        assert "decline" in json.dumps(answer["result"])
        await pair.end_slow(slow)
