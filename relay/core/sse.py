"""Server-sent events: a response's bytes in, its events out.

The grammar is WHATWG HTML, section 9.2.6 "Interpreting an event stream", read bytewise: the
format is UTF-8 whatever ``charset`` says, and JSON inside is checked where it is parsed.
"""

from __future__ import annotations

import msgspec

from relay.core.errors import EventTooLarge

_BOM = b"\xef\xbb\xbf"
_LF, _CR = b"\n", b"\r"


def is_event_stream(content_type: str) -> bool:
    """Whether a ``Content-Type`` is ``text/event-stream``; case and parameters do not matter."""
    return media_type(content_type) == "text/event-stream"


def media_type(content_type: str) -> str:
    """The type and subtype of a ``Content-Type`` value in lower case, without parameters."""
    return content_type.partition(";")[0].strip().lower()


class SseEvent(msgspec.Struct, frozen=True):
    """One event. ``event_id`` is the last id seen so far on the stream, ``retry`` milliseconds.

    ``data`` is empty for an event that only carries an id or a retry time: such an event primes
    a resumable stream (2025-11-25, basic/transports) and holds no message.
    """

    data: bytes
    event: str = "message"
    event_id: str | None = None
    retry: int | None = None


class SseDecoder:
    """Feeds on chunks of any size; the work is linear in the bytes fed.

    ``max_bytes`` bounds one event and one line (0: no bound); beyond it :class:`EventTooLarge` is
    raised and the decoder is of no further use.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._partial: list[bytes] = []  # pieces of the line whose end has not come yet
        self._partial_size = 0
        self._after_cr = False
        self._first_line = True
        self._event_id: str | None = None
        self._clear()

    def _clear(self) -> None:
        self._data: list[bytes] = []
        self._data_size = 0
        self._event = ""
        self._retry: int | None = None
        self._id_changed = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that ``chunk`` completes, in order."""
        if self._after_cr and chunk:
            # A CR has ended its line at once; an LF right behind it belongs to it.
            chunk = chunk.removeprefix(_LF)
            self._after_cr = False
        if _LF not in chunk and _CR not in chunk:  # the middle of a long line, found out quickly
            if chunk:
                self._hold(chunk)
            return []
        events: list[SseEvent] = []
        for line in chunk.splitlines(keepends=True):  # bytes split at LF, CR and CRLF only
            content = line.rstrip(b"\r\n")
            if len(content) == len(line):
                self._hold(line)
                continue
            event = self._line(self._completed(content))
            if event is not None:
                events.append(event)
        self._after_cr = chunk.endswith(_CR)
        return events

    def end(self) -> list[SseEvent]:
        """The stream is over: return an event whose closing blank line is missing, if any.

        The standard drops it. Some servers forget the blank line after their last event, and a
        JSON-RPC message that was cut short does not parse, so handing it on is safe.
        """
        line = self._completed(b"")
        if line:
            self._line(line)
        event = self._dispatch()
        return [] if event is None else [event]

    def _hold(self, piece: bytes) -> None:
        self._partial.append(piece)
        self._partial_size += len(piece)
        self._check(self._partial_size)

    def _completed(self, end: bytes) -> bytes:
        if self._partial:
            end = b"".join((*self._partial, end))
            self._partial.clear()
            self._partial_size = 0
        if self._first_line:
            self._first_line = False
            end = end.removeprefix(_BOM)
        return end

    def _line(self, line: bytes) -> SseEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
                self._data_size += len(value) + 1
                self._check(self._data_size)
            case b"event":
                self._event = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self._event_id = value.decode(errors="replace")
                self._id_changed = True
            case b"retry" if value.isdigit() and len(value) <= 9:  # beyond 11 days is no advice
                self._retry = int(value)
            case _:
                pass  # comments (an empty name) and unknown fields
        return None

    def _dispatch(self) -> SseEvent | None:
        event = None
        if self._data or self._id_changed or self._retry is not None:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            event = SseEvent(data, self._event or "message", self._event_id, self._retry)
        self._clear()
        return event

    def _check(self, size: int) -> None:
        if 0 < self._max_bytes < size:
            raise EventTooLarge(size, self._max_bytes)
