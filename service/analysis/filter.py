"""What a filter expression selects: as a condition on columns, and for one frame at a time.

A condition on something that a frame does not have is false: ``pgn`` and ``sa`` exist on 29-bit
frames, an identifier on all but error frames, ``data[n]`` on payloads that are long enough. So
``!(pgn == 61444)`` matches 11-bit frames and ``pgn != 61444`` does not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import polars as pl

from service.analysis.columns import pgn_column, source_address_column
from service.analysis.expression import (
    Between,
    Both,
    Compare,
    Contains,
    Either,
    Expression,
    Flag,
    Not,
    OnChannel,
)
from service.model.frame import Frame
from service.model.j1939 import pgn, source_address

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {  # of numbers and of polars columns
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_HAS_ID = ~pl.col("error")
_IS_EXTENDED = _HAS_ID & pl.col("extended")
_FLAG_COLUMNS = {
    "all": pl.lit(True),
    "standard": _HAS_ID & ~pl.col("extended"),
    "extended": _IS_EXTENDED,
    "fd": pl.col("fd"),
    "brs": pl.col("brs"),
    "esi": pl.col("esi"),
    "rtr": pl.col("remote"),
    "err": pl.col("error"),
    "tx": pl.col("tx"),
    "rx": ~pl.col("tx"),
}
_FLAG_VALUES: dict[str, Callable[[Frame], bool]] = {
    "all": lambda frame: True,
    "standard": lambda frame: not frame.is_error and not frame.is_extended,
    "extended": lambda frame: not frame.is_error and frame.is_extended,
    "fd": lambda frame: frame.is_fd,
    "brs": lambda frame: frame.bitrate_switch,
    "esi": lambda frame: frame.error_state_indicator,
    "rtr": lambda frame: frame.is_remote,
    "err": lambda frame: frame.is_error,
    "tx": lambda frame: frame.is_tx,
    "rx": lambda frame: not frame.is_tx,
}


def condition(expression: Expression) -> pl.Expr:
    """The expression as a boolean polars expression over the columns of a frame table."""
    match expression:
        case Flag(name):
            return _FLAG_COLUMNS[name]
        case Compare(field, _, _, _, index) | Between(field, _, _, _, index):
            return _number_condition(expression, field, index)
        case OnChannel(name):
            return pl.col("channel") == name
        case Contains(needle):
            return pl.col("data").bin.contains(needle)
        case Not(part):
            return ~condition(part)
        case Both(parts):
            return reduce(operator.and_, map(condition, parts))
        case Either(parts):
            return reduce(operator.or_, map(condition, parts))


def matches(expression: Expression, frame: Frame) -> bool:
    """Whether the expression selects this frame; agrees with ``condition`` on every frame."""
    match expression:
        case Flag(name):
            return _FLAG_VALUES[name](frame)
        case Compare(field, _, _, _, index) | Between(field, _, _, _, index):
            value = _value(frame, field, index)
            return value is not None and _holds(expression, value)
        case OnChannel(name):
            return frame.channel == name
        case Contains(needle):
            return needle in frame.data
        case Not(part):
            return not matches(part, frame)
        case Both(parts):
            return all(matches(part, frame) for part in parts)
        case Either(parts):
            return any(matches(part, frame) for part in parts)


def _number_condition(atom: Compare | Between, field: str, index: int | None) -> pl.Expr:
    if field == "data" and index is not None:
        # A byte has 256 values: those that fit are a set, which is empty for no byte at all.
        fitting = [bytes([value]) for value in range(256) if _holds(atom, value)]
        return pl.col("data").bin.slice(index, 1).is_in(fitting)
    column, exists = _column(field)
    if atom.mask is not None:
        column = column & atom.mask
    if isinstance(atom, Between):
        return exists & column.is_between(atom.low, atom.high)
    compared: pl.Expr = _COMPARE[atom.comparison](column, atom.value)
    return exists & compared


def _column(field: str) -> tuple[pl.Expr, pl.Expr]:
    match field:
        case "id":
            return pl.col("id"), _HAS_ID
        case "pgn":
            return pgn_column(), _IS_EXTENDED
        case "sa":
            return source_address_column(), _IS_EXTENDED
        case "dlc":
            return pl.col("length"), pl.lit(True)
        case _:
            return pl.col("time"), pl.lit(True)


def _value(frame: Frame, field: str, index: int | None) -> float | None:
    if index is not None:
        return frame.data[index] if index < len(frame.data) else None
    match field:
        case "dlc":
            return frame.length
        case "time":
            return frame.timestamp
    if frame.is_error or (field != "id" and not frame.is_extended):
        return None
    match field:
        case "pgn":
            return pgn(frame.arbitration_id)
        case "sa":
            return source_address(frame.arbitration_id)
    return frame.arbitration_id


def _holds(atom: Compare | Between, value: float) -> bool:
    if atom.mask is not None:
        value = int(value) & atom.mask
    if isinstance(atom, Between):
        return atom.low <= value <= atom.high
    return bool(_COMPARE[atom.comparison](value, atom.value))
