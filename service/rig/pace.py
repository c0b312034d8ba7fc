"""When the frames of a recording go out again: its own pace, made playable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from service.model.frame import Frame

FALLBACK_SECONDS = 0.001
"""Between frames whose stamps say nothing: all equal, or going back in time."""
MAX_PAUSE_SECONDS = 60.0
"""A longer pause in a recording is cut to this: it is a stop of the recorder or a wrong clock."""
MAX_GROUP = 20_000
"""Frames with one stamp that are held back until the next stamp is known."""


def paced(frames: Iterable[Frame]) -> Iterator[tuple[float, Frame]]:
    """Each frame with the seconds to wait after the previous one, in order, without reading ahead
    further than the next stamp.

    Frames with equal stamps are spread evenly up to the next stamp: a recorder with a coarse clock
    would otherwise make bursts that no bus could carry.
    """
    group: list[Frame] = []
    spacing = 0.0
    for frame in frames:
        if group and (frame.timestamp != group[0].timestamp or len(group) >= MAX_GROUP):
            following = _spacing(group, frame.timestamp)
            yield from _spread(group, spacing, following)
            group, spacing = [], following
        group.append(frame)
    yield from _spread(group, spacing, FALLBACK_SECONDS)


def _spacing(group: list[Frame], next_stamp: float) -> float:
    interval = min(next_stamp - group[0].timestamp, MAX_PAUSE_SECONDS)
    return interval / len(group) if interval > 0 else FALLBACK_SECONDS


def _spread(group: list[Frame], before: float, between: float) -> Iterator[tuple[float, Frame]]:
    for index, frame in enumerate(group):
        yield (between if index else before), frame
