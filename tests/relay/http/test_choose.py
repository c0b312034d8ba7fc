"""Which client a run gets, and that it is made as the settings say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import pytest

from relay.http.choose import Chosen, choose_client
from relay.http.errors import InvalidUrlError, TlsConfigError
from relay.settings import resolve
from relay.usage import UsageError
from tests.relay.http.exchanges import failure_of, fetch
from tests.relay.http.proxy import serve_proxy
from tests.relay.http.server import Peer, Received, serve
from tests.relay.http.test_tls import AUTHORITY, CLIENT, server_side


def chosen(
    url: str,
    given: Mapping[str, str] | None = None,
    headers: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Chosen:
    return choose_client(resolve(url, given or {}, headers, environ or {}))


@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "proxied"])
async def test_the_settings_are_those_of_the_client(tmp_path: Path, proxied: bool) -> None:
    received: list[Received] = []

    async def handler(peer: Peer) -> None:
        received.append(await peer.request())
        await peer.answer()

    file = tmp_path / "token"
    file.write_text("t0ken")
    given = {"cacert": AUTHORITY, "cert": CLIENT, "bearer_file": str(file)}
    async with serve(handler, tls=server_side(ask=True)) as server, serve_proxy() as proxy:
        if proxied:
            given["proxy"] = f"http://127.0.0.1:{proxy.port}"
        made = await anyio.to_thread.run_sync(lambda: chosen(server.url, given, ["X-Key: fixed"]))
        assert made.tls_facts() is None
        await fetch(made.client)
        facts = made.tls_facts()
        await made.client.aclose()
    assert facts is not None and facts["subject"] == "commonName=localhost"
    assert len(proxy.received) == proxied
    [request] = received
    assert request.headers["authorization"] == "Bearer t0ken"
    assert request.headers["x-key"] == "fixed"


@pytest.mark.parametrize("option", ["timeout_head", "timeout_read"])
@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "proxied"])
async def test_the_deadlines_are_those_of_the_settings(option: str, proxied: bool) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        if option == "timeout_read":
            await peer.begin_stream()
        await peer.closed()

    async with serve(handler) as server, serve_proxy() as proxy:
        given = {option: "0.05"}
        if proxied:
            given["proxy"] = f"http://127.0.0.1:{proxy.port}"
        made = await anyio.to_thread.run_sync(lambda: chosen(server.url, given))
        error = await failure_of(made.client)
        await made.client.aclose()
    assert "0.05 s" in error.detail


def test_what_cannot_be_used_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--bearer-file"):
        chosen("http://rig/mcp", {"bearer_file": str(tmp_path / "nowhere")})
    with pytest.raises(InvalidUrlError):
        chosen("ftp://rig/mcp")
    (tmp_path / "empty").touch()
    with pytest.raises(TlsConfigError):
        chosen("http://rig/mcp", {"cacert": str(tmp_path / "empty")})


@pytest.mark.parametrize(
    ("variable", "loaded"), [("HTTPS_PROXY", True), ("HTTP_PROXY", False), ("NO_PROXY", False)]
)
def test_httpx_is_loaded_where_a_proxy_applies_and_nowhere_else(
    variable: str, loaded: bool
) -> None:
    program = f"""
import sys
from relay.http.choose import choose_client
from relay.settings import resolve
choose_client(resolve("https://rig.example/mcp", {{}}, [], {{{variable!r}: "http://proxy:3128"}}))
print("httpx" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == f"{loaded}\n"
