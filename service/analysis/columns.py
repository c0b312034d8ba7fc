"""J1939 fields (SAE J1939-21, 5.2) as expressions over the column ``id`` of 29-bit rows."""

from __future__ import annotations

import polars as pl

from service.model.j1939 import FIRST_BROADCAST_FORMAT


def pgn_column() -> pl.Expr:
    number = (pl.col("id") // 0x100) & 0x3FFFF
    is_broadcast = (pl.col("id") // 0x10000) & 0xFF >= FIRST_BROADCAST_FORMAT
    return pl.when(is_broadcast).then(number).otherwise(number & 0x3FF00)


def source_address_column() -> pl.Expr:
    return pl.col("id") & 0xFF
