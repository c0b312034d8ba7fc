"""The headers that a user gives: ``-H`` and the bearer token, with variables and files in them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relay.usage import UsageError

if TYPE_CHECKING:
    from pathlib import Path

BEARER_VARIABLE = "MCP_BEARER_TOKEN"
MAX_SECRET = 1 << 16
"""Bytes of a file whose content goes into a header; more is a mistake."""

_REFERENCE = re.compile(r"\$\{(?:file:(?P<file>[^}]+)|(?P<variable>[A-Za-z_][A-Za-z0-9_]*))\}")
_TOKEN = re.compile(r"[!-~]+")
_LINE = re.compile(r"[^\r\n\0]+")


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file whose content is part of a header; ``option`` is where it was named."""

    path: str
    option: str
    token: bool = False
    """Only visible ASCII will do, not any line of text."""

    def read(self) -> str:
        """Return the content without the blanks around it. Blocks.

        :raises UsageError: if it cannot be part of a header; the text never holds any of it.
        """
        try:
            with _path(self.path).open("rb") as file:
                content = file.read(MAX_SECRET + 1)
        except OSError as error:
            problem = f"cannot read {self.path!r} ({error.strerror})"
            raise UsageError(self.option, problem, "check the path and its rights") from None
        text = content.decode("utf-8", "surrogateescape").strip()
        wanted, what = (_TOKEN, "a token") if self.token else (_LINE, "one line of text")
        if len(content) > MAX_SECRET or not wanted.fullmatch(text):
            problem = f"{self.path!r} does not hold {what}"
            raise UsageError(self.option, problem, "write nothing but the secret into it")
        return text

    @property
    def exposed(self) -> bool:
        """Every user of this machine may read it; Windows does not say so."""
        try:
            mode = _path(self.path).stat().st_mode
        except OSError:
            return False
        return os.name == "posix" and stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)

    @property
    def lasting(self) -> bool:
        """It can be read again; no for a pipe, such as a shell makes of a command."""
        return _path(self.path).is_file()


@dataclass(frozen=True, slots=True)
class GivenHeader:
    """A header to send: its name, and what its value is put together from."""

    name: str
    parts: tuple[str | SecretFile, ...] = field(repr=False)

    @property
    def files(self) -> list[SecretFile]:
        return [part for part in self.parts if isinstance(part, SecretFile)]

    def value(self) -> str:
        """Put the value together. Blocks if there are files. :raises UsageError: as these do."""
        parts = (part if isinstance(part, str) else part.read() for part in self.parts)
        return "".join(parts).strip()


def parse_header(text: str, environ: Mapping[str, str]) -> GivenHeader:
    """Take ``Name: value`` apart, and fill in ``${VARIABLE}``; ``${file:PATH}`` stays a file.

    :raises UsageError: if it is no header, or a variable is missing.
    """
    name, colon, value = text.partition(":")
    name = name.strip()
    if not colon:
        raise UsageError("--header", f"{text!r} is not a header", "write it as 'Name: value'")
    parts: list[str | SecretFile] = []
    position = 0
    for match in _REFERENCE.finditer(value):
        parts.append(value[position : match.start()])
        position = match.end()
        if path := match["file"]:
            parts.append(SecretFile(path, f"--header {name}"))
        elif (variable := match["variable"]) in environ:
            parts.append(environ[variable])
        else:
            problem = f"{name} needs the variable {variable}"
            raise UsageError("--header", problem, f"set {variable}")
    return GivenHeader(name, (*parts, value[position:]))


def bearer(
    variable: str | None,
    file: SecretFile | None,
    others: Sequence[GivenHeader],
    environ: Mapping[str, str],
) -> list[GivenHeader]:
    """Return the ``Authorization`` header, if a bearer token is given (RFC 6750, 2.1).

    :param variable: the variable with the token; :data:`BEARER_VARIABLE` where nothing is named.
    :param file: the file with the token.
    :raises UsageError: if the token cannot be had, or is not the only authorization.
    """
    by_hand = any(header.name.lower() == "authorization" for header in others)
    option = "--bearer-env" if file is None else file.option
    if variable is not None and file is not None:
        raise UsageError(option, "there is --bearer-env too", "use one of them")
    if variable is None and file is None and (by_hand or not environ.get(BEARER_VARIABLE)):
        return []
    if by_hand:
        raise UsageError(option, "there is an Authorization header from -H too", "use one of them")
    token = file or _token_of(variable or BEARER_VARIABLE, environ)
    return [GivenHeader("Authorization", ("Bearer ", token))]


def _path(text: str) -> Path:
    from pathlib import Path  # most runs have no use for it

    return Path(text).expanduser()


def _token_of(variable: str, environ: Mapping[str, str]) -> str:
    token = environ.get(variable, "").strip()
    if not token:
        raise UsageError("--bearer-env", f"the variable {variable} is empty", f"set {variable}")
    if not _TOKEN.fullmatch(token):
        problem = f"the value of {variable} is no token"
        raise UsageError("--bearer-env", problem, "it must be visible ASCII")
    return token
