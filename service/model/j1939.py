"""The parts of a 29-bit identifier that SAE J1939-21 (5.2) gives a meaning to."""

from __future__ import annotations

FIRST_BROADCAST_FORMAT = 240
"""PDU formats below are PDU1: the byte after them is a destination address."""


def pgn(arbitration_id: int) -> int:
    """The parameter group number, 18 bits: extended data page, data page, PDU format and, for
    PDU2, the group extension."""
    number = arbitration_id >> 8 & 0x3FFFF
    return number if number >> 8 & 0xFF >= FIRST_BROADCAST_FORMAT else number & 0x3FF00


def source_address(arbitration_id: int) -> int:
    return arbitration_id & 0xFF
