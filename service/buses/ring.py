"""The last frames of a bus, numbered, so that a late reader knows what it missed."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from service.model.frame import Frame


@dataclass(frozen=True, slots=True)
class Gap:
    """Frames may be missing from here on. ``timestamp`` is in seconds since the epoch."""

    reason: str
    timestamp: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A frame or a gap marker with its number in the bus' history."""

    sequence: int
    item: Frame | Gap

    @property
    def frame(self) -> Frame | None:
        return self.item if isinstance(self.item, Frame) else None

    @property
    def gap(self) -> Gap | None:
        return self.item if isinstance(self.item, Gap) else None


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive entries. Read on from ``next_sequence``; ``lost`` entries came before the first
    one and were overwritten before they could be read."""

    entries: tuple[Entry, ...]
    next_sequence: int
    lost: int


class Ring:
    """Holds the last ``capacity`` frames and gap markers; both share one numbering from 0.

    Any thread may append and read. Appending takes constant time.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity {capacity}: a ring holds at least one entry")
        self._capacity = capacity
        self._slots: list[Frame | Gap] = []
        self._next = 0
        self._lock = threading.Lock()

    def append(self, frame: Frame) -> Entry:
        return self._append(frame)

    def mark_gap(self, reason: str, timestamp: float) -> Entry:
        return self._append(Gap(reason, timestamp))

    @property
    def next_sequence(self) -> int:
        """The number that the next entry will get."""
        return self._next

    @property
    def first_sequence(self) -> int:
        """The number of the oldest entry still held; ``next_sequence`` if there is none."""
        return max(0, self._next - self._capacity)

    def since(self, sequence: int, limit: int) -> Slice:
        """At most ``limit`` entries from ``sequence`` on, oldest first."""
        with self._lock:
            wanted = min(max(0, sequence), self._next)
            start = max(wanted, self.first_sequence)
            stop = min(start + max(0, limit), self._next)
            items = self._items(start, stop)
        entries = tuple(Entry(start + index, item) for index, item in enumerate(items))
        return Slice(entries, stop, start - wanted)

    def sequence_at(self, timestamp: float) -> int:
        """The number of the oldest entry of the unbroken run of entries at or after ``timestamp``
        that ends with the newest one; ``next_sequence`` if even that one is older."""
        with self._lock:
            sequence = self._next
            while sequence > self.first_sequence:
                if self._slots[(sequence - 1) % self._capacity].timestamp < timestamp:
                    break
                sequence -= 1
            return sequence

    def _append(self, item: Frame | Gap) -> Entry:
        with self._lock:
            sequence = self._next
            if sequence < self._capacity:
                self._slots.append(item)
            else:
                self._slots[sequence % self._capacity] = item
            self._next = sequence + 1
        return Entry(sequence, item)

    def _items(self, start: int, stop: int) -> list[Frame | Gap]:
        if start == stop:
            return []
        first, last = start % self._capacity, (stop - 1) % self._capacity
        if first <= last:
            return self._slots[first : last + 1]
        return self._slots[first:] + self._slots[: last + 1]
