"""What carries messages to a server under test, and the ways in which that may fail."""

from __future__ import annotations

from typing import Protocol

from relay.suite.document import Object
from relay.suite.judgement import Answer
from relay.suite.outcome import ServerEnd
from relay.suite.wire import Request


class SessionError(Exception):
    """A request was not answered, or not with what JSON-RPC has for an answer."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class TimedOut(SessionError):
    """There was no answer in time; the server has been told that nobody waits any more."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the server did not answer within {seconds * 1000:.0f} ms",
            "see what the server waits for, or allow more by timeoutMs",
        )


class Lost(SessionError):
    """The session is over; ``end`` is what is known of that."""

    def __init__(self, end: ServerEnd) -> None:
        super().__init__(end.detail, "see what the server wrote to stderr before its end")
        self.end = end


class Broken(SessionError):
    """Something came in place of an answer. ``status`` is that of HTTP, if it came that way."""

    def __init__(self, message: str, hint: str, status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


class NotOpened(SessionError):
    """There is no session; ``end`` is what the server left behind, if it was there at all."""

    def __init__(self, message: str, hint: str, end: ServerEnd | None = None) -> None:
        super().__init__(message, hint)
        self.end = end


class Witness(Protocol):
    """Is told what a server does beside answering."""

    def noise(self, line: str) -> None:
        """A line on stdout that is no message."""

    def note(self, text: str) -> None:
        """A sentence on anything else that explains an outcome."""


class Channel(Protocol):
    """Carries requests to a server; several may be open at once."""

    @property
    def lost(self) -> ServerEnd | None:
        """What is known of the session's end, once it is over by itself."""

    async def ask(self, request: Request) -> Answer:
        """Send a request and wait for its response; raise :class:`Lost` or :class:`Broken`.

        Cancelling this waits no longer; a response that still comes is dropped.
        """

    async def notify(self, method: str, params: Object, revision: str) -> None:
        """Send a notification of the legacy era."""

    async def abandon(self, request: Request) -> None:
        """Tell the server that nobody waits for the response any more; never raises."""

    async def close(self) -> ServerEnd | None:
        """End the session in good order, within a bound; what a child process left behind."""
