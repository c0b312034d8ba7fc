"""Statistics: keys, gaps, time that goes back, and the bus load."""

from __future__ import annotations

import polars as pl
import pytest

from service.analysis import load
from service.analysis import stats as statistics
from service.logs.candump import parse


def frames_of(*lines: str) -> pl.DataFrame:
    return parse("\n".join(lines)).frames


def test_the_key_is_channel_type_and_number() -> None:
    frames = frames_of(
        "(0.0) can0 123#11",
        "(0.1) can0 00000123#11",
        "(0.2) can1 123#11",
        "(0.3) can0 123#11",
    )
    found = {(row.channel, row.is_extended): row.frame_count for row in statistics.by_id(frames)}
    assert found == {("can0", False): 2, ("can0", True): 1, ("can1", False): 1}
    assert statistics.unique_ids(frames) == 2


def test_gaps_are_in_milliseconds_with_population_jitter() -> None:
    [row] = statistics.by_id(
        frames_of(*[f"({stamp}) can0 123#11" for stamp in ("0.000", "0.010", "0.030", "0.040")])
    )
    assert (row.mean_gap_ms, row.min_gap_ms, row.max_gap_ms) == (13.333, 10.0, 20.0)
    assert row.gap_jitter_ms == 4.714
    assert row.rate_hz == 100.0
    assert (row.first_seen, row.last_seen) == (0.0, 0.04)


def test_a_single_frame_has_no_gap_and_no_rate_without_a_duration() -> None:
    [row] = statistics.by_id(frames_of("(5.0) can0 123#11"))
    assert (row.mean_gap_ms, row.gap_jitter_ms, row.rate_hz) == (None, None, None)


def test_time_that_goes_back_is_counted_and_left_out_of_the_gaps() -> None:
    frames = frames_of(*[f"({stamp}.0) can0 123#11" for stamp in (10, 11, 5, 6)])
    span = statistics.span(frames)
    assert (span.first, span.last, span.duration, span.backward_steps) == (5.0, 11.0, 6.0, 1)
    assert "1 frames" in span.warnings()[0]
    [row] = statistics.by_id(frames)
    assert (row.min_gap_ms, row.max_gap_ms) == (1000.0, 1000.0)


def test_error_frames_are_no_identifiers_lengths_or_load() -> None:
    data = frames_of("(0.0) can0 123#1122", "(1.0) can0 123#1122")
    mixed = frames_of(
        "(0.0) can0 123#1122", "(0.5) can0 20000004#0004000000000000", "(1.0) can0 123#1122"
    )
    assert statistics.count(mixed, "error") == 1
    assert statistics.by_id(mixed) == statistics.by_id(data)
    assert statistics.length_distribution(mixed) == {"2": 2}
    assert load.channel_loads(mixed) == load.channel_loads(data)


def test_nothing_but_error_frames_gives_no_ids() -> None:
    frames = frames_of("(0.5) can0 20000004#0004000000000000")
    assert statistics.by_id(frames) == []
    assert load.channel_loads(frames) == []


def test_the_most_frequent_ids_come_first_and_top_cuts() -> None:
    frames = frames_of("(0.0) can0 300#", "(0.1) can0 200#", "(0.2) can0 300#", "(0.3) can0 100#")
    assert [row.arbitration_id for row in statistics.by_id(frames)] == [0x300, 0x100, 0x200]
    assert [row.arbitration_id for row in statistics.by_id(frames, 1)] == [0x300]


def test_the_load_counts_real_stuff_bits_between_its_bounds() -> None:
    frames = frames_of(*[f"({index}.0) can0 000#" for index in range(10)])
    [channel] = load.channel_loads(frames)
    assert channel.minimum_bits == 10 * 47
    assert channel.maximum_bits == 10 * 55
    assert channel.estimated_bits == 10 * 53
    assert channel.percent(1.0, 500_000) == pytest.approx(100 * 530 / 500_000, abs=0.01)


def test_a_remote_frame_loads_the_bus_without_its_length() -> None:
    [channel] = load.channel_loads(frames_of("(0.0) can0 123#R8"))
    assert channel.minimum_bits == 47


def test_an_fd_frame_with_bit_rate_switch_is_fast_in_its_payload() -> None:
    [switched] = load.channel_loads(frames_of("(0.0) can0 123##5" + "11" * 64))
    [plain] = load.channel_loads(frames_of("(0.0) can0 123##4" + "11" * 64))
    assert (switched.minimum_bits, switched.fast_bits) == (29, 550)
    assert (plain.minimum_bits, plain.fast_bits) == (579, 0)
    assert switched.percent(1.0, 500_000) < plain.percent(1.0, 500_000)


def test_channels_are_loaded_apart() -> None:
    frames = frames_of("(0.0) can1 123#", "(0.0) can0 123#", "(1.0) can0 123#")
    assert [(each.channel, each.minimum_bits) for each in load.channel_loads(frames)] == [
        ("can0", 94),
        ("can1", 47),
    ]
