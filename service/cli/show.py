"""An envelope for a person: data on stdout, warnings and errors on stderr."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_COLUMNS = 8
_WIDE = 400


def console(*, stderr: bool = False) -> Console:
    """Where to show something; in a file or pipe nobody gains from lines folded at 80 columns."""
    made = Console(stderr=stderr)
    return made if made.is_terminal else Console(stderr=stderr, width=_WIDE)


def show(envelope: dict[str, Any], out: Console, err: Console) -> None:
    """Print the envelope; colours only where the stream is a terminal."""
    for warning in envelope["warnings"]:
        err.print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)
    for error in envelope["errors"]:
        err.print(Text(f"{error['code']}: {error['message']}", style="bold red"), soft_wrap=True)
        if error.get("hint"):
            err.print(Text(f"hint: {error['hint']}"), soft_wrap=True)
    if envelope["ok"]:
        _show_fields(envelope["data"], out)


def _show_fields(data: dict[str, Any], out: Console) -> None:
    """Short values first, then each list or object under its name."""
    small = {key: value for key, value in data.items() if not isinstance(value, list | dict)}
    width = max((len(key) for key in small), default=0)
    for key, value in small.items():
        out.print(Text(f"{key:<{width}}  ", style="bold") + Text(_word(value)), soft_wrap=True)
    for key, value in data.items():
        if key in small or not value:
            continue
        out.print()
        out.print(Text(key, style="bold"))
        _show_group(value, out)


def _show_group(value: dict[str, Any] | list[Any], out: Console) -> None:
    if isinstance(value, dict):
        if all(isinstance(item, dict) for item in value.values()):
            _show_rows([{"": key, **item} for key, item in value.items()], out)
        else:
            for key, item in value.items():
                out.print(Text(f"  {key}  {_word(item)}"), soft_wrap=True)
    elif all(isinstance(item, dict) for item in value):
        _show_rows(value, out)
    else:
        for item in value:
            out.print(Text(f"  {_word(item)}"), soft_wrap=True)


def _show_rows(rows: list[dict[str, Any]], out: Console) -> None:
    """A table where the rows are narrow, a block for each row where they are not."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if len(columns) > _COLUMNS:
        for row in rows:
            _show_block(row, out)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", width=0)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row("", *(Text(_word(row.get(column))) for column in columns))
    out.print(table)


def _show_block(row: dict[str, Any], out: Console) -> None:
    """The first value as heading, then what is set, a line each."""
    (_, heading), *others = row.items()
    out.print(Text(f"  {_word(heading)}", style="bold cyan"), soft_wrap=True)
    known = {key: value for key, value in others if value is not None}
    width = max((len(key) for key in known), default=0)
    for key, value in known.items():
        out.print(Text(f"    {key:<{width}}  ", style="dim") + _word(value), soft_wrap=True)


def _word(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case str():
            return value
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
