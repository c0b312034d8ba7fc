"""What carries one legacy session: streamable HTTP, or HTTP+SSE of 2024-11-05."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from relay.core.commands import Command
from relay.core.errors import Problem
from relay.core.events import Event
from relay.core.exchanges import Arrival, Exchange
from relay.core.inflight import Call
from relay.core.messages import Fields, RequestId


class Lost(msgspec.Struct, frozen=True):
    """The channel has lost the session all by itself, and whatever was on its way in it.

    Each open exchange has been reported as over before.
    """

    problem: Problem


class Channel(Protocol):
    """Carries the messages of one session at a time; commands are carried out in their order."""

    @property
    def busy(self) -> bool:
        """Whether an exchange is open from which something is still wanted."""

    def post(
        self,
        method: str,
        body: bytes,
        *,
        expects: RequestId | None = None,
        call: Call | None = None,
    ) -> tuple[Exchange, list[Command]]:
        """Send one message at once; ``method`` is what it is about."""

    def notify(self, method: str, body: bytes) -> list[Command]:
        """Send a notification behind those before it: their order is kept."""

    def receive(self, event: Event) -> list[Arrival | Lost]:
        """What an event means; nothing for one that is not about this channel."""

    def open_exchanges(self) -> list[Exchange]:
        """Those from which something is still wanted."""

    def of(self, call: Call) -> Exchange | None:
        """The exchange that is to bring the answer of ``call``."""

    def is_open(self, exchange: Exchange) -> bool: ...

    def release(self, exchange: Exchange) -> list[Command]:
        """Expect nothing more from an exchange, but let the server end it in its own time."""

    def adopt(self, exchange: Exchange, result: Fields) -> None:
        """Take the session from a successful ``initialize``: its InitializeResult."""

    def begin(self) -> list[Command]:
        """The handshake is done: listen to what the server says of its own accord."""

    def reset(self) -> list[Command]:
        """Forget the session: it is lost, or a new one is about to be made."""

    def close(self) -> list[Command]:
        """End the session at the server."""


ChannelMaker = Callable[[], Channel]
