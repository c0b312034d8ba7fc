"""Server-sent events: a response's bytes in, its events out.

The grammar is WHATWG HTML, section 9.2.6 "Interpreting an event stream", read bytewise: the
format is UTF-8 whatever ``charset`` says, and JSON inside is checked where it is parsed.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from relay.core.errors import EventTooLarge

_BOM = b"\xef\xbb\xbf"
_LF, _CR = b"\n", b"\r"
_DATA = b"data:"
_TELLING = len(_BOM + _DATA + b" ")


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
        self._after_cr = chunk.endswith(_CR)
        lines = chunk.splitlines()  # bytes split at LF, CR and CRLF only
        begun = b"" if self._after_cr or chunk.endswith(_LF) else lines.pop()
        for line in lines:
            event = self._ended(line) if self._partial else self._line(line)
            if event is not None:
                events.append(event)
        if begun:
            self._hold(begun)
        return events

    def end(self) -> list[SseEvent]:
        """The stream is over: return an event whose closing blank line is missing, if any.

        The standard drops it. Some servers forget the blank line after their last event, and a
        JSON-RPC message that was cut short does not parse, so handing it on is safe.
        """
        event = self._ended(b"") or self._dispatch()
        return [] if event is None else [event]

    def _hold(self, piece: bytes) -> None:
        self._partial_size += len(piece)
        self._check(self._partial_size)
        if self._partial and len(self._partial[0]) < _TELLING:
            self._partial[0] += piece
        else:
            self._partial.append(piece)

    def _ended(self, piece: bytes) -> SseEvent | None:
        """A line is complete with ``piece``: return the event that it ends, if it does."""
        if not self._partial:
            return self._line(piece)
        if piece:
            self._hold(piece)
        first, *rest = self._partial
        self._partial.clear()
        self._partial_size = 0
        return self._line(first, rest)

    def _line(self, line: bytes, rest: Sequence[bytes] = ()) -> SseEvent | None:
        """Take a line, of which all pieces but the first may be in ``rest``.

        That the first one shows a line of data for what it is, saves a copy of all of it.
        """
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if not line.startswith(_DATA):
            self._field(b"".join((line, *rest)) if rest else line)
            return None
        value = line[6:] if line[5:6] == b" " else line[5:]
        if rest:
            value = b"".join((value, *rest))
        self._data.append(value)
        self._data_size += len(value) + 1
        self._check(self._data_size)
        return None

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"event":
                self._event = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self._event_id = value.decode(errors="replace")
                self._id_changed = True
            case b"retry" if value.isdigit() and len(value) <= 9:  # beyond 11 days is no advice
                self._retry = int(value)
            case b"data":  # alone on its line
                self._data.append(value)
                self._data_size += 1
                self._check(self._data_size)
            case _:
                pass  # comments (an empty name) and unknown fields

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
