"""The event stream decoder against a plain reading of the standard, under any chunking."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.core.errors import EventTooLarge
from relay.core.sse import SseDecoder, SseEvent, is_event_stream, media_type


def reference(stream: bytes) -> list[SseEvent]:
    """The standard's algorithm over a whole stream, written for clarity alone."""
    text = stream.removeprefix(b"\xef\xbb\xbf")
    lines = re.split(rb"\r\n|\n|\r", text)
    events: list[SseEvent] = []
    last_id: str | None = None
    data: list[bytes] = []
    kind, retry, seen = "", None, False

    for line in [*lines, b""]:  # the end of the stream counts as a blank line
        if line == b"":
            if data or seen:
                events.append(SseEvent(b"\n".join(data), kind or "message", last_id, retry))
            data, kind, retry, seen = [], "", None, False
            continue
        name, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value.decode(errors="replace")
        elif name == b"id" and b"\0" not in value:
            last_id, seen = value.decode(errors="replace"), True
        elif name == b"retry" and re.fullmatch(rb"[0-9]{1,9}", value):
            retry, seen = int(value), True
    return events


def decoded(chunks: list[bytes], limit: int = 1 << 20) -> list[SseEvent]:
    decoder = SseDecoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.end()


FIELDS = (
    b"data|data: |dataset: x|data:x|id: 7|id:\0|event: other|retry: 250|retry: x|:|: ping| ".split(
        b"|"
    )
)
ENDS = [b"\n", b"\r", b"\r\n", b"\n\n"]
BYTES = [
    b"\xef\xbb\xbf",
    "ä€\u2028".encode(),
    b'{"a":1}',
    b"\xff",
    b"\x85",
    b"\x0b",
    b"\x1c",
    b"\0",
]
PIECES = st.sampled_from([*FIELDS, *ENDS, *BYTES])


@given(pieces=st.lists(PIECES, max_size=25), cuts=st.lists(st.integers(0, 80), max_size=12))
def test_any_stream_in_any_chunks_reads_as_the_standard_says(
    pieces: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(pieces)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:stop] for start, stop in itertools.pairwise(edges)]
    assert decoded(chunks) == reference(stream)


@given(pieces=st.lists(PIECES, max_size=15))
def test_one_byte_at_a_time_is_no_different(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    assert decoded([bytes([byte]) for byte in stream]) == reference(stream)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
def test_every_line_end_ends_a_line(end: bytes) -> None:
    stream = end.join([b"event: message", b'data: {"a":', b"data: 1}", b"", b""])
    assert decoded([stream]) == [SseEvent(b'{"a":\n1}')]


def test_an_event_is_given_as_soon_as_its_blank_line_has_come() -> None:
    decoder = SseDecoder(100)
    assert decoder.feed(b"data: a\r\n\r") == [SseEvent(b"a")]
    assert decoder.feed(b"\ndata: b\r\n\r\n") == [SseEvent(b"b")]


def test_a_priming_event_carries_an_id_and_a_retry_time_and_no_data() -> None:
    stream = b"id: 3\r\ndata: \r\nretry: 250\r\n\r\ndata: x\r\n\r\n"
    assert decoded([stream]) == [
        SseEvent(b"", "message", "3", 250),
        SseEvent(b"x", "message", "3"),
    ]


def test_a_comment_alone_is_no_event() -> None:
    assert decoded([b": ping\n\n: ping\n\n"]) == []


def test_a_missing_last_blank_line_loses_nothing() -> None:
    assert decoded([b"data: a\n\ndata: b"]) == [SseEvent(b"a"), SseEvent(b"b")]


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: " + b"x" * 50],
        [b"data: " + b"x" * 10, b"x" * 10, b"x\n"],
        [b"data: 12345\n"] * 5,
        [b"data\n"] * 21,
        [b":" + b"x" * 10] * 4,
    ],
    ids=[
        "one line",
        "one line in pieces",
        "many data lines",
        "many empty data lines",
        "a comment without end",
    ],
)
def test_what_exceeds_the_limit_is_refused(chunks: list[bytes]) -> None:
    with pytest.raises(EventTooLarge, match="exceeds the limit of 20") as caught:
        decoded(chunks, limit=20)
    assert caught.value.limit == 20
    assert caught.value.size > 20


def test_a_limit_of_zero_is_none() -> None:
    assert decoded([b"data: " + b"x" * 1000 + b"\n\n"], limit=0) == [SseEvent(b"x" * 1000)]


def test_the_limit_holds_for_each_event_and_not_for_the_stream() -> None:
    assert len(decoded([b"data: 0123456789\n\n"] * 100, limit=20)) == 100


def test_the_work_is_linear_in_the_bytes_fed() -> None:
    """Ten megabytes in small chunks: a decoder that scans its buffer again takes minutes."""
    decoder = SseDecoder(1 << 25)
    decoder.feed(b"data: ")
    for _ in range(10_000):
        assert decoder.feed(b"x" * 1000) == []
    (event,) = decoder.feed(b"\n\n")
    assert len(event.data) == 10_000_000


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/event-stream", True),
        ("Text/Event-Stream ; charset=ISO-8859-1", True),
        ("application/json", False),
        ("text/event-stream-not", False),
        ("", False),
    ],
)
def test_the_media_type_decides_whether_a_body_is_a_stream(
    content_type: str, expected: bool
) -> None:
    assert is_event_stream(content_type) is expected


def test_a_media_type_is_read_without_its_parameters() -> None:
    assert media_type(" Application/JSON; charset=utf-8") == "application/json"
