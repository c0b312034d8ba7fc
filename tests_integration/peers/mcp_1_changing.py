"""A low-level server of the MCP SDK 1.x whose resources and lists change.

Its tools and what it says on stdout are those of ``mcp_2_changing``, but for what concerns
``subscriptions/listen``. The kinds:

* ``changing``: Streamable HTTP, up to 2025-11-25
* ``changing-events``: the same, with an event store and a ``retry`` of half a second
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.fastmcp.server import StreamableHTTPASGIApp
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import (
    GetPromptResult,
    LoggingLevel,
    Prompt,
    PromptMessage,
    Resource,
    ServerCapabilities,
    TextContent,
    Tool,
)
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from tests_integration.peers.calls import Level, from_level
from tests_integration.peers.events import RETRY_MILLISECONDS, Events
from tests_integration.peers.forked import Applications, say

URI = "note://changing"

Arguments = Mapping[str, Any]


class Declaring(Server[Any, Any]):
    """Declares what it does: by itself this SDK declares neither subscriptions nor list changes."""

    def get_capabilities(
        self, notification_options: NotificationOptions, *args: Any, **kwargs: Any
    ) -> ServerCapabilities:
        all_lists = NotificationOptions(True, True, True)
        capabilities = super().get_capabilities(all_lists, *args, **kwargs)
        assert capabilities.resources
        capabilities.resources.subscribe = True
        return capabilities


class Changing:
    """A server that changes when its tools are called; each answers with the session's id."""

    def __init__(self) -> None:
        self._server = Declaring("changing", version="1.0")
        self._subscribed: dict[tuple[str, str], ServerSession] = {}
        self._levels: dict[str, Level] = {}
        self._changes = 0
        self._tools: dict[str, Callable[[Arguments], Awaitable[None]]] = {
            "touch": self._touch,
            "burst": self._burst,
            "announce_tools": self._announce_tools,
            "announce_resources": self._announce_resources,
            "announce_prompts": self._announce_prompts,
            "log": self._log,
            "drop": self._drop,
        }
        self._resources = [URI]
        self._prompts = ["letter"]

    @property
    def _session(self) -> ServerSession:
        return self._server.request_context.session

    @property
    def _session_id(self) -> str:
        request = self._server.request_context.request
        return str(request.headers.get("mcp-session-id", "")) if request else ""

    # -- the tools --

    async def _touch(self, arguments: Arguments) -> None:
        """Change a resource: ``uri``, or the one that is always there."""
        uri = arguments.get("uri", URI)
        self._changes += 1
        for key, session in list(self._subscribed.items()):
            if key[1] != uri:
                continue
            try:
                await session.send_resource_updated(AnyUrl(uri))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                del self._subscribed[key]  # the session has ended

    async def _burst(self, arguments: Arguments) -> None:
        """Change a resource ``count`` times."""
        for _ in range(arguments["count"]):
            await self._touch({})

    async def _announce_tools(self, arguments: Arguments) -> None:
        """Offer one more tool."""
        self._tools[f"touch_{len(self._tools)}"] = self._touch
        await self._session.send_tool_list_changed()

    async def _announce_resources(self, arguments: Arguments) -> None:
        """Offer one more resource."""
        self._resources.append(f"{URI}/{len(self._resources)}")
        await self._session.send_resource_list_changed()

    async def _announce_prompts(self, arguments: Arguments) -> None:
        """Offer one more prompt."""
        self._prompts.append(f"letter_{len(self._prompts)}")
        await self._session.send_prompt_list_changed()

    async def _log(self, arguments: Arguments) -> None:
        """Log one message of each level, as far as the client wants them.

        ``aside``: not as part of the call, so that they come on the GET stream.
        """
        context = self._server.request_context
        request_id = None if arguments.get("aside") else context.request_id
        for level in from_level(self._levels.get(self._session_id, "debug")):
            await self._session.send_log_message(level, f"a {level}", "changing", request_id)

    async def _drop(self, arguments: Arguments) -> None:
        """Close the session's GET stream, and change the resource while there is none."""
        close = self._server.request_context.close_standalone_sse_stream
        assert close, "needs an event store and a session of 2025-11-25"
        await close()
        await self._touch(arguments)

    # -- the handlers --

    async def list_tools(self) -> list[Tool]:
        return [
            Tool(name=name, description=tool.__doc__, inputSchema={"type": "object"})
            for name, tool in self._tools.items()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> list[TextContent]:
        await self._tools[name](arguments)
        return [TextContent(type="text", text=self._session_id)]

    async def list_resources(self) -> list[Resource]:
        return [Resource(name=uri, uri=AnyUrl(uri)) for uri in self._resources]

    async def read_resource(self, uri: AnyUrl) -> list[ReadResourceContents]:
        text = f"changed {self._changes} times"
        return [ReadResourceContents(content=text, mime_type="text/plain")]

    async def list_prompts(self) -> list[Prompt]:
        return [Prompt(name=name) for name in self._prompts]

    async def get_prompt(self, name: str, arguments: dict[str, str] | None) -> GetPromptResult:
        text = TextContent(type="text", text=f"the prompt {name}")
        return GetPromptResult(messages=[PromptMessage(role="user", content=text)])

    async def set_level(self, level: LoggingLevel) -> None:
        self._levels[self._session_id] = level

    async def subscribe(self, uri: AnyUrl) -> None:
        self._subscribed[self._session_id, str(uri)] = self._session
        say(f"subscribed {uri}")

    async def unsubscribe(self, uri: AnyUrl) -> None:
        self._subscribed.pop((self._session_id, str(uri)), None)
        say(f"unsubscribed {uri}")

    def application(self, events: Events | None = None) -> ASGIApp:
        server = self._server
        server.list_tools()(self.list_tools)
        server.call_tool()(self.call_tool)
        server.list_resources()(self.list_resources)
        server.read_resource()(self.read_resource)
        server.list_prompts()(self.list_prompts)
        server.get_prompt()(self.get_prompt)
        server.set_logging_level()(self.set_level)
        server.subscribe_resource()(self.subscribe)
        server.unsubscribe_resource()(self.unsubscribe)
        manager = StreamableHTTPSessionManager(
            server, event_store=events, retry_interval=RETRY_MILLISECONDS if events else None
        )

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            async with manager.run():
                yield

        return Starlette(
            routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(manager))], lifespan=lifespan
        )


APPLICATIONS: Applications = {
    "changing": lambda: Changing().application(),
    "changing-events": lambda: Changing().application(Events()),
}
