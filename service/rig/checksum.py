"""The end-to-end check of the simulated passenger car's messages."""

from __future__ import annotations

_POLYNOMIAL = 0x1D
_INITIAL = 0xFF
_FINAL_XOR = 0xFF


def crc8_j1850(data: bytes) -> int:
    """CRC-8 as in SAE J1850: polynomial 0x1D, initial value and final XOR 0xFF, not reflected."""
    crc = _INITIAL
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ _POLYNOMIAL if crc & 0x80 else crc << 1) & 0xFF
    return crc ^ _FINAL_XOR


def checksum(arbitration_id: int, data: bytes) -> int:
    """The value for byte 7 of ``data``: over the identifier, high byte first, and bytes 0..6."""
    return crc8_j1850(arbitration_id.to_bytes(2, "big") + data[:7])
