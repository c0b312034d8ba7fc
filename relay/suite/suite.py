"""A test suite, as its file says it: cases, the operation of each, and what must hold after it."""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import fields

from relay.suite.document import Object

SCHEMA_VERSION = 1
DEFAULT_TIMEOUT_MS = 10_000
ApprovedStatus = Literal["passed", "serverDefect"]


class ListTools(Struct, frozen=True, tag="listTools"):
    """Ask the server for all its tools (``tools/list``, every page)."""


class CallTool(Struct, frozen=True, tag="callTool"):
    """Call a tool (``tools/call``)."""

    tool: str
    input: Object


class ToolExists(Struct, frozen=True, tag="toolExists"):
    """A tool with this name is in the list."""

    tool: str


class IsError(Struct, frozen=True, tag="isError"):
    """The result's ``isError`` has this value; absent it is false."""

    expected: bool


class BodyMatchesSchema(Struct, frozen=True, tag="bodyMatchesSchema"):
    """The text of the result, parsed if it is a JSON object or array, matches the schema."""

    schema: Object


class StructuredContentMatchesSchema(Struct, frozen=True, tag="structuredContentMatchesSchema"):
    """The ``structuredContent`` of the result matches the schema."""

    schema: Object


Operation: TypeAlias = ListTools | CallTool
Assertion: TypeAlias = ToolExists | IsError | BodyMatchesSchema | StructuredContentMatchesSchema

ASSERTIONS: dict[type[Operation], tuple[type[Assertion], ...]] = {
    ListTools: (ToolExists,),
    CallTool: (IsError, BodyMatchesSchema, StructuredContentMatchesSchema),
}
"""What may be asserted of which operation."""


class Case(Struct, frozen=True, rename="camel"):
    """One request to the server and what its answer has to be."""

    id: str
    name: str
    operation: Operation
    assertions: tuple[Assertion, ...]
    timeout_ms: int | None = None


class ApprovedCase(Struct, frozen=True):
    """How a case ended when the suite was approved."""

    id: str
    status: ApprovedStatus


class Approval(Struct, frozen=True):
    """The suite as somebody approved it: its fingerprint then."""

    fingerprint: str
    cases: tuple[ApprovedCase, ...] | None = None


class Suite(Struct, frozen=True, rename="camel"):
    """The whole file."""

    schema_version: int
    id: str
    name: str
    cases: tuple[Case, ...]
    approval: Approval | None = None
    default_timeout_ms: int | None = None

    def timeout_ms(self, case: Case) -> int:
        """How long a case may take, in milliseconds."""
        return case.timeout_ms or self.default_timeout_ms or DEFAULT_TIMEOUT_MS


def type_of(tagged: type[Operation | Assertion]) -> str:
    """The ``type`` by which a file names an operation or an assertion."""
    return str(tagged.__struct_config__.tag)


@cache
def fields_of(kind: type[Struct]) -> tuple[str, ...]:
    """The fields of an object in the file, in the order of their checks."""
    tag = kind.__struct_config__.tag_field
    return (*([tag] if tag else ()), *(field.encode_name for field in fields(kind)))
