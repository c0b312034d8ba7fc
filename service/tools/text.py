"""Identifiers and names as people write them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hex_id(arbitration_id: int, is_extended: bool) -> str:
    """``0x123`` for 11 bits, ``0x00000123`` for 29: the number of digits is the type."""
    return f"0x{arbitration_id:0{8 if is_extended else 3}X}"


def near(name: str, names: Iterable[str]) -> str | None:
    """A hint with the names that look like this one; None if none does."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(each) for each in close)}?" if close else None
