"""How long a frame occupies the bus, in bit times (ISO 11898-1:2015, 10.4 and 10.5)."""

from __future__ import annotations

from dataclasses import dataclass

_CRC15_POLYNOMIAL = 0x4599
_AFTER_CRC = 10  # CRC delimiter, ACK slot and delimiter, end of frame
_INTERMISSION = 3


@dataclass(frozen=True, slots=True)
class ClassicShape:
    """Bits of a classic frame without stuff bits, and how many of them stuffing applies to.

    Stuffing runs from start of frame to the end of the CRC; in the worst case the first stuff bit
    follows five bits and each next one four more.
    """

    total: int
    stuffed: int

    @property
    def worst_stuff_bits(self) -> int:
        return (self.stuffed - 1) // 4


def classic_shape(length: int, is_extended: bool) -> ClassicShape:
    """``length`` is the number of payload bytes on the wire, 0 for a remote frame."""
    stuffed = (54 if is_extended else 34) + 8 * length
    return ClassicShape(stuffed + _AFTER_CRC + _INTERMISSION, stuffed)


@dataclass(frozen=True, slots=True)
class FdShape:
    """Bits of a CAN FD frame by phase, without the payload-dependent stuff bits.

    ``data`` counts the fixed stuff bits of the CRC field, the stuff count and, at the data rate,
    everything from the error state indicator to the CRC delimiter. Without a bit rate switch both
    phases run at the nominal rate.
    """

    nominal: int
    data: int


def fd_shape(length: int, is_extended: bool) -> FdShape:
    header = 36 if is_extended else 17  # start of frame to the bit rate switch
    crc, fixed_stuff = (17, 6) if length <= 16 else (21, 7)
    data = 1 + 4 + 8 * length + 4 + crc + fixed_stuff + 1
    return FdShape(header + _AFTER_CRC - 1 + _INTERMISSION, data)


def classic_bits(
    arbitration_id: int, data: bytes, is_extended: bool, is_remote: bool = False, length: int = 0
) -> int:
    """The exact number of bits of one frame, with its own CRC and stuff bits and intermission.

    ``length`` is used for remote frames, which carry a length and no data.
    """
    bits = _header_bits(arbitration_id, is_extended, is_remote)
    bits += _bits_of(length if is_remote else len(data), 4)
    for byte in data:
        bits += _bits_of(byte, 8)
    bits += _bits_of(_crc15(bits), 15)
    return len(bits) + _stuff_bits(bits) + _AFTER_CRC + _INTERMISSION


def _header_bits(arbitration_id: int, is_extended: bool, is_remote: bool) -> list[int]:
    remote = int(is_remote)
    if not is_extended:
        return [0, *_bits_of(arbitration_id, 11), remote, 0, 0]
    base, extension = arbitration_id >> 18, arbitration_id & 0x3FFFF
    return [0, *_bits_of(base, 11), 1, 1, *_bits_of(extension, 18), remote, 0, 0]


def _bits_of(value: int, width: int) -> list[int]:
    return [value >> shift & 1 for shift in reversed(range(width))]


def _crc15(bits: list[int]) -> int:
    crc = 0
    for bit in bits:
        feedback = bit ^ (crc >> 14)
        crc = (crc << 1) & 0x7FFF
        if feedback:
            crc ^= _CRC15_POLYNOMIAL
    return crc


def _stuff_bits(bits: list[int]) -> int:
    """A bit of opposite value follows five equal ones, and counts for the next run itself."""
    stuffed, last, run = 0, -1, 0
    for bit in bits:
        run = run + 1 if bit == last else 1
        last = bit
        if run == 5:
            stuffed += 1
            last, run = 1 - bit, 1
    return stuffed
