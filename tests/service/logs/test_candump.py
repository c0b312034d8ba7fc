"""The columnar reader: what it reads, what it skips, and that it agrees with the line parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import (
    CaptureEmptyError,
    CaptureFormatUnsupportedError,
    CaptureSourceUnavailableError,
)
from service.logs.candump import parse, read
from service.model.candump import CandumpSyntaxError, parse_line
from service.model.frame import Frame

REGULAR = [
    "(1682437707.894858) can0 0CF00400#F07D8264F5FFFF00",
    "(0.000000) vcan0 123#",
    "(1.5) can0 7FF#1122334455667788 T",
    "(1.5) can0 123#R",
    "(1.5) can0 123#R8 R",
    "(1.5) can0 123##5AABB",
    "(1.5) can0 00000123##0" + "11" * 64,
    "(-3.25) can0 1aBc1234#aaBB",
]
IRREGULAR = [
    "(1) can0 123#11",
    "can0 123#11",
    "123#1122",
    "(1.0) can0 20000004#0004000000000000",
    "(1.0) can0 123#1122334455667788_9",
    "(1.0) can0 FFF#11",
    "(1.0) can0 1234#11",
    "(1.0) can0 123#11.22.33",
    "(1.0)  can0  123   [8]  11 22 33 44 55 66 77 88",
    "can0  18FEEE31   [4]  11 22 33 44",
    "can0  123  [12]  " + "11 " * 12,
    "can0  123  [08]  " + "11 " * 8,
    "(1.5) can0  7FF   [0]",
    "(1.5) can0  7FF   [0]  remote request",
    "(1.5) can0  TX - -  7FF   [1]  11",
    "(1.5) can0  RX B E  7FF  [02]  11 22",
    "can0  20000004   [8]  00 04 00 00 00 00 00 00   ERRORFRAME",
    "can0  123   [2]  41 42   'AB'",
    "<0x18eeff01> [2] 11 22",
    "(1.0) - 123#11",
    "# a comment",
    "   ",
]
BROKEN = [
    "(1.0) can0 123#1",
    "(1.0) can0 123#112233445566778899",
    "(1.0) can0 123##8AABB",
    "(1.0) can0 123##1112233445566778899",
    "(1.0) can0 123#R211",
    "(1.0) can0 3FFFFFFF1#11",
    "(1.0) can0 80000123#11",
    "(1.0) can0 xyz#11",
    "(1.0000000000001) can0 123#11",
    "(1e400) can0 123#11",
    "(nan) can0 123#11",
    "can0  123   [3]  11 22",
    "can0  123  [09]  " + "11 " * 9,
    "can0  123   [2]  1122",
    "Prüfung \xb0C",
    "\xa0(1.0) can0 123#11\xa0",
    "(\xb2.0) can0 123#11",
]


def by_line(text: str) -> list[Frame]:
    frames = []
    for line in text.split("\n"):
        try:
            frame = parse_line(line)
        except CandumpSyntaxError:
            continue
        if frame is not None:
            frames.append(frame)
    return frames


@pytest.mark.parametrize("line", REGULAR + IRREGULAR + BROKEN)
def test_the_columns_agree_with_the_line_parser_on_each_spelling(line: str) -> None:
    assert list(parse(line)) == by_line(line)


PIECES = st.sampled_from(
    ["(1.5)", "(-2.25)", "(7)", " ", "  ", "\t", "can0", "-", "x", "123", "00000123", "7ff", "1234",
     "FFF", "20000080", "#", "##", "1", "5", "8", "R", "R8", "11", "a", "FF" * 8, "00" * 12, "_9",
     " T", " R", ".", "[2]", " [02] ", " 11 22", "\xe9", "\r"]
)  # fmt: skip


@given(lines=st.lists(st.lists(PIECES, max_size=9).map("".join), min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_the_columns_agree_with_the_line_parser_on_any_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    table = parse(text)
    assert list(table) == by_line(text)
    blank = sum(not line.strip() or line.strip().startswith("#") for line in lines)
    assert len(table) + table.skipped.count + blank == len(lines)


@given(
    line=st.sampled_from(REGULAR + IRREGULAR),
    place=st.integers(0, 60),
    removed=st.integers(0, 2),
    inserted=st.text("0189aFxR#T[]()<._- \t", max_size=2),
)
@settings(max_examples=400, deadline=None)
def test_the_columns_agree_with_the_line_parser_on_nearly_right_lines(
    line: str, place: int, removed: int, inserted: str
) -> None:
    changed = line[:place] + inserted + line[place + removed :]
    assert list(parse(changed)) == by_line(changed)


@given(st.lists(st.sampled_from(REGULAR + IRREGULAR + BROKEN), max_size=30))
@settings(max_examples=60, deadline=None)
def test_frames_keep_the_order_of_their_lines(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert list(parse(text)) == by_line(text)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    return path


@pytest.mark.parametrize("name", ["a.candump", "a.log", "a.LOG", "a.txt", "a.asc", "a"])
def test_the_content_decides_and_not_the_suffix(tmp_path: Path, name: str) -> None:
    assert len(read(write(tmp_path / name, "(0.0) can0 123#11\n"))) == 1


def test_windows_line_ends_comments_and_stray_bytes_do_no_harm(tmp_path: Path) -> None:
    content = b"# Pr\xfcfung\r\n(0.0) can0 123#11\r\n\r\nM\xfcll \xb0C\r\n(0.1) can0 123#12"
    table = read(write(tmp_path / "a.log", content))
    assert [frame.data for frame in table] == [b"\x11", b"\x12"]
    assert table.skipped.count == 1
    assert table.skipped.first[0][0] == 4


def test_skipped_lines_are_counted_and_the_first_named_with_a_reason(tmp_path: Path) -> None:
    lines = ["(0.0) can0 123#11", *["(0.1) can0 123#1"] * 10]
    table = read(write(tmp_path / "a.log", "\n".join(lines)))
    [warning] = table.skipped.warnings()
    assert table.skipped.count == 10
    assert warning.startswith("10 lines are no frames")
    assert "line 2: not pairs of hex digits" in warning


def test_line_numbers_go_on_from_block_to_block(tmp_path: Path) -> None:
    lines = [f"({index}.0) can0 123#{index:02X}" for index in range(50)]
    lines[40] = "broken"
    table = read(write(tmp_path / "a.log", "\n".join(lines)), block_bytes=64)
    assert [frame.data[0] for frame in table] == [each for each in range(50) if each != 40]
    assert table.skipped.first[0][0] == 41


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n"])
def test_a_capture_without_frames_is_empty(tmp_path: Path, content: str) -> None:
    with pytest.raises(CaptureEmptyError):
        read(write(tmp_path / "a.candump", content))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"date Mon Sep 30\nbase hex  timestamps absolute\n", "line 1"),
        (b"LOGG\x90\x00\x00\x00", "Vector BLF"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"MDF     4.10", "ASAM MDF"),
        (b"\xa1\xb2\xc3\xd4\x00\x02", "pcap"),
        (b"text\x00text", "binary"),
        (b"x" * 5000, "line 1"),
    ],
)
def test_other_content_is_refused_with_what_it_is(
    tmp_path: Path, content: bytes, words: str
) -> None:
    with pytest.raises(CaptureFormatUnsupportedError, match=words) as caught:
        read(write(tmp_path / "a.log", content))
    assert "candump" in caught.value.hint


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    with pytest.raises(CaptureFormatUnsupportedError, match="has a line of more than"):
        read(write(tmp_path / "a.log", b"x" * 10_000), block_bytes=1024)


def test_a_file_that_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    with pytest.raises(CaptureSourceUnavailableError):
        read(tmp_path / "nowhere.log")
