"""Keeps outcomes small: of what a server said, as much as a report shows of it.

A suite of thousands of cases keeps them all until its end, and a server may answer each with
megabytes.
"""

from __future__ import annotations

import msgspec

from relay.suite.document import Json
from relay.suite.judgement import Diagnostic, Judgement
from relay.suite.wording import counted, shown

_LONGEST = 2000  # characters of one text
_MOST = 200  # values in all of one diagnostic's member
_DEEPEST = 12


def bounded(judgement: Judgement) -> Judgement:
    """The same judgement, with the values from the server cut to a size."""
    if judgement.passed:
        return judgement
    replace = msgspec.structs.replace
    verdicts = tuple(
        replace(verdict, diagnostic=_cut(verdict.diagnostic)) if verdict.diagnostic else verdict
        for verdict in judgement.verdicts
    )
    return Judgement(_cut(judgement.operation) if judgement.operation else None, verdicts)


def _cut(diagnostic: Diagnostic) -> Diagnostic:
    violations = tuple(
        msgspec.structs.replace(violation, actual=_Cutter().cut(violation.actual))
        for violation in diagnostic.violations
    )
    return msgspec.structs.replace(
        diagnostic,
        actual=_Cutter().cut(diagnostic.actual),
        body=_Cutter().cut(diagnostic.body),
        violations=violations,
    )


class _Cutter:
    """Copies one value until it has had enough; what is left out is told in its place."""

    def __init__(self) -> None:
        self._left = _MOST

    def cut(self, value: Json, depth: int = 0) -> Json:
        self._left -= 1
        match value:
            case str() if len(value) > _LONGEST:
                return f"{value[:_LONGEST]}... ({len(value)} characters)"
            case dict() | list() if depth == _DEEPEST and value:
                return f"... ({shown(value)})"
            case dict():
                return self._members(value, depth)
            case list():
                return self._items(value, depth)
        return value

    def _members(self, value: dict[str, Json], depth: int) -> Json:
        kept: dict[str, Json] = {}
        for name, member in value.items():
            if self._left <= 0:
                kept["..."] = f"({counted(len(value) - len(kept), 'member')} more)"
                break
            kept[name[:_LONGEST]] = self.cut(member, depth + 1)
        return kept

    def _items(self, value: list[Json], depth: int) -> Json:
        kept: list[Json] = []
        for item in value:
            if self._left <= 0:
                kept.append(f"... ({counted(len(value) - len(kept), 'item')} more)")
                break
            kept.append(self.cut(item, depth + 1))
        return kept
