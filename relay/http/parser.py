"""The bytes of a connection, read as one final HTTP/1.1 response (RFC 9112)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from msgspec import Struct

from relay.core.events import Failure
from relay.http.errors import HttpError

MAX_OVERHEAD = 1 << 16
"""Bytes that may come in a row without a byte of body: heads, trailers, chunk extensions.

Checked once per read, so what is kept is bounded by this and the size of a read.
"""

_TLS_RECORDS = (b"\x15", b"\x16")  # alert, handshake (RFC 8446, 5.1)
_SHOWN = 40


class ResponseHead(Struct, frozen=True):
    """Status and headers; names are lower case, repeated headers are joined with ``", "``."""

    status: int
    headers: dict[str, str]


class ResponseParser:
    """Reads one response: feed it bytes, get body bytes.

    After each :meth:`feed` look at :attr:`head`, :attr:`complete` and :attr:`error`. Interim
    responses (1xx) are skipped, trailers are ignored. The ``on_`` methods are httptools' callbacks.
    """

    def __init__(self, method: str) -> None:
        self.head: ResponseHead | None = None
        self.complete = False
        self.reusable = False
        """The connection may carry another exchange; to be read once :attr:`complete`."""
        self.error: HttpError | None = None
        self._no_body = method == "HEAD"
        self._until_close = False
        self._fields: list[tuple[bytes, bytes]] = []
        self._pieces: list[bytes] = []
        self._begun = False
        self._overhead = 0
        self._parser: HttpResponseParser | None = HttpResponseParser(self)

    def feed(self, data: bytes | memoryview) -> bytes:
        """Take bytes from the connection; return what they hold of the body."""
        if self._parser is None:
            # Nothing may follow a response that nobody asked for: the connection is out of step.
            self.reusable = False
            return b""
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self.reusable = False
            if not self.complete:
                self._fail(self._unreadable(bytes(data[:_SHOWN]), error))
        self._begun = True
        if self._overhead > MAX_OVERHEAD and not self.complete:
            self._fail(f"more than {MAX_OVERHEAD} bytes of headers or trailers")
        if self.complete or self.error:
            self._parser = None  # breaks the reference cycle between it and its callbacks
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def feed_eof(self, *, clean: bool = True) -> None:
        """Say that the peer has finished sending.

        :param clean: it said so; the close of TCP alone does not within TLS (RFC 9112, 9.8).
        """
        self.reusable = False
        if self.complete or self.error:
            return
        if self._until_close and clean:
            self.complete = True
        elif self.head is not None:
            self._closed("in the middle of the response")
        elif self._begun:
            self._closed("in the middle of the response head")
        else:
            self._closed("before answering")

    def on_message_begin(self) -> None:
        if self.complete:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head is None:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self.head is not None or self._parser is None:
            return
        status = self._parser.get_status_code()
        if status == 101:
            self._fail("the server switched protocols (101) unasked")
        if status < 200:
            self._fields = []
            return
        headers = joined(self._fields)
        self.head = ResponseHead(status, headers)
        self.reusable = self._parser.should_keep_alive()
        self._overhead = 0
        if self._no_body:
            # The parser cannot know that no body follows, whatever the head says.
            self.complete = True
            return
        coding = headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            self._fail(f"the server used transfer coding {coding!r}, which was not offered")
        self._until_close = coding is None and "content-length" not in headers

    def on_body(self, body: bytes) -> None:
        if self.complete:
            self.reusable = False
            return
        self._pieces.append(body)
        self._overhead = 0

    def on_message_complete(self) -> None:
        if self.head is not None:
            self.complete = True

    def _unreadable(self, begun: bytes, error: Exception) -> str:
        if self._begun or self.head is not None:
            return f"the response is not valid HTTP/1.1 ({error})"
        if begun[:1] in _TLS_RECORDS:
            return "the server answers with TLS, not HTTP; is it an https:// URL?"
        return f"the server does not answer with HTTP/1.1; it began with {begun!r}"

    def _fail(self, detail: str) -> None:
        self.error = self.error or HttpError(Failure.PROTOCOL, detail, may_have_executed=True)

    def _closed(self, when: str) -> None:
        self.error = HttpError(
            Failure.CLOSED, f"the server closed the connection {when}", may_have_executed=True
        )


def joined(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Combine the field lines (RFC 9110, 5.3); octets above 0x7F become Latin-1 characters."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name = raw_name.decode("latin-1").lower()
        value = raw_value.decode("latin-1").strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def content_coding(headers: Mapping[str, str]) -> str:
    """How a body is coded (RFC 9110, 8.4.1), in lower case; empty if it is not."""
    coding = headers.get("content-encoding", "").lower()
    return "" if coding == "identity" else coding
