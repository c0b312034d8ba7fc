"""Values made to fit a JSON Schema: those that it names itself first, then the plainest others."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import cast

from relay.suite.acceptance import FORMATS, Acceptance
from relay.suite.canonical import canonical, number_text
from relay.suite.document import Json, Object
from relay.suite.json_schema import Schemas, Unanalysable, atoms
from relay.suite.reader import number
from relay.suite.wording import counted, shown

LONGEST_TEXT = 10_000
MOST_ITEMS = 100

_TEXT = "example"
_NOT_MADE = ("pattern", "not", "if", "contains", "patternProperties", "allOf")


class NoValue(Unanalysable):
    """A property that no value is known for, and why."""

    def __init__(self, place: tuple[str, ...], reason: str) -> None:
        super().__init__(f"no value for {shown('.'.join(place))} is known: {reason}")
        self.place = place
        self.reason = reason


class Sampler:
    """Makes values. One that the schema names is taken unless it is certainly invalid.

    Any other has to be certainly valid.
    """

    def __init__(self, schemas: Schemas, acceptance: Acceptance) -> None:
        self._schemas = schemas
        self._acceptance = acceptance

    def value(self, schema: Json) -> Json:
        """The first value that fits; raise :class:`Unanalysable` if none is found."""
        return self.values(schema, 1)[0]

    def values(self, schema: Json, count: int) -> list[Json]:
        """So many values that fit, no two of them equal."""
        found: dict[str, Json] = {}
        with self._schemas.within("sample", id(schema)):
            branches = self._schemas.branches(schema, loose=True)
            failure = Unanalysable(_reason(branches))
            try:
                for value in self._offered(schema, branches):
                    found.setdefault(canonical(value), value)
                    if len(found) == count:
                        return list(found.values())
            except Unanalysable as error:
                failure = error
        raise failure

    def _offered(self, schema: Json, branches: list[Object]) -> Iterator[Json]:
        for branch in branches:
            for value in _named(branch):
                if self._acceptance.valid(schema, value) is not False:
                    yield value
        failure = None
        for branch in branches:
            try:
                for value in self._made(branch):
                    if self._acceptance.valid(schema, value) is True:
                        yield value
            except Unanalysable as error:
                failure = failure or error
        if failure:
            raise failure

    def _made(self, branch: Object) -> Iterator[Json]:
        types = atoms(branch)
        if "string" in types:
            yield from _texts(branch)
        if types & {"integer", "fraction"}:
            yield from _numbers(branch)
        if "boolean" in types:
            yield from (False, True)  # what has to be asked for is best not asked for
        if "object" in types:
            yield from self._objects(branch)
        if "array" in types:
            yield from self._arrays(branch)
        if "null" in types:
            yield None

    def _objects(self, branch: Object) -> Iterator[Json]:
        required = cast(list[str], branch.get("required", []))
        yield self.members(branch, required)
        yield self.members(branch, [*required, *optional_of(branch)])

    def members(self, branch: Object, names: list[str]) -> Object:
        """An object with these properties."""
        properties = cast(Object, branch.get("properties", {}))
        made: Object = {}
        for name in names:
            schema = properties.get(name, branch.get("additionalProperties", True))
            try:
                made[name] = self.value(schema)
            except NoValue as error:
                raise NoValue((name, *error.place), error.reason) from error
            except Unanalysable as error:
                raise NoValue((name,), str(error)) from error
        return made

    def _arrays(self, branch: Object) -> Iterator[Json]:
        least = cast(int, branch.get("minItems", 0))
        if least > MOST_ITEMS:
            raise Unanalysable(f"an array of {counted(least, 'item')} is too long to make")
        if least == 0:
            yield from self._filled(branch)
            yield []
        else:
            yield self.items(branch, least)

    def _filled(self, branch: Object) -> Iterator[Json]:
        """One item says more than none, if it can be made."""
        try:
            yield self.items(branch, 1)
        except Unanalysable:
            return

    def items(self, branch: Object, count: int) -> list[Json]:
        """An array of so many items."""
        first = cast(list[Json], branch.get("prefixItems", []))[:count]
        made = [self.value(schema) for schema in first]
        rest, schema = count - len(made), branch.get("items", True)
        if branch.get("uniqueItems") is True and rest > 0:
            return [*made, *self.values(schema, rest)]
        return made + [self.value(schema)] * rest if rest else made


def optional_of(branch: Object) -> list[str]:
    """The properties that may be left out."""
    required = cast(list[str], branch.get("required", []))
    return [name for name in cast(Object, branch.get("properties", {})) if name not in required]


def plain(value: Fraction) -> int | float:
    """The double next to a number, as it is read from a file: an ``int`` where that is exact."""
    limit = Fraction(sys.float_info.max)
    return number(number_text(float(max(-limit, min(value, limit)))))


def text_of(length: int) -> str:
    """A text of a length."""
    if length > LONGEST_TEXT:
        raise Unanalysable(f"a text of {counted(length, 'character')} is too long to make")
    return _TEXT[:length].ljust(length, "x")


def _named(branch: Object) -> Iterator[Json]:
    """The values that a schema names. A null says least of a tool, and comes last."""
    examples = branch.get("examples", [])
    named = [branch[keyword] for keyword in ("const", "default") if keyword in branch]
    named += examples[:1] if isinstance(examples, list) else []
    named += cast(list[Json], branch.get("enum", []))
    yield from (value for value in named if value is not None)


def _texts(branch: Object) -> Iterator[Json]:
    named = branch.get("format")
    if isinstance(named, str) and named in FORMATS:
        yield FORMATS[named]
    least = cast(int, branch.get("minLength", 0))
    usual = max(least, len(_TEXT))
    most = cast(int, branch.get("maxLength", usual))
    yield text_of(min(usual, most))
    yield from (text_of(length) for length in range(least, min(most, least + MOST_ITEMS)))


def _numbers(branch: Object) -> Iterator[Json]:
    yield from (1, 0)
    bounds = [branch[name] for name in _BOUNDS if name in branch]
    step = Fraction(cast(float, branch.get("multipleOf", 1)))
    for bound in map(Fraction, cast(list[float], bounds)):
        nearest = math.floor(bound / step) * step
        yield from map(plain, (bound, nearest, nearest + step, nearest - step))
    if len(bounds) > 1:
        yield plain(sum(map(Fraction, cast(list[float], bounds)), Fraction(0)) / len(bounds))
    yield from (plain(step * times) for times in range(1, MOST_ITEMS))


_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


def _reason(branches: list[Object]) -> str:
    keywords = [name for name in _NOT_MADE if any(name in branch for branch in branches)]
    if keywords:
        return f"nothing is known to fit {' and '.join(keywords)}"
    formats = {str(branch["format"]) for branch in branches if "format" in branch}
    unknown = sorted(formats - FORMATS.keys())
    if unknown:
        return f"nothing is known to be of the format {' or '.join(unknown)}"
    return "nothing was found to fit its schema"
