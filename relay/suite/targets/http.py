"""A server at a URL, spoken to directly over Streamable HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import msgspec

from relay.core.errors import Code
from relay.core.events import Failure
from relay.core.headers import Headers, legacy_post, legacy_session, modern_post, stream_get
from relay.core.sse import is_event_stream
from relay.http.choose import choose_client
from relay.http.errors import HttpConfigError, HttpError
from relay.http.interface import HttpClient, HttpRequest, HttpResponse
from relay.settings import Settings
from relay.suite.channel import Broken, Lost, NotOpened, Witness
from relay.suite.document import Object
from relay.suite.eras import EraChoice
from relay.suite.judgement import Answer, RpcError
from relay.suite.outcome import ServerEnd
from relay.suite.targets.http_stream import AnswerStream, answer_in
from relay.suite.targets.session import Opener
from relay.suite.targets.tool_headers import ToolHeaders, as_fields
from relay.suite.wire import Asked, Incoming, NoMessage, Request, notification, read, reply
from relay.suite.wording import shown

_ASIDE_SECONDS = 5.0  # for what no case waits for: a notification, a reply, the session's end
_LOSSES = (Failure.CONNECT, Failure.TLS, Failure.CLOSED)


class HttpTarget(Opener):
    """Opens a session of its own on the server each time."""

    def __init__(
        self,
        new_client: Callable[[], HttpClient],
        choice: EraChoice = EraChoice.AUTO,
        max_message_size: int = 0,
    ) -> None:
        """``max_message_size`` bounds one message of the server, in bytes; 0: no limit."""

        async def connect(numbers: Iterator[int], witness: Witness) -> HttpChannel:
            try:
                return HttpChannel(new_client(), numbers, witness, max_message_size)
            except HttpConfigError as error:
                raise NotOpened(str(error), "mend the URL or the options for it") from error

        super().__init__(connect, choice, starts=False)


def http_target(settings: Settings, choice: EraChoice = EraChoice.AUTO) -> HttpTarget:
    """The server that the settings name, by way of the HTTP client that a relay would use.

    How long a case may take is the suite's to say.
    """
    patient = msgspec.structs.replace(settings, timeout_head=None, timeout_read=None)
    limit = settings.max_message_size
    return HttpTarget(lambda: choose_client(patient).client, choice, limit)


class HttpChannel:
    """Messages as HTTP exchanges (:class:`relay.suite.channel.Channel`)."""

    def __init__(
        self, client: HttpClient, numbers: Iterator[int], witness: Witness, largest: int
    ) -> None:
        self._client = client
        self._largest = largest or sys.maxsize
        self._witness = witness
        self._tools = ToolHeaders(numbers, self._post)
        self._session: str | None = None
        self._revision: str | None = None
        self._asides: set[asyncio.Task[None]] = set()
        self.lost: ServerEnd | None = None

    async def ask(self, request: Request) -> Answer:
        if self.lost is not None:
            raise Lost(self.lost)
        if request.era == "legacy":
            return await self._post(request, legacy_post(self._session, request.revision))
        answer = await self._post(request, self._modern(request))
        mismatch = isinstance(answer, RpcError) and answer.code == Code.HEADER_MISMATCH
        if mismatch and (again := await self._tools.learn(request)):
            self._witness.note("tools/list was read for the headers that the tool wants")
            return await self._post(again, self._modern(again))
        return answer

    async def notify(self, method: str, params: Object, revision: str) -> None:
        self._revision = revision
        await self._send(notification(method, params))

    async def abandon(self, request: Request) -> None:
        """Only a legacy server has to be told; the end of the exchange tells a modern one."""
        if request.era == "legacy":
            params: Object = {"requestId": request.id, "reason": "the test has timed out"}
            await self._send(notification("notifications/cancelled", params))

    async def close(self) -> None:
        asides = set(self._asides)
        for aside in asides:
            aside.cancel()
        try:
            if asides:
                await asyncio.wait(asides)
            if self._session is not None and self.lost is None:
                headers = legacy_session(self._session, self._revision)
                await self._aside(HttpRequest("DELETE", headers))
        finally:
            await self._client.aclose()

    # -- requests --

    def _modern(self, request: Request) -> Headers:
        fields = as_fields(request.params)
        headers = modern_post(request.method, request.revision or "", fields)
        return (*headers, *self._tools.of(request))

    async def _post(self, request: Request, headers: Headers) -> Answer:
        """Make a request, and stay with it until its answer.

        A stream of a legacy server may end on purpose and be resumed behind its last event
        (2025-11-25, basic/transports, "Resumability and Redelivery").
        """
        stream = AnswerStream(request, self._largest, partial(self._other, request))
        answer = await self._exchange(stream, request, HttpRequest("POST", headers, request.body))
        while answer is None:
            if stream.event_id is None or request.era == "modern":
                raise Broken(
                    "the server ended the stream without an answer",
                    "mend the server: a stream ends with the answer to its request",
                )
            await asyncio.sleep(stream.retry)
            session = legacy_session(self._session, request.revision)
            rest = HttpRequest("GET", stream_get(session, stream.event_id))
            answer = await self._exchange(stream, request, rest)
        return answer

    async def _exchange(
        self, stream: AnswerStream, request: Request, wanted: HttpRequest
    ) -> Answer | None:
        """One exchange for a request; None if its stream ended before the answer."""
        try:
            async with self._client.exchange(wanted) as response:
                if request.method == "initialize" and response.status < 300:
                    self._session = response.headers.get("mcp-session-id")
                if is_event_stream(response.headers.get("content-type", "")):
                    await stream.read(response)
                    return stream.answer
                return self._from_body(request, response.status, await self._body(response))
        except HttpError as error:
            if stream.event_id is not None and request.era == "legacy":
                return None
            if error.failure in _LOSSES:
                raise self._lose(error.detail) from error
            raise Broken(error.detail, _HINT) from error

    def _from_body(self, request: Request, status: int, body: bytes) -> Answer:
        try:
            messages = read(body)
        except NoMessage:
            messages = []
        found = (answer_in(message, request) for message in messages)
        answer = next((one for one in found if one is not None), None)
        unknown = isinstance(answer, RpcError) and answer.code == Code.METHOD_NOT_FOUND
        if status == 404 and self._session is not None and not unknown:
            raise self._lose("the server answered HTTP 404: it has lost the session")
        if answer is not None:
            return answer
        raise Broken(
            f"the server answered HTTP {status} with {_evidence(body)}",
            _HINTS.get(status, _HINT),
            status,
        )

    def _lose(self, detail: str) -> Lost:
        self.lost = ServerEnd(detail)
        return Lost(self.lost)

    def _other(self, request: Request, message: Incoming | NoMessage) -> None:
        """What comes on a stream beside the answer."""
        if isinstance(message, NoMessage):
            self._witness.note(f"the server sent an event that is no message: {message}")
        elif isinstance(message, Asked) and request.era == "legacy":
            self._reply(message)

    # -- what no case waits for --

    def _reply(self, asked: Asked) -> None:
        if asked.method != "ping":
            self._witness.note(f"the server asked for {asked.method[:100]} in vain")
        task = asyncio.get_running_loop().create_task(self._send(reply(asked)))
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    async def _send(self, body: bytes) -> None:
        await self._aside(HttpRequest("POST", legacy_post(self._session, self._revision), body))

    async def _aside(self, request: HttpRequest) -> None:
        with suppress(HttpError, TimeoutError):
            async with asyncio.timeout(_ASIDE_SECONDS):
                async with self._client.exchange(request) as response:
                    await self._body(response)

    async def _body(self, response: HttpResponse) -> bytes:
        parts, size = [], 0
        async for chunk in response.chunks():
            parts.append(chunk)
            size += len(chunk)
            if size > self._largest:
                raise HttpError(
                    Failure.TOO_LARGE,
                    f"the server's answer exceeds {self._largest} bytes",
                    may_have_executed=True,
                )
        return b"".join(parts)


_HINT = "see why the server answers like that"
_HINTS = {
    401: "give a credential with --header-env",
    403: "give a credential that may do this with --header-env",
    404: "see whether the URL is that of the MCP endpoint",
    405: "see whether the URL is that of the MCP endpoint, or try --via-relay",
}


def _evidence(body: bytes) -> str:
    if not body:
        return "an empty body"
    return f"no answer in its body: {shown(body[:400].decode('utf-8', 'replace'))}"
