"""Message databases by name, loaded once and again when their file changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import cantools
from cantools.database.can import Database as CantoolsDatabase
from cantools.database.can import Message
from cantools.database.errors import UnsupportedDatabaseFormatError

from service.decode.database import Database
from service.errors import DbcLoadError, DbcNotFoundError

_FORMATS = {".dbc": "dbc", ".kcd": "kcd", ".sym": "sym", ".arxml": "arxml"}


@dataclass(frozen=True, slots=True)
class _State:
    """What tells one content of a file from another without reading it."""

    path: Path
    modified_ns: int
    size: int


class Catalog:
    """``locate`` turns a name into a path or raises DbcNotFoundError (``Files.database``)."""

    def __init__(self, locate: Callable[[str], Path]) -> None:
        self._locate = locate
        self._loaded: dict[str, tuple[_State, Database]] = {}
        self._lock = Lock()

    def get(self, name: str) -> Database:
        """The database, from the cache while its file is unchanged. Safe to call from any thread.

        Errors: DbcNotFoundError, DbcLoadError, and those of a name outside the roots.
        """
        path = self._locate(name)
        try:
            status = path.stat()
        except OSError as error:
            raise DbcNotFoundError(f"database '{name}': {error.strerror}") from error
        state = _State(path, status.st_mtime_ns, status.st_size)
        with self._lock:
            known = self._loaded.get(name)
        if known is not None and known[0] == state:
            return known[1]
        database = load(name, path)
        with self._lock:
            self._loaded[name] = (state, database)
        return database


def load(name: str, path: Path) -> Database:
    """Read a database: UTF-8 first, then cp1252; strictly first, then leniently.

    Whatever had to be forgiven is in ``Database.warnings``. Errors: DbcLoadError.
    """
    database_format = _FORMATS.get(path.suffix.lower())
    if database_format is None:
        raise DbcLoadError(
            f"database '{name}': unknown suffix '{path.suffix}'",
            hint=f"Supported: {', '.join(_FORMATS)}.",
        )
    try:
        text, encoding = _decode_text(path.read_bytes())
    except OSError as error:
        raise DbcLoadError(f"database '{name}' cannot be read: {error.strerror}") from error
    warnings = []
    if "\ufffd" in text and encoding != "utf-8":
        warnings.append("some bytes of the file are no cp1252 characters and read as '\ufffd'")
    is_strict = True
    try:
        content = _parse(text, database_format, strict=True)
    except UnsupportedDatabaseFormatError as error:
        is_strict = False
        content, cause = _parse_leniently(text, database_format, name, error)
        warnings.append(f"loaded leniently, since strictly it fails: {cause}")
    warnings += _duplicates(content.messages)
    return Database(name, path, database_format, encoding, content, is_strict, warnings)


def _decode_text(content: bytes) -> tuple[str, str]:
    try:
        return content.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), "cp1252"


def _parse(text: str, database_format: str, *, strict: bool) -> CantoolsDatabase:
    loaded = cantools.database.load_string(text, database_format=database_format, strict=strict)
    if not isinstance(loaded, CantoolsDatabase):
        raise TypeError(f"{database_format} gave {type(loaded).__name__}")
    return loaded


def _parse_leniently(
    text: str, database_format: str, name: str, error: UnsupportedDatabaseFormatError
) -> tuple[CantoolsDatabase, str]:
    cause = _cause(error)
    try:
        return _parse(text, database_format, strict=False), cause
    except UnsupportedDatabaseFormatError as lenient:
        raise DbcLoadError(f"database '{name}': {_cause(lenient)}") from lenient


def _cause(error: UnsupportedDatabaseFormatError) -> str:
    """The parser's own words, with line and column where it has them."""
    text = str(error.__cause__ or error)
    return " ".join(text.split())


def _duplicates(messages: list[Message]) -> list[str]:
    """cantools keeps the last of two messages with one identifier, and says so to its log only."""
    warnings = []
    by_id: dict[tuple[bool, int], str] = {}
    for message in messages:
        key = (message.is_extended_frame, message.frame_id)
        if key in by_id:
            warnings.append(
                f"messages '{by_id[key]}' and '{message.name}' have the same identifier"
                f" {message.frame_id:#x}; frames are decoded as '{message.name}'"
            )
        by_id[key] = message.name
    return warnings
