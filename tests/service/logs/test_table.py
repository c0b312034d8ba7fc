"""The frame table: columns and frames are two views of the same, windows cut as defined."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.logs.candump import parse
from service.logs.table import SCHEMA, FrameTable, from_frames
from service.model.frame import FD_LENGTHS, Frame

EXAMPLES = [
    Frame(0x123, b"\x11\x22", 1.5, "can0"),
    Frame(0x18FEEE31, b"", -1.0, "can1", is_extended=True, is_tx=True),
    Frame(0x1, bytes(64), 2.0, "can0", is_fd=True, bitrate_switch=True, error_state_indicator=True),
    Frame(0x1, b"", 2.0, "can0", is_remote=True, remote_length=8),
    Frame(0x4, bytes(8), 2.0, "can0", is_error=True),
]


def test_frames_come_back_as_they_went_in() -> None:
    table = from_frames(EXAMPLES)
    assert table.frames.schema == SCHEMA
    assert list(table) == EXAMPLES


@given(
    st.lists(
        st.builds(
            Frame,
            arbitration_id=st.integers(0, 0x1FFFFFFF),
            data=st.sampled_from(FD_LENGTHS).flatmap(lambda n: st.binary(min_size=n, max_size=n)),
            timestamp=st.integers(-(10**12), 10**12).map(lambda micro: micro / 1e6),
            channel=st.sampled_from(["can0", "vcan1"]),
            is_extended=st.just(True),
            is_fd=st.just(True),
            bitrate_switch=st.booleans(),
            error_state_indicator=st.booleans(),
            is_tx=st.booleans(),
        ),
        max_size=5,
    )
)
@settings(max_examples=50, deadline=None)
def test_the_lines_of_a_table_parse_to_the_same_table(frames: list[Frame]) -> None:
    table = from_frames(frames)
    assert list(parse("\n".join(table.lines()))) == frames


def stamped(*stamps: float) -> FrameTable:
    return from_frames(Frame(index, timestamp=stamp) for index, stamp in enumerate(stamps))


def kept(table: FrameTable) -> list[int]:
    return [frame.arbitration_id for frame in table]


@pytest.mark.parametrize(
    ("offset", "max_frames", "seconds", "expected"),
    [
        (0, None, None, [0, 1, 2, 3]),
        (1, None, None, [1, 2, 3]),
        (1, 2, None, [1, 2]),
        (0, None, 1.0, [0, 1]),
        (1, None, 1.0, [1, 2]),
        (9, None, 1.0, []),
        (0, 1, 3.0, [0]),
    ],
)
def test_a_window_skips_then_counts_seconds_from_its_first_frame(
    offset: int, max_frames: int | None, seconds: float | None, expected: list[int]
) -> None:
    assert kept(stamped(0, 1, 2, 3).window(offset, max_frames, seconds)) == expected


def test_stamps_that_go_back_are_not_within_the_seconds() -> None:
    assert kept(stamped(10, 11, 5, 6).window(seconds=2)) == [0, 1]
