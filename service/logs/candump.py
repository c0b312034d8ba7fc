"""candump text to columns, at the speed of columns.

The log form and the console layout are read as columns of whole blocks of lines. Every other line
goes to ``parse_line``, which knows all spellings and says why a line is none of them; so both
agree, and no line is lost in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from service.errors import (
    CaptureEmptyError,
    CaptureFormatUnsupportedError,
    CaptureSourceUnavailableError,
)
from service.logs.table import SCHEMA, FrameTable, Skipped, from_frames
from service.model.candump import CandumpSyntaxError, parse_line
from service.model.frame import FD_LENGTHS, Frame

BLOCK_BYTES = 16 << 20
_REPORTED_LINES = 3
_BINARY = {
    b"LOGG": "Vector BLF",
    b"MDF ": "ASAM MDF",
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\xd4\xc3\xb2\xa1": "pcap",
    b"\xa1\xb2\xc3\xd4": "pcap",
    b"\x0a\x0d\x0d\x0a": "pcapng",
    b"SQLite format 3": "SQLite",
}
_LOG = (
    r"^\(-?[0-9]{1,12}\.[0-9]{1,12}\) [^\s#<]{2,} (?:[0-7][0-9A-Fa-f]{2}|[01][0-9A-Fa-f]{7})"
    r"#(?:(?:[0-9A-Fa-f]{2}){0,8}|R[0-8]?|#[0-7](?:[0-9A-Fa-f]{2})*)(?: [RT])?$"
)
"""3 identifier digits are 11 bits and 8 are 29 bits (can-utils, lib.h, parse_canframe)."""
_CONSOLE = (
    r"^(?:\((?P<time>-?[0-9]{1,12}\.[0-9]{1,12})\)[ \t]+)?(?P<channel>[^\s#<(\[]{2,})[ \t]+"
    r"(?P<id>[0-7][0-9A-Fa-f]{2}|[01][0-9A-Fa-f]{7})[ \t]+"
    r"\[(?:(?P<length>[0-8]|[0-9]{2}))\](?P<bytes>(?:[ \t]+[0-9A-Fa-f]{2})*)$"
)
_WORDS = ("time", "channel", "frame", "direction")
_FRAME_PARTS = ("id", "body", "fd_body")
_PARTS = ("row", "time", "channel", "id", "body", "fd_body", "direction")
_BRS, _ESI = 0x1, 0x2


def read(path: Path, block_bytes: int = BLOCK_BYTES) -> FrameTable:
    """All frames of a candump text file of any dialect, in file order.

    ``block_bytes`` are parsed at a time, and no line may be longer.

    Errors: CaptureEmptyError (no frame, and no line that could be one),
    CaptureFormatUnsupportedError (other content), CaptureSourceUnavailableError.
    """
    lines = _Lines()
    tables = []
    try:
        for block in _blocks(path, block_bytes):
            if lines.total == 0:
                _refuse_binary(block, path.name)
            tables.append(lines.read(block))
            if lines.frames == 0 and lines.skipped:
                break  # not one frame in a whole block: some other text
    except OSError as error:
        raise CaptureSourceUnavailableError(
            f"'{path.name}' cannot be read: {error.strerror}"
        ) from error
    if lines.frames == 0:
        raise _no_frames(path.name, lines)
    return FrameTable(pl.concat(tables), Skipped(lines.skipped, tuple(lines.first_skipped)))


def parse(text: str) -> FrameTable:
    """The frames of a text, which may be without any."""
    lines = _Lines()
    frames = lines.read(text.encode("latin-1", errors="replace"))
    return FrameTable(frames, Skipped(lines.skipped, tuple(lines.first_skipped)))


@dataclass
class _Lines:
    """Reads block after block and keeps the line numbers."""

    total: int = 0
    frames: int = 0
    skipped: int = 0
    first_skipped: list[tuple[int, str]] = field(default_factory=list)

    def read(self, block: bytes) -> pl.DataFrame:
        # Latin-1 maps every byte to a character: a stray byte spoils its own line alone.
        texts = block.decode("latin-1").split("\n")
        regular, others = _split(pl.DataFrame({"line": texts}).with_row_index("row"))
        rows, parsed = self._parse(others)
        irregular = from_frames(parsed).frames.with_columns(
            pl.Series("row", rows, dtype=pl.get_index_type())
        )
        table = pl.concat([regular, irregular], how="diagonal").sort("row").select(SCHEMA.names())
        self.total += len(texts)
        self.frames += table.height
        return table

    def _parse(self, others: pl.DataFrame) -> tuple[list[int], list[Frame]]:
        rows, frames = [], []
        for row, text in others.iter_rows():
            try:
                frame = parse_line(text)
            except CandumpSyntaxError as error:
                self.skipped += 1
                if len(self.first_skipped) < _REPORTED_LINES:
                    self.first_skipped.append((self.total + row + 1, str(error)))
                continue
            if frame is not None:
                rows.append(row)
                frames.append(frame)
        return rows, frames


def _split(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The frames of regular lines with the columns of SCHEMA and ``row``; the other lines."""
    stripped = lines.with_columns(pl.col("line").str.strip_chars())
    is_log = pl.col("line").str.contains(_LOG)
    parts = pl.concat(
        [_log_parts(stripped.filter(is_log)), _console_parts(stripped.filter(~is_log))]
    )
    length = pl.col("fd_body").str.len_bytes() // 2
    parts = parts.filter(length.is_null() | length.is_in(FD_LENGTHS))
    others = stripped.join(parts, on="row", how="anti").filter(pl.col("line") != "")
    return parts.select("row", *_columns()), others.sort("row")


def _log_parts(lines: pl.DataFrame) -> pl.DataFrame:
    """A pattern that only judges is much faster than one that also takes apart; that is left to
    the blanks and the ``#``, which the pattern allows in their places alone."""
    words = lines.select("row", _parts("line", " ", _WORDS)).unnest("line")
    return words.with_columns(_parts("frame", "#", _FRAME_PARTS).struct.unnest()).select(_PARTS)


def _console_parts(lines: pl.DataFrame) -> pl.DataFrame:
    """can-utils writes the length of CAN FD frames with two digits."""
    parts = lines.select("row", pl.col("line").str.extract_groups(_CONSOLE).struct.unnest())
    digits = pl.col("bytes").str.replace_all(r"\s", "")
    is_fd = pl.col("length").str.len_bytes() == 2
    counted = parts.filter(pl.col("length").cast(pl.UInt32) == digits.str.len_bytes() // 2)
    return counted.select(
        "row",
        pl.col("time").fill_null("0.0"),
        "channel",
        "id",
        pl.when(~is_fd).then(digits).otherwise(pl.lit("")).alias("body"),
        pl.when(is_fd).then(pl.lit("0") + digits).alias("fd_body"),
        pl.lit(None, pl.String).alias("direction"),
    )


def _parts(column: str, separator: str, names: Sequence[str]) -> pl.Expr:
    split = pl.col(column).str.split_exact(separator, len(names) - 1)
    return split.struct.rename_fields(names)


def _columns() -> list[pl.Expr]:
    is_fd = pl.col("fd_body").is_not_null()
    is_remote = pl.col("body").str.starts_with("R")
    flags = pl.col("fd_body").str.slice(0, 1).str.to_integer(base=16).fill_null(0)
    digits = (
        pl.when(is_fd)
        .then(pl.col("fd_body").str.slice(1))
        .when(is_remote)
        .then(pl.lit(""))
        .otherwise(pl.col("body"))
    )
    asked = pl.col("body").str.slice(1).cast(pl.UInt8, strict=False).fill_null(0)
    return [
        pl.col("time").str.strip_chars("()").cast(pl.Float64),
        pl.col("channel"),
        pl.col("id").str.to_integer(base=16, dtype=pl.UInt32),
        (pl.col("id").str.len_bytes() == 8).alias("extended"),
        is_fd.alias("fd"),
        ((flags & _BRS) != 0).alias("brs"),
        ((flags & _ESI) != 0).alias("esi"),
        is_remote.alias("remote"),
        pl.lit(False).alias("error"),
        (pl.col("direction") == "T").fill_null(False).alias("tx"),
        pl.when(is_remote)
        .then(asked)
        .otherwise(digits.str.len_bytes() // 2)
        .cast(pl.UInt8)
        .alias("length"),
        digits.str.decode("hex").alias("data"),
    ]


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    """Whole lines, about ``size`` bytes at a time; no line, however long, fills the memory."""
    with path.open("rb") as file:
        rest = b""
        while chunk := file.read(size):
            whole, newline, tail = chunk.rpartition(b"\n")
            if newline:
                yield rest + whole
                rest = tail
            else:
                rest += chunk
                if len(rest) > size:
                    raise CaptureFormatUnsupportedError(
                        f"'{path.name}' has a line of more than {size} bytes"
                    )
        yield rest


def _refuse_binary(block: bytes, name: str) -> None:
    for magic, kind in _BINARY.items():
        if block.startswith(magic):
            raise CaptureFormatUnsupportedError(f"'{name}' is a {kind} file, not candump text")
    if b"\x00" in block[:4096]:
        raise CaptureFormatUnsupportedError(f"'{name}' is a binary file, not candump text")


def _no_frames(name: str, lines: _Lines) -> CaptureEmptyError | CaptureFormatUnsupportedError:
    if not lines.skipped:
        return CaptureEmptyError(f"capture '{name}' holds no frames")
    number, reason = lines.first_skipped[0]
    return CaptureFormatUnsupportedError(f"'{name}' is no candump text; line {number}: {reason}")
