"""The check command and TLS, with the real process against a real socket."""

from __future__ import annotations

from pathlib import Path

from tests.relay.peer import MODERN, McpServer, relay

CERTIFICATES = Path(__file__).parents[1] / "http" / "certs"

# Detecting the era of a server that is not there takes as long as it may still come up.
AT_ONCE = ("--protocol-era", "legacy")


async def test_a_check_says_what_the_server_is(server: McpServer) -> None:
    async with relay("check", server.url, "--json") as checking:
        (report,) = await checking.rest()
        assert await checking.exit_code() == 0
    modern = server.era == MODERN
    assert report["ok"] is True
    assert report["era"] == ("modern" if modern else "legacy")
    assert report["protocol_version"] == server.era
    assert (report["server_name"], report["server_version"]) == ("peer", "7")
    assert report["tools"] == 2
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
