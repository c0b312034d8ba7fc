"""Bus load per channel: bounds that always hold and an estimate from real stuff bits."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from service.analysis.bits import classic_bits, classic_shape, fd_shape

_SAMPLE = 400
"""Frames per channel whose stuff bits are counted exactly; enough for a ratio within a percent."""
_FD_RATES = {250_000: 1_000_000, 500_000: 2_000_000, 1_000_000: 4_000_000}
"""Nominal bit rate -> data bit rate assumed with it, in bit/s."""

ASSUMPTIONS = (
    "One intermission per frame; retransmissions, error and overload frames do not count. Classic"
    " frames: minimum without and maximum with the most stuff bits possible, estimate with the"
    " stuff bits of an evenly spaced sample, counted exactly. CAN FD: fixed stuff bits only, data"
    " phase of frames with a bit rate switch at four times the nominal rate."
)


@dataclass(frozen=True, slots=True)
class ChannelLoad:
    """Bits of one channel at the nominal rate; ``fast_bits`` are CAN FD's at the data rate."""

    channel: str
    minimum_bits: int
    estimated_bits: int
    maximum_bits: int
    fast_bits: int

    def percent(self, duration: float, bitrate: int) -> float:
        """Estimated load over ``duration`` seconds at one of ``bitrates()``."""
        seconds = self.estimated_bits / bitrate + self.fast_bits / _FD_RATES[bitrate]
        return round(100 * seconds / duration, 2)


def bitrates() -> list[int]:
    """The nominal bit rates in use on most vehicles, in bit/s."""
    return list(_FD_RATES)


def channel_loads(frames: pl.DataFrame) -> list[ChannelLoad]:
    """One entry per channel, by name; of data and remote frames."""
    data = frames.filter(~pl.col("error")).with_columns(
        pl.when(pl.col("remote")).then(0).otherwise(pl.col("length")).alias("bytes")
    )
    return [
        _channel_load(str(channel), part)
        for (channel,), part in sorted(
            data.partition_by("channel", as_dict=True).items(), key=lambda item: str(item[0][0])
        )
    ]


def _channel_load(channel: str, frames: pl.DataFrame) -> ChannelLoad:
    minimum = worst_stuff = fast = 0
    kinds = frames.group_by("fd", "brs", "extended", "bytes").len()
    for is_fd, switched, is_extended, length, count in kinds.iter_rows():
        if not is_fd:
            classic = classic_shape(length, is_extended)
            minimum += classic.total * count
            worst_stuff += classic.worst_stuff_bits * count
        else:
            shape = fd_shape(length, is_extended)
            minimum += (shape.nominal + (0 if switched else shape.data)) * count
            fast += (shape.data if switched else 0) * count
    stuff = round(worst_stuff * _stuff_share(frames.filter(~pl.col("fd"))))
    return ChannelLoad(channel, minimum, minimum + stuff, minimum + worst_stuff, fast)


def _stuff_share(classic: pl.DataFrame) -> float:
    """Real stuff bits of a sample as a share of the most there could be."""
    sample = classic.gather_every(max(1, classic.height // _SAMPLE))
    real = worst = 0
    for number, data, is_extended, is_remote, length, carried in sample.select(
        "id", "data", "extended", "remote", "length", "bytes"
    ).iter_rows():
        shape = classic_shape(carried, is_extended)
        # A data length code above 8 still means 8 bytes; four bits is all there is room for.
        exact = classic_bits(number, data, is_extended, is_remote, min(length, 15))
        real += exact - shape.total
        worst += shape.worst_stuff_bits
    return real / worst if worst else 0.0
