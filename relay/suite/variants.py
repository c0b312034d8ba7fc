"""Inputs one step from a valid one: each breaks a single rule of a schema, or stands at its edge.

Whatever is offered here is certain: an input that a tool has to refuse is invalid for the whole
schema, and a value at an edge is valid for the schema of its property.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from enum import StrEnum
from fractions import Fraction
from typing import cast

from msgspec import Struct

from relay.suite.acceptance import Acceptance
from relay.suite.document import Json, Object
from relay.suite.fields import is_number
from relay.suite.json_schema import (
    ALL_ATOMS,
    Schemas,
    Unanalysable,
    atom_of,
    atoms,
    options,
)
from relay.suite.sampling import MOST_ITEMS, Sampler, plain, text_of

_DEEPEST_OBJECT = 3
_WRONG: tuple[Json, ...] = ("of another type", 12345, {"of": "another type"}, [], None)


class Kind(StrEnum):
    """What a case of a generated suite is about."""

    LISTED = "listed"
    SUCCEEDS = "succeeds"
    ALL_FIELDS = "allFields"
    MISSING_FIELD = "missingField"
    WRONG_TYPE = "wrongType"
    NOT_IN_ENUM = "notInEnum"
    OUT_OF_RANGE = "outOfRange"
    UNKNOWN_FIELD = "unknownField"
    BOUNDARY = "boundary"


class Variant(Struct, frozen=True):
    """An input, and what is told of it: the end of an id, and the end of a name."""

    kind: Kind
    id: str
    name: str
    input: Object


_Put = Callable[[Json], Object]


class Variants:
    """The variants of inputs for one schema."""

    def __init__(self, schemas: Schemas, schema: Json, acceptance: Acceptance) -> None:
        self._schemas = schemas
        self._sampler = Sampler(schemas, acceptance)
        self._acceptance = acceptance
        self._schema = schema

    def of(self, valid: Object) -> Iterator[Variant]:
        """Those of a valid input."""
        return self._of_object(self._schema, valid, lambda value: cast(Object, value))

    def _of_object(
        self, schema: Json, value: Object, put: _Put, place: tuple[str, ...] = ()
    ) -> Iterator[Variant]:
        """Those of an object inside of an input, at a place; ``put`` makes an input of another."""
        branch = self._branch(schema, value)
        for name in dict.fromkeys(cast(list[str], branch.get("required", []))):
            field = _dotted(place, name)
            rest = put({key: value[key] for key in value if key != name})
            yield from self._refused(
                Kind.MISSING_FIELD, f"without-{field}", f"without {field}", rest
            )
        for name, member in cast(Object, branch.get("properties", {})).items():
            yield from self._of_field(member, value, name, put, place)
        if branch.get("additionalProperties") is False:
            other = _unknown(value, branch)
            name = f"with {_dotted(place, other)}, which is not declared"
            end = f"with-unknown-field-in-{_dotted(place)}" if place else "with-unknown-field"
            wrong = put({**value, other: True})
            yield from self._refused(Kind.UNKNOWN_FIELD, end, name, wrong)

    def _branch(self, schema: Json, value: Json) -> Object:
        """The alternative that a value is valid for."""
        branches = self._schemas.branches(schema, loose=True)
        return next(
            (one for one in branches if self._acceptance.valid(one, value) is not False),
            branches[0],
        )

    def _refused(self, kind: Kind, end: str, name: str, wrong: Object) -> Iterator[Variant]:
        if self._acceptance.valid(self._schema, wrong) is False:
            yield Variant(kind, end, name, wrong)

    def _of_field(
        self, schema: Json, owner: Object, name: str, put: _Put, place: tuple[str, ...]
    ) -> Iterator[Variant]:
        def put_here(value: Json) -> Object:
            return put({**owner, name: value})

        try:
            branches = self._schemas.branches(schema, loose=True)
        except Unanalysable:
            return
        field = _dotted(place, name)
        yield from self._of_wrong_type(branches, field, put_here)
        yield from self._not_in_enum(branches, field, put_here)
        bounded = [branch for branch in branches if atoms(branch) != {"null"}]
        if len(bounded) == 1:
            yield from self._at_bounds(schema, bounded[0], field, put_here)
        inner = owner.get(name)
        if isinstance(inner, dict) and len(place) < _DEEPEST_OBJECT:
            yield from self._of_object(schema, inner, put_here, (*place, name))

    def _of_wrong_type(self, branches: list[Object], field: str, put: _Put) -> Iterator[Variant]:
        allowed = frozenset().union(*map(atoms, branches))
        wrong = [value for value in _WRONG if atom_of(value) not in allowed]
        if wrong and allowed != ALL_ATOMS:
            end, name = f"with-{field}-of-wrong-type", f"with {field} of the wrong type"
            yield from self._refused(Kind.WRONG_TYPE, end, name, put(wrong[0]))

    def _not_in_enum(self, branches: list[Object], field: str, put: _Put) -> Iterator[Variant]:
        allowed = [options(branch) for branch in branches]
        values = [value for of_branch in allowed for value in of_branch or []]
        other = _other(values) if values and None not in allowed else None
        if other is not None:
            end, name = f"with-{field}-not-in-enum", f"with {field} that is none of its values"
            yield from self._refused(Kind.NOT_IN_ENUM, end, name, put(other))

    def _at_bounds(self, schema: Json, branch: Object, field: str, put: _Put) -> Iterator[Variant]:
        """At each bound, and beyond it."""
        for keyword, edges in _EDGES.items():
            if keyword not in branch or options(branch) is not None:
                continue
            at, beyond = edges(self._sampler, branch, keyword)
            for value in at:
                if self._is_valid(schema, value, put):
                    yield Variant(
                        Kind.BOUNDARY,
                        f"with-{field}-at-{keyword}",
                        f"with {field} at its {keyword}",
                        put(value),
                    )
            for value in beyond:
                end, name = f"with-{field}-beyond-{keyword}", f"with {field} beyond its {keyword}"
                yield from self._refused(Kind.OUT_OF_RANGE, end, name, put(value))

    def _is_valid(self, schema: Json, value: Json, put: _Put) -> bool:
        return (
            self._acceptance.valid(schema, value) is True
            and self._acceptance.valid(self._schema, put(value)) is not False
        )


def _dotted(place: tuple[str, ...], *names: str) -> str:
    return ".".join((*place, *names))


def _unknown(value: Object, branch: Object) -> str:
    """A name that an object does not have and its schema does not declare."""
    name = "undeclared"
    while name in value or name in cast(Object, branch.get("properties", {})):
        name += "_"
    return name


def _other(values: list[Json]) -> Json:
    """A value of the same type as some, and none of them; None if there is no such thing."""
    if all(isinstance(value, str) for value in values):
        longest = max((cast(str, value) for value in values), key=len)
        return f"{longest}-not"
    numbers = [value for value in values if is_number(value) and math.isfinite(value)]
    return plain(Fraction(max(numbers)) + 1) if len(numbers) == len(values) else None


_Edges = tuple[list[Json], list[Json]]
"""The values at a bound, and those just beyond it."""


def _number_edges(_sampler: Sampler, branch: Object, keyword: str) -> _Edges:
    bound = Fraction(cast(float, branch[keyword]))
    if abs(bound) >= _WIDEST:
        return [], []
    outward = -1 if keyword.endswith("inimum") else 1
    if keyword.startswith("exclusive"):
        return [plain(bound - outward)], [plain(bound)]
    return [plain(bound)], [plain(bound + outward)]


_WIDEST = 2**53 - 1
"""Bounds from here on say that an integer is held exactly, and nothing of the tool."""


def _length_edges(_sampler: Sampler, branch: Object, keyword: str) -> _Edges:
    return _count_edges(branch, keyword, text_of)


def _item_edges(sampler: Sampler, branch: Object, keyword: str) -> _Edges:
    if cast(int, branch[keyword]) > MOST_ITEMS:
        return [], []
    return _count_edges(branch, keyword, lambda count: sampler.items(branch, count))


def _count_edges(branch: Object, keyword: str, make: Callable[[int], Json]) -> _Edges:
    bound = cast(int, branch[keyword])
    beyond = bound - 1 if keyword.startswith("min") else bound + 1
    return _made(make, bound), _made(make, beyond) if beyond >= 0 else []


def _made(make: Callable[[int], Json], count: int) -> list[Json]:
    try:
        return [make(count)]
    except Unanalysable:
        return []


_EDGES: dict[str, Callable[[Sampler, Object, str], _Edges]] = {
    "minimum": _number_edges,
    "exclusiveMinimum": _number_edges,
    "maximum": _number_edges,
    "exclusiveMaximum": _number_edges,
    "minLength": _length_edges,
    "maxLength": _length_edges,
    "minItems": _item_edges,
    "maxItems": _item_edges,
}
