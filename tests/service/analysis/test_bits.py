"""Frame lengths in bit times, against counts made by hand and an independent CRC."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.analysis.bits import classic_bits, classic_shape, fd_shape


@pytest.mark.parametrize(
    ("length", "is_extended", "total", "longest"),
    [(0, False, 47, 55), (8, False, 111, 135), (0, True, 67, 80), (8, True, 131, 160)],
)
def test_the_known_shortest_and_longest_classic_frames(
    length: int, is_extended: bool, total: int, longest: int
) -> None:
    shape = classic_shape(length, is_extended)
    assert (shape.total, shape.total + shape.worst_stuff_bits) == (total, longest)


def test_a_frame_of_zeros_has_a_stuff_bit_after_every_five() -> None:
    # 34 zero bits up to the end of the CRC, which is zero too: 6 stuff bits.
    assert classic_bits(0, b"", is_extended=False) == 47 + 6


def test_a_remote_frame_differs_from_the_data_frame_of_its_length() -> None:
    remote = classic_bits(0x555, b"", is_extended=False, is_remote=True, length=8)
    assert remote < classic_bits(0x555, bytes(8), is_extended=False)


@given(is_extended=st.booleans(), number=st.integers(0, 0x1FFFFFFF), data=st.binary(max_size=8))
def test_the_exact_length_is_what_stuffing_the_bits_one_by_one_gives(
    is_extended: bool, number: int, data: bytes
) -> None:
    identifier = number if is_extended else number & 0x7FF
    plain = bits_before_crc(identifier, data, is_extended)
    plain += f"{remainder(plain):015b}"
    stuffed = stuff(plain)
    length = classic_bits(identifier, data, is_extended)
    assert length == len(stuffed) + 10 + 3
    shape = classic_shape(len(data), is_extended)
    assert shape.total <= length <= shape.total + shape.worst_stuff_bits


def bits_before_crc(identifier: int, data: bytes, is_extended: bool) -> str:
    if is_extended:
        whole = f"{identifier:029b}"
        header = "0" + whole[:11] + "11" + whole[11:] + "000"
    else:
        header = "0" + f"{identifier:011b}" + "000"
    return header + f"{len(data):04b}" + "".join(f"{byte:08b}" for byte in data)


def remainder(bits: str) -> int:
    """Long division by x^15+x^14+x^10+x^8+x^7+x^4+x^3+1."""
    value, divisor = int(bits, 2) << 15, 0b1100010110011001
    while value.bit_length() > 15:
        value ^= divisor << (value.bit_length() - 16)
    return value


def stuff(bits: str) -> str:
    sent = ""
    for bit in bits:
        sent += bit
        if len(sent) >= 5 and len(set(sent[-5:])) == 1:
            sent += "1" if bit == "0" else "0"
    return sent


def test_an_fd_frame_has_two_phases() -> None:
    # SOF to BRS 17, ACK field 2, EOF 7, intermission 3; ESI 1, DLC 4, stuff count 4, CRC
    # 17 or 21, fixed stuff bits 6 or 7, CRC delimiter 1.
    assert (fd_shape(8, False).nominal, fd_shape(8, False).data) == (29, 33 + 64)
    assert (fd_shape(64, True).nominal, fd_shape(64, True).data) == (48, 38 + 512)
