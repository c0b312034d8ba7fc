"""Whether a server answers the same twice: two runs of a suite, held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from relay.suite.canonical import by_code_unit, canonical
from relay.suite.document import Json
from relay.suite.judgement import Answer, RpcError
from relay.suite.walk import Path

MOST_PATHS = 10


class Difference(Struct, frozen=True):
    """A case that was answered differently: where, up to :data:`MOST_PATHS`, and in how many."""

    case_id: str
    paths: tuple[str, ...]
    total: int


def differences(
    first: Mapping[str, Answer], second: Mapping[str, Answer]
) -> tuple[Difference, ...]:
    """The cases with other answers in the second run, by the order of the first.

    Answers are by case id. A case that was answered in one of the runs only differs as a whole.
    """
    found = []
    for case_id in dict.fromkeys((*first, *second)):
        paths, total = _compared(first.get(case_id), second.get(case_id))
        if total:
            found.append(Difference(case_id, paths, total))
    return tuple(found)


def _compared(one: Answer | None, other: Answer | None) -> tuple[tuple[str, ...], int]:
    paths, total = [], 0
    for place in _differing(_said(one), _said(other)):
        total += 1
        if total <= MOST_PATHS:
            paths.append(str(place))
    return tuple(paths), total


def _said(answer: Answer | None) -> Json:
    """An answer as the response had it; a missing one is equal to none that there may be."""
    if answer is None:
        return None
    if isinstance(answer, RpcError):
        return {"error": msgspec.structs.asdict(answer)}
    return {"result": answer.value}


def _differing(one: Json, other: Json) -> Iterator[Path]:
    """The innermost places that differ, in the order of the first value."""
    pending: list[tuple[Path, Json, Json]] = [(Path(), one, other)]
    while pending:
        place, left, right = pending.pop()
        inside: list[tuple[Path, Json, Json]] = []
        if isinstance(left, dict) and isinstance(right, dict):
            shared = [name for name in left if name in right]
            inside = [(place / name, left[name], right[name]) for name in shared]
            for name in sorted(left.keys() ^ right.keys(), key=by_code_unit):
                yield place / name
        elif isinstance(left, list) and isinstance(right, list):
            pairs = zip(left, right, strict=False)
            inside = [(place / index, *pair) for index, pair in enumerate(pairs)]
            for index in range(*sorted((len(left), len(right)))):
                yield place / index
        elif canonical(left) != canonical(right):
            yield place
        pending += reversed(inside)
