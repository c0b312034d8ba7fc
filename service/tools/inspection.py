"""The tool that looks inside a message database."""

from __future__ import annotations

from typing import Annotated

import polars as pl
from cantools.database.can import Message
from cantools.database.can.signal import Signal
from cantools.subparsers.dump.formatting import layout_string, signal_tree_string
from pydantic import BaseModel, Field

from service.context import Context
from service.decode.database import Database
from service.model.j1939 import pgn
from service.registry import Effect, Positional, Result
from service.tools.databases import DatabaseName
from service.tools.paging import Cursor, Limit, Query, fitting
from service.tools.registry import registry
from service.tools.text import hex_id
from service.tools.windows import version


class DatabaseInfo(BaseModel):
    """The database as a whole."""

    name: str
    format: str
    encoding: str
    message_count: int
    signal_count: int
    node_count: int
    nodes: list[str]


class SignalInfo(BaseModel):
    """Scaled: physical = raw * `scale` + `offset`; `choices` are raw values with their texts."""

    name: str
    message_name: str
    start_bit: int
    length: int
    byte_order: str
    is_signed: bool
    is_float: bool
    scale: float
    offset: float
    minimum: float | None
    maximum: float | None
    unit: str | None
    choices: dict[str, str] | None
    is_multiplexer: bool
    multiplexer_signal: str | None
    multiplexer_ids: list[int] | None
    comment: str | None


class MessageInfo(BaseModel):
    """One message; `cycle_time_ms` is null when the database gives none."""

    name: str
    arbitration_id: int
    arbitration_id_hex: str
    is_extended_id: bool
    is_fd: bool
    pgn: int | None
    length: int
    cycle_time_ms: int | None
    senders: list[str]
    comment: str | None
    signal_count: int
    signal_names: list[str]
    layout: str | None = None
    signal_tree: str | None = None


class Inspection(BaseModel):
    """`messages` and `signals` of this page; signals are listed for a named message or search."""

    dbc: str
    database: DatabaseInfo
    message: str | None
    search: str | None
    found: int
    messages: list[MessageInfo]
    signals: list[SignalInfo]
    next_cursor: str | None


@registry.tool(Effect.READ, command="dbc inspect")
def dbc_inspect(
    context: Context,
    dbc: Annotated[DatabaseName, Positional()],
    message: Annotated[
        str | None, Field(description="Only this message, with its signals.")
    ] = None,
    signals_only: Annotated[bool, Field(description="Signals instead of messages.")] = False,
    search: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="Names that contain this; also a regex."),
    ] = None,
    layout: Annotated[bool, Field(description="Draw the bits of each message.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Inspection | Result:
    """List the messages of a database, or one message's signals with ranges and value tables.

    Errors: DBC_NOT_FOUND, DBC_LOAD_FAILED, DBC_MESSAGE_NOT_FOUND, INVALID_CURSOR.
    """
    database = context.databases.get(dbc)
    messages = [database.message(message)] if message is not None else database.messages
    signals = [(each, signal) for each in messages for signal in each.signals]
    if search is not None:
        hits = _matching(
            search, {signal.name for _, signal in signals} | {m.name for m in messages}
        )
        signals = [pair for pair in signals if pair[1].name in hits or pair[0].name in hits]
        with_signals = {id(pair[0]) for pair in signals}
        messages = [each for each in messages if each.name in hits or id(each) in with_signals]
    query = Query("dbc", dbc, version(database.path), message, signals_only, search, layout)
    start = query.start(cursor) or 0
    total = len(signals) if signals_only else len(messages)
    page = slice(start, start + limit)
    budget = context.answer_bytes // 2
    shown_messages: list[MessageInfo] = []
    if not signals_only:
        infos = (_message_info(each, layout) for each in messages[page])
        shown_messages = fitting(infos, budget)
    if signals_only:
        listed = signals[page]
    elif message is not None or search is not None:
        on_page = {id(each) for each in messages[start : start + len(shown_messages)]}
        listed = [pair for pair in signals if id(pair[0]) in on_page]
    else:
        listed = []
    shown_signals = fitting((_signal_info(*pair) for pair in listed), budget // 2)
    returned = len(shown_signals) if signals_only else len(shown_messages)
    result = Inspection(
        dbc=dbc,
        database=_database_info(database),
        message=message,
        search=search,
        found=total,
        messages=shown_messages,
        signals=shown_signals,
        next_cursor=query.following(start, returned, total),
    )
    warnings = list(database.warnings)
    if not signals_only and len(shown_signals) < len(listed):
        more = len(listed) - len(shown_signals)
        warnings.append(f"{more} more signals of these messages; page them with 'signals_only'")
    return Result(result, warnings)


def _matching(search: str, names: set[str]) -> set[str]:
    """polars' regular expressions run in linear time, so no pattern can hang the service."""
    column = pl.Series("name", sorted(names), dtype=pl.String)
    table = column.to_frame()
    try:
        hits = table.filter(pl.col("name").str.contains(f"(?i){search}"))
    except pl.exceptions.ComputeError:  # no regular expression: then just the text
        hits = table.filter(
            pl.col("name").str.to_lowercase().str.contains(search.lower(), literal=True)
        )
    return set(hits["name"].to_list())


def _database_info(database: Database) -> DatabaseInfo:
    nodes = [node.name for node in database.content.nodes]
    return DatabaseInfo(
        name=database.name,
        format=database.format,
        encoding=database.encoding,
        message_count=len(database.messages),
        signal_count=sum(len(each.signals) for each in database.messages),
        node_count=len(nodes),
        nodes=nodes,
    )


def _message_info(message: Message, layout: bool) -> MessageInfo:
    return MessageInfo(
        name=message.name,
        arbitration_id=message.frame_id,
        arbitration_id_hex=hex_id(message.frame_id, message.is_extended_frame),
        is_extended_id=message.is_extended_frame,
        is_fd=message.is_fd,
        pgn=pgn(message.frame_id) if message.is_extended_frame else None,
        length=message.length,
        cycle_time_ms=message.cycle_time,
        senders=message.senders,
        comment=message.comment,
        signal_count=len(message.signals),
        signal_names=[signal.name for signal in message.signals],
        layout=str(layout_string(message)) if layout else None,  # type: ignore[no-untyped-call]
        signal_tree=str(signal_tree_string(message)) if layout else None,  # type: ignore[no-untyped-call]
    )


def _signal_info(message: Message, signal: Signal) -> SignalInfo:
    choices = signal.choices
    return SignalInfo(
        name=signal.name,
        message_name=message.name,
        start_bit=signal.start,
        length=signal.length,
        byte_order=signal.byte_order,
        is_signed=signal.is_signed,
        is_float=signal.is_float,
        scale=signal.scale,
        offset=signal.offset,
        minimum=signal.minimum,
        maximum=signal.maximum,
        unit=signal.unit,
        choices=None if choices is None else {str(raw): str(text) for raw, text in choices.items()},
        is_multiplexer=signal.is_multiplexer,
        multiplexer_signal=signal.multiplexer_signal,
        multiplexer_ids=signal.multiplexer_ids,
        comment=signal.comment,
    )
