"""The one door to transmission: judges a request, records the verdict, and only then permits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from service.errors import (
    AckRequiredError,
    AuditWriteError,
    FrameNotTransmittableError,
    NotArmedError,
    TransmitError,
)
from service.model.caller import Caller
from service.model.candump import format_frame
from service.model.frame import Frame
from service.safety.audit import Audit, AuditEntry
from service.safety.permit import Permit

PERMIT_SECONDS = 2.0
"""How long a permit lasts: the way from the gate to the driver, and nothing longer."""

logger = logging.getLogger("service.gate")


@dataclass(frozen=True, slots=True)
class TransmitRequest:
    """``frames`` for ``bus``, asked for by ``caller`` through ``tool``.

    ``ack_active`` is the caller's acknowledgement that frames will reach a real bus.
    ValueError: no frames.
    """

    bus: str
    frames: tuple[Frame, ...]
    caller: Caller
    tool: str
    ack_active: bool

    def __post_init__(self) -> None:
        if not self.frames:
            raise ValueError("a transmit request without frames")


Check = Callable[[TransmitRequest], TransmitError | None]
"""A pure judgement: the refusal, or None to let the next check decide."""


def acknowledged(request: TransmitRequest) -> TransmitError | None:
    if request.ack_active is True:
        return None
    return AckRequiredError(f"bus '{request.bus}': 'ack_active' is not true")


def transmittable(request: TransmitRequest) -> TransmitError | None:
    for frame in request.frames:
        if frame.is_error:
            return FrameNotTransmittableError(f"{format_frame(frame)} is an error frame")
    return None


class Gate:
    """Permits what every check lets pass: acknowledged, armed by the operator, then ``checks``.

    ``armed`` are the names of the buses that the operator's configuration arms; a call cannot
    change them. ``clock`` is in seconds of ``time.monotonic``.
    """

    def __init__(
        self,
        armed: Collection[str],
        audit: Audit,
        *,
        checks: Sequence[Check] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._armed = frozenset(armed)
        self._audit = audit
        self._checks: tuple[Check, ...] = (acknowledged, self._is_armed, transmittable, *checks)
        self._clock = clock

    def is_armed(self, bus: str) -> bool:
        return bus in self._armed

    def refusal(self, request: TransmitRequest) -> TransmitError | None:
        """What the gate would say, for a dry run: records nothing and permits nothing."""
        for check in self._checks:
            if refusal := check(request):
                return refusal
        return None

    def permit(self, request: TransmitRequest) -> Permit:
        """A permit for exactly these frames, recorded in the audit before it exists.

        Errors: AckRequiredError, NotArmedError, FrameNotTransmittableError, those of the further
        checks, AuditWriteError. A refusal is recorded too.
        """
        if refusal := self.refusal(request):
            self._record_refusal(request, refusal)
            raise refusal
        audit_id = self._audit.record(_entry(request, None))
        return Permit(
            bus=request.bus,
            frames=request.frames,
            expires=self._clock() + PERMIT_SECONDS,
            audit_id=audit_id,
        )

    def _is_armed(self, request: TransmitRequest) -> TransmitError | None:
        if self.is_armed(request.bus):
            return None
        return NotArmedError(f"bus '{request.bus}' is not armed for transmission")

    def _record_refusal(self, request: TransmitRequest, refusal: TransmitError) -> None:
        try:
            self._audit.record(_entry(request, refusal))
        except AuditWriteError as error:  # the caller is better served by why it was refused
            logger.error("refusal %s not recorded: %s", refusal.code, error.message)


def _entry(request: TransmitRequest, refusal: TransmitError | None) -> AuditEntry:
    return AuditEntry(
        verdict="refused" if refusal else "permitted",
        code=refusal.code if refusal else "",
        reason=refusal.message if refusal else "",
        bus=request.bus,
        principal=request.caller.principal,
        client=request.caller.client,
        tool=request.tool,
        frames=tuple(format_frame(frame) for frame in request.frames),
    )
