"""How the limits of two schemas differ: of numbers, lengths and counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, cast

from relay.suite.document import Json, Object
from relay.suite.json_schema import atoms
from relay.suite.schema_changes import Effect, SchemaChange, SchemaCode
from relay.suite.walk import Path
from relay.suite.wording import shown

_LEAST = ("minLength", "minItems", "minProperties")
_MOST = ("maxLength", "maxItems", "maxProperties")
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
LIMITS = frozenset((*_LEAST, *_MOST, *_BOUNDS, "multipleOf", "uniqueItems"))


class _Limit(NamedTuple):
    """A limit as a schema has it, and how tight it is."""

    keyword: str
    value: Json
    tightness: tuple[float, bool]


_NONE = (-math.inf, False)


def compare_limits(place: Path, old: Object, new: Object) -> Iterator[SchemaChange]:
    """The changes of all limits."""
    for keyword in (*_LEAST, *_MOST):
        yield from _changed(place, _count(old, keyword), _count(new, keyword))
    for inclusive, exclusive in (_BOUNDS[:2], _BOUNDS[2:]):
        before, after = _bound(old, inclusive, exclusive), _bound(new, inclusive, exclusive)
        yield from _changed(place, before, after)
    yield from _changed(place, _unique(old), _unique(new))
    yield from _step_changed(place, old, new)


def _count(node: Object, keyword: str) -> _Limit:
    count = node.get(keyword)
    if count is None:
        return _Limit(keyword, None, (0, False) if keyword in _LEAST else _NONE)
    tightness = cast(int, count) if keyword in _LEAST else -cast(int, count)
    return _Limit(keyword, count, (tightness, False))


def _unique(node: Object) -> _Limit:
    unique = node.get("uniqueItems", False)
    return _Limit("uniqueItems", unique, (0, unique is True))


def _bound(node: Object, inclusive: str, exclusive: str) -> _Limit:
    """The tighter one of the two bounds on a side."""
    side = 1 if inclusive == "minimum" else -1
    limits = [_Limit(inclusive, None, _NONE)]
    for keyword in (inclusive, exclusive):
        if keyword in node:
            bound = side * cast(float, node[keyword])
            limits.append(_Limit(keyword, node[keyword], (bound, keyword == exclusive)))
    if atoms(node) == {"integer"}:
        limits = [limit._replace(tightness=_of_integers(*limit.tightness)) for limit in limits]
    return max(limits, key=lambda limit: limit.tightness)


def _of_integers(bound: float, excluded: bool) -> tuple[float, bool]:
    """The least integer that a bound allows: above 0 is from 1 on."""
    if math.isinf(bound):
        return bound, excluded
    return (math.floor(bound) + 1 if excluded else math.ceil(bound)), False


def _changed(place: Path, old: _Limit, new: _Limit) -> Iterator[SchemaChange]:
    if old.tightness == new.tightness:
        return
    keyword = old.keyword if new.value is None else new.keyword
    yield _change(place / keyword, new.tightness > old.tightness, old.value, new.value)


def _step_changed(place: Path, old: Object, new: Object) -> Iterator[SchemaChange]:
    before, after = old.get("multipleOf"), new.get("multipleOf")
    if before == after:
        return
    here = place / "multipleOf"
    if before is None or after is None:
        yield _change(here, before is None, before, after)
        return
    coarse, fine = Fraction(cast(float, before)), Fraction(cast(float, after))
    if (coarse / fine).denominator == 1:
        yield _change(here, False, before, after)
    else:
        # Multiples of 6 are among those of 3; those of 4 are others than those of 6.
        tighter = (fine / coarse).denominator == 1
        change = _change(here, True, before, after)
        yield change if tighter else _other_step(here, before, after)


def _other_step(here: Path, old: Json, new: Json) -> SchemaChange:
    what = f"multiples of {shown(new)} are other numbers than those of {shown(old)}"
    return SchemaChange(SchemaCode.LIMIT_TIGHTENED, Effect.BREAKS, here, old, new, what)


def _change(here: Path, tighter: bool, old: Json, new: Json) -> SchemaChange:
    code = SchemaCode.LIMIT_TIGHTENED if tighter else SchemaCode.LIMIT_LOOSENED
    effect = Effect.NARROWS if tighter else Effect.WIDENS
    before = "no limit" if old is None else shown(old)
    after = "no limit" if new is None else shown(new)
    return SchemaChange(code, effect, here, old, new, f"{before} became {after}")
