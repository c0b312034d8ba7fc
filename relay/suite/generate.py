"""A baseline suite from the tools that a server lists: what their schemas alone promise.

The same tools give the same suite, whatever their order. No value is guessed where none is known
to fit: such a tool is left out, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import cast

from msgspec import Struct

from relay.suite.acceptance import Acceptance
from relay.suite.canonical import by_code_unit
from relay.suite.case_validation import check_case
from relay.suite.document import Json, Object
from relay.suite.fields import is_blank
from relay.suite.issues import Issues
from relay.suite.json_schema import Schemas, Unanalysable, atoms
from relay.suite.reduction import reduced
from relay.suite.sampling import Sampler, optional_of
from relay.suite.suite import SCHEMA_VERSION
from relay.suite.variants import Kind, Variant, Variants
from relay.suite.walk import Path
from relay.suite.wording import shown

MADE_UP = (
    "Inputs are made up from the schemas, and a server may know better: give real values where a"
    " case that is to succeed does not."
)
REFUSALS = (
    "Inputs that break a schema are expected to give isError. A server that answers them with a"
    " JSON-RPC error fails these cases, for a suite cannot expect one."
)
_ACCEPTED = (Kind.SUCCEEDS, Kind.ALL_FIELDS, Kind.BOUNDARY)


class Options(Struct, frozen=True, kw_only=True):
    """What to generate. Tools are named by globs; ``values`` has the fields of each tool."""

    suite_id: str = "baseline"
    suite_name: str = "Baseline of the tools"
    only: tuple[str, ...] = ("*",)
    skip: tuple[str, ...] = ()
    kinds: frozenset[Kind] = frozenset(Kind)
    values: Mapping[str, Mapping[str, Json]] = {}
    destructive: bool = False

    def __post_init__(self) -> None:
        if is_blank(self.suite_id) or is_blank(self.suite_name):
            raise ValueError("a suite needs an id and a name that are not blank")


class Skipped(Struct, frozen=True):
    """A tool that no case calls, or a case that was not generated, and why."""

    tool: str
    reason: str
    case_id: str | None = None


class Generated(Struct, frozen=True):
    """A suite as its file has it, None if there is no case at all; and what is left to know."""

    document: Object | None
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


def generate(tools: Iterable[Json], wanted: Options) -> Generated:
    """The baseline suite of the tools in a ``tools/list`` result."""
    generation = _Generation(wanted)
    generation.add(tools)
    document: Object = {
        "schemaVersion": SCHEMA_VERSION,
        "id": wanted.suite_id,
        "name": wanted.suite_name,
        "cases": generation.cases,
    }
    return Generated(
        document if generation.cases else None,
        tuple(generation.skipped),
        tuple(generation.notes()),
    )


class _Generation:
    def __init__(self, wanted: Options) -> None:
        self._wanted = wanted
        self._ids: set[str] = set()
        self._kinds: set[Kind] = set()
        self.cases: list[Json] = []
        self.skipped: list[Skipped] = []

    def add(self, tools: Iterable[Json]) -> None:
        """The cases of all tools: that they are listed, and then those of each."""
        named = self._named(tools)
        if named and Kind.LISTED in self._wanted.kinds:
            self._add("", Kind.LISTED, _listing(named))
        for name, tool in named.items():
            try:
                self._add_tool(name, tool)
            except Unanalysable as error:
                self.skipped.append(Skipped(name, str(error)))

    def notes(self) -> Iterator[str]:
        """What holds of the suite as a whole."""
        if self._kinds & set(_ACCEPTED):
            yield MADE_UP
        if self._kinds - {Kind.LISTED, *_ACCEPTED}:
            yield REFUSALS

    def _named(self, tools: Iterable[Json]) -> dict[str, Object]:
        """The tools that are wanted, in the order of their names."""
        named: dict[str, Object] = {}
        for tool in tools:
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(tool, dict) or not isinstance(name, str) or is_blank(name):
                self.skipped.append(Skipped(shown(tool), "it is listed without a name"))
            elif name in named:
                self.skipped.append(Skipped(name, "another tool has this name too"))
            elif self._is_wanted(name):
                named[name] = tool
        return dict(sorted(named.items(), key=lambda item: by_code_unit(item[0])))

    def _is_wanted(self, name: str) -> bool:
        def matches(globs: tuple[str, ...]) -> bool:
            return any(fnmatchcase(name, glob) for glob in globs)

        return matches(self._wanted.only) and not matches(self._wanted.skip)

    def _add_tool(self, name: str, tool: Object) -> None:
        """The cases of a tool; raise :class:`Unanalysable` if there can be none."""
        if not self._wanted.destructive:
            _refuse_destructive(tool)
        promised = _promised(tool)
        given = self._wanted.values.get(name, {})
        for variant in [*_Inputs(tool.get("inputSchema", True), given).all()]:
            if variant.kind in self._wanted.kinds:
                self._add_call(name, variant, promised)

    def _add_call(self, tool: str, variant: Variant, promised: list[Json]) -> None:
        succeeds = variant.kind in _ACCEPTED
        self._add(
            tool,
            variant.kind,
            {
                "id": f"{tool}-{variant.id}",
                "name": f"{tool} {'takes' if succeeds else 'refuses'} an input {variant.name}",
                "operation": {"type": "callTool", "tool": tool, "input": variant.input},
                "assertions": [_is_error(not succeeds), *(promised if succeeds else [])],
            },
        )

    def _add(self, tool: str, about: Kind, case: Object) -> None:
        """One case, if it is one: an input from a server may hold a number that JSON cannot."""
        case["id"] = self._unique(str(case["id"]))
        issues = Issues()
        check_case(issues, Path(), case, {})
        if issues.found:
            reason = f"it would not be valid: {issues.found[0].message}"
            self.skipped.append(Skipped(tool, reason, str(case["id"])))
        else:
            self._kinds.add(about)
            self.cases.append(case)

    def _unique(self, name: str) -> str:
        unique, number = name, 2
        while unique in self._ids:
            unique, number = f"{name}-{number}", number + 1
        self._ids.add(unique)
        return unique


def _listing(names: Iterable[str]) -> Object:
    return {
        "id": "lists-tools",
        "name": "The server lists its tools",
        "operation": {"type": "listTools"},
        "assertions": [{"type": "toolExists", "tool": name} for name in names],
    }


def _refuse_destructive(tool: Object) -> None:
    annotations = tool.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    if hints.get("readOnlyHint") is not True:
        raise Unanalysable("it may change something: it is not annotated as read-only")
    if hints.get("destructiveHint") is True:
        raise Unanalysable("it is annotated as destructive")


def _is_error(expected: bool) -> Json:
    return {"type": "isError", "expected": expected}


def _promised(tool: Object) -> list[Json]:
    """What the output schema of a tool promises of each result, as far as a suite can say it."""
    output = tool.get("outputSchema")
    schema = reduced(Schemas(output), output) if isinstance(output, dict) else None
    return [] if schema is None else [{"type": "structuredContentMatchesSchema", "schema": schema}]


class _Inputs:
    """The inputs to call a tool with; ``given`` are values that somebody knows better."""

    def __init__(self, schema: Json, given: Mapping[str, Json]) -> None:
        self._schema = schema
        self._schemas = Schemas(schema)
        self._acceptance = Acceptance(self._schemas)
        self._sampler = Sampler(self._schemas, self._acceptance)
        self._given = given

    def all(self) -> Iterator[Variant]:
        branch, valid = self._valid()
        yield Variant(Kind.SUCCEEDS, "succeeds", "of what is required", valid)
        more = self._with_optional(branch, valid)
        if more.keys() != valid.keys():
            yield Variant(Kind.ALL_FIELDS, "with-all-fields", "of all fields", more)
        yield from Variants(self._schemas, self._schema, self._acceptance).of(valid)

    def _valid(self) -> tuple[Object, Object]:
        """An input for the first alternative that one is found for, and that alternative."""
        reason = Unanalysable("its input is no object")
        for branch in self._schemas.branches(self._schema, loose=True):
            if "object" not in atoms(branch):
                continue
            try:
                return branch, self._required(branch)
            except Unanalysable as error:
                reason = error
        raise reason

    def _required(self, branch: Object) -> Object:
        names = cast(list[str], branch.get("required", []))
        needed = [name for name in names if name not in self._given]
        made = {**self._sampler.members(branch, needed), **self._given}
        if self._acceptance.valid(self._schema, made) is False:
            raise Unanalysable("the values found do not fit its schema together")
        return made

    def _with_optional(self, branch: Object, valid: Object) -> Object:
        """The input with each other property for which a value is found."""
        full = valid
        for name in optional_of(branch):
            if name in valid:
                continue
            try:
                more = {**full, **self._sampler.members(branch, [name])}
            except Unanalysable:
                continue
            if self._acceptance.valid(self._schema, more) is not False:
                full = more
        return full
