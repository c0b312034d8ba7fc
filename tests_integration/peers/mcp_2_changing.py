"""A low-level server of the MCP SDK 2.x whose resources and lists change in every revision.

It says on stdout which listens have begun and which have ended, and what was subscribed to and
unsubscribed from in the older revisions. The kinds:

* ``changing``: Streamable HTTP, of all revisions
* ``changing-events``: the same, with an event store and a ``retry`` of half a second
* ``one-event``: the same as ``changing``, with a backlog of one event for each listen
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.server import NotificationOptions, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextContent,
    TextResourceContents,
    Tool,
    UnsubscribeRequestParams,
)
from starlette.types import ASGIApp

from tests_integration.peers.calls import Level, from_level
from tests_integration.peers.events import RETRY_MILLISECONDS, Events
from tests_integration.peers.forked import Applications, say

URI = "note://changing"

QUIET = "note://quiet"
"""A resource of whose changes a listen is not told: its acknowledgement leaves it out."""

ServerContext = ServerRequestContext[Any, Any]
Arguments = Mapping[str, Any]


def session_of(ctx: ServerContext) -> str:
    """The id of a session of the older revisions; empty in 2026-07-28."""
    header = ctx.request.headers.get("mcp-session-id", "") if ctx.request else ""
    return str(header)


def without_quiet(params: SubscriptionsListenRequestParams) -> SubscriptionsListenRequestParams:
    """What of a listen is granted."""
    wanted = params.notifications
    uris = wanted.resource_subscriptions
    if uris is None:
        return params
    granted = wanted.model_copy(
        update={"resource_subscriptions": [uri for uri in uris if uri != QUIET]}
    )
    return params.model_copy(update={"notifications": granted})


class Declaring(Server[Any]):
    """Declares in the older revisions, too, that its lists change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> InitializationOptions:
        all_lists = NotificationOptions(True, True, True)
        return super().create_initialization_options(all_lists, *args, **kwargs)


class Changing:
    """A server that changes when its tools are called; each answers with the session's id."""

    def __init__(self, backlog: int = 1024) -> None:
        self._bus = InMemorySubscriptionBus()
        self._listens = ListenHandler(self._bus, max_buffered_events=backlog)
        self._subscribed: dict[tuple[str, str], ServerSession] = {}
        self._levels: dict[str, Level] = {}
        self._changes = 0
        self._tools: dict[str, Callable[[ServerContext, Arguments], Awaitable[None]]] = {
            "touch": self._touch,
            "burst": self._burst,
            "announce_tools": self._announce_tools,
            "announce_resources": self._announce_resources,
            "announce_prompts": self._announce_prompts,
            "log": self._log,
            "hang_up": self._hang_up,
            "drop": self._drop,
        }
        self._resources = [URI]
        self._prompts = ["letter"]

    # -- the tools --

    async def _touch(self, ctx: ServerContext, arguments: Arguments) -> None:
        """Change a resource: ``uri``, or the one that is always there."""
        uri = arguments.get("uri", URI)
        self._changes += 1
        await self._bus.publish(ResourceUpdated(uri=uri))
        for (_, subscribed), session in list(self._subscribed.items()):
            if subscribed == uri:
                await session.send_resource_updated(uri)

    async def _burst(self, ctx: ServerContext, arguments: Arguments) -> None:
        """Change a resource ``count`` times before any listen can send an event."""
        async with anyio.create_task_group() as changes:
            for _ in range(arguments["count"]):
                changes.start_soon(self._touch, ctx, {})

    async def _announce_tools(self, ctx: ServerContext, arguments: Arguments) -> None:
        """Offer one more tool."""
        self._tools[f"touch_{len(self._tools)}"] = self._touch
        await self._bus.publish(ToolsListChanged())
        if session_of(ctx):
            await ctx.session.send_tool_list_changed()

    async def _announce_resources(self, ctx: ServerContext, arguments: Arguments) -> None:
        """Offer one more resource."""
        self._resources.append(f"{URI}/{len(self._resources)}")
        await self._bus.publish(ResourcesListChanged())
        if session_of(ctx):
            await ctx.session.send_resource_list_changed()

    async def _announce_prompts(self, ctx: ServerContext, arguments: Arguments) -> None:
        """Offer one more prompt."""
        self._prompts.append(f"letter_{len(self._prompts)}")
        await self._bus.publish(PromptsListChanged())
        if session_of(ctx):
            await ctx.session.send_prompt_list_changed()

    async def _log(self, ctx: ServerContext, arguments: Arguments) -> None:
        """Log one message of each level, as far as the client wants them.

        ``aside``: not as part of the call, so that they come on the GET stream.
        """
        request_id = None if arguments.get("aside") else ctx.request_id
        # What a request of 2026-07-28 asks for is between the client and the SDK alone.
        for level in from_level(self._levels.get(session_of(ctx), "debug")):
            await ctx.session.send_log_message(level, f"a {level}", "changing", request_id)

    async def _hang_up(self, ctx: ServerContext, arguments: Arguments) -> None:
        """End every ``subscriptions/listen`` gracefully."""
        self._listens.close()

    async def _drop(self, ctx: ServerContext, arguments: Arguments) -> None:
        """Close the session's GET stream, and change the resource while there is none."""
        assert ctx.close_standalone_sse_stream, "needs an event store and a session of 2025-11-25"
        await ctx.close_standalone_sse_stream()
        await self._touch(ctx, arguments)

    # -- the handlers --

    async def list_tools(
        self, ctx: ServerContext, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(name=name, description=tool.__doc__, input_schema={"type": "object"})
                for name, tool in self._tools.items()
            ]
        )

    async def call_tool(self, ctx: ServerContext, params: CallToolRequestParams) -> CallToolResult:
        await self._tools[params.name](ctx, params.arguments or {})
        return CallToolResult(content=[TextContent(type="text", text=session_of(ctx))])

    async def list_resources(
        self, ctx: ServerContext, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        resources = [Resource(name=uri, uri=uri) for uri in self._resources]
        return ListResourcesResult(resources=resources)

    async def read_resource(
        self, ctx: ServerContext, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        text = f"changed {self._changes} times"
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=text)])

    async def list_prompts(
        self, ctx: ServerContext, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=[Prompt(name=name) for name in self._prompts])

    async def get_prompt(
        self, ctx: ServerContext, params: GetPromptRequestParams
    ) -> GetPromptResult:
        text = TextContent(type="text", text=f"the prompt {params.name}")
        return GetPromptResult(messages=[PromptMessage(role="user", content=text)])

    async def set_level(self, ctx: ServerContext, params: SetLevelRequestParams) -> EmptyResult:
        self._levels[session_of(ctx)] = params.level
        return EmptyResult()

    async def subscribe(self, ctx: ServerContext, params: SubscribeRequestParams) -> EmptyResult:
        self._subscribed[session_of(ctx), str(params.uri)] = ctx.session
        say(f"subscribed {params.uri}")
        return EmptyResult()

    async def unsubscribe(
        self, ctx: ServerContext, params: UnsubscribeRequestParams
    ) -> EmptyResult:
        self._subscribed.pop((session_of(ctx), str(params.uri)), None)
        say(f"unsubscribed {params.uri}")
        return EmptyResult()

    async def listen(
        self, ctx: ServerContext, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        asked = (ctx.params or {}).get("notifications")
        say(f"listen {ctx.request_id} begins with {json.dumps(asked)}")
        try:
            return await self._listens(ctx, without_quiet(params))
        finally:
            say(f"listen {ctx.request_id} ends")

    def server(self) -> Server[Any]:
        return Declaring(
            "changing",
            version="1.0",
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_set_logging_level=self.set_level,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=self.listen,
        )


def with_events() -> ASGIApp:
    return (
        Changing()
        .server()
        .streamable_http_app(event_store=Events(), retry_interval=RETRY_MILLISECONDS)
    )


APPLICATIONS: Applications = {
    "changing": lambda: Changing().server().streamable_http_app(),
    "changing-events": with_events,
    "one-event": lambda: Changing(backlog=1).server().streamable_http_app(),
}
