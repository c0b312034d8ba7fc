"""Decoding a whole table: the summary equals decoding frame by frame."""

from __future__ import annotations

from service.decode.catalog import load
from service.decode.decoder import Decoder
from service.decode.summary import affordable, has_key, summarise
from service.logs.candump import parse
from tests.service.decode.samples import COMPLEX

DATABASE = load(COMPLEX.name, COMPLEX)
TABLE = parse(
    """(0.0) can0 100#E803000000000000
(0.1) can0 100#D007030000000000
(0.2) can1 100#E803000000000000
(0.3) can0 200#0900000000500000
(0.4) can0 555#11
(0.5) can0 00000100#1122334455667788
(0.6) can0 18FEF121#FF00010000000000
(0.7) can0 300#0000C07F0000803F
"""
)


def test_the_summary_has_counts_ranges_and_last_values() -> None:
    summary = summarise(TABLE.frames, Decoder(DATABASE))
    assert summary.messages["DriveState"] == 3
    speed = summary.signals["DriveState", "VehicleSpeed"]
    assert (speed.count, speed.minimum, speed.maximum, speed.last) == (3, 10.0, 20.0, 10.0)
    gear = summary.signals["DriveState", "Gear"]
    assert (gear.last, gear.last_label) == (0, "Park")
    latitude = summary.signals["Position", "Latitude"]
    assert (latitude.count, latitude.minimum, latitude.last) == (1, None, None)
    assert summary.notes["CellReport: multiplexer Page = 9 has no signals defined"] == 1


def test_frames_without_a_message_are_counted_per_identifier() -> None:
    summary = summarise(TABLE.frames, Decoder(DATABASE))
    assert summary.unmatched[False, 0x555] == 1
    assert sum(summary.unmatched.values()) + sum(summary.messages.values()) == len(TABLE)


def test_groups_are_counted_apart_from_exact_matches() -> None:
    summary = summarise(TABLE.frames, Decoder(DATABASE))
    assert summary.messages["SpeedGroup"] == 1
    assert summary.by_group >= 1


def test_rows_are_chosen_by_type_and_number() -> None:
    chosen = TABLE.filter(has_key({(False, 0x100)}))
    assert [(frame.arbitration_id, frame.is_extended) for frame in chosen] == [(0x100, False)] * 3
    assert len(TABLE.filter(has_key(set()))) == 0


def test_what_comes_again_costs_nothing() -> None:
    assert len(TABLE) == 8
    assert affordable(TABLE.frames, 7) == 8  # seven distinct payloads
    assert affordable(TABLE.frames, 6) == 6
