"""The same tools over HTTP and stdio, to clients of every MCP era."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import IO, Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from service.dispatch import Limits
from service.http import build_app, listen, serving, url_of
from service.mcp import build_server
from service.model.caller import Caller
from tests.service.sample_tools import Bench, dispatcher, registry

MODES = ["auto", "legacy", "2026-07-28"]
SAMPLE_STDIO = StdioServerParameters(
    command=sys.executable, args=["-m", "tests.service.sample_stdio"]
)


@asynccontextmanager
async def over_http(
    mode: str, bench: Bench, limits: Limits | None = None, structured: bool = True
) -> AsyncIterator[Client]:
    server = build_server(dispatcher(bench, limits), version="1.2", structured_content=structured)
    async with AsyncExitStack() as stack:
        bound = stack.enter_context(listen("127.0.0.1", 0))
        await stack.enter_async_context(serving(build_app(server, dict), bound))
        yield await stack.enter_async_context(Client(url_of(bound), mode=mode))


@pytest.fixture
def bench() -> Bench:
    return Bench(Caller("nobody"))


@pytest.fixture(params=MODES)
async def client(request: pytest.FixtureRequest, bench: Bench) -> AsyncIterator[Client]:
    """An HTTP client of each era."""
    with anyio.fail_after(20):
        async with over_http(request.param, bench) as client:
            yield client


def text_of(result: types.CallToolResult) -> str:
    [item] = result.content
    assert isinstance(item, types.TextContent)
    return item.text


async def test_tools_are_listed_as_the_registry_has_them(client: Client) -> None:
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [tool.name for tool in registry]
    for tool in listed:
        assert tool.description == registry[tool.name].description
        assert tool.title == registry[tool.name].title
        assert tool.input_schema == registry[tool.name].input_schema
        assert tool.output_schema == registry[tool.name].output_schema
    hints = {tool.name: tool.annotations for tool in listed}
    assert hints["echo"] == types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    assert hints["wait_at_door"] == hints["echo"]
    assert hints["note"] == types.ToolAnnotations(
        read_only_hint=False, destructive_hint=False, open_world_hint=False
    )
    assert hints["send"] == types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, open_world_hint=False
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])  # a client pinned to a revision never asks
async def test_a_client_learns_who_serves_and_how_to_use_it(mode: str, bench: Bench) -> None:
    with anyio.fail_after(20):
        async with over_http(mode, bench) as client:
            assert client.server_info
            assert (client.server_info.name, client.server_info.version) == ("canferry", "1.2")
            assert "dry run" in str(client.instructions)
            assert "`-`" in str(client.instructions)


async def test_a_result_is_one_text_item_and_the_same_as_structured_content(
    client: Client, bench: Bench
) -> None:
    result = await client.call_tool("echo", {"text": "grüße"})
    assert result.is_error is False
    assert json.loads(text_of(result)) == result.structured_content
    assert text_of(result).startswith('{"ok":true,"command":"echo","data":{"text":"grüße"')
    assert bench.caller == Caller("local", client="mcp")


FAILURES: list[tuple[str, dict[str, Any], str]] = [
    ("capture_info", {"file": "missing"}, "SAMPLE_MISSING"),
    ("capture_info", {"file": "-"}, "STDIN_MCP_EXCLUDED"),
    ("fail", {}, "TOOL_EXECUTION_ERROR"),
    ("fail_waiting", {"how": "cancelled"}, "TOOL_EXECUTION_ERROR"),
    ("no_such_tool", {}, "UNKNOWN_TOOL"),
]


async def test_a_failure_mirrors_ok_and_the_session_goes_on(client: Client) -> None:
    for name, arguments, code in FAILURES:
        result = await client.call_tool(name, arguments)
        envelope = json.loads(text_of(result))
        assert result.is_error is True
        assert envelope["ok"] is False
        assert envelope["errors"][0]["code"] == code
        assert envelope["errors"][0]["hint"]
        assert result.structured_content == envelope
        assert (await client.call_tool("echo", {"text": "on"})).is_error is False


async def test_a_schema_failure_is_told_in_plain_text(client: Client) -> None:
    wrong: list[dict[str, Any]] = [{}, {"text": 1}, {"text": "a", "unknown": 1}]
    for arguments in wrong:
        result = await client.call_tool("echo", arguments)
        assert result.is_error is True
        assert text_of(result).startswith("Input validation error: echo:")
        assert result.structured_content is None
        assert (await client.call_tool("echo", {"text": "on"})).is_error is False


async def test_a_cut_answer_and_odd_values_pass_the_client_s_own_validation(client: Client) -> None:
    cut = await client.call_tool("many", {"count": 5000})
    assert json.loads(text_of(cut))["data"]["truncated"] is True
    assert len(text_of(cut).encode()) <= 48 * 1024
    odd = await client.call_tool("odd_values", {})
    assert json.loads(text_of(odd))["data"]["ratio"] is None


async def test_no_call_in_flight_waits_for_another(client: Client, bench: Bench) -> None:
    finished: list[str] = []

    async def call(name: str, text: str | None = None) -> None:
        await client.call_tool(name, {"text": text} if text else {})
        finished.append(name)
        if finished.count("echo") == 63:
            bench.door.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, "wait_at_door")
        await bench.entered.wait()
        for number in range(63):
            tasks.start_soon(call, "echo", str(number))
    assert finished == ["echo"] * 63 + ["wait_at_door"]


async def test_cancelling_a_call_cancels_its_tool(client: Client, bench: Bench) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "wait_at_door", {})
        await bench.entered.wait()
        tasks.cancel_scope.cancel()
    while bench.notes != ["cancelled"]:  # bounded by the fixture
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("mode", MODES)
async def test_structured_content_can_be_turned_off(mode: str, bench: Bench) -> None:
    with anyio.fail_after(20):
        async with over_http(mode, bench, structured=False) as client:
            assert all(tool.output_schema is None for tool in (await client.list_tools()).tools)
            result = await client.call_tool("echo", {"text": "a"})
            assert result.structured_content is None
            assert json.loads(text_of(result))["ok"] is True


@pytest.mark.parametrize("mode", MODES)
async def test_the_smallest_cap_holds_for_every_answer(mode: str, bench: Bench) -> None:
    with anyio.fail_after(20):
        async with over_http(mode, bench, Limits(response_bytes=1024)) as client:
            for name, arguments in (
                ("fail", {"how": "long"}),
                ("many", {"count": 1000}),
                ("echo", {"text": "x" * 100_000}),
                ("x" * 100_000, {}),
            ):
                result = await client.call_tool(name, arguments)
                assert len(text_of(result).encode()) <= 1024
            assert (await client.call_tool("echo", {"text": "on"})).is_error is False


@pytest.mark.parametrize("mode", MODES)
async def test_stdio_serves_every_era_as_http_does(mode: str) -> None:
    with anyio.fail_after(30):
        async with Client(SAMPLE_STDIO, mode=mode) as client:
            assert len((await client.list_tools()).tools) == len(registry)
            refused = await client.call_tool("capture_info", {"file": "-"})
            assert refused.is_error is True
            assert json.loads(text_of(refused))["errors"][0]["code"] == "STDIN_MCP_EXCLUDED"
            result = await client.call_tool("echo", {"text": "grüße \u2028 🚗"})
            assert json.loads(text_of(result))["data"]["text"] == "grüße \u2028 🚗"
            plain = await client.call_tool("echo", {})
            assert text_of(plain).startswith("Input validation error")


@contextmanager
def stdio_process() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [SAMPLE_STDIO.command, *SAMPLE_STDIO.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(5)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


def line(method: str, request_id: int | None = None, **params: object) -> bytes:
    message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
    if request_id is not None:
        message["id"] = request_id
    return json.dumps(message).encode() + b"\n"


HANDSHAKE = line(
    "initialize",
    0,
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "raw", "version": "1"},
) + line("notifications/initialized")


def exchange(sent: bytes) -> tuple[list[dict[str, Any]], int]:
    """Everything answered to an input that ends at once, and the exit code."""
    with stdio_process() as process:
        out, _ = process.communicate(sent, timeout=20)
        return [json.loads(each) for each in out.splitlines()], process.returncode


def test_calls_in_flight_when_stdin_ends_are_answered() -> None:
    calls = [line("tools/call", n, name="echo", arguments={"text": str(n)}) for n in range(1, 21)]
    answers, code = exchange(HANDSHAKE + b"".join(calls))
    assert sorted(answer["id"] for answer in answers) == list(range(21))
    assert all("result" in answer for answer in answers)
    assert code == 0


def test_a_last_line_without_its_newline_is_still_a_line() -> None:
    call = line("tools/call", 1, name="echo", arguments={"text": "a"})
    answers, _ = exchange(HANDSHAKE + call.rstrip(b"\n"))
    assert [answer["id"] for answer in answers] == [0, 1]


def test_a_byte_order_mark_is_no_part_of_the_first_message() -> None:
    answers, _ = exchange(b"\xef\xbb\xbf" + HANDSHAKE)
    assert [answer["id"] for answer in answers] == [0]


def test_lines_that_are_no_messages_are_answered_and_survived() -> None:
    rubbish = b'{"jsonrpc"\n\n[]\n\xff\xfe\n{"id":5}\n   \r\n'
    answers, code = exchange(HANDSHAKE + rubbish + line("ping", 7))
    errors = [answer["error"]["code"] for answer in answers if answer["id"] is None]
    assert errors == [-32700, -32600, -32700, -32600]
    assert 7 in [answer["id"] for answer in answers]
    assert code == 0


def read_until(stream: IO[bytes], request_id: int) -> dict[str, Any]:
    for each in stream:
        message: dict[str, Any] = json.loads(each)
        if message.get("id") == request_id:
            return message
    raise AssertionError(f"no answer to {request_id}")


def test_a_call_cancelled_on_stdio_ends_and_the_process_with_its_input() -> None:
    with stdio_process() as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(HANDSHAKE + line("tools/call", 1, name="wait_at_door", arguments={}))
        process.stdin.write(line("notifications/cancelled", requestId=1) + line("ping", 2))
        process.stdin.flush()
        assert read_until(process.stdout, 2)["result"] == {}
        process.stdin.close()
        assert process.wait(4) == 0  # a call still pending would be drained for longer
