"""docs/relay-behaviour.md is true: the real process does what each row of its tables says."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from itertools import product

import pytest

from tests.relay.peer import LEGACY, MODERN, Json, McpServer, Relay, relay
from tests.relay.process import odd
from tests.relay.process.odd import BODIES, STATUSES, TYPES, BrokenServer, OddServer
from tests.relay.process.page import rows

NAMES = {LEGACY: "legacy", MODERN: "modern"}
IN_FLIGHT = 200  # at once: below what may wait for the handshake
LIMIT = 100_000  # bytes of a message
DOUBT = "; the call may have executed"

OVER_HTTP = rows("Answers over HTTP")
ON_STDIN = rows("Lines on stdin")


@pytest.fixture(params=[LEGACY, MODERN])
async def odd_client(request: pytest.FixtureRequest) -> AsyncIterator[Relay]:
    """A client of the server's era, and a server that answers as it is told."""
    era = request.param
    async with (
        OddServer().running() as server,
        relay(server.url, "--protocol-era", NAMES[era], era=era) as client,
    ):
        await client.open()
        yield client


@pytest.fixture(params=[LEGACY, MODERN])
async def broken_client(request: pytest.FixtureRequest) -> AsyncIterator[Relay]:
    era = request.param
    limits = {"timeout-head": odd.SILENCE, "timeout-read": odd.SILENCE, "max-message-size": LIMIT}
    options = [text for name, value in limits.items() for text in (f"--{name}", str(value))]
    async with (
        BrokenServer().running() as server,
        relay(server.url, "--protocol-era", NAMES[era], *options, era=era) as client,
    ):
        await client.open()
        yield client


def seen_as(message: Json) -> tuple[str, str]:
    """What the page calls this answer, and the hint that goes with it."""
    error = message.get("error")
    if not isinstance(error, dict):
        result = message["result"]
        assert isinstance(result, dict) and result["content"] == odd.RESULT["content"]
        return "the result", ""
    if error == {"code": odd.ERROR_CODE, "message": odd.ERROR_MESSAGE}:
        return "the server's error", ""
    data = error.get("data", {})
    assert data.get("mayHaveExecuted", False) == error["message"].endswith(DOUBT)
    text = re.sub(r"\(HTTP \d+\)", "(HTTP n)", error["message"])
    return f"`{error['code']}` {text}", data["hint"]


# -- answers over HTTP --


def fits(row: dict[str, str], era: str, status: int, body: str, kind: str) -> bool:
    first, _, last = row["status"].partition("-")
    return (
        row["server"] in ("any", NAMES[era])
        and (first == "any" or int(first) <= status <= int(last or first))
        and row["body"] in ("any", body)
        and row["type"] in ("any", family(kind))
    )


def family(kind: str) -> str:
    return "other" if kind == "no type" else kind.partition(",")[0].replace("json", "JSON")


def row_for(era: str, status: int, body: str, kind: str) -> dict[str, str]:
    return next(row for row in OVER_HTTP if fits(row, era, status, body, kind))


@pytest.mark.obligation(1, 3, 4)
async def test_each_answer_of_a_server_is_seen_as_the_page_says(odd_client: Relay) -> None:
    """Every status with every body and every type, hundreds of calls in flight at once."""
    cases = list(product(STATUSES, BODIES, TYPES))
    differing: dict[tuple[str, str], list[tuple[int, str, str]]] = {}
    for start in range(0, len(cases), IN_FLIGHT):
        calls = {
            odd_client.call("odd", status=status, body=body, type=kind): (status, body, kind)
            for status, body, kind in cases[start : start + IN_FLIGHT]
        }
        answers = await odd_client.answers(calls)
        for number, case in calls.items():
            row, seen = row_for(odd_client.era, *case), seen_as(answers[number])
            if seen != (row["the client sees"], row["hint"]):
                differing.setdefault(seen, []).append(case)
    told = [f"{seen}: {len(cases)}, such as {cases[0]}" for seen, cases in differing.items()]
    assert told == []
    odd_client.close_stdin()
    assert await odd_client.rest() == []  # and nothing was answered twice
    assert await odd_client.exit_code() == 0


def test_each_row_is_about_some_answer_and_each_body_is_explained() -> None:
    cases = product(NAMES, STATUSES, BODIES, TYPES)
    used = {json.dumps(row_for(*case)) for case in cases}
    assert [row for row in OVER_HTTP if json.dumps(row) not in used] == []


# -- no complete answer --


async def test_each_broken_answer_is_seen_as_the_page_says(broken_client: Relay) -> None:
    table = {row["the server"]: row for row in rows("No complete answer")}
    del table["refuses connections"]
    assert table.keys() == odd.WAYS_TO_BREAK.keys()
    calls = {broken_client.call("break", how=how): how for how in table}
    for number, answer in (await broken_client.answers(calls)).items():
        said, hint = seen_as(answer)
        row = table[calls[number]]
        assert said.startswith(row["the client sees"]) and said.endswith(DOUBT), calls[number]
        assert hint == row["hint"]


async def test_a_refused_connection_is_seen_as_the_page_says() -> None:
    (row,) = [r for r in rows("No complete answer") if r["the server"] == "refuses connections"]
    async with McpServer().running() as gone:
        pass
    async with relay(gone.url, "--protocol-era", "legacy") as client:
        said, hint = seen_as(await client.answer(client.call("echo", text="")))
    assert said.startswith(row["the client sees"]) and not said.endswith(DOUBT)
    assert "127.0.0.1" in said and hint == row["hint"]


# -- in a stream --

NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
STRANGER = '{"jsonrpc":"2.0","id":"stranger","result":{}}'
ANSWER = "data: RESPONSE\n\n"
EVENTS = {
    "a notification": f"data: {NOTE}\n\n" + ANSWER,
    "text that is no JSON": "data: <p>not yet</p>\n\n" + ANSWER,
    "another event type": f"event: endpoint\ndata: {NOTE}\n\n" + ANSWER,
    "a response nobody asked for": f"data: {STRANGER}\n\n" + ANSWER,
    "a second response": ANSWER + ANSWER,
    "a comment": f": {NOTE}\n\n" + ANSWER,
    "no data": "id: 7\nretry: 10\ndata:\n\n" + ANSWER,
}


async def test_each_event_is_seen_as_the_page_says(broken_client: Relay) -> None:
    table = {row["an event with"]: row["the client sees"] for row in rows("In a stream")}
    assert table.keys() == EVENTS.keys()
    for what, sees in table.items():
        broken_client.messages.clear()
        call = broken_client.call("stream", text=EVENTS[what])
        assert seen_as(await broken_client.answer(call)) == ("the result", "")
        await broken_client.answer(broken_client.call("stream", text=ANSWER))
        notes = [m.get("method") for m in broken_client.messages if m.get("id") is None]
        assert notes == (["notifications/message"] if sees == "the notification" else []), what
        assert len(broken_client.messages) == 2 + len(notes), what


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
async def test_a_stream_is_read_with_any_line_ends(broken_client: Relay, end: str) -> None:
    text = (f"data: {NOTE}\n\n" + ANSWER).replace("\n", end)
    await broken_client.answer(broken_client.call("stream", text=text))
    assert broken_client.messages[-2]["method"] == "notifications/message"


# -- lines on stdin --

ID = '"own"'


def ping(request_id: str = ID, more: str = "") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{request_id},"method":"ping"{more}}}'.encode()


LINES = {
    "that is not UTF-8": b'"\xff\xfe"',
    "that is half a message": ping()[:-9],
    "with text that is no JSON": b"hello",
    "with an empty array": b"[]",
    "with a number": b"7",
    "without `jsonrpc`": b'{"id":%s,"method":"ping"}' % ID.encode(),
    "with a null id": ping("null"),
    "with a fractional id": ping("1.5"),
    "with an id that is in use": ping('"busy"'),
    "with a method that is no name": b'{"jsonrpc":"2.0","id":%s,"method":7}' % ID.encode(),
    "nested 20,000 deep": ping(more=',"params":' + "[" * 20_000 + "]" * 20_000),
    "above the size limit": ping(more=f',"params":{{"x":"{"x" * LIMIT}"}}'),
    "that is blank": b"  \t\r",
    "with an answer to no question": b'{"jsonrpc":"2.0","id":"none","result":{}}',
    "that cancels what is not open": b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
    b'"params":{"requestId":"none"}}',
    "that begins with a BOM": b"\xef\xbb\xbf" + ping(),
    "that ends in CRLF": ping() + b"\r",
    "with a lone surrogate escape": ping(more=',"params":{"_meta":{"x":"\\ud800"}}'),
    "with an id of 21 digits": ping("1" * 21),
}


async def test_each_line_is_seen_as_the_page_says(server: McpServer) -> None:
    assert [row["a line"] for row in ON_STDIN] == list(LINES)
    async with relay(server.url, "--max-message-size", str(LIMIT)) as client:
        await client.initialize()
        call = {"name": "slow", "arguments": {}}
        client.send(id="busy", method="tools/call", params=call)
        await server.saw("tools/call")
        for row in ON_STDIN:
            line, nothing = LINES[row["a line"]], row["the client sees"] == "nothing"
            client.write(line + b"\n" + ping('"after"') + b"\n")
            answers = [await client.message() for _ in range(1 if nothing else 2)]
            answers.remove({"jsonrpc": "2.0", "id": "after", "result": {}})
            for answer in answers:
                check_line(row, line, answer)
        server.release()
        assert (await client.message())["id"] == "busy"


def check_line(row: dict[str, str], line: bytes, answer: Json) -> None:
    own = "own" if b'"own"' in line else int("1" * 21)
    said = {"the client sees": "the result", "under the id": "its own"}
    if "error" in answer:
        error = answer["error"]
        assert isinstance(error, dict)
        said["the client sees"] = f"`{error['code']}`"
    if answer["id"] is None:
        said["under the id"] = "null"
    assert {**row, **said} == row
    assert answer["id"] in (None, own)
