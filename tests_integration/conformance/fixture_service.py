"""Our service's server and HTTP application around the tools that the conformance suite calls."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import anyio
from mcp.server.lowlevel import Server

from service.dispatch import Dispatcher, Limits
from service.http import build_app, listen, serving, url_of
from service.mcp import build_server
from tests_integration.conformance.fixture_content import add_content, add_content_tools
from tests_integration.conformance.fixture_exchanges import add_exchanges
from tests_integration.conformance.fixture_registry import registry
from tests_integration.conformance.fixture_rounds import add_rounds
from tests_integration.conformance.fixture_tools import Tools


def build_fixture() -> Server[dict[str, Any]]:
    """The server as the service builds it, and what the suite wants beside a registry's tools."""
    dispatcher = Dispatcher(registry, lambda caller: None, Limits())
    server = build_server(dispatcher, version="1.0")
    tools = Tools()
    add_content(server)
    add_content_tools(tools)
    add_exchanges(tools, server)
    add_rounds(tools, server)
    tools.beside(server)
    return server


async def serve(port: int) -> None:
    """Serve until the process is ended."""
    with listen("127.0.0.1", port) as bound:
        async with serving(build_app(build_fixture(), dict), bound):
            sys.stdout.write(f"listening on {url_of(bound)}\n")
            sys.stdout.flush()
            await anyio.sleep_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    anyio.run(serve, parser.parse_args().port)


if __name__ == "__main__":
    main()
