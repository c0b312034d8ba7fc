"""Small databases of our own, and a way to load them."""

from __future__ import annotations

from pathlib import Path

from service.decode.catalog import load
from service.decode.database import Database

HEAD = 'VERSION ""\n\nNS_ :\n\nBS_:\n\nBU_: Node\n\n'
COMPLEX = Path(__file__).parents[2] / "fixtures" / "complex.dbc"


def dbc(*lines: str) -> str:
    return HEAD + "\n".join(lines) + "\n"


def loaded(folder: Path, content: str | bytes, name: str = "sample.dbc") -> Database:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load(name, path)


OVERLAP = dbc(
    "BO_ 100 Bits: 8 Node",
    ' SG_ Low : 0|8@1+ (1,0) [0|0] "" Node',
    ' SG_ Middle : 4|8@1+ (1,0) [0|0] "" Node',
    ' SG_ Signed : 24|16@1- (0.5,0) [0|0] "" Node',
    ' SG_ Motorola : 47|16@0+ (1,0) [0|0] "" Node',
)
"""``Low`` and ``Middle`` share four bits."""
