"""The text form of a frame, both ways: what ``candump`` of can-utils writes and people paste.

Written is the log form, ``(1682437707.894858) can0 0CF00400#F07D82`` and a `` T`` behind frames
that this machine sent. Three identifier digits are 11 bit, more are 29 bit; bit 29 marks an error
frame whose lower bits are the classes of Linux ``can/error.h``. A remote frame is ``123#R8``. FD is
``123##5AABB``, where the digit holds the flags 1 BRS, 2 ESI and 4 FDF of Linux ``can.h``.

Read are also: no time or channel, an ``R`` or ``T`` direction, the raw DLC suffix ``_9`` of classic
frames, dots between bytes, the console layout (``can0  123   [8]  11 22 ..``, with or without time
and ``-x`` flags) and the older ``<0x18eeff01> [8] ..``.
"""

from __future__ import annotations

import re

from service.model.frame import MAX_EXTENDED_ID, MAX_STANDARD_ID, Frame, InvalidFrameError

NO_CHANNEL = "-"
"""Stands in a written line for a channel without a name."""

_ERROR_FLAG = 0x20000000
_BRS, _ESI, _FDF = 1, 2, 4

_TIME = r"\((?P<time>-?\d{1,12}(?:\.\d{1,12})?)\)"
_LOG = re.compile(
    rf"(?:{_TIME}\s+)?(?:(?P<channel>\S+)\s+)?(?P<id>[0-9A-Fa-f]{{1,8}})#(?P<body>[^\s]*)"
    r"(?:\s+(?P<direction>[RT]))?",
    re.ASCII,
)
_CONSOLE = re.compile(
    rf"(?:{_TIME}\s+)?"
    r"(?:(?P<channel>[^\s<]\S*)\s+)?"
    r"(?:(?P<direction>[RT])X\s+(?P<brs>[B-])\s+(?P<esi>[E-])\s+)?"
    r"(?:<0[xX](?P<old>[0-9A-Fa-f]{1,8})>|(?P<id>[0-9A-Fa-f]{3,8}))\s+"
    r"(?:\[(?P<length>\d{1,2})\]|\{(?P<raw>[9A-Fa-f])\})(?P<rest>.*)",
    re.ASCII,
)
_BYTES = re.compile(r"(?:\s*[0-9A-Fa-f]{2}(?![0-9A-Fa-f]))*", re.ASCII)
_TAIL = re.compile(r"\s*(?:ERRORFRAME)?\s*(?:'.*')?\s*", re.ASCII)
_REMOTE = re.compile(r"[Rr](?P<length>[0-8])?(?:_[9A-Fa-f])?", re.ASCII)
_RAW_DLC = re.compile(r"_[9A-Fa-f]\Z", re.ASCII)
_HEX_PAIRS = re.compile(r"(?:[0-9A-Fa-f]{2}(?:\.(?=[0-9A-Fa-f]))?)*", re.ASCII)


class CandumpSyntaxError(ValueError):
    """A line that is neither a frame, blank nor a comment; the message says why."""


def format_line(frame: Frame) -> str:
    """The log form with microseconds; ``parse_line`` gives the same frame back.

    White space in a channel's name becomes ``_``, a channel without a name ``-``.
    """
    channel = "_".join(frame.channel.split()) or NO_CHANNEL
    direction = " T" if frame.is_tx else ""
    return f"({frame.timestamp:.6f}) {channel} {format_frame(frame)}{direction}"


def format_frame(frame: Frame) -> str:
    """Identifier and payload alone, as ``cansend`` takes them: ``123#1122``."""
    if frame.is_error:
        identifier = f"{frame.arbitration_id | _ERROR_FLAG:08X}"
    else:
        identifier = f"{frame.arbitration_id:0{8 if frame.is_extended else 3}X}"
    if frame.is_remote:
        return f"{identifier}#R{frame.remote_length or ''}"
    data = frame.data.hex().upper()
    if not frame.is_fd:
        return f"{identifier}#{data}"
    flags = _FDF | _BRS * frame.bitrate_switch | _ESI * frame.error_state_indicator
    return f"{identifier}##{flags:X}{data}"


def parse_line(text: str) -> Frame | None:
    """The frame of one line; None for a blank line or a comment (``#``, ``;`` or ``//``).

    Without a time the frame's is 0, without a channel it is empty. Errors: CandumpSyntaxError.
    """
    line = text.strip()
    if not line or line.startswith(("#", ";", "//")):
        return None
    try:
        if match := _LOG.fullmatch(line):
            return _parse_log(match)
        if match := _CONSOLE.fullmatch(line):
            return _parse_console(match)
    except InvalidFrameError as error:
        raise CandumpSyntaxError(str(error)) from error
    raise CandumpSyntaxError(f"not a candump line: {line[:80]!r}")


def _parse_log(match: re.Match[str]) -> Frame:
    body = match["body"]
    if body.startswith("#"):
        return _parse_fd(match, body[1:])
    if remote := _REMOTE.fullmatch(body):
        return _make(match, match["id"], remote=int(remote["length"] or 0))
    payload, raw_dlc = _RAW_DLC.subn("", body)
    data = _parse_data(payload)
    if raw_dlc and len(data) != 8:
        raise CandumpSyntaxError(f"raw DLC {body[-1]} with {len(data)} bytes: it goes with 8")
    return _make(match, match["id"], data)


def _parse_fd(match: re.Match[str], body: str) -> Frame:
    flags = body[:1]
    if not flags or flags not in "01234567":
        raise CandumpSyntaxError(f"FD flags {flags!r}: one digit of 0..7 stands behind '##'")
    return _make(match, match["id"], _parse_data(body[1:]), fd_flags=int(flags))


def _parse_console(match: re.Match[str]) -> Frame:
    identifier = match["id"] or match["old"]
    length = 8 if match["raw"] else int(match["length"])
    rest = match["rest"]
    if rest.strip().lower() == "remote request":
        return _make(match, identifier, remote=length)
    written = _BYTES.match(rest)
    digits = written[0] if written else ""
    if not _TAIL.fullmatch(rest, len(digits)):
        raise CandumpSyntaxError(f"not pairs of hex digits: {rest[len(digits) :].strip()[:40]!r}")
    data = bytes.fromhex(digits)
    if len(data) != length:
        raise CandumpSyntaxError(f"the length says {length} bytes, the line has {len(data)}")
    # can-utils writes the length of FD frames with two digits, also below ten.
    if len(match["length"] or "") < 2:
        return _make(match, identifier, data)
    flags = _BRS * (match["brs"] == "B") | _ESI * (match["esi"] == "E")
    return _make(match, identifier, data, fd_flags=flags)


def _parse_data(text: str) -> bytes:
    if not _HEX_PAIRS.fullmatch(text):
        raise CandumpSyntaxError(f"not pairs of hex digits: {text[:40]!r}")
    return bytes.fromhex(text.replace(".", ""))


def _make(
    match: re.Match[str],
    identifier: str,
    data: bytes = b"",
    *,
    remote: int | None = None,
    fd_flags: int | None = None,
) -> Frame:
    value = int(identifier, 16)
    is_error = bool(value & _ERROR_FLAG) and len(identifier) == 8
    if value & ~(MAX_EXTENDED_ID | _ERROR_FLAG):
        raise CandumpSyntaxError(f"identifier {identifier} has more than 29 bits")
    channel = match["channel"] or ""
    flags = fd_flags or 0
    return Frame(
        arbitration_id=value & MAX_EXTENDED_ID,
        data=data,
        timestamp=float(match["time"] or 0.0),
        channel="" if channel == NO_CHANNEL else channel,
        is_extended=not is_error and (len(identifier) > 3 or value > MAX_STANDARD_ID),
        is_fd=fd_flags is not None,
        bitrate_switch=bool(flags & _BRS),
        error_state_indicator=bool(flags & _ESI),
        is_remote=remote is not None,
        is_error=is_error,
        is_tx=match["direction"] == "T",
        remote_length=remote or 0,
    )
