"""The checks of a case: its operation, and the assertions that fit to it."""

from __future__ import annotations

from collections.abc import Callable

from relay.suite.document import Json, Object
from relay.suite.fields import check_json, check_said, check_text, check_timeout, is_blank
from relay.suite.issues import IssueCode, Issues
from relay.suite.schema_validation import check_schema
from relay.suite.suite import ASSERTIONS, CallTool, Case, fields_of, type_of
from relay.suite.walk import Path, run
from relay.suite.wording import either, nearest, shown

_OPERATIONS = {type_of(operation): operation for operation in ASSERTIONS}
_ALLOWED = {
    type_of(operation): {type_of(assertion): assertion for assertion in assertions}
    for operation, assertions in ASSERTIONS.items()
}
_KNOWN = {name: assertion for allowed in _ALLOWED.values() for name, assertion in allowed.items()}
_A_TOOL = "the name of a tool"
_AN_ASSERTION = "an array of one assertion or more"


def check_case(issues: Issues, place: Path, case: Json, seen: dict[str, Path]) -> None:
    """One case; ``seen`` holds the ids of the cases before it, and where they stand."""
    if not isinstance(case, dict):
        issues.wrong(IssueCode.INVALID_TYPE, place, case, "an object: a case")
        return
    check_text(issues, place, case, "id", "a text that no other case has")
    check_text(issues, place, case, "name", "a text that is not blank")
    _check_unique(issues, place, case.get("id"), seen)
    check_timeout(issues, place, case, "timeoutMs")
    issues.unknown(place, case, fields_of(Case), "a case")
    operation = case.get("operation")
    kind = operation.get("type") if isinstance(operation, dict) else None
    if "operation" not in case:
        issues.missing(place, "operation", f"an object of the type {either(_OPERATIONS)}")
    else:
        _check_operation(issues, place / "operation", operation)
    if "assertions" not in case:
        issues.missing(place, "assertions", _AN_ASSERTION)
    else:
        operation_type = kind if isinstance(kind, str) else None
        _check_assertions(issues, place / "assertions", case["assertions"], operation_type)


def _check_unique(issues: Issues, place: Path, name: Json, seen: dict[str, Path]) -> None:
    if not isinstance(name, str) or is_blank(name):
        return
    if name not in seen:
        seen[name] = place
        return
    issues.add(
        IssueCode.DUPLICATE_CASE_ID,
        place / "id",
        f"{shown(name)} is the id of {seen[name].inside()} too",
        "give each case an id of its own",
    )


def _check_operation(issues: Issues, place: Path, operation: Json) -> None:
    types = either(f'"{name}"' for name in _OPERATIONS)
    if not isinstance(operation, dict):
        issues.wrong(IssueCode.INVALID_TYPE, place, operation, f'an object with the "type" {types}')
        return
    if "type" not in operation:
        issues.missing(place, "type", types)
        return
    named = operation["type"]
    kind = _OPERATIONS.get(named) if isinstance(named, str) else None
    if kind is None:
        hint = _did_you_mean(named, _OPERATIONS)
        issues.wrong(IssueCode.INVALID_VALUE, place / "type", named, types, hint)
        issues.unknown(place, operation, ["type"], "an operation")
        return
    if kind is CallTool:
        _check_call(issues, place, operation)
    issues.unknown(place, operation, fields_of(kind), f"the operation {named}")


def _check_call(issues: Issues, place: Path, call: Object) -> None:
    wanted = "an object: the arguments of the tool, {} for none"
    if "tool" not in call:
        issues.missing(place, "tool", _A_TOOL)
    if "input" not in call:
        issues.missing(place, "input", wanted)
    if "tool" in call:
        check_text(issues, place, call, "tool", _A_TOOL)
    if isinstance(call.get("input"), dict):
        run(check_json(issues, place / "input", call["input"]))
    elif "input" in call:
        issues.wrong(IssueCode.INVALID_JSON_VALUE, place / "input", call["input"], wanted)


def _check_assertions(issues: Issues, place: Path, value: Json, operation: str | None) -> None:
    if not isinstance(value, list):
        issues.wrong(IssueCode.INVALID_TYPE, place, value, _AN_ASSERTION)
        return
    if not value:
        allowed = either(_ALLOWED.get(operation or "", _KNOWN))
        message = "the case asserts nothing"
        issues.add(IssueCode.EMPTY_ASSERTIONS, place, message, f"add an assertion: {allowed}")
    for index, assertion in enumerate(value):
        if not isinstance(assertion, dict):
            wanted = "an object: an assertion"
            issues.wrong(IssueCode.INVALID_TYPE, place / index, assertion, wanted)
        elif _fits(issues, place / index, assertion, operation):
            _check_assertion(issues, place / index, assertion)


def _fits(issues: Issues, place: Path, assertion: Object, operation: str | None) -> bool:
    """Whether it is known what the assertion has to look like."""
    named = assertion.get("type")
    allowed = _KNOWN if operation is None else _ALLOWED.get(operation, {})
    if isinstance(named, str) and named in allowed:
        return True
    if operation is not None:
        _incompatible(issues, place, assertion, operation)
        return False
    types = either(allowed)
    if "type" not in assertion:
        issues.missing(place, "type", types)
    else:
        code = IssueCode.INVALID_VALUE if isinstance(named, str) else IssueCode.INVALID_TYPE
        issues.wrong(code, place / "type", named, types, _did_you_mean(named, allowed))
    issues.unknown(place, assertion, ["type"], "an assertion")
    return False


def _incompatible(issues: Issues, place: Path, assertion: Object, operation: str) -> None:
    named = assertion.get("type")
    allowed = _ALLOWED.get(operation)
    if allowed is None:
        message = f"nothing can be asserted of the operation {shown(operation)}, which is unknown"
        hint = f"make the operation {either(_OPERATIONS)}"
    else:
        what = shown(named) if "type" in assertion else 'an assertion without a "type"'
        message = f"{what} cannot be asserted of {operation}"
        fitting = f"{operation} takes {either(allowed)}"
        hint = fitting if named in list(_KNOWN) else _did_you_mean(named, allowed) or fitting
    issues.add(IssueCode.INCOMPATIBLE_ASSERTION, place, message, hint)


def _did_you_mean(named: Json, known: dict[str, type]) -> str:
    meant = nearest(named, known) if isinstance(named, str) else None
    return f'did you mean "{meant}"?' if meant else ""


def _check_flag(issues: Issues, place: Path, value: Json, wanted: str) -> None:
    if not isinstance(value, bool):
        issues.wrong(IssueCode.INVALID_TYPE, place, value, wanted)


def _check_schema(issues: Issues, place: Path, value: Json, _: str) -> None:
    run(check_schema(issues, place, value))


_FIELDS: dict[str, tuple[str, Callable[[Issues, Path, Json, str], None]]] = {
    "tool": (_A_TOOL, check_said),
    "expected": ("true or false", _check_flag),
    "schema": ("an object: a response schema", _check_schema),
}
"""The field of an assertion beside its type: what it has to be, and who checks it."""


def _check_assertion(issues: Issues, place: Path, assertion: Object) -> None:
    names = fields_of(_KNOWN[str(assertion["type"])])
    field = names[-1]
    wanted, check = _FIELDS[field]
    if field in assertion:
        check(issues, place / field, assertion[field], wanted)
    else:
        issues.missing(place, field, wanted)
    issues.unknown(place, assertion, names, f"the assertion {assertion['type']}")
