"""How a report looks on the stream it is written to."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from enum import IntEnum
from typing import Literal, TextIO

from msgspec import Struct

from relay.suite.outcome import CaseStatus

_WIDTH_UNKNOWN = 80

Wish = Literal["auto", "always", "never"]


class Colour(IntEnum):
    """ECMA-48, 8.3.117 (SGR)."""

    BOLD = 1
    DIM = 2
    RED = 31
    GREEN = 32
    YELLOW = 33


_COLOURS = {
    CaseStatus.PASSED: Colour.GREEN,
    CaseStatus.FAILED: Colour.RED,
    CaseStatus.TIMED_OUT: Colour.YELLOW,
    CaseStatus.CANCELLED: Colour.DIM,
    CaseStatus.NOT_RUN: Colour.DIM,
}
_MARKS = {
    CaseStatus.PASSED: "✓",
    CaseStatus.FAILED: "✗",
    CaseStatus.TIMED_OUT: "⧖",
    CaseStatus.CANCELLED: "⊘",
    CaseStatus.NOT_RUN: "·",
}
_ASCII_MARKS = {
    CaseStatus.PASSED: "+",
    CaseStatus.FAILED: "x",
    CaseStatus.TIMED_OUT: "t",
    CaseStatus.CANCELLED: "c",
    CaseStatus.NOT_RUN: "-",
}


class Style(Struct, frozen=True):
    """``live`` says that a line may be rewritten, ``width`` how long one may be to be so."""

    colour: bool = False
    live: bool = False
    width: int = _WIDTH_UNKNOWN
    ascii_only: bool = False

    def painted(self, text: str, *colours: Colour) -> str:
        """The text, which must have been made harmless before, in colours."""
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(str(int(colour)) for colour in colours)}m{text}\x1b[0m"

    def mark(self, status: CaseStatus) -> str:
        """One column that says how a case ended."""
        marks = _ASCII_MARKS if self.ascii_only else _MARKS
        return self.painted(marks[status], _COLOURS[status])


def style_for(stream: TextIO, environ: Mapping[str, str], wish: Wish = "auto") -> Style:
    """The style that a stream can take; colours are wished for, or decided by ``NO_COLOR``."""
    live = stream.isatty() and environ.get("TERM") != "dumb"
    return Style(
        colour=wish == "always" or (wish == "auto" and live and not environ.get("NO_COLOR")),
        live=live,
        width=shutil.get_terminal_size((_WIDTH_UNKNOWN, 24)).columns if live else _WIDTH_UNKNOWN,
        ascii_only=not _can_say(stream, "".join(_MARKS.values())),
    )


def _can_say(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
