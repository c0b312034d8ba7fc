"""What a bus says about itself at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from service.buses.controller import ControllerState
from service.buses.stamps import Source

BusState = Literal["opening", "open", "reopening", "closed"]


@dataclass(frozen=True, slots=True)
class BusStatus:
    """Times are in seconds since the epoch, ages in seconds.

    ``controller`` is what error frames said since the channel was opened; while
    ``controller_since`` is None none said anything and error-active is presumed. ``frames`` counts
    all received and echoed frames but error frames, ``error_frames`` those, ``frames_sent`` what
    the service itself gave to the driver. ``errors`` counts exceptions of the driver. ``load``
    (0..1, of the last seconds) leaves stuff bits out and is up to a fifth too low; None without a
    known bit rate. History holds the sequence numbers from ``first_sequence`` up to but not
    including ``next_sequence``; ``overwritten`` entries came before. ``dropped`` counts what the
    present subscribers were too slow for. ``source`` tells what feeds a virtual bus.
    """

    name: str
    interface: str
    channel: str
    bitrate: int | None
    fd: bool
    armed: bool
    state: BusState
    controller: ControllerState
    controller_since: float | None
    bus_off_count: int
    clock: Source
    frames: int
    frames_sent: int
    error_frames: int
    last_error_frame: str | None
    frames_per_second: float
    last_frame_age: float | None
    load: float | None
    errors: int
    last_error: str | None
    last_error_at: float | None
    gaps: int
    first_sequence: int
    next_sequence: int
    overwritten: int
    subscribers: int
    dropped: int
    source: str | None
