"""Names inside configured roots: the only way from a caller's text to a file on this machine."""

from __future__ import annotations

import difflib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from service.errors import (
    CanferryError,
    CaptureExistsError,
    CaptureSourceUnavailableError,
    CaptureTooLargeError,
    CaptureWriteError,
    DbcLoadError,
    DbcNotFoundError,
    InvalidFileNameError,
    PathOutsideRootsError,
)

MAX_CAPTURE_BYTES = 1 << 30
MAX_DATABASE_BYTES = 32 << 20
DATABASE_SUFFIXES = (".dbc", ".kcd", ".sym", ".arxml")
_EMBEDDED = Path(__file__).parent / "rig"
"""The simulated rig's databases come with the package and are always there."""
_NEW_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,120}")
_LISTED = 12


class Files:
    """Captures and databases by name.

    Confined (every remote caller), a name is looked up inside its roots: absolute paths, ``..``
    and links that lead out are refused. Unconfined (the operator's own command line), any path
    to a regular file is fine too.
    """

    def __init__(self, captures: Path, databases: Sequence[Path], confined: bool = True) -> None:
        self.captures = captures
        self.databases = tuple(databases)
        self.confined = confined

    def capture(self, name: str) -> Path:
        """The path of an existing capture.

        Errors: CaptureSourceUnavailableError, CaptureTooLargeError, PathOutsideRootsError,
        InvalidFileNameError.
        """
        path = self._resolve(name, (self.captures,))
        if path is None:
            raise CaptureSourceUnavailableError(
                f"there is no capture '{name}'", hint=self._captures_hint(name)
            )
        size = _regular_size(path, name, CaptureSourceUnavailableError)
        if size > MAX_CAPTURE_BYTES:
            raise CaptureTooLargeError(
                f"capture '{name}' has {size} bytes; {MAX_CAPTURE_BYTES} are read at most"
            )
        return path

    def database(self, name: str) -> Path:
        """The path of an existing database; the simulated rig's come last.

        Errors: DbcNotFoundError, DbcLoadError (too large), PathOutsideRootsError,
        InvalidFileNameError.
        """
        path = self._resolve(name, (*self.databases, _EMBEDDED))
        if path is None or (path.parent == _EMBEDDED and path.suffix not in DATABASE_SUFFIXES):
            raise DbcNotFoundError(
                f"there is no database '{name}'",
                hint=_listing("database", name, self.database_names()),
            )
        size = _regular_size(path, name, DbcNotFoundError)
        if size > MAX_DATABASE_BYTES:
            raise DbcLoadError(
                f"database '{name}' has {size} bytes; {MAX_DATABASE_BYTES} are read at most"
            )
        return path

    def capture_names(self) -> list[str]:
        return sorted(_names_in(self.captures))

    def database_names(self) -> list[str]:
        roots = (*self.databases, _EMBEDDED)
        return sorted(
            {name for root in roots for name in _names_in(root) if name.endswith(DATABASE_SUFFIXES)}
        )

    def write_capture(self, name: str, write: Callable[[Path], None]) -> Path:
        """Make a new capture: ``write`` fills a temporary file that then takes the name.

        Nobody ever sees half a capture, and an existing one is never replaced.
        Errors: CaptureExistsError, CaptureWriteError, InvalidFileNameError.
        """
        target = self.new_capture(name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".new-", dir=target.parent)
            os.close(handle)
            try:
                write(Path(temporary))
                os.link(temporary, target)  # unlike a rename, fails when the name is taken
            finally:
                Path(temporary).unlink()
        except FileExistsError as error:
            raise CaptureExistsError(f"capture '{name}' is there already") from error
        except OSError as error:
            raise CaptureWriteError(f"capture '{name}': {error.strerror or error}") from error
        return target

    def new_capture(self, name: str) -> Path:
        """The path for a capture to be made; ``.candump`` is appended to a name without suffix.

        Errors: CaptureExistsError, InvalidFileNameError.
        """
        if not _NEW_NAME.fullmatch(name) or name != name.strip():
            raise InvalidFileNameError(f"{name!r} cannot be the name of a new capture")
        path = self.captures / name
        if path.suffix not in (".candump", ".log"):
            path = path.with_name(path.name + ".candump")
        if path.exists() or path.is_symlink():
            raise CaptureExistsError(f"capture '{path.name}' is there already")
        return path

    def _resolve(self, name: str, roots: Sequence[Path]) -> Path | None:
        if not name or "\x00" in name:
            raise InvalidFileNameError(f"{name!r} is not a file name")
        wanted = Path(name)
        if self.confined and (wanted.is_absolute() or ".." in wanted.parts or "\\" in name):
            raise PathOutsideRootsError(f"'{name}' is a path outside the roots")
        if not self.confined and _exists(wanted):
            return wanted
        for root in roots:
            candidate = root / wanted
            if _exists(candidate):
                self._check_inside(candidate, root, name)
                return candidate
        return None

    def _check_inside(self, candidate: Path, root: Path, name: str) -> None:
        if self.confined and not candidate.resolve().is_relative_to(root.resolve()):
            raise PathOutsideRootsError(f"'{name}' is a link to a place outside the roots")

    def _captures_hint(self, name: str) -> str:
        return _listing("capture", name, self.capture_names())


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long for the file system, a folder that may not be searched
        return False


def _regular_size(path: Path, name: str, error: type[CanferryError]) -> int:
    try:
        status = path.stat()
    except OSError as cause:
        raise error(f"'{name}' cannot be read: {cause.strerror}") from cause
    if not stat.S_ISREG(status.st_mode):
        raise error(f"'{name}' is not a regular file")
    if not os.access(path, os.R_OK):
        raise error(f"'{name}' may not be read by the service")
    return status.st_size


def _names_in(root: Path) -> Iterator[str]:
    """Files of a root and of its folders one level down; a huge tree must not stall a hint."""
    for pattern in ("*", "*/*"):
        for path in root.glob(pattern):
            if not path.name.startswith(".") and path.is_file():
                yield path.relative_to(root).as_posix()


def _listing(kind: str, name: str, names: list[str]) -> str:
    if not names:
        return f"There is no {kind} at all in the configured roots yet."
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(repr(each) for each in near)}?"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"There are: {', '.join(names[:_LISTED])}{more}."
