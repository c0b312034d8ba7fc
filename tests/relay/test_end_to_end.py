"""The relay as a process, between a client on pipes and a server on a socket."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.relay.peer import LEGACY, MODERN, McpServer, relay

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a word")

CERTIFICATES = Path(__file__).parent / "http" / "certs"

# Detecting the era of a server that is not there takes as long as it may still come up.
AT_ONCE = ("--protocol-era", "legacy")


@pytest.fixture(params=[LEGACY, MODERN])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[McpServer]:
    async with McpServer(request.param).running() as running:
        yield running


@pytest.fixture
async def legacy() -> AsyncIterator[McpServer]:
    async with McpServer().running() as running:
        yield running


async def test_a_session_from_handshake_to_end(server: McpServer) -> None:
    async with relay(server.url) as client:
        opened = await client.initialize()
        assert opened["result"]["serverInfo"] == {"name": "peer", "version": "7"}  # type: ignore[index]
        answer = await client.answer(client.call("echo", text="grüße\u2028\U0001f697"))
        assert answer["result"]["content"][0]["text"] == "grüße\u2028\U0001f697"  # type: ignore[index]
        client.close_stdin()
        assert await client.rest() == []
        assert await client.exit_code() == 0


async def test_a_slow_call_holds_nothing_up(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        slow = client.call("slow")
        await server.saw("tools/call")
        await client.answer(client.start("ping"))
        await client.answer(client.call("echo", text="quick"))
        server.release()
        await client.answer(slow)


async def test_a_cancel_before_the_head_reaches_the_server_and_no_answer_comes(
    server: McpServer,
) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        slow = client.call("slow")
        await server.saw("tools/call")
        client.send(method="notifications/cancelled", params={"requestId": slow})
        if server.era == MODERN:
            await server.hung_up("tools/call")
        else:
            cancelled = await server.saw("notifications/cancelled")
            assert cancelled.message["params"] == {"requestId": slow}
        server.release()
        await client.answer(client.call("echo", text="after"))
        assert slow not in [message.get("id") for message in client.messages]


async def test_progress_is_delivered_while_the_call_runs(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        call = client.call("progress", meta={"progressToken": "p"})
        note = await client.message()
        assert note["method"] == "notifications/progress"
        server.release()
        await client.answer(call)


async def test_calls_in_flight_are_answered_after_stdin_ends(server: McpServer) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        calls = [client.call("slow") for _ in range(3)]
        await server.saw("tools/call", times=3)
        client.close_stdin()
        server.release()
        assert sorted(str(message["id"]) for message in await client.rest()) == [*map(str, calls)]
        assert await client.exit_code() == 0


async def test_the_session_is_deleted_at_the_end(legacy: McpServer) -> None:
    async with relay(legacy.url) as client:
        await client.initialize()
        client.close_stdin()
        assert await client.exit_code() == 0
    assert (await legacy.saw("DELETE")).headers["mcp-session-id"] == "s-1"


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_answers_what_is_open_and_ends(
    server: McpServer, number: signal.Signals
) -> None:
    async with relay(server.url) as client:
        await client.initialize()
        slow = client.call("slow")
        await server.saw("tools/call")
        client.process.send_signal(number)
        (answer,) = await client.rest()
        assert answer["id"] == slow and "error" in answer
        assert await client.exit_code() == 0
        assert "Traceback" not in await client.stderr()


async def test_a_closed_stdout_ends_the_relay(legacy: McpServer) -> None:
    async with relay(legacy.url) as client:
        await client.initialize()
        client.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        client.call("echo", text="nobody reads this")
        assert await client.exit_code() == 0


async def test_a_stderr_that_nobody_reads_does_not_stall(legacy: McpServer) -> None:
    async with relay(legacy.url, "--log-level", "debug") as client:
        await client.initialize()
        for _ in range(400):  # some 1.5 kB of log each: several pipes full
            await client.answer(client.call("echo", text="x" * 300))
        client.close_stdin()
        assert await client.exit_code() == 0


async def test_bytes_that_are_no_message_are_answered_and_survived(legacy: McpServer) -> None:
    async with relay(legacy.url) as client:
        await client.initialize()
        for line in (
            b"\xff\xfe{}",
            b"{nonsense",
            b"[]",
            b'{"jsonrpc":"2.0","id":null,"method":"x"}',
        ):
            client.write(line + b"\n")
            assert (await client.message())["error"]["code"] in (-32700, -32600)  # type: ignore[index]
        ping = json.dumps({"jsonrpc": "2.0", "id": "bom", "method": "ping"}).encode()
        client.write(b"\xef\xbb\xbf" + ping + b"\r\n")
        assert (await client.message())["id"] == "bom"


async def test_a_line_of_twenty_megabytes_goes_up_and_comes_back(legacy: McpServer) -> None:
    text = "x" * 20_000_000
    async with relay(legacy.url) as client:
        await client.initialize()
        answer = await client.answer(client.call("echo", text=text))
        assert answer["result"]["content"][0]["text"] == text  # type: ignore[index]


async def test_a_line_above_the_limit_is_answered_and_the_next_one_served(
    legacy: McpServer,
) -> None:
    async with relay(legacy.url, "--max-message-size", "10K") as client:
        await client.initialize()
        client.call("echo", text="x" * 20_000)
        assert "error" in await client.message()
        await client.answer(client.call("echo", text="small"))


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


async def test_a_check_says_what_the_server_is(server: McpServer) -> None:
    async with relay("check", server.url, "--json") as checking:
        (report,) = await checking.rest()
        assert await checking.exit_code() == 0
    modern = server.era == MODERN
    assert report["ok"] is True
    assert report["era"] == ("modern" if modern else "legacy")
    assert report["protocol_version"] == server.era
    assert (report["server_name"], report["server_version"]) == ("peer", "7")
    assert report["tools"] == (1 if modern else 2)
    assert set(report["latency_ms"]) >= {  # type: ignore[call-overload]
        "server/discover" if modern else "initialize",
        "tools/list",
    }


async def test_a_check_that_fails_says_why_and_what_to_do() -> None:
    async with McpServer().running() as gone:
        pass
    async with relay("check", gone.url, *AT_ONCE) as checking:
        lines = []
        while line := await checking.line():
            lines.append(line.decode())
        assert await checking.exit_code() == 1
    text = "".join(lines)
    assert "127.0.0.1" in text and "next step" in text


async def test_a_private_authority_is_named_and_tls_is_reported() -> None:
    async with McpServer(certificate=CERTIFICATES / "server.pem").running() as server:
        authority = str(CERTIFICATES / "authority.pem")
        async with relay("check", server.url, "--json", "--cacert", authority) as checking:
            (report,) = await checking.rest()
            assert await checking.exit_code() == 0
        tls = report["tls"]
        assert isinstance(tls, dict) and tls["version"].startswith("TLS")
        assert {"cipher", "subject", "issuer", "expires"} <= tls.keys()


async def test_an_unknown_authority_is_refused_with_the_option_that_helps() -> None:
    async with McpServer(certificate=CERTIFICATES / "server.pem").running() as server:
        async with relay("check", server.url, "--json", *AT_ONCE) as checking:
            (report,) = await checking.rest()
            assert await checking.exit_code() == 1
        assert "--cacert" in f"{report['error']} {report['remedy']}"
        assert server.seen == []


async def test_insecure_goes_through_with_a_warning() -> None:
    async with (
        McpServer(certificate=CERTIFICATES / "server.pem").running() as server,
        relay(server.url, "--insecure") as client,
    ):
        await client.initialize()
        client.close_stdin()
        assert await client.exit_code() == 0
        assert "WARNING relay.cli: --insecure" in await client.stderr()
