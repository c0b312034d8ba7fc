"""Bytes on stdin and stdout of the real process: UTF-8 and LF whatever the locale, and any size."""

from __future__ import annotations

import json

import pytest

from tests.relay.peer import McpServer, Relay, relay

TEXT = "grüße \u20ac \U0001f697 \u2028\u2029\x85 end"

# What decides the encoding of Python's own streams; the relay must not care.
ENCODINGS = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "UTF-8 strict": {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8:strict"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "ASCII": {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"},
}


async def code_of(client: Relay) -> object:
    """The error code of the next message."""
    error = (await client.message())["error"]
    assert isinstance(error, dict)
    return error["code"]


@pytest.mark.obligation(1)
@pytest.mark.parametrize("environ", ENCODINGS.values(), ids=ENCODINGS.keys())
async def test_lines_are_utf8_and_end_in_lf_in_every_locale(
    legacy: McpServer, environ: dict[str, str]
) -> None:
    async with relay(legacy.url, "--log-level", "debug", environ=environ) as client:
        await client.initialize()
        client.call("echo", text=TEXT)
        line = await client.line()
        assert line.endswith(b"}\n") and b"\r" not in line
        assert "grüße \u20ac \U0001f697 ".encode() in line
        assert json.loads(line)["result"]["content"][0]["text"] == TEXT
        sent = await legacy.saw("tools/call")
        assert sent.params["arguments"] == {"text": TEXT}
        client.close_stdin()
        assert await client.exit_code() == 0
        assert "grüße" in await client.stderr()


async def test_line_separators_of_unicode_are_escaped_on_the_way_down(legacy: McpServer) -> None:
    async with relay(legacy.url) as client:
        await client.initialize()
        client.call("echo", text=TEXT)
        line = await client.line()
    assert rb"\u2028\u2029" in line and "\u2028".encode() not in line


async def test_a_lone_surrogate_passes_both_ways(legacy: McpServer) -> None:
    async with relay(legacy.url) as client:
        await client.initialize()
        params = b'{"name":"echo","arguments":{"text":"\\ud83d!"}}'
        client.write(b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":%s}\n' % params)
        line = await client.line()
    assert b'"\\ud83d!"' in (await legacy.saw("tools/call")).body
    assert json.loads(line)["result"]["content"][0]["text"] == "\ud83d!"


@pytest.mark.obligation(2)
async def test_an_id_comes_back_as_it_was(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        params = {"name": "echo", "arguments": {"text": ""}}
        for request_id in (7, "7", 2**70, -1, "ü\u2028", ""):
            client.send(id=request_id, method="tools/call", params=params)
            answered = (await client.message())["id"]
            assert (type(answered), answered) == (type(request_id), request_id)


async def test_a_line_of_a_hundred_megabytes_reaches_the_server(legacy: McpServer) -> None:
    text = "x" * 100_000_000
    async with relay(legacy.url) as client:
        await client.initialize()
        answer = await client.answer(client.call("length", text=text))
    assert '"100000000"' in json.dumps(answer["result"])


async def test_a_line_above_the_limit_is_answered_and_the_next_one_served(
    legacy: McpServer,
) -> None:
    async with relay(legacy.url, "--max-message-size", "10K") as client:
        await client.initialize()
        client.call("echo", text="x" * 20_000)
        assert await code_of(client) == -32600
        said = json.dumps(client.messages[-1])
        assert "10240" in said and "--max-message-size" in said
        await client.answer(client.call("echo", text="small"))
    assert len([seen for seen in legacy.seen if seen.method == "tools/call"]) == 1


async def test_a_message_of_the_server_above_the_limit_is_an_error_that_names_the_option(
    server: McpServer,
) -> None:
    async with relay(server.url, "--max-message-size", "10K") as client:
        await client.initialize()
        answer = await client.answer(client.call("big", size=20_000))
        said = json.dumps(answer["error"])
        assert "10240" in said and "--max-message-size" in said
        await client.answer(client.call("big", size=20))


async def test_a_whole_message_without_lf_at_the_end_of_stdin_is_served(legacy: McpServer) -> None:
    async with relay(legacy.url) as client:
        await client.initialize()
        client.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        client.close_stdin()
        (answer,) = await client.rest()
        assert (answer["id"], answer["result"]) == ("last", {})
        assert await client.exit_code() == 0


async def test_half_a_message_at_the_end_of_stdin_is_answered(legacy: McpServer) -> None:
    async with relay(legacy.url) as client:
        await client.initialize()
        client.write(b'{"jsonrpc":"2.0","id":"half","met')
        client.close_stdin()
        assert await code_of(client) == -32700
        assert await client.rest() == []
        assert await client.exit_code() == 0
