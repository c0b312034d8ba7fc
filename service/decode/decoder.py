"""Frames to signals: cantools does the arithmetic, and no frame can make it give up."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cantools.database.can import Message
from cantools.database.can.signal import Signal
from cantools.database.errors import DecodeError
from cantools.database.namedsignalvalue import NamedSignalValue

from service.decode.database import Database
from service.model.frame import Frame

Number: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Decoded:
    """A frame's signals: physical values (None for NaN and infinity), the texts of those that a
    value table names, and notes on what could not be read as defined. ``match`` says when not
    the frame's own identifier but its parameter group led to the message."""

    message: str
    signals: dict[str, Number | None]
    labels: dict[str, str]
    notes: tuple[str, ...] = ()
    match: str | None = None


class Decoder:
    """Reads frames with one database; keeps what it learns about a message."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._readers: dict[int, _Reader] = {}

    def decode(self, frame: Frame) -> Decoded | None:
        """None: the database does not define the frame, or it has no payload to decode (remote
        and error frames)."""
        if frame.is_remote or frame.is_error:
            return None
        return self.decode_payload(frame.arbitration_id, frame.is_extended, frame.data)

    def decode_payload(self, arbitration_id: int, is_extended: bool, data: bytes) -> Decoded | None:
        """As ``decode``, of the parts of a data frame that matter."""
        match = self._database.match(arbitration_id, is_extended)
        if match is None:
            return None
        reader = self._readers.get(id(match.message))
        if reader is None:
            reader = self._readers[id(match.message)] = _Reader(
                match.message, self._database.is_consistent(match.message)
            )
        decoded = reader.read(data)
        return decoded if match.note is None else replace(decoded, match=match.note)


class _Reader:
    """One message. Reads it whole where cantools can, else signal by signal."""

    def __init__(self, message: Message, is_consistent: bool) -> None:
        self._message = message
        self._alone: dict[str, Message] = {}
        self._by_name = {signal.name: signal for signal in message.signals}
        self._is_consistent = is_consistent

    def read(self, data: bytes) -> Decoded:
        message = self._message
        if message.is_container:
            return Decoded(message.name, {}, {}, ("container messages are not unpacked",))
        notes = []
        if len(data) < message.length:
            notes.append(f"truncated: {len(data)} of {message.length} bytes")
        values = self._whole(data)
        if values is None:
            values = dict(self._one_by_one(message.signal_tree, data, notes))
        signals: dict[str, Number | None] = {}
        labels: dict[str, str] = {}
        for name, value in values.items():
            if isinstance(value, NamedSignalValue):
                labels[name] = value.name
                number = self._scaled(name, value.value)
            else:
                number = value
            signals[name] = number if math.isfinite(number) else None
            if signals[name] is None:
                notes.append(f"{name} is {number}")
        return Decoded(message.name, signals, labels, tuple(notes))

    def _whole(self, data: bytes) -> dict[str, Number | NamedSignalValue] | None:
        if not self._is_consistent:
            return None
        try:
            decoded = self._message.decode_simple(data, allow_truncated=True)
        except DecodeError:  # a multiplexer value without a branch
            return None
        return {name: _value(value) for name, value in decoded.items()}

    def _one_by_one(
        self, tree: object, data: bytes, notes: list[str]
    ) -> Iterator[tuple[str, Number | NamedSignalValue]]:
        """The signals of a signal tree (cantools' nesting of multiplexers) as far as it leads."""
        for node in tree if isinstance(tree, list) else ():
            if isinstance(node, str):
                value = self._single(node, data)
                if value is not None:
                    yield node, value
                continue
            for name, branches in node.items():
                value = self._single(name, data)
                if value is None:
                    continue
                yield name, value
                raw = value.value if isinstance(value, NamedSignalValue) else int(value)
                if raw in branches:
                    yield from self._one_by_one(branches[raw], data, notes)
                else:
                    notes.append(f"multiplexer {name} = {raw} has no signals defined")

    def _single(self, name: str, data: bytes) -> Number | NamedSignalValue | None:
        """One signal on its own, None when the payload is too short for it."""
        if name not in self._alone:
            self._alone[name] = _message_of(self._message, self._by_name[name])
        decoded = self._alone[name].decode_simple(data, allow_truncated=True)
        return _value(decoded[name]) if name in decoded else None

    def _scaled(self, name: str, raw: int) -> Number:
        value = self._by_name[name].conversion.raw_to_scaled(raw, decode_choices=False)
        if isinstance(value, int | float):
            return value
        raise TypeError(f"{name}: {value!r} is no number")


def _value(value: object) -> Number | NamedSignalValue:
    """cantools also allows plain texts as values, which it gives for no database of ours."""
    if isinstance(value, int | float | NamedSignalValue):
        return value
    raise TypeError(f"{value!r} is neither a number nor a value with a name")


def _message_of(message: Message, signal: Signal) -> Message:
    """A message with this signal alone, long enough for it, outside of any multiplexer."""
    alone = copy.copy(signal)
    alone.is_multiplexer = False
    alone.multiplexer_ids = None
    alone.multiplexer_signal = None
    return Message(
        frame_id=message.frame_id,
        name=message.name,
        length=max(message.length, _end_byte(signal)),
        signals=[alone],
        is_extended_frame=message.is_extended_frame,
        strict=False,
    )


def _end_byte(signal: Signal) -> int:
    """Bytes that a signal needs."""
    first = signal.start
    if signal.byte_order == "big_endian":  # numbered from the top bit of each byte
        first = 8 * (signal.start // 8) + 7 - signal.start % 8
    return (first + signal.length + 7) // 8
