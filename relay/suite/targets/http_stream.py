"""The stream of events that a response may be, read for the answer to its one request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from relay.core.errors import EventTooLarge
from relay.core.sse import SseDecoder, SseEvent
from relay.http.errors import HttpError
from relay.http.interface import HttpResponse
from relay.suite.channel import Broken
from relay.suite.judgement import Answer, RpcError
from relay.suite.wire import Answered, Incoming, NoMessage, Request, read

_REST_SECONDS = 0.2  # for the end of a stream behind the answer; then its connection is closed
_SHORTEST_RETRY = 0.05


def answer_in(message: Incoming, request: Request) -> Answer | None:
    """The answer to a request, if that is what the message is; raise :class:`Broken`.

    An error without an id is about the only request that an exchange has.
    """
    if not isinstance(message, Answered):
        return None
    answer = message.answer
    named = type(message.id) is int and message.id == request.id
    if not named and not (message.id is None and isinstance(answer, RpcError)):
        return None
    if isinstance(answer, str):
        raise Broken(answer, "mend the server: no client understands this answer")
    return answer


class AnswerStream:
    """What one request has been told on streams: ``answer`` once there is one.

    ``event_id`` and ``retry`` (in seconds) are for the next stream, where this one breaks off.
    """

    def __init__(
        self, request: Request, largest: int, on_other: Callable[[Incoming | NoMessage], None]
    ) -> None:
        """``largest`` bounds one event, in bytes; 0: no limit."""
        self.answer: Answer | None = None
        self.event_id: str | None = None
        self.retry = 1.0
        self._request = request
        self._largest = largest
        self._on_other = on_other

    async def read(self, response: HttpResponse) -> None:
        """Read a stream to its end, or until it has nothing more to say.

        :raises HttpError: if it breaks off before the answer.
        """
        decoder = SseDecoder(self._largest)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as rest:
                async for chunk in response.chunks():
                    self._hear(decoder.feed(chunk))
                    if self.answer is not None and rest.when() is None:
                        rest.reschedule(loop.time() + _REST_SECONDS)
                self._hear(decoder.end())
        except EventTooLarge as error:
            raise Broken(str(error), "have the server send less") from error
        except (TimeoutError, HttpError):
            if self.answer is None:
                raise

    def _hear(self, events: list[SseEvent]) -> None:
        for event in events:
            self.event_id = event.event_id
            if event.retry is not None:
                self.retry = max(event.retry / 1000, _SHORTEST_RETRY)
            if event.data:
                self._take(event.data)

    def _take(self, data: bytes) -> None:
        try:
            messages = read(data)
        except NoMessage as error:
            self._on_other(error)
            return
        for message in messages:
            if (answer := answer_in(message, self._request)) is not None:
                self.answer = answer
            else:
                self._on_other(message)
