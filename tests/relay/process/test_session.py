"""A session through the relay as a process: what goes up, what comes down, what stays secret."""

from __future__ import annotations

from pathlib import Path

import anyio

from tests.relay.peer import McpServer, relay

# Detecting the era of a server that is not there takes as long as it may still come up.
AT_ONCE = ("--protocol-era", "legacy")


async def test_a_session_from_handshake_to_end(server: McpServer) -> None:
    async with relay(server.url) as client:
        opened = await client.initialize()
        assert opened["result"]["serverInfo"] == {"name": "peer", "version": "7"}  # type: ignore[index]
        answer = await client.answer(client.call("echo", text="grüße\u2028\U0001f697"))
        assert answer["result"]["content"][0]["text"] == "grüße\u2028\U0001f697"  # type: ignore[index]
        client.close_stdin()
        assert await client.rest() == []
        assert await client.exit_code() == 0


async def test_progress_is_delivered_while_the_call_runs(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        call = client.call("progress", meta={"progressToken": "p"})
        note = await client.message()
        assert note["method"] == "notifications/progress"
        server.release()
        await client.answer(call)


async def test_the_session_is_deleted_at_the_end(legacy: McpServer) -> None:
    async with relay(legacy.url) as client:
        await client.initialize()
        client.close_stdin()
        assert await client.exit_code() == 0
    assert (await legacy.saw("DELETE")).headers["mcp-session-id"] == "s-1"


async def test_a_server_that_is_not_there_is_an_error_and_not_silence() -> None:
    async with McpServer().running() as gone:
        pass
    async with relay(gone.url, *AT_ONCE) as client:
        answer = await client.initialize()
        assert "127.0.0.1" in answer["error"]["message"]  # type: ignore[index]
        client.close_stdin()
        assert await client.exit_code() == 0


async def test_secrets_reach_the_server_and_neither_log_nor_trace(
    legacy: McpServer, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    environ = {"MCP_BEARER_TOKEN": "s3cret-bearer", "KEY": "s3cret-key"}
    arguments = ("-H", "X-Key: ${KEY}", "--log-level", "debug", "--trace", str(trace))
    async with relay(legacy.url, *arguments, environ=environ) as client:
        await client.initialize()
        client.close_stdin()
        assert await client.exit_code() == 0
        log = await client.stderr()
    headers = (await legacy.saw("initialize")).headers
    assert (headers["authorization"], headers["x-key"]) == ("Bearer s3cret-bearer", "s3cret-key")
    assert "initialize" in log and "s3cret" not in log + trace.read_text()


async def test_a_trace_of_a_run_replays(server: McpServer, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with relay(server.url, "--trace", str(trace)) as client:
        await client.initialize()
        await client.answer(client.call("echo", text="hello"))
        client.close_stdin()
        assert await client.exit_code() == 0
    async with relay("replay-trace", str(trace)) as replayed:
        assert await replayed.exit_code() == 0
    edited = trace.read_text().replace("hello", "HELLO", 1)
    trace.write_text(edited)
    async with relay("replay-trace", str(trace)) as replayed:
        with anyio.fail_after(10):
            shown = await replayed.line()
        assert await replayed.exit_code() == 1
        assert b"differs" in shown
