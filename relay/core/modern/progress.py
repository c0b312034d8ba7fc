"""Progress of a call that takes several requests: only what its client asked for, ever higher.

Each request begins to count anew, and a client is to see one count that never falls (2025-11-25,
basic/utilities/progress).
"""

from __future__ import annotations

from functools import cached_property

import msgspec

from relay.core.messages import Fields, Message, RequestId, fields_of, request_id_of

_NUMBER = msgspec.json.Decoder(float)


class Progress:
    """How far one call is, as its client has been told."""

    def __init__(self, request: Message) -> None:
        self._request = request
        self._last = float("-inf")

    @cached_property
    def _token(self) -> RequestId | None:
        return _token(fields_of((fields_of(self._request.params) or {}).get("_meta")))

    def advances(self, notification: Message) -> bool:
        """Whether a ``notifications/progress`` may be told; what may be counts as told."""
        said = fields_of(notification.params) or {}
        if self._token is None or _token(said) != self._token:
            return False
        try:
            value = _NUMBER.decode(said.get("progress", b""))
        except msgspec.DecodeError:
            return False
        if value <= self._last:
            return False
        self._last = value
        return True


def _token(fields: Fields | None) -> RequestId | None:
    token = (fields or {}).get("progressToken")
    return None if token is None else request_id_of(token)
