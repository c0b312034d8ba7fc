"""A permit: one use, one bus, a short time, and one maker."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import service
from service.errors import PermitExpiredError, PermitForeignError, PermitUsedError
from service.model.caller import LOCAL
from service.model.frame import Frame
from service.safety.audit import Audit
from service.safety.gate import PERMIT_SECONDS, Gate, TransmitRequest
from service.safety.permit import Permit

PACKAGE = Path(service.__file__).parent
FRAMES = (Frame(0x123),)


def make(now: float = 100.0) -> Permit:
    with closing(Audit()) as audit:
        gate = Gate(["can0"], audit, clock=lambda: now)
        return gate.permit(TransmitRequest("can0", FRAMES, LOCAL, "test", ack_active=True))


def test_a_permit_gives_its_frames_once() -> None:
    permit = make()
    assert permit.redeem("can0", 100.0) == FRAMES
    with pytest.raises(PermitUsedError):
        permit.redeem("can0", 100.0)


def test_a_permit_for_another_bus_is_refused_and_not_used_up() -> None:
    permit = make()
    with pytest.raises(PermitForeignError, match="can0"):
        permit.redeem("can1", 100.0)
    assert permit.redeem("can0", 100.0) == FRAMES


def test_a_permit_expires() -> None:
    permit = make()
    with pytest.raises(PermitExpiredError):
        permit.redeem("can0", 100.0 + PERMIT_SECONDS)


def test_of_many_threads_one_redeems() -> None:
    permit = make()

    def attempt(_: int) -> bool:
        try:
            permit.redeem("can0", 100.0)
        except PermitUsedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(64))) == 1


def test_a_permit_cannot_be_copied() -> None:
    with pytest.raises(TypeError):
        copy.copy(make())
    with pytest.raises(TypeError):
        copy.deepcopy(make())
    assert not dataclasses.is_dataclass(Permit), "dataclasses.replace would make a second one"


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def name_of(called: ast.expr) -> str:
    match called:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def test_only_the_gate_makes_permits() -> None:
    makers = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        aliases = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name == "Permit"
        } | {"Permit"}
        if any(name_of(call.func) in aliases for call in calls(tree)):
            makers.add(path.relative_to(PACKAGE).as_posix())
        subclasses = [
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and aliases & {name_of(base) for base in node.bases}
        ]
        assert not subclasses, f"{path}: {subclasses} would be permits of another maker"
    assert makers == {"safety/gate.py"}


def test_only_the_adapter_opens_python_can_and_only_with_its_own_arguments() -> None:
    openers = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call in calls(tree):
            match call.func:
                case ast.Attribute(value=ast.Name(id="can"), attr="Bus" | "ThreadSafeBus"):
                    openers.add(path.relative_to(PACKAGE).as_posix())
                    given = {keyword.arg: keyword.value for keyword in call.keywords}
                    ignore = given.get("ignore_config")
                    assert isinstance(ignore, ast.Constant)
                    assert ignore.value is True
    assert openers == {"buses/adapter.py"}


def test_the_width_of_an_identifier_is_never_left_to_python_can() -> None:
    found = 0
    for path in PACKAGE.rglob("*.py"):
        for call in calls(ast.parse(path.read_text(encoding="utf-8"))):
            match call.func:
                case ast.Attribute(value=ast.Name(id="can"), attr="Message"):
                    found += 1
                    assert "is_extended_id" in {keyword.arg for keyword in call.keywords}, path
    assert found
