"""The gate: who may send, in which order it is judged, and what is written down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.errors import (
    AckRequiredError,
    AuditWriteError,
    FrameNotTransmittableError,
    NotArmedError,
    TransmitError,
)
from service.model.caller import Caller
from service.model.frame import Frame
from service.safety.audit import Audit, AuditEntry
from service.safety.gate import PERMIT_SECONDS, Gate, TransmitRequest

AGENT = Caller("ada", "desktop 1.0")


class FullDisk(Audit):
    """An audit that cannot write."""

    def record(self, entry: AuditEntry) -> str:
        raise AuditWriteError("the audit file took no record: disk full")


class RateLimitError(TransmitError):
    """A further check's refusal, as later ones will have."""

    code = "RATE"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit" / "log.jsonl"


@pytest.fixture
def audit(path: Path) -> Iterator[Audit]:
    opened = Audit(path, clock=lambda: 1_700_000_000.5)
    yield opened
    opened.close()


def request(**changes: Any) -> TransmitRequest:
    parts: dict[str, Any] = {
        "bus": "can0",
        "frames": (Frame(0x123, b"\x11"), Frame(0x18FEEE31, is_extended=True)),
        "caller": AGENT,
        "tool": "send",
        "ack_active": True,
    }
    return TransmitRequest(**parts | changes)


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_an_acknowledged_request_for_an_armed_bus_gets_a_recorded_permit(
    audit: Audit, path: Path
) -> None:
    permit = Gate(["can0"], audit, clock=lambda: 100.0).permit(request())
    assert (permit.bus, permit.expires) == ("can0", 100.0 + PERMIT_SECONDS)
    assert permit.frames == request().frames
    assert records(path) == [
        {
            "audit_id": permit.audit_id,
            "at": 1_700_000_000.5,
            "verdict": "permitted",
            "code": "",
            "reason": "",
            "bus": "can0",
            "principal": "ada",
            "client": "desktop 1.0",
            "tool": "send",
            "frames": ["123#11", "18FEEE31#"],
        }
    ]


@pytest.mark.parametrize(
    ("asked", "armed", "error"),
    [
        (request(ack_active=False), ["can0"], AckRequiredError),
        (request(ack_active=1), ["can0"], AckRequiredError),
        (request(ack_active="true"), ["can0"], AckRequiredError),
        (request(), [], NotArmedError),
        (request(), ["can1"], NotArmedError),
        (request(ack_active=False), [], AckRequiredError),
        (request(frames=(Frame(1, is_error=True),)), ["can0"], FrameNotTransmittableError),
        (request(frames=(Frame(1, is_error=True),)), [], NotArmedError),
    ],
)
def test_a_refusal_is_raised_and_recorded(
    asked: TransmitRequest, armed: list[str], error: type[TransmitError], audit: Audit, path: Path
) -> None:
    gate = Gate(armed, audit)
    with pytest.raises(error) as caught:
        gate.permit(asked)
    assert caught.value.hint
    [record] = records(path)
    assert (record["verdict"], record["code"]) == ("refused", error.code)
    assert record["reason"] == caught.value.message


def test_further_checks_come_last_and_in_order(audit: Audit) -> None:
    seen: list[str] = []

    def pass_by(asked: TransmitRequest) -> TransmitError | None:
        seen.append("first")
        return None

    def refuse(asked: TransmitRequest) -> TransmitError | None:
        seen.append("second")
        return RateLimitError("too fast")

    gate = Gate(["can0"], audit, checks=[pass_by, refuse])
    with pytest.raises(NotArmedError):
        gate.permit(request(bus="can1"))
    assert seen == []
    with pytest.raises(RateLimitError):
        gate.permit(request())
    assert seen == ["first", "second"]


def test_a_dry_run_hears_the_refusal_and_leaves_no_record(audit: Audit, path: Path) -> None:
    gate = Gate(["can0"], audit)
    assert gate.refusal(request()) is None
    assert isinstance(gate.refusal(request(bus="can1")), NotArmedError)
    assert (gate.is_armed("can0"), gate.is_armed("can1")) == (True, False)
    assert records(path) == []


def test_nothing_is_permitted_that_could_not_be_recorded() -> None:
    gate = Gate(["can0"], FullDisk())
    with pytest.raises(AuditWriteError):
        gate.permit(request())


def test_a_refusal_that_could_not_be_recorded_is_still_that_refusal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(NotArmedError):
        Gate([], FullDisk()).permit(request())
    assert "disk full" in caplog.text


def test_a_request_has_frames() -> None:
    with pytest.raises(ValueError, match="without frames"):
        request(frames=())
