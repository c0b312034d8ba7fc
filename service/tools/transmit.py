"""The tool that puts a frame on a bus, if the operator lets it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, Field

from service.context import Context
from service.errors import (
    AckRequiredError,
    BusNotFdError,
    CanferryError,
    InvalidFrameArgumentsError,
    InvalidFrameDataError,
    InvalidFrameIdError,
)
from service.model.candump import format_frame
from service.model.frame import MAX_EXTENDED_ID, MAX_STANDARD_ID, Frame, InvalidFrameError
from service.registry import Effect, Positional, Result
from service.safety.gate import TransmitRequest
from service.tools.live import BusName
from service.tools.registry import registry
from service.tools.text import hex_id


class Refusal(BaseModel):
    """What stands between the frame and the bus."""

    code: str
    message: str
    hint: str


class Sent(BaseModel):
    """`frame` in candump's bare form. A dry run has `refusal` when a live call would be refused."""

    interface: str
    mode: str
    dry_run: bool
    frame: str
    frame_id: str
    is_extended_id: bool
    data: str
    armed: bool
    bus_state: str
    refusal: Refusal | None
    sent_at: float | None
    audit_id: str | None


@registry.tool(Effect.TRANSMIT)
def send(
    context: Context,
    interface: BusName,
    frame_id: Annotated[
        str,
        Positional(),
        Field(max_length=16, description="`0x123` or `0x18FEEE31`; without `0x` decimal."),
    ],
    data: Annotated[
        str, Positional(), Field(max_length=200, description="Payload in hex, may be empty.")
    ],
    ack_active: Annotated[
        bool, Field(description="Must be true: frames may reach a real vehicle.")
    ],
    dry_run: Annotated[bool, Field(description="Only say what would happen.")] = True,
    extended: Annotated[
        bool | None,
        Field(description="29-bit identifier; by default if above 0x7FF or over 3 hex digits."),
    ] = None,
    fd: Annotated[bool, Field(description="CAN FD.")] = False,
    bitrate_switch: Annotated[bool, Field(description="FD payload at the data bit rate.")] = False,
) -> Sent | Result:
    """Send one frame; a dry run unless `dry_run` is false, and only on a bus the operator armed.

    Errors: ACTIVE_TRANSMIT_REQUIRES_ACK, TRANSMIT_NOT_ARMED, BUS_NOT_FOUND, INVALID_FRAME_ID,
    INVALID_FRAME_DATA, INVALID_FRAME, BUS_NOT_FD, BUS_OFF, BUS_NOT_OPEN, BUS_SEND_FAILED.
    """
    if dry_run and not ack_active:
        raise AckRequiredError("'ack_active' is not true")
    bus = context.hub[interface]
    number, is_extended = _read_id(frame_id, extended)
    frame = _frame(number, is_extended, _read_data(data), fd or bitrate_switch, bitrate_switch)
    request = TransmitRequest(interface, (frame,), context.caller, "send", ack_active)
    refusal: CanferryError | None = None
    audit_id = sent_at = None
    if dry_run:
        refusal = context.gate.refusal(request)
        if refusal is None and frame.is_fd and not bus.config.fd:
            refusal = BusNotFdError(f"bus '{interface}' is configured for classic CAN")
    else:
        permit = context.gate.permit(request)
        bus.send(permit)
        sent_at, audit_id = context.clock(), permit.audit_id
    result = Sent(
        interface=interface,
        mode="dry_run" if dry_run else "active",
        dry_run=dry_run,
        frame=format_frame(frame),
        frame_id=hex_id(number, is_extended),
        is_extended_id=is_extended,
        data=frame.data.hex().upper(),
        armed=context.gate.is_armed(interface),
        bus_state=bus.status().state,
        refusal=None if refusal is None else _refusal(refusal),
        sent_at=sent_at,
        audit_id=audit_id,
    )
    warnings = ["ACTIVE_TRANSMIT_DRY_RUN: 1 frame planned; nothing was sent."] if dry_run else []
    return Result(result, warnings)


def _refusal(error: CanferryError) -> Refusal:
    return Refusal(code=error.code, message=error.message, hint=error.hint)


def _read_id(text: str, extended: bool | None) -> tuple[int, bool]:
    """One rule for every identifier: base 0 as in Python and C, ``0x`` for hex."""
    try:
        number = int(text, 0)
    except ValueError:
        is_hex = re.fullmatch(r"[0-9A-Fa-f]+", text.strip())
        raise InvalidFrameIdError(
            f"'{text}' is not a number",
            hint=f"For hex write '0x{text.strip()}'." if is_hex else None,
        ) from None
    digits = text.strip().lower().removeprefix("0x")
    looks_extended = text.strip().lower().startswith("0x") and len(digits) > 3
    is_extended = number > MAX_STANDARD_ID or looks_extended if extended is None else extended
    highest = MAX_EXTENDED_ID if is_extended else MAX_STANDARD_ID
    if not 0 <= number <= highest:
        raise InvalidFrameIdError(
            f"{text} is outside 0..{highest:#x} ({29 if is_extended else 11} bit)"
        )
    return number, is_extended


def _read_data(text: str) -> bytes:
    digits = re.sub(r"[\s.:_-]", "", text.strip().removeprefix("0x"))
    if len(digits) % 2 or not re.fullmatch(r"[0-9A-Fa-f]*", digits):
        raise InvalidFrameDataError(f"'{text}' is not pairs of hex digits")
    return bytes.fromhex(digits)


def _frame(number: int, is_extended: bool, data: bytes, is_fd: bool, switched: bool) -> Frame:
    try:
        return Frame(number, data, is_extended=is_extended, is_fd=is_fd, bitrate_switch=switched)
    except InvalidFrameError as error:
        raise InvalidFrameArgumentsError(str(error)) from error
