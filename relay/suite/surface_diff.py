"""How the surface of a server changed, and what it means to those who rely on it.

An input schema says what callers may send: to allow less breaks them. An output schema says what
they get: to promise less breaks them. Annotations are what an agent is trusted with.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import cast

from msgspec import Struct

from relay.suite.canonical import canonical
from relay.suite.document import Json, Object
from relay.suite.schema_changes import Effect, SchemaChange, SchemaCode
from relay.suite.schema_diff import compare_schemas
from relay.suite.surface import Surface
from relay.suite.walk import Path
from relay.suite.wording import shown


class Impact(StrEnum):
    """What a change means to those who rely on the surface."""

    BREAKING = "breaking"
    ADDITIVE = "additive"
    COSMETIC = "cosmetic"


class SurfaceCode(StrEnum):
    """How two surfaces differ, beside their schemas."""

    SERVER_CHANGED = "SERVER_CHANGED"
    TOOL_ADDED = "TOOL_ADDED"
    TOOL_REMOVED = "TOOL_REMOVED"
    DESCRIPTION_CHANGED = "DESCRIPTION_CHANGED"
    TITLE_CHANGED = "TITLE_CHANGED"
    ANNOTATION_CHANGED = "ANNOTATION_CHANGED"
    EXECUTION_CHANGED = "EXECUTION_CHANGED"
    OUTPUT_SCHEMA_ADDED = "OUTPUT_SCHEMA_ADDED"
    OUTPUT_SCHEMA_REMOVED = "OUTPUT_SCHEMA_REMOVED"


class Change(Struct, frozen=True):
    """One change: of a tool, or of the server if ``tool`` is None; absent values are None."""

    impact: Impact
    code: SurfaceCode | SchemaCode
    tool: str | None
    place: Path
    old: Json
    new: Json
    why: str

    @property
    def path(self) -> str:
        """Where in the tool, through references: ``inputSchema.properties.unit.enum``."""
        return self.place.inside()


def diff(old: Surface, new: Surface) -> tuple[Change, ...]:
    """Every change from one surface to another, tool by tool."""
    return tuple(_changes(old, new))


def _changes(old: Surface, new: Surface) -> Iterator[Change]:
    for name in sorted({**old.server, **new.server}):
        before, after = old.server.get(name), new.server.get(name)
        if before != after:
            why = f"the {name} of the server was {shown(before)} and is {shown(after)}"
            place = Path() / "server" / name
            code = SurfaceCode.SERVER_CHANGED
            yield Change(Impact.COSMETIC, code, None, place, before, after, why)
    before_tools, after_tools = old.tools, new.tools
    for name in sorted({**before_tools, **after_tools}):
        if name not in after_tools:
            why = "the tool is gone: whoever calls it fails"
            tool = before_tools[name]
            code = SurfaceCode.TOOL_REMOVED
            yield Change(Impact.BREAKING, code, name, Path(), tool, None, why)
        elif name not in before_tools:
            tool = after_tools[name]
            code = SurfaceCode.TOOL_ADDED
            yield Change(Impact.ADDITIVE, code, name, Path(), None, tool, "there is a new tool")
        else:
            yield from _Tool(name, before_tools[name], after_tools[name]).changes()


_SENT = {
    Effect.NARROWS: (Impact.BREAKING, "a call that was valid may be refused"),
    Effect.WIDENS: (Impact.ADDITIVE, "every call that was valid still is"),
    Effect.EXTENDS: (Impact.ADDITIVE, "every call that was made still is valid"),
    Effect.BREAKS: (Impact.BREAKING, "a call may be refused, or mean something else"),
    Effect.TELLS: (Impact.COSMETIC, "calls are valid as before"),
}
_RECEIVED = {
    Effect.NARROWS: (Impact.ADDITIVE, "results promise more than before"),
    Effect.WIDENS: (Impact.BREAKING, "results may be what was ruled out before"),
    Effect.EXTENDS: (Impact.ADDITIVE, "results keep what they promised"),
    Effect.BREAKS: (Impact.BREAKING, "results may not be what was promised"),
    Effect.TELLS: (Impact.COSMETIC, "results are as before"),
}

_HINTS = {
    "readOnlyHint": (False, True),
    "destructiveHint": (True, False),
    "idempotentHint": (False, True),
    "openWorldHint": (True, False),
}
"""Each hint with what holds where it is absent, and which value is the harmless one."""


class _Tool:
    """The two versions of a tool."""

    def __init__(self, name: str, old: Object, new: Object) -> None:
        self._name = name
        self._old = old
        self._new = new

    def changes(self) -> Iterator[Change]:
        for name, code in (
            ("title", SurfaceCode.TITLE_CHANGED),
            ("description", SurfaceCode.DESCRIPTION_CHANGED),
        ):
            before, after = self._old.get(name), self._new.get(name)
            if before != after:
                why = f"the {name} reads otherwise"
                yield self._change(Impact.COSMETIC, code, Path() / name, before, after, why)
        yield from self._annotations()
        before, after = self._old.get("execution"), self._new.get("execution")
        if canonical(before) != canonical(after):
            why = "it is run in another way, which is not analysed"
            code = SurfaceCode.EXECUTION_CHANGED
            yield self._change(Impact.BREAKING, code, Path() / "execution", before, after, why)
        yield from self._input()
        yield from self._output()

    def _change(
        self, impact: Impact, code: SurfaceCode, place: Path, old: Json, new: Json, why: str
    ) -> Change:
        return Change(impact, code, self._name, place, old, new, why)

    def _input(self) -> Iterator[Change]:
        before, after = self._old.get("inputSchema", True), self._new.get("inputSchema", True)
        for change in compare_schemas(Path() / "inputSchema", before, after):
            yield self._of_schema(change, *_SENT[change.effect])

    def _output(self) -> Iterator[Change]:
        place = Path() / "outputSchema"
        before, after = self._old.get("outputSchema"), self._new.get("outputSchema")
        if before is None or after is None:
            if before is not after:
                yield self._promise(place, before, after)
            return
        for change in compare_schemas(place, before, after):
            if change.code is SchemaCode.DEFAULT_CHANGED:  # a server sends what it sends
                yield self._of_schema(change, *_RECEIVED[Effect.TELLS])
            else:
                yield self._of_schema(change, *_RECEIVED[change.effect])

    def _promise(self, place: Path, old: Json, new: Json) -> Change:
        if old is None:
            code, why = SurfaceCode.OUTPUT_SCHEMA_ADDED, "the form of results is promised now"
            return self._change(Impact.ADDITIVE, code, place, old, new, why)
        code, why = SurfaceCode.OUTPUT_SCHEMA_REMOVED, "the form of results is no longer promised"
        return self._change(Impact.BREAKING, code, place, old, new, why)

    def _of_schema(self, change: SchemaChange, impact: Impact, meaning: str) -> Change:
        why = f"{change.what}: {meaning}"
        place, old, new = change.place, change.old, change.new
        return Change(impact, change.code, self._name, place, old, new, why)

    def _annotations(self) -> Iterator[Change]:
        before = cast(Object, self._old.get("annotations", {}))
        after = cast(Object, self._new.get("annotations", {}))
        for name in sorted({**before, **after}):
            old, new = before.get(name), after.get(name)
            if canonical(old) != canonical(new):
                impact, why = _meaning(name, before, after)
                place = Path() / "annotations" / name
                code = SurfaceCode.ANNOTATION_CHANGED
                yield self._change(impact, code, place, old, new, why)


def _meaning(name: str, before: Object, after: Object) -> tuple[Impact, str]:
    """What it means that an annotation changed."""
    if name == "title":
        return Impact.COSMETIC, "the title reads otherwise"
    if name not in _HINTS:
        return Impact.BREAKING, "it is an annotation that is not analysed"
    old, new = _in_force(name, before), _in_force(name, after)
    harmless = _HINTS[name][1]
    if old is new:
        return Impact.COSMETIC, f"{name} is {shown(new)} in force, as before"
    if new is harmless:
        return Impact.ADDITIVE, "the tool promises to do less harm than before"
    return Impact.BREAKING, "the tool may do what an agent was told it would not"


def _in_force(name: str, annotations: Object) -> bool:
    """What a hint means: a tool that reads alone destroys nothing, and may be called again."""
    absent, harmless = _HINTS[name]
    if annotations.get("readOnlyHint") is True and name != "openWorldHint":
        return harmless
    value = annotations.get(name)
    return value if isinstance(value, bool) else absent
