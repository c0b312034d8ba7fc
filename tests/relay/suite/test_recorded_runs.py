"""Whole runs end as the format's own runner ended them, but for what is meant to be better."""

from __future__ import annotations

import pytest

from relay.suite.load import Loaded, load
from relay.suite.outcome import CaseOutcome, CaseStatus
from relay.suite.runner import Plan
from relay.suite.schema_match import Violation, ViolationCode
from tests.relay.suite.examples import body, call, loaded, suite
from tests.relay.suite.stub import CONNECT_SECONDS, ran, stub
from tests.relay.suite.vectors import Vector, vectors

BETTER: dict[str, dict[str, str]] = {
    "timeout": {"c": "passed"},
    "slowdefault": {"b": "passed"},
    "exit0": {"c": "passed"},
    "rpcerr": {"n": "passed", "p": "failed", "big": "passed"},
    "deepinput": {"d": "passed"},
}
"""The cases that end otherwise than recorded, and how.

* ``timeout``, ``slowdefault``: a case that times out stops nobody but itself.
* ``exit0``: a server that has ended is started anew for the next case.
* ``rpcerr``: a line that is no message is told, and loses neither the session nor a case.
* ``deepinput``: what passes the validation can be sent, however deeply it is nested.

The code of a case that has timed out is ``OPERATION_FAILED``: its status says the rest. The three
recorded runs that have no cases (an input of more than 64 KiB, a deep ``const``, a server that
ends at its start) are tests of their own below.
"""

STARTING = [vector for vector in vectors("runs") if vector["mode"] != "exit3"]


def _assertions(outcome: CaseOutcome) -> list[str]:
    assert outcome.judgement is not None
    lines = []
    for verdict in outcome.judgement.verdicts:
        line = f"{verdict.assertion.__struct_config__.tag} {verdict.status}"
        if found := verdict.diagnostic:
            line += f" {found.code}"
            violations = map(_as_reported, found.violations)
            line += ": " + ", ".join(violations) if found.violations else ""
        lines.append(line)
    return lines


def _as_reported(violation: Violation) -> str:
    """The recorded reports add the name of a missing member to the path of its object."""
    missing = violation.code is ViolationCode.REQUIRED_MISSING
    return f"{violation.code} {violation.path}" + (f".{violation.expected}" if missing else "")


def _loaded(vector: Vector) -> Loaded:
    found = load(vector["suite"].encode())
    assert isinstance(found, Loaded)
    return found


@pytest.mark.parametrize("vector", STARTING, ids=lambda vector: str(vector["name"]))
async def test_a_run_ends_as_recorded(vector: Vector) -> None:
    found = _loaded(vector)
    outcome, _ = await ran(
        Plan(found, "suite.json", found.suite.cases, connect_seconds=CONNECT_SECONDS),
        stub(vector["mode"]),
    )
    better = BETTER.get(vector["name"], {})
    assert outcome.stop is None
    for case, recorded in zip(outcome.cases, vector["cases"], strict=True):
        name = recorded["id"]
        assert (name, case.status) == (name, better.get(name, recorded["status"]))
        if name in better:
            continue
        assert _assertions(case) == recorded["assertions"], name
        assert case.judgement is not None
        assert (case.judgement.operation is not None) == ("failure" in recorded), name


def test_what_is_better_differs_from_what_was_recorded() -> None:
    """A difference that is none would hide a real one."""
    recorded = {vector["name"]: vector["cases"] for vector in STARTING}
    for name, cases in BETTER.items():
        by_id = {case["id"]: case for case in recorded[name]}
        for case_id, status in cases.items():
            assert by_id[case_id]["status"] != status or "failure" in by_id[case_id]


async def test_a_server_that_ends_at_its_start_is_told_with_its_exit_code_and_stderr() -> None:
    [vector] = [vector for vector in vectors("runs") if vector["mode"] == "exit3"]
    found = _loaded(vector)
    outcome, _ = await ran(
        Plan(found, "suite.json", found.suite.cases, connect_seconds=CONNECT_SECONDS),
        stub("exit3"),
    )
    assert outcome.stop is not None
    assert outcome.stop.kind == "connectionFailed"
    assert [case.status for case in outcome.cases] == [CaseStatus.NOT_RUN]
    [end] = outcome.ends
    assert (end.exit_code, end.stderr) == (3, "boom at start\nline two\n")


async def test_a_case_of_more_than_64_kib_and_a_deep_const_are_run() -> None:
    const: object = "x"
    for _ in range(5000):
        const = [const]
    operation = {"type": "callTool", "tool": "plain", "input": {"text": "x" * 200_000}}
    found = loaded(suite(call(body({"const": const}), operation=operation)))
    outcome, _ = await ran(
        Plan(found, "suite.json", found.suite.cases, connect_seconds=CONNECT_SECONDS)
    )
    [case] = outcome.cases
    assert _assertions(case) == ["bodyMatchesSchema failed BODY_SCHEMA_MISMATCH: CONST_MISMATCH $"]
