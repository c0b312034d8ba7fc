"""The surface of a server's tools, kept in a file of its own: all that a client can rely on.

The file is the same for the same tools, whatever their order and that of their members. ``_meta``
and icons are left out, which change from run to run and promise nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from relay.suite.canonical import by_code_unit, fingerprint
from relay.suite.document import Json, NotUtf8, Object, decode, parse
from relay.suite.fields import check_json, check_text, is_whole
from relay.suite.issues import Issue, IssueCode, Issues, placed
from relay.suite.pretty import pretty
from relay.suite.reader import InvalidJson, Place
from relay.suite.walk import Path, run
from relay.suite.wording import shown

SURFACE_VERSION = 1

_SURFACE = ("schemaVersion", "server", "tools")
_SERVER = ("name", "version", "revision")
_TEXTS = ("title", "description")
_OBJECTS = ("annotations", "execution", "inputSchema", "outputSchema")
_TOOL = ("name", *_TEXTS, *_OBJECTS)


class SurfaceFault(StrEnum):
    """Why something is no surface, as a whole."""

    ENCODING_INVALID = "SURFACE_ENCODING_INVALID"
    JSON_INVALID = "SURFACE_JSON_INVALID"
    VALIDATION_FAILED = "SURFACE_VALIDATION_FAILED"


class NoSurface(Struct, frozen=True):
    """What is no surface, and all that stands against it."""

    code: SurfaceFault
    issues: tuple[Issue, ...]


class Surface:
    """The tools of a server, and what the server says of itself."""

    def __init__(self, document: Object) -> None:
        self.document = document

    @property
    def server(self) -> Mapping[str, str]:
        """Its name, version and protocol revision, as far as they are known."""
        return cast(dict[str, str], self.document.get("server", {}))

    @cached_property
    def tools(self) -> dict[str, Object]:
        """The tools by their names, in the order of these."""
        tools = {str(tool["name"]): tool for tool in cast(list[Object], self.document["tools"])}
        return dict(sorted(tools.items(), key=lambda tool: by_code_unit(tool[0])))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the tools. What the server says of itself is not a part of it."""
        tools: list[Json] = list(self.tools.values())
        return fingerprint({"schemaVersion": SURFACE_VERSION, "tools": tools})

    @property
    def text(self) -> str:
        """The file, in the one way in which it is written."""
        return pretty({**self.document, "tools": list(self.tools.values())}, ordered=True)


def snapshot(tools: Iterable[Json], server: Mapping[str, str] | None = None) -> Surface | NoSurface:
    """The surface of the tools in a ``tools/list`` result."""
    document: Object = {
        "schemaVersion": SURFACE_VERSION,
        **({"server": dict(server)} if server else {}),
        "tools": [_lasting(tool) for tool in tools],
    }
    return _checked(document)


def load_surface(data: bytes) -> Surface | NoSurface:
    """Read a surface from the bytes of a file."""
    try:
        text = decode(data)
        document = parse(text)
    except NotUtf8 as error:
        return _unreadable(SurfaceFault.ENCODING_INVALID, str(error), error.hint, error.place)
    except InvalidJson as error:
        return _unreadable(SurfaceFault.JSON_INVALID, str(error), error.hint, error.place)
    surface = _checked(document)
    if isinstance(surface, Surface):
        return surface
    return replace(surface, issues=placed(surface.issues, text))


def _lasting(tool: Json) -> Json:
    if not isinstance(tool, dict):
        return tool
    return {name: tool[name] for name in _TOOL if tool.get(name) is not None}


def _checked(document: Json) -> Surface | NoSurface:
    issues = Issues()
    _check_surface(issues, document)
    if issues.found or not isinstance(document, dict):
        return NoSurface(SurfaceFault.VALIDATION_FAILED, tuple(issues.found))
    return Surface(document)


def _unreadable(code: SurfaceFault, message: str, hint: str, place: Place) -> NoSurface:
    issue = Issue(IssueCode.INVALID_VALUE, Path(), message, hint, place.line, place.column)
    return NoSurface(code, (issue,))


def _check_surface(issues: Issues, document: Json) -> None:
    root = Path()
    if not isinstance(document, dict):
        issues.wrong(IssueCode.INVALID_TYPE, root, document, "an object: the surface of a server")
        return
    _check_version(issues, root, document)
    if "server" in document:
        _check_server(issues, root / "server", document["server"])
    issues.unknown(root, document, _SURFACE, "a surface")
    tools = document.get("tools")
    if "tools" not in document:
        issues.missing(root, "tools", "an array of tools")
    elif not isinstance(tools, list):
        issues.wrong(IssueCode.INVALID_TYPE, root / "tools", tools, "an array of tools")
    else:
        seen: set[str] = set()
        for index, tool in enumerate(tools):
            _check_tool(issues, root / "tools" / index, tool, seen)


def _check_version(issues: Issues, root: Path, document: Object) -> None:
    version = document.get("schemaVersion")
    if "schemaVersion" not in document:
        issues.missing(root, "schemaVersion", str(SURFACE_VERSION))
    elif not is_whole(version) or version != SURFACE_VERSION:
        wanted = f"the number {SURFACE_VERSION}, the only version there is"
        code = IssueCode.UNSUPPORTED_SCHEMA_VERSION
        issues.wrong(code, root / "schemaVersion", version, wanted)


def _check_server(issues: Issues, place: Path, server: Json) -> None:
    if not isinstance(server, dict):
        issues.wrong(IssueCode.INVALID_TYPE, place, server, "an object: name, version, revision")
        return
    _check_strings(issues, place, server, _SERVER)
    issues.unknown(place, server, _SERVER, "a server")


def _check_tool(issues: Issues, place: Path, tool: Json, seen: set[str]) -> None:
    if not isinstance(tool, dict):
        issues.wrong(IssueCode.INVALID_TYPE, place, tool, "an object: a tool")
        return
    check_text(issues, place, tool, "name", "the name of a tool")
    name = tool.get("name")
    if isinstance(name, str) and name in seen:
        message = f"there is another tool {shown(name)}"
        hint = "keep one: a client cannot tell them apart"
        issues.add(IssueCode.INVALID_VALUE, place / "name", message, hint)
    elif isinstance(name, str):
        seen.add(name)
    _check_strings(issues, place, tool, _TEXTS)
    for field in _OBJECTS:
        if field in tool and not isinstance(tool[field], dict):
            issues.wrong(IssueCode.INVALID_TYPE, place / field, tool[field], "an object")
    run(check_json(issues, place, tool))
    issues.unknown(place, tool, _TOOL, "a tool")


def _check_strings(issues: Issues, place: Path, owner: Object, names: Iterable[str]) -> None:
    for name in names:
        if name in owner and not isinstance(owner[name], str):
            issues.wrong(IssueCode.INVALID_TYPE, place / name, owner[name], "a text")
