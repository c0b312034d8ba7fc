"""The way to the server, with the real process: proxies, and credentials that are written anew."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.relay.http.proxy import serve_proxy
from tests.relay.peer import McpServer, Seen, relay
from tests.relay.peer.server import send

CERTIFICATES = Path(__file__).parents[1] / "http" / "certs"
AT_ONCE = ("--protocol-era", "legacy")


async def test_a_session_goes_through_the_proxy(server: McpServer) -> None:
    async with (
        serve_proxy() as proxy,
        relay(server.url, "--proxy", f"http://127.0.0.1:{proxy.port}") as client,
    ):
        await client.initialize()
        answer = await client.answer(client.call("echo", text="hi"))
        assert "hi" in str(answer["result"])
        client.close_stdin()
        assert await client.exit_code() == 0
    assert {request.path for request in proxy.received} == {server.url}


async def test_the_proxy_of_everybody_is_not_asked_for_this_machine(legacy: McpServer) -> None:
    nobody = "http://127.0.0.1:1"
    async with relay("check", legacy.url, "--json", environ={"ALL_PROXY": nobody}) as checking:
        (report,) = await checking.rest()
        assert await checking.exit_code() == 0
    assert report["proxy"] is None


async def test_a_check_through_a_proxy_says_so_and_shows_no_password() -> None:
    async with (
        McpServer(certificate=CERTIFICATES / "server.pem").running() as server,
        serve_proxy(("ann", "s3cret")) as proxy,
    ):
        arguments = ("check", server.url, "--cacert", str(CERTIFICATES / "authority.pem"))
        environ = {"CANFERRY_RELAY_PROXY": f"http://ann:s3cret@127.0.0.1:{proxy.port}"}
        async with relay(*arguments, "--json", environ=environ) as checking:
            (report,) = await checking.rest()
            assert await checking.exit_code() == 0
        assert report["proxy"] == f"http://127.0.0.1:{proxy.port} (from CANFERRY_RELAY_PROXY)"
        assert report["transport"] == "streamable HTTP"
        tls = report["tls"]
        assert isinstance(tls, dict) and tls["subject"] == "commonName=localhost"
    assert {request.method for request in proxy.received} == {"CONNECT"}


async def test_a_proxy_that_refuses_is_named_without_its_password(
    legacy: McpServer, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    async with serve_proxy(("ann", "0ther")) as proxy:
        way = ("--proxy", f"http://ann:s3cret@127.0.0.1:{proxy.port}", "--trace", str(trace))
        async with relay("check", legacy.url, *way, *AT_ONCE, "--log-level", "debug") as checking:
            lines = []
            while line := await checking.line():
                lines.append(line.decode())
            assert await checking.exit_code() == 1
            shown = "".join(lines), await checking.stderr(), trace.read_text()
    assert "407" in shown[0] and "--proxy none" in shown[0]
    assert not any("s3cret" in text for text in shown)
    assert legacy.seen == []


class GuardedServer(McpServer):
    """Lets in who has the token."""

    token = "first"

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.headers.get("authorization") == f"Bearer {self.token}":
            await super().answer(seen, writer)
        else:
            await send(writer, 401, b"", {"WWW-Authenticate": "Bearer"})


@pytest.mark.parametrize("by_header", [False, True], ids=["--bearer-file", "-H"])
async def test_a_token_that_was_written_anew_is_used_without_a_restart(
    tmp_path: Path, by_header: bool
) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    given = ("-H", f"Authorization: Bearer ${{file:{file}}}")
    arguments = given if by_header else ("--bearer-file", str(file))
    async with GuardedServer().running() as server, relay(server.url, *arguments) as client:
        await client.initialize()
        server.token = "second"
        refused = await client.answer(client.call("echo", text="a"))
        assert "401" in str(refused["error"])
        file.write_text("second\n")
        answer = await client.answer(client.call("echo", text="b"))
        assert "b" in str(answer["result"])
        client.close_stdin()
        assert await client.exit_code() == 0
