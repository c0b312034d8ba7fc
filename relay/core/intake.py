"""What the client writes, made into messages for an era: calls are opened, nonsense is answered."""

from __future__ import annotations

from relay.core import messages
from relay.core.batch import Batch
from relay.core.commands import Command, Emit
from relay.core.era import INITIALIZE, INITIALIZED
from relay.core.errors import Code, Malformed, Problem
from relay.core.inflight import FromClient, Inflight
from relay.core.messages import Kind, Message, RequestId, fields_of, text_of
from relay.core.options import Options
from relay.core.outcomes import TOOL_CALL
from relay.core.pages import pages_for

_BATCHING_VERSION = "2025-03-26"


class Intake:
    """Reads lines.

    ``initialize`` and ``initialized`` are what the client said of itself, once it has.
    """

    def __init__(self, options: Options, inflight: Inflight) -> None:
        self._options = options
        self._inflight = inflight
        self.initialize: Message | None = None
        self.initialized: Message | None = None

    def read(self, line: bytes) -> list[FromClient | Command]:
        """The messages of a line, and answers to what is none."""
        if not line.strip():
            return []
        if self._batches and (members := messages.split_batch(line)):
            batch = Batch(len(members))
            return [each for member in members for each in self._message(member, batch)]
        return self._message(line)

    def too_long(self, size: int, limit: int) -> Command:
        """The answer to a line that was not kept; sizes are bytes."""
        text = f"a line of {size} bytes exceeds the limit of {limit}"
        hint = "send less at once, or raise --max-message-size"
        return Emit(messages.failure(None, Problem(Code.INVALID_REQUEST, text, {"hint": hint})))

    @property
    def _batches(self) -> bool:
        """Whether the client speaks the one revision that has batches."""
        said = fields_of(self.initialize.params) if self.initialize is not None else None
        return text_of((said or {}).get("protocolVersion")) == _BATCHING_VERSION

    def _message(self, line: bytes, batch: Batch | None = None) -> list[FromClient | Command]:
        try:
            message = _mended(messages.parse_client(line))
        except Malformed as error:
            return self._refuse(self._free_id(error.request_id), error.problem, batch)
        if message.method == INITIALIZED and message.kind is Kind.NOTIFICATION:
            self.initialized = message
        if message.request_id is None or message.kind is Kind.RESPONSE:
            return [FromClient(message), *(() if batch is None else batch.without())]
        call = self._inflight.admit(message, message.request_id)
        if call is None:
            shown = message.request_id[:40].decode(errors="replace")
            text = f"the id {shown} is that of an open request"
            return self._refuse(None, Problem(Code.INVALID_REQUEST, text), batch)
        call.batch = batch
        if message.method == INITIALIZE:
            self.initialize = message
        if self._options.merge_pages:
            call.pages = pages_for(message)
        return [FromClient(message, call)]

    def _refuse(
        self, request_id: RequestId | None, problem: Problem, batch: Batch | None
    ) -> list[FromClient | Command]:
        line = messages.failure(request_id, problem)
        return [Emit(line)] if batch is None else [*batch.take(line)]

    def _free_id(self, request_id: bytes | None) -> RequestId | None:
        """An id may be answered unless a request is open under it, whose answer it would seem."""
        if request_id is None:
            return None
        named = RequestId(request_id)
        return None if self._inflight.find(named) is not None else named


def _mended(message: Message) -> Message:
    """Leave out arguments that are null: some clients send them, and some servers refuse them."""
    if message.method != TOOL_CALL or b"null" not in message.raw or message.request_id is None:
        return message
    params = fields_of(message.params) or {}
    if bytes(params.get("arguments", b"")) != b"null":
        return message
    del params["arguments"]
    return messages.parse_client(messages.request(message.request_id, message.method, params))
