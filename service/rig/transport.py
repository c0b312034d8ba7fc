"""Broadcast of parameter groups longer than a frame: BAM of SAE J1939-21 (5.10)."""

from __future__ import annotations

from service.model.frame import Frame

PACKET_SECONDS = 0.06
"""Between packets; the standard wants 50 to 200 ms."""

_CONNECTION = 0x1CECFF00  # PGN 60416 to all, priority 7; the lowest byte is the source address
_DATA = 0x1CEBFF00  # PGN 60160
_ANNOUNCE = 32
_PACKET_BYTES = 7
_MAX_BYTES = 255 * _PACKET_BYTES
_FILLER = b"\xff"


def broadcast(arbitration_id: int, data: bytes) -> list[Frame]:
    """The announcement and the packets that carry ``data`` in place of one long frame.

    ``arbitration_id`` is that of a PDU2 parameter group. ValueError: 8 bytes or less, or too many.
    """
    if not 8 < len(data) <= _MAX_BYTES:
        raise ValueError(f"{len(data)} bytes: a broadcast carries 9 to {_MAX_BYTES}")
    source = arbitration_id & 0xFF
    group = arbitration_id >> 8 & 0x3FFFF
    chunks = [data[at : at + _PACKET_BYTES] for at in range(0, len(data), _PACKET_BYTES)]
    announcement = (
        bytes([_ANNOUNCE])
        + len(data).to_bytes(2, "little")
        + bytes([len(chunks)])
        + _FILLER
        + group.to_bytes(3, "little")
    )
    packets = [
        bytes([number]) + chunk.ljust(_PACKET_BYTES, _FILLER)
        for number, chunk in enumerate(chunks, start=1)
    ]
    return [
        Frame(_CONNECTION | source, announcement, is_extended=True),
        *(Frame(_DATA | source, packet, is_extended=True) for packet in packets),
    ]
