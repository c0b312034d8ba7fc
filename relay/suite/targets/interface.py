"""What a run of a suite knows of servers: something that opens sessions, and a session."""

from __future__ import annotations

from typing import Protocol

from relay.suite.channel import Witness
from relay.suite.document import Object
from relay.suite.judgement import Answer
from relay.suite.outcome import ServerEnd, ServerInfo


class Session(Protocol):
    """A session with a server, open until it is closed or lost."""

    @property
    def info(self) -> ServerInfo:
        """What the server said of itself."""

    @property
    def lost(self) -> ServerEnd | None:
        """What is known of the session's end, once it is over by itself."""

    async def request(self, method: str, params: Object, seconds: float) -> Answer:
        """Make a request; others may be open meanwhile, and no id is ever used again.

        :raises TimedOut: for no answer in time. The server is told that nobody waits any more.
        :raises Lost: if the session ended before the answer came.
        :raises Broken: if something came that is no answer.
        """

    async def close(self) -> ServerEnd | None:
        """End the session, within a bound; what a child process left behind."""


class Target(Protocol):
    """A server that sessions can be opened with."""

    async def open(self, seconds: float, witness: Witness) -> Session:
        """Open a session; raise :class:`~relay.suite.channel.NotOpened`.

        ``witness`` is told of whatever the server does beside answering, until the session is
        closed.
        """
