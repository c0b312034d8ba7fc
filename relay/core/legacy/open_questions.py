"""The requests of a legacy server to its client that have no response yet.

They end with their session: the client is told, and what it answers nevertheless goes nowhere.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from relay.core import messages
from relay.core.era import CANCELLED
from relay.core.exchange import Exchange
from relay.core.inflight import Inflight
from relay.core.messages import Message, RequestId, fields_of, request_id_of

MAX_QUESTIONS = 1024
"""Questions remembered at most. One that was forgotten is still answered, if its session lives."""

_REASON = msgspec.Raw(b'"the session that asked is lost"')


class _Asked(NamedTuple):
    exchange: Exchange  # that it came on
    wire_id: RequestId  # what the server calls it


class OpenQuestions:
    """What a server has asked, by the id under which the client knows it.

    That is the server's own id, unless the client still owes a response under it to a session
    that is lost: servers count from 1 in each session, and one answer must not pass for another.
    """

    def __init__(self, inflight: Inflight) -> None:
        self._inflight = inflight
        self._open: dict[RequestId, _Asked] = {}
        self._orphans: dict[RequestId, None] = {}  # of lost sessions, in order

    def ask(self, exchange: Exchange, request: Message) -> Message:
        """Remember a question; return what the client is asked."""
        wire_id = known = request.request_id or RequestId(b"null")
        if wire_id in self._orphans:
            known = self._inflight.new_id()
            params = fields_of(request.params) or {}
            request = messages.new_request(known, request.method, params)
        self._open[known] = _Asked(exchange, wire_id)
        if len(self._open) > MAX_QUESTIONS:
            del self._open[next(iter(self._open))]
        return request

    def withdraw(self, cancellation: Message) -> Message:
        """Forget a question that the server takes back; return what the client is told."""
        params = fields_of(cancellation.params) or {}
        named = request_id_of(params["requestId"]) if "requestId" in params else None
        known = next((each for each, asked in self._open.items() if asked.wire_id == named), None)
        if known is None:
            return cancellation
        del self._open[known]
        if known == named:
            return cancellation
        params["requestId"] = msgspec.Raw(known)
        return messages.new_notification(CANCELLED, params)

    def answer(self, response: Message) -> bytes | None:
        """What the server is told for a response; None if its session is lost."""
        if response.request_id is None:
            return response.raw
        if response.request_id in self._orphans:
            del self._orphans[response.request_id]
            return None
        asked = self._open.pop(response.request_id, None)
        if asked is None or asked.wire_id == response.request_id:
            return response.raw
        if response.error is not None:
            return messages.failure(asked.wire_id, response.error)
        return messages.result(asked.wire_id, response.result)

    def abandon(self) -> list[tuple[Exchange, Message]]:
        """The session is lost: a cancellation for each open question, and what it came on."""
        cancellations: list[tuple[Exchange, Message]] = []
        for known, asked in self._open.items():
            self._orphans[known] = None
            params = {"requestId": msgspec.Raw(known), "reason": _REASON}
            cancellation = messages.new_notification(CANCELLED, params)
            cancellations.append((asked.exchange, cancellation))
        self._open.clear()
        while len(self._orphans) > MAX_QUESTIONS:
            del self._orphans[next(iter(self._orphans))]
        return cancellations
