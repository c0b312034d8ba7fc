"""How many columns a text takes in a terminal, and texts brought to a number of columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import accumulate

_JOINER = "\u200d"
_AS_EMOJI = "\ufe0f"
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff]")
# The vowels and the finals of Hangul: they stand in the square of the consonant before them.
_JAMO = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")
_CUT = "…"


def width(text: str) -> int:
    """The columns of a text without control characters."""
    if text.isascii():
        return len(text)
    return sum(columns for _, columns in _clusters(text))


def padded(text: str, columns: int) -> str:
    """The text with white space behind it, up to a number of columns."""
    return text + " " * (columns - width(text))


def fitted(text: str, columns: int) -> str:
    """The text, its end cut off if it takes more than a number of columns."""
    if width(text) <= columns:
        return text
    clusters = [*_clusters(text)]
    room = columns - width(_CUT)
    reached = accumulate(wide for _, wide in clusters)
    kept = (cluster for (cluster, _), end in zip(clusters, reached, strict=True) if end <= room)
    return "".join((*kept, _CUT))


def _clusters(text: str) -> Iterator[tuple[str, int]]:
    """What is drawn as one, with its columns; an emoji that is put together takes two."""
    cluster, columns = "", 0
    for character in text:
        own = _columns(character)
        joined = cluster.endswith(_JOINER) and columns == 2
        if cluster and (own == 0 or joined or (columns == 2 and _SKIN_TONES.match(character))):
            cluster += character
            if character == _AS_EMOJI and columns:
                columns = 2
            continue
        yield cluster, columns
        cluster, columns = character, own
    yield cluster, columns


def _columns(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or _JAMO.match(character):
        return 0
    return 1
