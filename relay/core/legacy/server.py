"""A legacy server, for clients of both eras.

A legacy client's messages pass through to a session of its own. A 2026-07-28 request is told by
its ``_meta`` and is translated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relay.core.commands import Command
from relay.core.era import DISCOVER, Context
from relay.core.errors import Code, Problem
from relay.core.events import Event
from relay.core.inflight import Call, FromClient
from relay.core.legacy.auto import AutoChannel
from relay.core.legacy.channel import Channel
from relay.core.legacy.session import LegacySession
from relay.core.legacy.streamable import StreamableHttp
from relay.core.messages import Message, protocol_version_of
from relay.core.options import Transport

if TYPE_CHECKING:
    from relay.core.legacy.modern_client import ModernClient

_NOT_MODERN = Problem(
    Code.METHOD_NOT_FOUND,
    "the server speaks an older protocol revision and does not know server/discover",
    {"hint": "send initialize, or server/discover again to have the revisions translated"},
)


class LegacyServer:
    """The legacy era (:class:`relay.core.era.Era`).

    ``initialize`` is what the client said to a server of another era, for which it now wants a
    session here.
    """

    def __init__(self, context: Context, initialize: Message | None = None) -> None:
        self._context = context
        self._session = LegacySession(context, self._channel(), initialize=initialize)
        self._modern: ModernClient | None = None
        self._probed = False

    def _channel(self) -> Channel:
        transport = self._context.options.transport
        if transport is Transport.AUTO:
            return AutoChannel(self._context)
        if transport is Transport.STREAMABLE_HTTP:
            return StreamableHttp(self._context)
        from relay.core.legacy.http_sse import HttpSse  # few servers still need it

        return HttpSse(self._context)

    @property
    def contradicted(self) -> bool:
        return self._session.contradicted or (
            self._modern is not None and self._modern.contradicted
        )

    @contradicted.setter
    def contradicted(self, value: bool) -> None:
        self._session.contradicted = value
        if self._modern is not None:
            self._modern.contradicted = value

    @property
    def busy(self) -> bool:
        return self._session.busy or (self._modern is not None and self._modern.busy)

    def farewell(self) -> list[Command]:
        modern = [] if self._modern is None else self._modern.farewell()
        return modern + self._session.farewell()

    def cancel(self, call: Call, message: Message) -> list[Command]:
        modern = [] if self._modern is None else self._modern.cancel(call, message)
        return modern + self._session.cancel(call, message)

    def receive(self, event: Event | FromClient) -> list[Command]:
        if not isinstance(event, FromClient):
            modern = [] if self._modern is None else self._modern.receive(event)
            return modern + self._session.receive(event)
        if not _is_modern(event.message):
            return self._session.receive(event)
        if self._is_probe(event.message) and event.call is not None:
            self._probed = True
            return self._context.inflight.fail(event.call, _NOT_MODERN)
        return self._translator().receive(event)

    def _is_probe(self, message: Message) -> bool:
        """Whether this is how a client of both eras finds out what the server speaks.

        Told that, it does as older clients do, and nothing needs to be translated for it. One
        that asks again, or has gone ahead without asking, knows 2026-07-28 alone.
        """
        return message.method == DISCOVER and self._modern is None and not self._probed

    def _translator(self) -> ModernClient:
        if self._modern is None:
            # Most sessions never need it, and a relay starts each time that its client does.
            from relay.core.legacy.modern_client import ModernClient

            self._modern = ModernClient(self._context, self._channel)
        return self._modern


def _is_modern(message: Message) -> bool:
    return message.method == DISCOVER or protocol_version_of(message) is not None
