"""Replaying a recording: the same frames in order, at its pace, whatever its stamps are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.buses.fake import FakeNode
from service.errors import ReplayFileError
from service.model.frame import Frame
from service.rig.pace import FALLBACK_SECONDS, MAX_GROUP, MAX_PAUSE_SECONDS, paced
from service.rig.replay import Replay

SMALL = """\
# a drive
(10.000000) can0 123#01
(10.500000) can0 18FEEE31#11223344
not a frame
(11.000000) can1 123#02 T

(13.000000) can0 123##5AABB
"""


def record(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def play(replay: Replay, node: FakeNode, now: float = 100.0, steps: int = 10_000) -> list[float]:
    """The time of each frame."""
    times: list[float] = []
    due: float | None = now
    while due is not None and (steps := steps - 1):
        now = due
        due = replay.step(now)
        times += [now] * (len(node.sent) - len(times))
    return times


def seconds(frames: list[Frame]) -> list[float]:
    at = 0.0
    return [at := at + wait for wait, _ in paced(frames)]


def stamped(*stamps: float) -> list[Frame]:
    return [Frame(number, timestamp=stamp) for number, stamp in enumerate(stamps)]


def test_a_recording_plays_the_same_frames_in_order_at_its_own_pace(tmp_path: Path) -> None:
    node = FakeNode()
    replay = Replay(record(tmp_path / "drive.log", SMALL), node)
    assert replay.describe() == "replay of drive.log: 0 of 5 frames"
    times = play(replay, node)
    assert [(frame.arbitration_id, frame.data) for frame in node.sent] == [
        (0x123, b"\x01"),
        (0x18FEEE31, b"\x11\x22\x33\x44"),
        (0x123, b"\x02"),
        (0x123, b"\xaa\xbb"),
    ]
    assert times == pytest.approx([100.0, 100.5, 101.0, 103.0])
    assert (replay.done, replay.total, replay.skipped) == (4, 4, 1)
    assert replay.describe() == ("replay of drive.log: 4 of 4 frames, 1 lines skipped, finished")


def test_speed_is_a_factor(tmp_path: Path) -> None:
    node = FakeNode()
    times = play(Replay(record(tmp_path / "a.log", SMALL), node, speed=2.0), node)
    assert times == pytest.approx([100.0, 100.25, 100.5, 101.5])


def test_a_loop_starts_over_and_counts_its_rounds(tmp_path: Path) -> None:
    node = FakeNode()
    replay = Replay(record(tmp_path / "a.log", SMALL), node, loop=True)
    times = play(replay, node, steps=10)
    assert [frame.data for frame in node.sent[:4]] == [frame.data for frame in node.sent[4:8]]
    assert times[4] == pytest.approx(103 + FALLBACK_SECONDS)
    assert times[5] - times[4] == pytest.approx(0.5)
    assert "round 3" in replay.describe()


def test_a_pause_of_the_process_makes_no_burst(tmp_path: Path) -> None:
    node = FakeNode()
    replay = Replay(record(tmp_path / "a.log", SMALL), node)
    assert replay.step(100.0) == 100.5
    assert replay.step(500.0) == pytest.approx(500.5)
    assert len(node.sent) == 2


def test_a_node_that_nobody_reads_does_not_fill_up(tmp_path: Path) -> None:
    node = FakeNode()
    replay = Replay(record(tmp_path / "a.log", SMALL), node)
    node.hear(Frame(1))
    replay.step(100.0)
    assert node.received() == []
    replay.close()
    assert node.closed


@pytest.mark.parametrize("text", ["", "# only a comment\n", "rubbish\n"])
def test_a_recording_without_a_frame_is_refused_also_in_a_loop(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReplayFileError, match=r"a\.log"):
        Replay(record(tmp_path / "a.log", text), FakeNode(), loop=True)


def test_a_recording_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReplayFileError, match=r"nowhere\.log"):
        Replay(tmp_path / "nowhere.log", FakeNode())


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_a_speed_is_above_zero(tmp_path: Path, speed: float) -> None:
    with pytest.raises(ValueError, match="speed"):
        Replay(record(tmp_path / "a.log", SMALL), FakeNode(), speed=speed)


def test_equal_stamps_are_spread_up_to_the_next_one() -> None:
    assert seconds(stamped(5, 5, 5, 5, 6, 6, 8)) == pytest.approx(
        [0, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0]
    )


def test_a_recorder_with_a_clock_of_whole_seconds_makes_no_bursts() -> None:
    frames = [Frame(1, timestamp=float(second)) for second in range(5) for _ in range(200)]
    times = seconds(frames)
    assert max(b - a for a, b in pairwise(times)) <= 0.005 + 1e-9
    assert times[800] == pytest.approx(4.0)


def test_stamps_that_go_back_or_stand_still_do_not_stop_the_pace() -> None:
    assert seconds(stamped(10, 11, 5, 6)) == pytest.approx([0, 1, 1 + FALLBACK_SECONDS, 2.001])
    still = seconds(stamped(*[7.0] * 100))
    assert still == pytest.approx([number * FALLBACK_SECONDS for number in range(100)])


def test_a_jump_of_the_recorders_clock_is_a_bounded_pause() -> None:
    assert seconds(stamped(0, 1_700_000_000)) == pytest.approx([0, MAX_PAUSE_SECONDS])


def test_frames_with_one_stamp_are_not_collected_without_limit() -> None:
    endless = (Frame(1, timestamp=7.0) for _ in iter(int, 1))
    source = paced(endless)
    found = [next(source) for _ in range(MAX_GROUP + 10)]
    assert all(wait == FALLBACK_SECONDS for wait, _ in found[1:])


@given(st.lists(st.floats(-1e6, 2e9), max_size=60))
def test_any_stamps_play_every_frame_in_order_without_going_back(stamps: list[float]) -> None:
    frames = [Frame(number, timestamp=stamp) for number, stamp in enumerate(stamps)]
    played = list(paced(frames))
    assert [frame for _, frame in played] == frames
    assert all(0 <= wait <= MAX_PAUSE_SECONDS for wait, _ in played)
    assert all(wait > 0 for wait, _ in played[1:])
