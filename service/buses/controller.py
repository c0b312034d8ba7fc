"""What a CAN controller says about itself in error frames (Linux ``can/error.h``)."""

from __future__ import annotations

from typing import Literal

from service.model.frame import Frame

ControllerState = Literal["error-active", "error-warning", "error-passive", "bus-off"]

_CONTROLLER = 0x004  # CAN_ERR_CRTL: data[1] has the details
_BUS_OFF = 0x040  # CAN_ERR_BUSOFF
_RESTARTED = 0x100  # CAN_ERR_RESTARTED
_WARNING = 0x04 | 0x08  # CAN_ERR_CRTL_RX_WARNING, CAN_ERR_CRTL_TX_WARNING
_PASSIVE = 0x10 | 0x20  # CAN_ERR_CRTL_RX_PASSIVE, CAN_ERR_CRTL_TX_PASSIVE
_ACTIVE = 0x40  # CAN_ERR_CRTL_ACTIVE
_OVERFLOW = 0x01 | 0x02  # CAN_ERR_CRTL_RX_OVERFLOW, CAN_ERR_CRTL_TX_OVERFLOW

_CLASSES = {
    0x001: "transmit timeout",
    0x002: "lost arbitration",
    0x004: "controller problem",
    0x008: "protocol violation",
    0x010: "transceiver problem",
    0x020: "no acknowledgement",
    0x040: "bus-off",
    0x080: "bus error",
    0x100: "controller restarted",
    0x200: "error counters",
}


def state_after(error: Frame) -> ControllerState | None:
    """The state that an error frame reports; None if it reports none."""
    classes = error.arbitration_id
    if classes & _BUS_OFF:
        return "bus-off"
    if classes & _RESTARTED:
        return "error-active"
    detail = _detail(error)
    if detail & _PASSIVE:
        return "error-passive"
    if detail & _WARNING:
        return "error-warning"
    if detail & _ACTIVE:
        return "error-active"
    return None


def lost_frames(error: Frame) -> bool:
    """Whether the controller's receive or transmit buffer overflowed."""
    return bool(_detail(error) & _OVERFLOW)


def describe(error: Frame) -> str:
    """The error classes in words, such as ``no acknowledgement, bus error``."""
    names = [name for bit, name in _CLASSES.items() if error.arbitration_id & bit]
    return ", ".join(names) or f"error class {error.arbitration_id:#x}"


def _detail(error: Frame) -> int:
    if error.arbitration_id & _CONTROLLER and len(error.data) > 1:
        return error.data[1]
    return 0
