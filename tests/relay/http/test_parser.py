"""Responses read from any sequence of reads."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import Enum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.core.events import Failure
from relay.http.parser import MAX_OVERHEAD, ResponseParser


class Framing(Enum):
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"


def response(framing: Framing, pieces: Sequence[bytes]) -> bytes:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    head = interim + b"HTTP/1.1 200 OK\r\nX-Empty:\r\nX-A: one\r\nX-A: two\r\n"
    match framing:
        case Framing.LENGTH:
            body = b"".join(pieces)
            return head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        case Framing.CHUNKED:
            chunks = [b"%X;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece]
            trailers = b"0\r\nX-Trailer: t\r\n\r\n"
            return head + b"Transfer-Encoding: Chunked\r\n\r\n" + b"".join(chunks) + trailers
        case Framing.CLOSE:
            return head + b"\r\n" + b"".join(pieces)


def cut(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    positions = sorted({0, len(data), *(at % (len(data) + 1) for at in cuts)})
    return [data[a:b] for a, b in itertools.pairwise(positions)]


PIECES = st.lists(st.binary(max_size=40), max_size=6)
CUTS = st.lists(st.integers(0, 1000), max_size=40)


@settings(max_examples=300)
@given(st.sampled_from(Framing), PIECES, CUTS)
def test_a_response_is_the_same_however_it_is_cut(
    framing: Framing, pieces: list[bytes], cuts: list[int]
) -> None:
    parser = ResponseParser("POST")
    body = b""
    for read in cut(response(framing, pieces), cuts):
        assert not parser.complete
        body += parser.feed(read)
    if framing is Framing.CLOSE:
        assert not parser.complete
        parser.feed_eof()
    assert parser.complete
    assert parser.error is None
    assert body == b"".join(pieces)
    assert parser.reusable == (framing is not Framing.CLOSE)
    assert parser.head is not None
    assert parser.head.status == 200
    assert parser.head.headers["x-a"] == "one, two"
    assert parser.head.headers["x-empty"] == ""
    assert "x-trailer" not in parser.head.headers
    assert "link" not in parser.head.headers


@settings(max_examples=200)
@given(st.sampled_from([Framing.LENGTH, Framing.CHUNKED]), PIECES, CUTS, st.data())
def test_a_response_that_is_cut_off_is_never_complete(
    framing: Framing, pieces: list[bytes], cuts: list[int], data: st.DataObject
) -> None:
    whole = response(framing, pieces)
    cut_off = whole[: data.draw(st.integers(0, len(whole) - 1))]
    parser = ResponseParser("POST")
    body = b"".join(parser.feed(read) for read in cut(cut_off, cuts))
    parser.feed_eof()
    assert not parser.complete
    assert parser.error is not None
    assert parser.error.failure is Failure.CLOSED
    assert b"".join(pieces).startswith(body)


@settings(max_examples=300)
@given(st.binary(max_size=200), CUTS)
def test_any_bytes_end_in_a_response_or_an_error(data: bytes, cuts: list[int]) -> None:
    parser = ResponseParser("POST")
    for read in cut(b"HTTP/1.1 200 OK\r\n" + data, cuts):
        if not parser.error:
            parser.feed(read)
    parser.feed_eof()
    assert parser.complete or parser.error
    assert not parser.reusable or not parser.error


@pytest.mark.parametrize(
    "endless",
    [
        b"X-A: " + b"a" * 1000,
        b"X-A: a\r\n" * 100,
        b"Transfer-Encoding: chunked\r\n\r\n1;" + b"e" * 1000,
        b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: " + b"t" * 1000,
    ],
)
def test_what_carries_no_body_cannot_go_on_for_ever(endless: bytes) -> None:
    parser = ResponseParser("POST")
    parser.feed(b"HTTP/1.1 200 OK\r\n" + endless)
    rounds = 0
    while parser.error is None:
        parser.feed(endless[-10:] if endless.endswith(b"\r\n") is False else endless)
        rounds += 1
        assert rounds <= MAX_OVERHEAD
    assert parser.error.failure is Failure.PROTOCOL


def test_a_long_stream_of_small_chunks_goes_on() -> None:
    parser = ResponseParser("POST")
    parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(2 * MAX_OVERHEAD // 6):
        assert parser.feed(b"1\r\n:\r\n") == b":"
    assert parser.error is None


LENGTH_2 = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("method", "reads"),
    [
        ("POST", [LENGTH_2 + b"HTTP/1.1 200 OK\r\n"]),
        ("POST", [LENGTH_2 + b"noise"]),
        ("POST", [LENGTH_2, b"HTTP/1.1 200 OK\r\n"]),
        ("POST", [b"HTTP/1.1 204 No Content\r\n\r\nbody"]),
        ("HEAD", [LENGTH_2]),
    ],
)
def test_a_connection_with_more_than_a_response_is_not_reusable(
    method: str, reads: list[bytes]
) -> None:
    parser = ResponseParser(method)
    for read in reads:
        parser.feed(read)
    assert parser.complete
    assert not parser.reusable
