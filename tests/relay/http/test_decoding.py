"""Content codings, in any sequence of chunks."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.http.decoding import MAX_PIECE, ContentDecoder
from relay.http.errors import HttpError


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def members(body: bytes) -> bytes:
    half = len(body) // 2
    return gzip.compress(body[:half]) + gzip.compress(body[half:])


ENCODED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZIP", gzip.compress),
    "members": ("gzip", members),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
}


def decode(coding: str, data: bytes, size: int) -> list[bytes]:
    decoder = ContentDecoder(coding)
    pieces: list[bytes] = []
    for start in range(0, len(data), size):
        pieces += decoder.feed(data[start : start + size])
    decoder.end()
    return pieces


@settings(max_examples=200)
@given(st.sampled_from(sorted(ENCODED)), st.binary(max_size=300), st.integers(1, 50))
def test_a_body_is_the_same_however_it_is_cut(kind: str, body: bytes, size: int) -> None:
    coding, encode = ENCODED[kind]
    assert b"".join(decode(coding, encode(body), size)) == body


# Sizes around a whole number of pieces: there output may wait although no input is left.
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(-260, 260), st.sampled_from(sorted(ENCODED)))
def test_a_body_that_expands_a_thousandfold_comes_in_small_pieces(
    pieces: int, offset: int, kind: str
) -> None:
    coding, encode = ENCODED[kind]
    body = bytes(pieces * MAX_PIECE + offset)
    decoded = decode(coding, encode(body), 1 << 20)
    assert b"".join(decoded) == body
    assert all(0 < len(piece) <= MAX_PIECE for piece in decoded)


@pytest.mark.parametrize("kind", sorted(ENCODED))
def test_content_that_is_cut_off_is_an_error(kind: str) -> None:
    coding, encode = ENCODED[kind]
    whole = encode(b"some text, some text")
    for size in range(1, len(whole)):
        if kind == "members" and size == len(gzip.compress(b"some text,")):
            continue  # what is left is whole
        with pytest.raises(HttpError, match="cut off"):
            decode(coding, whole[:size], 7)


def test_nothing_is_the_coding_of_nothing() -> None:
    assert decode("gzip", b"", 1) == []


def test_data_behind_deflate_content_is_an_error() -> None:
    with pytest.raises(HttpError, match="behind"):
        decode("deflate", zlib.compress(b"text") + b"more", 100)
