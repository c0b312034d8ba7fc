"""JSON text as ECMAScript's ``JSON.parse`` understands it.

Every number is a double: one with an integral value below 2**53 is given as an ``int`` (``1.0``
is 1), any other as a ``float`` (20 digits are rounded, ``1e400`` is Infinity). The last of two
members with one name wins. Members whose names are array indexes come first, in ascending order.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from relay.suite.reader import Place, Reader, in_order, number, place_at

Json: TypeAlias = object
"""None, a bool, an int, a float, a str, a list of these, or a dict of these by str."""

Object: TypeAlias = dict[str, Json]

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class NotUtf8(Exception):
    """Bytes that are not UTF-8, and where the first of them stands."""

    def __init__(self, message: str, hint: str, place: Place) -> None:
        super().__init__(message)
        self.hint = hint
        self.place = place


def decode(data: bytes) -> str:
    """The text of a file, without its byte order mark.

    Raise :class:`NotUtf8`. No byte is guessed or replaced: a suite that pins a text has to mean it.
    """
    body = data.removeprefix(_BOM)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        read = body[: error.start].decode()
        raise NotUtf8(
            f"the byte 0x{body[error.start]:02x} is not UTF-8",
            f"the file is {'UTF-16' if data.startswith(_UTF16) else 'in another encoding'};"
            " save it as UTF-8",
            place_at(read, len(read)),
        ) from error


def parse(text: str) -> Json:
    """The value of a text; raise :class:`~relay.suite.reader.InvalidJson`.

    The standard library's scanner is many times quicker than the reader and knows less: what it
    stumbles over, be it wrong or only nested too deeply for it, is read again.
    """
    try:
        value: Json = _SCANNER.decode(text)
    except (ValueError, RecursionError):
        return Reader(text).read()
    return value


def _members(pairs: list[tuple[str, Json]]) -> Object:
    return in_order(dict(pairs))


def _refuse(constant: str) -> Json:
    raise ValueError(constant)  # NaN and the infinities, which JSON does not have


_SCANNER = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=number, parse_int=number, parse_constant=_refuse
)
