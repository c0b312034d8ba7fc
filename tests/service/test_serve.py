"""The real program: started, used in every era, refused, signalled."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from service.tools import registry

MODES = ["auto", "legacy", "2026-07-28"]
SAMPLE = Path(__file__).parents[1] / "fixtures" / "sample.candump"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A machine without any configuration of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CANFERRY_")}
    return kept | {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}


def run(
    environment: dict[str, str], *arguments: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "service", *arguments],
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


@contextmanager
def serving(
    environment: dict[str, str], *options: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``serve`` on a free port: its URL, from the first line of stdout, and the process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "service", "serve", "--port", "0", *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stderr
    try:
        first = process.stdout.readline()
        match = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+/mcp)\n", first)
        assert match, first + process.stderr.read()
        yield match[1], process
    finally:
        process.kill()
        process.communicate()


def envelope(result: types.CallToolResult) -> dict[str, Any]:
    [item] = result.content
    assert isinstance(item, types.TextContent)
    answer: dict[str, Any] = json.loads(item.text)
    assert result.is_error is not answer["ok"]
    return answer


async def exercise(client: Client) -> None:
    """What an agent does first: look around, be refused, go on."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == [tool.name for tool in registry]
    status = envelope(await client.call_tool("bus_status", {}))
    assert status["ok"], status
    jsonschema.validate(status, tools["bus_status"].output_schema or {})
    missing = envelope(await client.call_tool("capture_info", {"file": "nowhere.log"}))
    assert missing["errors"][0]["code"] == "CAPTURE_SOURCE_UNAVAILABLE"
    dash = envelope(await client.call_tool("stats", {"file": "-"}))
    assert dash["errors"][0]["code"] == "STDIN_MCP_EXCLUDED"
    negative = envelope(
        await client.call_tool("stats", {"file": "sample.candump", "max_frames": -1})
    )
    assert negative["errors"][0]["code"] == "INVALID_MAX_FRAMES"
    plain = await client.call_tool("stats", {})
    assert plain.is_error
    assert isinstance(plain.content[0], types.TextContent)
    assert not plain.content[0].text.startswith("{")
    stats = envelope(await client.call_tool("stats", {"file": "sample.candump", "top": 1}))
    assert stats["ok"], stats
    assert stats["data"]["total_frames"] == 3
    assert envelope(await client.call_tool("config_show", {}))["command"] == "config show"


@pytest.mark.parametrize("mode", MODES)
async def test_the_service_serves_every_era_over_http(
    mode: str, environment: dict[str, str]
) -> None:
    with anyio.fail_after(40), serving(environment, "--captures", str(SAMPLE.parent)) as (url, _):
        async with Client(url, mode=mode) as client:
            await exercise(client)


@pytest.mark.parametrize("mode", MODES)
async def test_the_service_serves_every_era_on_stdio(
    mode: str, environment: dict[str, str]
) -> None:
    arguments = ["-m", "service", "mcp", "serve", "--captures", str(SAMPLE.parent)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    with anyio.fail_after(40):
        async with Client(server, mode=mode) as client:
            await exercise(client)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_service_in_order(
    number: signal.Signals, environment: dict[str, str], tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    with serving(environment, "--ready-file", str(ready)) as (url, process):
        assert ready.read_text() == url + "\n"
        process.send_signal(number)
        assert process.wait(10) == 0


def test_a_signal_ends_a_stdio_service_that_waits_for_input(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "service", "mcp", "serve"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"rubbish\n")  # its answer tells that the service is up
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["error"]["code"] == -32700
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "0.0.0.0"),
        (["--arm", "nosuchbus"], "nosuchbus"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--port", "70000"], "70000"),
    ],
)
def test_a_wrong_start_ends_with_two_and_says_why(
    environment: dict[str, str], options: list[str], words: str
) -> None:
    done = run(environment, "serve", *options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cap_too_small_for_an_error_is_refused_before_anything_opens(
    environment: dict[str, str],
) -> None:
    environment["CANFERRY_SERVER__MAX_RESPONSE_BYTES"] = "1023"
    done = run(environment, "mcp", "serve")
    assert done.returncode == 2
    assert "1024" in done.stderr
    assert done.stdout == ""


def test_help_of_mcp_serve_ends_with_nought(environment: dict[str, str]) -> None:
    assert run(environment, "mcp", "serve", "--help").returncode == 0


def test_a_file_tool_runs_in_process_on_any_path(environment: dict[str, str]) -> None:
    done = run(environment, "stats", "--file", str(SAMPLE), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert (answer["ok"], answer["command"]) == (True, "stats")
    assert answer["data"]["total_frames"] == 3


def test_a_file_tool_reads_a_pipeline(environment: dict[str, str]) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    done = run(environment, "capture-info", "--file", "-", "--json", given=text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["frame_count"] == 3


def test_a_failed_command_tells_why_on_stderr_and_ends_with_one(
    environment: dict[str, str],
) -> None:
    done = run(environment, "stats", "--file", "/nowhere.log")
    assert (done.returncode, done.stdout) == (1, "")
    assert "CAPTURE_SOURCE_UNAVAILABLE" in done.stderr


def test_a_bus_tool_asks_the_running_service(environment: dict[str, str]) -> None:
    with serving(environment) as (url, _):
        done = run(environment, "bus-status", "--url", url, "--json")
        assert done.returncode == 0, done.stderr
        assert {bus["name"] for bus in json.loads(done.stdout)["data"]["buses"]} == {
            "powertrain",
            "truck",
        }


def test_a_bus_tool_without_a_service_says_how_to_start_it(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = run(environment, "bus-status", "--url", f"http://127.0.0.1:{port}/mcp")
    assert done.returncode == 2
    assert "canferry-service serve" in done.stderr
    assert "Traceback" not in done.stderr
