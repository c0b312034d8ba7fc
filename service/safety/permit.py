"""A one-use right to put certain frames on a certain bus, soon."""

from __future__ import annotations

import threading

from service.errors import PermitExpiredError, PermitForeignError, PermitUsedError
from service.model.frame import Frame


class Permit:
    """Made by ``service.safety.gate`` and nowhere else; ``Bus.send`` takes nothing else.

    ``expires`` is in seconds of ``time.monotonic``.
    """

    __slots__ = ("_lock", "_used", "audit_id", "bus", "expires", "frames")

    def __init__(
        self, *, bus: str, frames: tuple[Frame, ...], expires: float, audit_id: str
    ) -> None:
        self.bus = bus
        self.frames = frames
        self.expires = expires
        self.audit_id = audit_id
        self._used = False
        self._lock = threading.Lock()

    def redeem(self, bus: str, now: float) -> tuple[Frame, ...]:
        """The frames to send, once. ``now`` is in seconds of ``time.monotonic``.

        Errors: PermitForeignError, PermitExpiredError, PermitUsedError.
        """
        if bus != self.bus:
            raise PermitForeignError(f"the permit is for bus '{self.bus}', not for '{bus}'")
        if now >= self.expires:
            raise PermitExpiredError(f"the permit expired {now - self.expires:.3f} s ago")
        with self._lock:
            if self._used:
                raise PermitUsedError(f"permit {self.audit_id} has been used")
            self._used = True
        return self.frames

    def __reduce__(self) -> str | tuple[object, ...]:
        """TypeError: a copy would be a second permit."""
        raise TypeError("a permit cannot be copied")
