"""Progress of a call that takes several requests: only what its client asked for, ever higher.

Each request begins to count anew, and a client is to see one count that never falls (2025-11-25,
basic/utilities/progress).
"""

from __future__ import annotations

from functools import cached_property

import msgspec

from relay.core.messages import Message, RequestId, fields_of, request_id_of


class _Said(msgspec.Struct):
    """As much of a notification's params as matters here."""

    progress: float
    token: msgspec.Raw = msgspec.field(name="progressToken")


_SAID = msgspec.json.Decoder(_Said)


class Progress:
    """How far one call is, as its client has been told."""

    def __init__(self, request: Message) -> None:
        self._request = request
        self._last = float("-inf")

    @cached_property
    def _token(self) -> RequestId | None:
        meta = fields_of((fields_of(self._request.params) or {}).get("_meta")) or {}
        token = meta.get("progressToken")
        return None if token is None else request_id_of(token)

    def advances(self, notification: Message) -> bool:
        """Whether a ``notifications/progress`` may be told; what may be counts as told."""
        try:
            said = _SAID.decode(notification.params or b"")
        except msgspec.DecodeError:
            return False
        token = bytes(said.token)
        if token != self._token and request_id_of(said.token) != self._token:
            return False
        if self._token is None or said.progress <= self._last:
            return False
        self._last = said.progress
        return True
