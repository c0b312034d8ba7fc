"""Candump text: every form that people paste is read, and what we write reads back the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.model.candump import CandumpSyntaxError, format_frame, format_line, parse_line
from service.model.frame import FD_LENGTHS, Frame

CHANNELS = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x2FF, exclude_categories=("Z", "C")),
    max_size=12,
).filter(lambda name: name != "-")
TIMES = st.integers(-(10**12), 4 * 10**15).map(lambda microseconds: microseconds / 1e6)


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    kind = draw(st.sampled_from(["data", "remote", "error", "fd"]))
    is_extended = kind != "error" and draw(st.booleans())
    is_29_bit = is_extended or kind == "error"
    length = draw(st.sampled_from(FD_LENGTHS)) if kind == "fd" else draw(st.integers(0, 8))
    return Frame(
        arbitration_id=draw(st.integers(0, 0x1FFFFFFF if is_29_bit else 0x7FF)),
        data=b"" if kind == "remote" else draw(st.binary(min_size=length, max_size=length)),
        timestamp=draw(TIMES),
        channel=draw(CHANNELS),
        is_extended=is_extended,
        is_fd=kind == "fd",
        bitrate_switch=kind == "fd" and draw(st.booleans()),
        error_state_indicator=kind == "fd" and draw(st.booleans()),
        is_remote=kind == "remote",
        is_error=kind == "error",
        is_tx=draw(st.booleans()),
        remote_length=length if kind == "remote" else 0,
    )


@given(frames())
def test_a_written_frame_reads_back_equal(frame: Frame) -> None:
    assert parse_line(format_line(frame)) == frame


@given(st.text(max_size=60) | st.from_regex(r"\(1\.0\) can0 [0-9A-F]{3}#.{0,20}"))
def test_any_text_is_a_frame_nothing_or_a_syntax_error(text: str) -> None:
    try:
        frame = parse_line(text)
    except CandumpSyntaxError as error:
        assert str(error)
    else:
        assert frame is None or isinstance(frame, Frame)


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        (
            Frame(0xCF00400, b"\xf0\x7d", 1682437707.894858, "can0", is_extended=True),
            "(1682437707.894858) can0 0CF00400#F07D",
        ),
        (Frame(0x7, b"", 0.0, "can1"), "(0.000000) can1 007#"),
        (Frame(0x7, b"\x01", -1.5, "can1", is_tx=True), "(-1.500000) can1 007#01 T"),
        (Frame(0x123, channel="a", is_remote=True, remote_length=8), "(0.000000) a 123#R8"),
        (Frame(0x123, channel="a", is_remote=True), "(0.000000) a 123#R"),
        (Frame(0x123, b"\xaa", channel="a", is_fd=True), "(0.000000) a 123##4AA"),
        (
            Frame(0x123, channel="a", is_fd=True, bitrate_switch=True, error_state_indicator=True),
            "(0.000000) a 123##7",
        ),
        (
            Frame(0x4, b"\x00\x04", channel="a", is_error=True),
            "(0.000000) a 20000004#0004",
        ),
        (Frame(0x123, channel="PCAN USB 1"), "(0.000000) PCAN_USB_1 123#"),
        (Frame(0x123), "(0.000000) - 123#"),
    ],
)
def test_a_frame_is_written_in_the_log_form(frame: Frame, line: str) -> None:
    assert format_line(frame) == line


def test_the_bare_form_has_neither_time_nor_channel() -> None:
    assert format_frame(Frame(0x123, b"\x11\x22", 5.0, "can0", is_tx=True)) == "123#1122"


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("123#1122", Frame(0x123, b"\x11\x22")),
        ("123#11.22.33", Frame(0x123, b"\x11\x22\x33")),
        ("  can0 7ff#aB \r\n", Frame(0x7FF, b"\xab", channel="can0")),
        ("(1.5)\tcan0\t00000123#", Frame(0x123, b"", 1.5, "can0", is_extended=True)),
        ("(1.5) can0 800#", Frame(0x800, b"", 1.5, "can0", is_extended=True)),
        ("(-2.25) can0 123#00 R", Frame(0x123, b"\x00", -2.25, "can0")),
        ("(0) can0 123#00 T", Frame(0x123, b"\x00", 0, "can0", is_tx=True)),
        ("(1.0) can0 123#R", Frame(0x123, b"", 1.0, "can0", is_remote=True)),
        (
            "(1.0) can0 123#R8_C",
            Frame(0x123, b"", 1.0, "can0", is_remote=True, remote_length=8),
        ),
        (
            "(1.0) can0 123#1122334455667788_9",
            Frame(0x123, bytes.fromhex("1122334455667788"), 1.0, "can0"),
        ),
        (
            "(1.0) can0 123##1AABBCC",
            Frame(0x123, b"\xaa\xbb\xcc", 1.0, "can0", is_fd=True, bitrate_switch=True),
        ),
        (
            "(1.0) can0 123##5AABBCC",
            Frame(0x123, b"\xaa\xbb\xcc", 1.0, "can0", is_fd=True, bitrate_switch=True),
        ),
        (
            "(1.0) can0 20000004#0004000000000000",
            Frame(0x4, bytes.fromhex("0004000000000000"), 1.0, "can0", is_error=True),
        ),
        ("  can0  123   [3]  11 22 33", Frame(0x123, b"\x11\x22\x33", channel="can0")),
        (
            " (1682437707.894858)  can0  0CF00400   [2]  F0 7D",
            Frame(0xCF00400, b"\xf0\x7d", 1682437707.894858, "can0", is_extended=True),
        ),
        ("  vcan0  123   [0]", Frame(0x123, channel="vcan0")),
        ("  vcan0  123   [0]  remote request", Frame(0x123, channel="vcan0", is_remote=True)),
        (
            "  can0  123   [4]  41 42 43 44   'ABCD'",
            Frame(0x123, b"ABCD", channel="can0"),
        ),
        (
            "  can0  123   {9}  11 22 33 44 55 66 77 88",
            Frame(0x123, bytes.fromhex("1122334455667788"), channel="can0"),
        ),
        (
            "  can0  123  [12]  00 01 02 03 04 05 06 07 08 09 0A 0B",
            Frame(0x123, bytes(range(12)), channel="can0", is_fd=True),
        ),
        (
            "  can0  TX B -  123  [01]  07",
            Frame(0x123, b"\x07", channel="can0", is_fd=True, bitrate_switch=True, is_tx=True),
        ),
        ("  can0  RX - -  123   [1]  07", Frame(0x123, b"\x07", channel="can0")),
        (
            "  can0  20000040   [8]  00 00 00 00 00 00 00 00   ERRORFRAME",
            Frame(0x40, bytes(8), channel="can0", is_error=True),
        ),
        ("<0x18eeff01> [2] 05 a0", Frame(0x18EEFF01, b"\x05\xa0", is_extended=True)),
        ("can1 <0x123> [1] 05", Frame(0x123, b"\x05", channel="can1")),
    ],
)
def test_every_form_that_people_paste_is_read(line: str, frame: Frame) -> None:
    assert parse_line(line) == frame


@pytest.mark.parametrize("line", ["", "  \r\n", "# comment", "; comment", "// (1.0) can0 123#"])
def test_blank_lines_and_comments_are_no_frames(line: str) -> None:
    assert parse_line(line) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("(1.0) can0 123#1", "not pairs"),
        ("(1.0) can0 123#11.", "not pairs"),
        ("(1.0) can0 123#112233445566778899", "at most 8"),
        ("(1.0) can0 123##4" + "00" * 9, "CAN FD carries"),
        ("(1.0) can0 123##8AA", "FD flags"),
        ("(1.0) can0 123##", "FD flags"),
        ("(1.0) can0 40000123#11", "29 bits"),
        ("(1.0) can0 FFFFFFFF#11", "29 bits"),
        ("(1.0) can0 123#1122_9", "raw DLC"),
        ("(1.0) can0 123#R9", "not pairs"),
        ("(nan) can0 123#11", "not a candump line"),
        ("(1.0 can0 123#11", "not a candump line"),
        ("can0  123   [3]  11 22", "the length says 3"),
        ("can0  123   [2]  11 22 3", "not pairs"),
        ("can0  123   [2]  11 2233", "not pairs"),
        ("hello", "not a candump line"),
    ],
)
def test_a_damaged_line_says_why(line: str, reason: str) -> None:
    with pytest.raises(CandumpSyntaxError, match=reason):
        parse_line(line)
