"""Servers in front of which the relay runs as a process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.relay.peer import LEGACY, MODERN, McpServer


@pytest.fixture(params=[LEGACY, MODERN])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[McpServer]:
    """A server of each era."""
    async with McpServer(request.param).running() as running:
        yield running


@pytest.fixture
async def legacy() -> AsyncIterator[McpServer]:
    async with McpServer().running() as running:
        yield running


@pytest.fixture
async def modern() -> AsyncIterator[McpServer]:
    async with McpServer(MODERN).running() as running:
        yield running
