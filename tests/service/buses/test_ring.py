"""The ring: against a plain list, and with a reader that comes late."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.buses.ring import Gap, Ring
from service.model.frame import Frame

APPENDS = st.lists(st.booleans(), max_size=60)


@given(st.integers(1, 12), APPENDS, st.integers(-5, 70), st.integers(0, 20))
def test_a_slice_is_what_a_list_would_give_and_the_rest_is_counted_as_lost(
    capacity: int, appends: list[bool], sequence: int, limit: int
) -> None:
    ring = Ring(capacity)
    model: list[Frame | Gap] = []
    for number, is_frame in enumerate(appends):
        if is_frame:
            entry = ring.append(Frame(number, timestamp=float(number)))
        else:
            entry = ring.mark_gap("gone", float(number))
        assert entry.sequence == number
        model.append(entry.item)

    found = ring.since(sequence, limit)

    oldest = max(0, len(model) - capacity)
    wanted = min(max(sequence, 0), len(model))
    start = max(wanted, oldest)
    expected = list(enumerate(model))[start : start + limit]
    assert [(entry.sequence, entry.item) for entry in found.entries] == expected
    assert found.lost == start - wanted
    assert found.next_sequence == start + len(expected)
    assert (ring.first_sequence, ring.next_sequence) == (oldest, len(model))


@given(st.integers(1, 7), st.integers(1, 9), st.integers(0, 40))
def test_paging_meets_every_entry_once_or_counts_it_as_lost(
    capacity: int, page: int, count: int
) -> None:
    ring = Ring(capacity)
    seen = lost = sequence = 0
    for number in range(count):
        ring.append(Frame(number))
        if number % 3 == 0:
            part = ring.since(sequence, page)
            seen, lost, sequence = seen + len(part.entries), lost + part.lost, part.next_sequence
    while sequence < ring.next_sequence:
        part = ring.since(sequence, page)
        seen, lost, sequence = seen + len(part.entries), lost + part.lost, part.next_sequence
    assert seen + lost == count


@given(
    st.integers(1, 8),
    st.lists(st.integers(0, 9), max_size=30),
    st.integers(0, 10),
)
def test_a_time_is_found_as_the_start_of_the_last_unbroken_run(
    capacity: int, stamps: list[int], wanted: int
) -> None:
    ring = Ring(capacity)
    for stamp in stamps:
        ring.append(Frame(1, timestamp=float(stamp)))
    expected = len(stamps)
    while expected > ring.first_sequence and stamps[expected - 1] >= wanted:
        expected -= 1
    assert ring.sequence_at(float(wanted)) == expected


def test_an_entry_is_either_a_frame_or_a_gap() -> None:
    ring = Ring(2)
    frame = ring.append(Frame(1))
    gap = ring.mark_gap("driver gone", 5.0)
    assert (frame.frame, frame.gap) == (Frame(1), None)
    assert (gap.frame, gap.gap) == (None, Gap("driver gone", 5.0))


def test_a_ring_needs_room() -> None:
    with pytest.raises(ValueError, match="capacity 0"):
        Ring(0)


def test_a_reader_beside_a_writer_sees_consecutive_entries() -> None:
    ring = Ring(50)
    count = 20_000

    def write() -> None:
        for number in range(count):
            ring.append(Frame(number % 0x800, timestamp=float(number)))

    writer = threading.Thread(target=write)
    writer.start()
    sequence = met = 0
    while met < count:
        part = ring.since(sequence, 20)
        first = sequence + part.lost
        for index, entry in enumerate(part.entries):
            assert entry.sequence == first + index
            assert entry.item.timestamp == float(entry.sequence)
        met += part.lost + len(part.entries)
        sequence = part.next_sequence
    writer.join(5)
    assert sequence == count
