"""How two versions of a JSON Schema differ, and whether values become valid or invalid by it.

Keywords are compared one by one, for a schema is the conjunction of them: if none narrows, the
schema does not. Definitions are compared where they are used, once for each pair of them, and the
path of a change is that of its use. What is not understood is a change that breaks, unless it is
the same in both.

A property that a schema does not declare counts as one that nobody sends: to declare it extends
the schema, though a value sent under its name so far may not fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import cast

from relay.suite.canonical import by_code_unit, canonical
from relay.suite.document import Json, Object
from relay.suite.json_schema import (
    ANNOTATIONS,
    DEFINITIONS,
    Schemas,
    Unanalysable,
    atoms,
    options,
    type_names,
)
from relay.suite.schema_changes import Effect, SchemaChange, SchemaCode
from relay.suite.schema_limits import LIMITS, compare_limits
from relay.suite.walk import Path
from relay.suite.wording import either, excerpt, shown

_LONGEST_EXCERPT = 100

_OBJECTS = ("properties", "patternProperties", "additionalProperties")
_ARRAYS = ("items", "prefixItems", "additionalItems")
_COMPARED = frozenset(("type", "const", "enum", "required", "allOf", *_OBJECTS, *_ARRAYS))

_CONDITIONS = (
    *(("pattern",), ("format",), ("not",), ("oneOf",)),
    *(("propertyNames",), ("dependentRequired",), ("dependentSchemas",)),
    *(("if", "then", "else"), ("contains", "minContains", "maxContains")),
)
"""Conditions of which it is clear what it means that there are none, and nothing more."""

_CONTEXTUAL = frozenset(
    ("unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef")
)
"""Keywords whose meaning depends on all that stands beside them."""

_KEPT_BY = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": (*_ARRAYS, "minItems", "maxItems", "uniqueItems"),
    "object": (*_OBJECTS, "required", "minProperties", "maxProperties"),
}
_TYPE_OF = {keyword: name for name, keywords in _KEPT_BY.items() for keyword in keywords}


def compare_schemas(place: Path, old: Json, new: Json) -> list[SchemaChange]:
    """The changes from one schema to another, whose place this is."""
    difference = _Difference(Schemas(old), Schemas(new))
    difference.between(place, old, new)
    difference.run()
    return list(difference.found.values())


class _Difference:
    def __init__(self, old: Schemas, new: Schemas) -> None:
        self._old = old
        self._new = new
        # With the schemas themselves, lest another takes the id of one that is gone.
        self._seen: dict[tuple[int, int], tuple[Json, Json]] = {}
        self._waiting: deque[tuple[Path, Json, Json]] = deque()
        self.found: dict[tuple[str, str, str], SchemaChange] = {}

    def between(self, place: Path, old: Json, new: Json) -> None:
        """Two schemas to be compared, once what waits before them is: the nearest come first."""
        old, new = _referred(self._old, old), _referred(self._new, new)
        key = (id(old), id(new))
        if key not in self._seen:
            self._seen[key] = (old, new)
            self._waiting.append((place, old, new))

    def run(self) -> None:
        """Compare all that waits, and what comes to it thereby."""
        while self._waiting:
            place, old, new = self._waiting.popleft()
            if self._same(old, new):
                continue
            try:
                self._alternatives(place, _by_type(self._old, old), _by_type(self._new, new))
            except Unanalysable as error:
                self._not_analysed(place, old, new, str(error))

    def _same(self, old: Json, new: Json) -> bool:
        return self._old.text(old) == self._new.text(new)

    def _add(self, change: SchemaChange) -> None:
        """Add a change, once if several alternatives have it."""
        key = (change.code, str(change.place), canonical([change.old, change.new]))
        self.found.setdefault(key, change)

    def _not_analysed(self, place: Path, old: Json, new: Json, why: str) -> None:
        what = f"it is not analysed: {why}"
        self._add(SchemaChange(SchemaCode.NOT_ANALYSED, Effect.BREAKS, place, old, new, what))

    def _alternatives(self, place: Path, old: list[Object], new: list[Object]) -> None:
        """Hold each alternative against the one that it became, if there is such a one."""
        unmatched, after = self._unequal(old, new)
        before = []
        for one in unmatched:
            index = next((i for i, other in enumerate(after) if atoms(other) == atoms(one)), None)
            if index is None:
                before.append(one)
            else:
                self._branch(place, one, after.pop(index))
        if len(before) == len(after) == 1:
            self._branch(place, before[0], after[0])
            return
        for branch in before:
            self._left_over(place, branch, new, gone=True)
        for branch in after:
            self._left_over(place, branch, old, gone=False)

    def _unequal(self, old: list[Object], new: list[Object]) -> tuple[list[Object], list[Object]]:
        """Those of either side that are not on the other."""
        before = [(self._old.text(one), one) for one in old]
        after = [(self._new.text(one), one) for one in new]
        both = {text for text, _ in before} & {text for text, _ in after}
        return (
            [one for text, one in before if text not in both],
            [one for text, one in after if text not in both],
        )

    def _left_over(self, place: Path, branch: Object, others: list[Object], *, gone: bool) -> None:
        """An alternative of one side alone."""
        named = _either(type_names(atoms(branch)))
        if atoms(branch) & frozenset().union(*map(atoms, others)):
            code = SchemaCode.ALTERNATIVE_REMOVED if gone else SchemaCode.ALTERNATIVE_ADDED
            what = f"one form of {named} {'is gone' if gone else 'is new'}"
        else:
            code = SchemaCode.TYPE_NARROWED if gone else SchemaCode.TYPE_WIDENED
            what = f"{named} {'no longer fits' if gone else 'fits too'}"
        effect = Effect.NARROWS if gone else Effect.WIDENS
        before, after = (branch, None) if gone else (None, branch)
        self._add(SchemaChange(code, effect, place, before, after, what))

    def _branch(self, place: Path, old: Object, new: Object) -> None:
        """Two schemas without alternatives, keyword by keyword."""
        self._annotations(place, old, new)
        if self._same(_bare(old), _bare(new)):
            return
        self._types(place, old, new)
        self._values(place, old, new)
        for change in compare_limits(place, old, new):
            self._add(change)
        self._objects(place, old, new)
        self._required(place, old, new)
        self._arrays(place, old, new)
        self._conjuncts(place, old, new)
        self._conditions(place, old, new)

    def _annotations(self, place: Path, old: Object, new: Object) -> None:
        for name in _changed(old, new, ANNOTATIONS):
            before, after = old.get(name), new.get(name)
            code, effect = SchemaCode.TEXT_CHANGED, Effect.TELLS
            what = f'the words of "{name}" changed'
            if name == "default":
                code, effect = SchemaCode.DEFAULT_CHANGED, Effect.BREAKS
                what = f"the default was {_excerpt(before)} and is {_excerpt(after)}"
                if name not in old:
                    effect, what = Effect.EXTENDS, f"there is a default now: {_excerpt(after)}"
                elif name not in new:
                    what = f"there is no default any more, it was {_excerpt(before)}"
            self._add(SchemaChange(code, effect, place / name, before, after, what))

    def _types(self, place: Path, old: Object, new: Object) -> None:
        before, after = atoms(old), atoms(new)
        # Where values are named, they tell the types: a schema of them has no more to say.
        limited = options(new) is not None and after <= before
        freed = options(old) is not None and before <= after
        if before == after or limited or freed:
            return
        code, effect = SchemaCode.TYPE_CHANGED, Effect.BREAKS
        if after < before:
            code, effect = SchemaCode.TYPE_NARROWED, Effect.NARROWS
        elif before < after:
            code, effect = SchemaCode.TYPE_WIDENED, Effect.WIDENS
        names = type_names(before), type_names(after)
        what = f"{_either(names[0])} became {_either(names[1])}"
        self._add(SchemaChange(code, effect, place / "type", names[0], names[1], what))

    def _values(self, place: Path, old: Object, new: Object) -> None:
        before, after = options(old), options(new)
        here = place / ("const" if "const" in {**old, **new} else "enum")
        if before is not None and after is not None:
            gone, more = _without(before, after), _without(after, before)
            narrower = f"{_excerpt(gone)} no longer fit" if gone else ""
            wider = f"{_excerpt(more)} fit too" if more else ""
        else:
            narrower = f"only {_excerpt(after)} fit" if after is not None else ""
            wider = f"not only {_excerpt(before)} fit" if before is not None else ""
        for what, code, effect in (
            (narrower, SchemaCode.VALUES_REMOVED, Effect.NARROWS),
            (wider, SchemaCode.VALUES_ADDED, Effect.WIDENS),
        ):
            if what:
                self._add(SchemaChange(code, effect, here, before, after, what))

    def _objects(self, place: Path, old: Object, new: Object) -> None:
        if "patternProperties" in old or "patternProperties" in new:
            self._as_a_whole(place, old, new, _OBJECTS)
            return
        before, after = _properties(old), _properties(new)
        inside = place / "properties"
        for name in sorted({**before, **after}, key=by_code_unit):
            if name not in after:
                what = f"{shown(name)} is no longer declared"
                code, effect = SchemaCode.FIELD_REMOVED, Effect.BREAKS
                self._add(SchemaChange(code, effect, inside / name, before[name], None, what))
            elif name in before:
                self.between(inside / name, before[name], after[name])
            else:
                self._field_added(inside / name, name, old, new)
        self._other_fields(place / "additionalProperties", old, new)

    def _field_added(self, place: Path, name: str, old: Object, new: Object) -> None:
        schema = _properties(new)[name]
        others = old.get("additionalProperties", True)
        required = name in _required(new)
        code = SchemaCode.REQUIRED_FIELD_ADDED if required else SchemaCode.FIELD_ADDED
        effect = Effect.NARROWS if required else Effect.EXTENDS
        if others is False:
            effect = Effect.BREAKS if required else Effect.WIDENS
        elif not _is_open(others):
            self.between(place, others, schema)
        what = f"{shown(name)} was added{', and is required' if required else ''}"
        self._add(SchemaChange(code, effect, place, None, schema, what))

    def _other_fields(self, place: Path, old: Object, new: Object) -> None:
        before = old.get("additionalProperties", True)
        after = new.get("additionalProperties", True)
        if (before is False and after is False) or (_is_open(before) and _is_open(after)):
            return
        if after is False or _is_open(before):
            code, effect = SchemaCode.OTHER_FIELDS_REFUSED, Effect.NARROWS
            what = "fields that are not declared are refused, or have to fit"
        elif before is False or _is_open(after):
            code, effect = SchemaCode.OTHER_FIELDS_ALLOWED, Effect.WIDENS
            what = "fields that are not declared are allowed"
        else:
            self.between(place, before, after)
            return
        self._add(SchemaChange(code, effect, place, before, after, what))

    def _required(self, place: Path, old: Object, new: Object) -> None:
        """What is required of fields that are not told of as added or removed."""
        before, after = _required(old), _required(new)
        told = _properties(old).keys() ^ _properties(new).keys()
        here = place / "required"
        for name in sorted({*after} - {*before} - told, key=by_code_unit):
            what = f"{shown(name)} is required now"
            code, effect = SchemaCode.FIELD_REQUIRED, Effect.NARROWS
            self._add(SchemaChange(code, effect, here, None, name, what))
        for name in sorted({*before} - {*after} - told, key=by_code_unit):
            what = f"{shown(name)} may be left out now"
            code, effect = SchemaCode.FIELD_OPTIONAL, Effect.WIDENS
            self._add(SchemaChange(code, effect, here, name, None, what))

    def _arrays(self, place: Path, old: Object, new: Object) -> None:
        if {**old, **new}.keys() & {"prefixItems", "additionalItems"}:
            self._as_a_whole(place, old, new, _ARRAYS)
        else:
            self.between(place / "items", old.get("items", True), new.get("items", True))

    def _conjuncts(self, place: Path, old: Object, new: Object) -> None:
        """The parts of ``allOf`` that could not be joined to the rest."""
        parts = cast(list[Object], old.get("allOf", [])), cast(list[Object], new.get("allOf", []))
        before, after = self._unequal(*parts)
        here = place / "allOf"
        for part, other in zip(before, after, strict=False):
            self.between(here, part, other)
        for part in before[len(after) :]:
            self._condition(here, part, None)
        for part in after[len(before) :]:
            self._condition(here, None, part)

    def _conditions(self, place: Path, old: Object, new: Object) -> None:
        """Whatever is in none of the other comparisons."""
        for group in _CONDITIONS:
            before, after = _only(old, group), _only(new, group)
            if before and after:
                self._as_a_whole(place, old, new, group)
            elif before or after:
                self._condition(place / group[0], before or None, after or None)
        for name in sorted({**old, **new}.keys() - _KNOWN):
            self._as_a_whole(place, old, new, (name,))
        for name in sorted({**old, **new}.keys() & _CONTEXTUAL):
            why = f"{name} depends on all that stands beside it"
            self._not_analysed(place / name, old.get(name), new.get(name), why)

    def _condition(self, place: Path, old: Json, new: Json) -> None:
        if old is None:
            code, effect, what = SchemaCode.CONDITION_ADDED, Effect.NARROWS, "a condition was added"
        else:
            code, effect, what = SchemaCode.CONDITION_REMOVED, Effect.WIDENS, "a condition is gone"
        self._add(SchemaChange(code, effect, place, old, new, what))

    def _as_a_whole(self, place: Path, old: Object, new: Object, group: Iterable[str]) -> None:
        """Keywords that are the same in both, or changed in a way that is not analysed."""
        before, after = _only(old, group), _only(new, group)
        if not self._same(before, after):
            names = sorted({**before, **after})
            here = place / names[0] if len(names) == 1 else place
            self._not_analysed(here, before, after, f"{' and '.join(names)} changed")


_KNOWN = frozenset(
    (
        *(name for group in _CONDITIONS for name in group),
        *(*_COMPARED, *LIMITS, *DEFINITIONS, *ANNOTATIONS, *_CONTEXTUAL),
    )
)


def _referred(schemas: Schemas, schema: Json) -> Json:
    """What a schema that is a reference and nothing else refers to."""
    if isinstance(schema, dict) and schema.keys() == {"$ref"}:
        try:
            return schemas.target(schema["$ref"])
        except Unanalysable:
            pass
    return schema


def _by_type(schemas: Schemas, schema: Json) -> list[Object]:
    """The alternatives of a schema, and of each its types: each with the keywords it has use for.

    So ``"type": ["string", "null"]`` is the same as an ``anyOf`` of the two.
    """
    return [part for branch in schemas.branches(schema) for part in _split(branch)]


def _split(branch: Object) -> list[Object]:
    names = branch.get("type")
    if not isinstance(names, list):
        return [branch]
    return [
        {**_of_use(branch, "number" if name == "integer" else name), "type": name}
        for name in dict.fromkeys(cast(list[str], names))
    ]


def _of_use(branch: Object, name: str) -> Object:
    return {key: value for key, value in branch.items() if _TYPE_OF.get(key, name) == name}


def _properties(node: Object) -> Object:
    return cast(Object, node.get("properties", {}))


def _required(node: Object) -> list[str]:
    return cast(list[str], node.get("required", []))


def _bare(node: Object) -> Object:
    return {name: node[name] for name in node.keys() - ANNOTATIONS - DEFINITIONS}


def _only(node: Object, names: Iterable[str]) -> Object:
    return {name: node[name] for name in names if name in node}


def _changed(old: Object, new: Object, names: Iterable[str]) -> list[str]:
    """Those of the names by which two objects differ; absent is not the same as null."""
    return [
        name
        for name in sorted(names)
        if canonical(_only(old, [name])) != canonical(_only(new, [name]))
    ]


def _without(values: list[Json], others: list[Json]) -> list[Json]:
    texts = set(map(canonical, others))
    return [value for value in values if canonical(value) not in texts]


def _is_open(schema: Json) -> bool:
    return schema is True or schema == {}


def _either(names: list[str]) -> str:
    return either(names) if names else "nothing"


def _excerpt(value: Json) -> str:
    return excerpt(value, _LONGEST_EXCERPT)
