"""What an era is: one way to carry the client's messages to a server and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from relay.core.commands import Command
from relay.core.errors import Code, Problem
from relay.core.events import Event
from relay.core.inflight import Call, FromClient, Inflight
from relay.core.messages import Kind, Message, fields_of, request_id_of
from relay.core.options import Options

INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
DISCOVER = "server/discover"
LISTEN = "subscriptions/listen"
CANCELLED = "notifications/cancelled"

BUSY = Problem(
    Code.INTERNAL_ERROR,
    "too many messages wait for the server already",
    {"hint": "wait for answers before sending more"},
)


class Context(msgspec.Struct, frozen=True):
    """What the eras of one session share. ``numbers`` gives exchange ids, never the same twice."""

    options: Options
    inflight: Inflight
    numbers: Iterator[int]


class Era(Protocol):
    contradicted: bool
    """Whether the server's last answer was that of another era."""

    def receive(self, event: Event | FromClient) -> list[Command]:
        """Take in one event; those about other eras' exchanges and timers change nothing."""

    def cancel(self, call: Call, message: Message) -> list[Command]:
        """End the work on a call that has just been closed; ``message`` is the cancellation."""

    @property
    def busy(self) -> bool:
        """Whether something is under way that is worth waiting for at the end."""

    def farewell(self) -> list[Command]:
        """Cancel at the server what still runs, and end the session if there is one.

        The client's calls have been closed before, but for its subscriptions where another era
        takes over: those are lost, and the client is told.
        """


def is_cancellation(message: Message) -> bool:
    return message.kind is Kind.NOTIFICATION and message.method == CANCELLED


def cancelled_call(message: Message, inflight: Inflight) -> Call | None:
    """The open call that a ``notifications/cancelled`` names.

    ``initialize`` is never cancelled (all revisions, basic/utilities/cancellation).
    """
    named = (fields_of(message.params) or {}).get("requestId")
    request_id = None if named is None else request_id_of(named)
    call = None if request_id is None else inflight.find(request_id)
    return None if call is None or call.method == INITIALIZE else call
