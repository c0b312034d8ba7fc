"""Signals to a frame: every value checked, every gap filled in the open."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cantools.database.can import Message
from cantools.database.can.signal import Signal
from cantools.database.errors import Error as CantoolsError

from service.decode.database import Database
from service.errors import (
    DbcSignalInvalidError,
    InvalidFrameArgumentsError,
    InvalidSignalAssignmentError,
)
from service.model.frame import FD_LENGTHS, MAX_CLASSIC_LENGTH, Frame

_ITEM = re.compile(r"\s*(?P<name>[^=]+?)\s*=\s*(?P<value>.+?)\s*")
_TOLERANCE = 1e-6
"""Share of a signal's step by which a value may pass its limits: decimal fractions are inexact."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """``values`` are physical, as encoded; ``filled`` those that the caller did not give."""

    frame: Frame
    message: str
    values: dict[str, float]
    filled: dict[str, float]
    notes: list[str]


def encode(database: Database, message_name: str, items: Sequence[str]) -> Encoded:
    """The frame of a message with signals from ``NAME=VALUE`` items.

    VALUE is a number or a text of the signal's value table. Signals not named take their initial
    value, else 0, else their minimum. A multiplexer not named follows from the signals given.
    Errors: DbcMessageNotFoundError, DbcSignalInvalidError (name, value, range, branch),
    InvalidSignalAssignmentError, InvalidFrameArgumentsError (does not fit in one frame).
    """
    message = database.message(message_name)
    _check_encodable(database, message)
    given = {}
    for name, text in _split_items(items):
        signal = database.signal(message, name)
        if signal.name in given:
            raise InvalidSignalAssignmentError(f"signal '{signal.name}' is given twice")
        given[signal.name] = _raw(message, signal, text)
    raw = _complete(message, given)
    if unused := [name for name in given if name not in raw]:
        raise _outside_branch(message, unused[0], raw)
    data, notes = _padded(_payload(message, raw), message)
    values = {name: _physical(_signal(message, name), value) for name, value in raw.items()}
    return Encoded(
        frame=Frame(
            arbitration_id=message.frame_id,
            data=data,
            is_extended=message.is_extended_frame,
            is_fd=_is_fd(message),
        ),
        message=message.name,
        values=values,
        filled={name: value for name, value in values.items() if name not in given},
        notes=notes,
    )


def _check_encodable(database: Database, message: Message) -> None:
    if message.is_container:
        raise InvalidFrameArgumentsError(
            f"message '{message.name}' is a container of other messages",
            hint="Encode one of the messages it contains.",
        )
    if not database.is_consistent(message):
        raise DbcSignalInvalidError(
            f"signals of message '{message.name}' overlap or do not fit: no payload has all values",
            hint="Correct the message in the database.",
        )
    if message.length > max(FD_LENGTHS) or (message.length > 8 and message.protocol == "j1939"):
        raise InvalidFrameArgumentsError(
            f"message '{message.name}' has {message.length} bytes, which is more than one frame",
            hint="It needs a transport protocol (J1939-21 or ISO 15765-2).",
        )


def _payload(message: Message, raw: Mapping[str, int | float]) -> bytes:
    try:
        return message.encode(dict(raw), scaling=False, strict=False)
    except (CantoolsError, OverflowError) as error:  # a database at odds with itself
        raise DbcSignalInvalidError(
            f"message '{message.name}' cannot be encoded: {error}",
            hint="Give other values, or correct the message in the database.",
        ) from error


def _split_items(items: Iterable[str]) -> Iterator[tuple[str, str]]:
    for item in items:
        match = _ITEM.fullmatch(item)
        if match is None:
            raise InvalidSignalAssignmentError(f"{item!r} is not NAME=VALUE")
        yield match["name"], match["value"]


def _raw(message: Message, signal: Signal, text: str) -> int | float:
    """The raw value of what the caller wrote for a signal, known to fit into it."""
    labels = {str(label): raw for raw, label in (signal.choices or {}).items()}
    if text in labels:
        return labels[text]
    for label, raw in labels.items():
        if label.lower() == text.lower():
            return raw
    value = _number(text)
    if value is None:
        near = difflib.get_close_matches(text, labels, n=3, cutoff=0.4) or list(labels)[:12]
        raise DbcSignalInvalidError(
            f"signal '{signal.name}' cannot be '{text}'",
            hint=f"Use a number or one of: {', '.join(near)}." if labels else "Use a number.",
        )
    scaled = signal.conversion.numeric_scaled_to_raw(value)
    if not (signal.choices and scaled in signal.choices):
        _check_range(message, signal, value)
    _check_fits(signal, scaled, text)
    return scaled


def _number(text: str) -> int | float | None:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _check_range(message: Message, signal: Signal, value: float) -> None:
    slack = abs(signal.conversion.scale) * _TOLERANCE
    low, high = signal.minimum, signal.maximum
    if (low is not None and value < low - slack) or (high is not None and value > high + slack):
        unit = f" {signal.unit}" if signal.unit else ""
        raise DbcSignalInvalidError(
            f"signal '{signal.name}' of '{message.name}' cannot be {value}{unit}",
            hint=f"Its range is {low} to {high}{unit}.",
            data={"signal": signal.name, "minimum": low, "maximum": high},
        )


def _check_fits(signal: Signal, raw: int | float, text: str) -> None:
    if signal.is_float:
        return
    lowest, highest = _raw_limits(signal)
    if not lowest <= raw <= highest:
        ends = sorted(_physical(signal, limit) for limit in (lowest, highest))
        raise DbcSignalInvalidError(
            f"signal '{signal.name}' has {signal.length} bits, too few for {text}",
            hint=f"Its bits can carry {ends[0]} to {ends[1]}.",
        )


def _raw_limits(signal: Signal) -> tuple[int, int]:
    if signal.is_signed:
        return -(1 << signal.length - 1), (1 << signal.length - 1) - 1
    return 0, (1 << signal.length) - 1


def _complete(message: Message, given: Mapping[str, int | float]) -> dict[str, int | float]:
    """Raw values of exactly the signals that the message has with these multiplexer values."""
    raw: dict[str, int | float] = {}

    def walk(tree: object) -> None:
        for node in tree if isinstance(tree, list) else ():
            if isinstance(node, str):
                raw[node] = given[node] if node in given else _fill(_signal(message, node))
                continue
            for name, branches in node.items():
                raw[name] = _selector(message, name, branches, given)
                walk(branches[raw[name]])

    walk(message.signal_tree)
    return raw


def _selector(
    message: Message, name: str, branches: Mapping[int, object], given: Mapping[str, int | float]
) -> int:
    if name in given:
        if given[name] not in branches:
            known = ", ".join(str(value) for value in sorted(branches))
            raise DbcSignalInvalidError(
                f"multiplexer '{name}' of '{message.name}' has no signals for {given[name]}",
                hint=f"Its values are: {known}.",
            )
        return int(given[name])
    for value, branch in sorted(branches.items()):
        if any(signal in given for signal in _names(branch)):
            return value
    fill = int(_fill(_signal(message, name)))
    return fill if fill in branches else min(branches)


def _names(tree: object) -> Iterator[str]:
    for node in tree if isinstance(tree, list) else ():
        if isinstance(node, str):
            yield node
            continue
        for name, branches in node.items():
            yield name
            for branch in branches.values():
                yield from _names(branch)


def _fill(signal: Signal) -> int | float:
    if signal.raw_initial is not None:
        return signal.raw_initial
    low, high = signal.minimum, signal.maximum
    zero = signal.conversion.numeric_scaled_to_raw(0)
    lowest, highest = _raw_limits(signal)
    in_range = (low is None or low <= 0) and (high is None or high >= 0)
    if signal.is_float or (in_range and lowest <= zero <= highest):
        return zero
    if low is not None and lowest <= (raw := signal.conversion.numeric_scaled_to_raw(low)):
        return min(raw, highest)
    return 0


def _outside_branch(
    message: Message, name: str, raw: Mapping[str, int | float]
) -> DbcSignalInvalidError:
    signal = _signal(message, name)
    selector = signal.multiplexer_signal or ""
    chosen = f" = {raw[selector]}" if selector in raw else ""
    wanted = ", ".join(str(value) for value in signal.multiplexer_ids or ())
    return DbcSignalInvalidError(
        f"signal '{name}' is not in the message while {selector}{chosen}",
        hint=f"It is there with {selector} = {wanted}.",
    )


def _signal(message: Message, name: str) -> Signal:
    return message.get_signal_by_name(name)


def _physical(signal: Signal, raw: int | float) -> float:
    value = signal.conversion.raw_to_scaled(raw, decode_choices=False)
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{signal.name}: {value!r} is no number")


def _is_fd(message: Message) -> bool:
    return message.is_fd or message.length > MAX_CLASSIC_LENGTH


def _padded(data: bytes, message: Message) -> tuple[bytes, list[str]]:
    """CAN FD has no lengths between 8, 12, 16, 20, 24, 32, 48 and 64 (ISO 11898-1, 8.4.2.4)."""
    if not _is_fd(message) or len(data) in FD_LENGTHS:
        return data, []
    length = min(allowed for allowed in FD_LENGTHS if allowed >= len(data))
    return data.ljust(length, b"\x00"), [f"padded from {len(data)} to {length} bytes"]
