"""One CAN channel and its only owner: a reader that survives its driver, and one way to send."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from service.buses.adapter import Adapter, Opener, open_adapter
from service.buses.clock import Clock, SystemClock
from service.buses.controller import ControllerState, describe, lost_frames, state_after
from service.buses.meter import Meter, seconds_on_wire
from service.buses.ring import Entry, Ring
from service.buses.stamps import Stamps
from service.buses.status import BusState, BusStatus
from service.buses.subscription import Subscription
from service.errors import (
    BusNotFdError,
    BusNotOpenError,
    BusOffError,
    BusSendError,
    CanferryError,
)
from service.model.bus_config import BusConfig
from service.model.frame import Frame, InvalidFrameError
from service.safety.permit import Permit

RECV_SECONDS = 0.1
"""How long the reader waits for a frame before it looks whether the bus is being closed."""
FIRST_RETRY_SECONDS = 0.1
LAST_RETRY_SECONDS = 5.0

logger = logging.getLogger("service.bus")


class Bus:
    """Reads from ``start`` to ``stop``; history is in ``ring``, the present in ``subscribe``.

    All methods may be called from any thread, ``subscribe`` from a running event loop.
    """

    def __init__(
        self,
        name: str,
        config: BusConfig,
        *,
        opener: Opener = open_adapter,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.config = config
        self.ring = Ring(config.ring_frames)
        self._opener = opener
        self._clock = clock or SystemClock()
        self._thread = threading.Thread(target=self._read, name=f"bus-{name}", daemon=True)
        self._stop = threading.Event()
        self._adapter: Adapter | None = None
        self._sending = threading.Lock()  # guards _adapter too: it is not closed under a send
        self._changed = threading.Condition()  # guards everything below
        self._state: BusState = "opening"
        self._stamps = Stamps()
        self._meter = Meter(self._clock.monotonic())
        self._subscriptions: list[Subscription] = []
        self._controller: ControllerState = "error-active"
        self._controller_since: float | None = None
        self._bus_off_count = 0
        self._frames = self._frames_sent = self._error_frames = self._errors = self._gaps = 0
        self._last_error_frame: str | None = None
        self._last_error: str | None = None
        self._last_error_at: float | None = None
        self._last_frame_at: float | None = None
        self._source: Callable[[], str] | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let the reader end; ``join`` waits for it."""
        self._stop.set()

    def join(self, timeout: float) -> bool:
        """Whether the reader ended within ``timeout`` seconds. A driver that does not return is
        left behind in its thread, which does not hold up the end of the process."""
        if self._thread.ident is not None:
            self._thread.join(max(0.0, timeout))
            if self._thread.is_alive():
                logger.warning("bus %s: the driver does not return; left behind", self.name)
        self._end()
        return not self._thread.is_alive()

    def wait_while(self, state: BusState, timeout: float) -> bool:
        """Whether the bus left ``state`` within ``timeout`` seconds."""
        return self._wait(lambda: self._state != state, timeout)

    def wait_until(self, state: BusState, timeout: float) -> bool:
        """Whether the bus was in ``state`` within ``timeout`` seconds."""
        return self._wait(lambda: self._state == state, timeout)

    def attach_source(self, describe: Callable[[], str]) -> None:
        """Say in ``status`` what feeds this bus: a simulated rig or a replay."""
        self._source = describe

    def subscribe(self, capacity: int = 10_000) -> Subscription:
        """All frames and gap markers from now on, for one task; close it (``with``) when done."""
        subscription = Subscription(self.name, capacity, self._leave)
        with self._changed:
            if self._state == "closed":
                subscription.end()
            else:
                self._subscriptions.append(subscription)
        return subscription

    def send(self, permit: Permit) -> None:
        """Put the permitted frames on the bus, in order. May block for about a second a frame.

        Errors: PermitForeignError, PermitExpiredError, PermitUsedError, BusNotFdError; and
        BusOffError, BusNotOpenError, BusSendError, whose ``data`` says how many frames went out.
        """
        frames = permit.redeem(self.name, self._clock.monotonic())
        if not self.config.fd and any(frame.is_fd for frame in frames):
            raise BusNotFdError(f"bus '{self.name}' is configured for classic CAN")
        for done, frame in enumerate(frames):
            try:
                self._send_one(frame)
            except CanferryError as error:
                error.data |= {"sent": done, "frames": len(frames), "audit_id": permit.audit_id}
                logger.warning("bus %s: %s after %d frames", self.name, error.message, done)
                raise

    def status(self) -> BusStatus:
        source = self._source() if self._source else None
        with self._changed:
            now = self._clock.monotonic()
            rate, load = self._meter.rates(now)
            seen = self._last_frame_at
            return BusStatus(
                name=self.name,
                interface=self.config.interface,
                channel=self.config.channel or self.name,
                bitrate=self.config.bitrate,
                fd=self.config.fd,
                armed=self.config.armed,
                state=self._state,
                controller=self._controller,
                controller_since=self._controller_since,
                bus_off_count=self._bus_off_count,
                clock=self._stamps.source,
                frames=self._frames,
                frames_sent=self._frames_sent,
                error_frames=self._error_frames,
                last_error_frame=self._last_error_frame,
                frames_per_second=rate,
                last_frame_age=None if seen is None else now - seen,
                load=load if self.config.bitrate else None,
                errors=self._errors,
                last_error=self._last_error,
                last_error_at=self._last_error_at,
                gaps=self._gaps,
                first_sequence=self.ring.first_sequence,
                next_sequence=self.ring.next_sequence,
                overwritten=self.ring.first_sequence,
                subscribers=len(self._subscriptions),
                dropped=sum(each.dropped for each in self._subscriptions),
                source=source,
            )

    # The reader's thread.

    def _read(self) -> None:
        retry = FIRST_RETRY_SECONDS
        while not self._stop.is_set():
            try:
                adapter = self._open()
                while not self._stop.is_set():
                    self._receive(adapter)
                    retry = FIRST_RETRY_SECONDS
            except Exception as error:  # the task border: a driver may raise anything at any time
                self._failed(error)
            self._close_adapter()
            if not self._stop.is_set():
                self._clock.wait(self._stop, retry)
                retry = min(2 * retry, LAST_RETRY_SECONDS)
        self._end()

    def _open(self) -> Adapter:
        adapter = self._opener(self.name, self.config)
        with self._sending:
            self._adapter = adapter
        with self._changed:
            self._stamps = Stamps()
            self._controller, self._controller_since = "error-active", None
        self._enter("open")
        logger.info("bus %s: open", self.name)
        return adapter

    def _receive(self, adapter: Adapter) -> None:
        try:
            frame = adapter.recv(RECV_SECONDS)
        except InvalidFrameError as error:
            self._mark_gap(f"the driver delivered something that is no frame: {error}")
            return
        if frame is not None:
            self._deliver(frame)

    def _failed(self, error: Exception) -> None:
        text = error.message if isinstance(error, CanferryError) else repr(error)
        logger.warning("bus %s: %s", self.name, text)
        with self._changed:
            was_open = self._state == "open"
            self._errors += 1
            self._last_error, self._last_error_at = text, self._clock.now()
        if was_open:  # one outage is one gap, however often opening fails
            self._mark_gap(text)
        self._enter("reopening")

    def _close_adapter(self) -> None:
        with self._sending:
            adapter, self._adapter = self._adapter, None
        if adapter is None:
            return
        try:
            adapter.close()
        except Exception as error:  # the task border: closing what is broken may fail as well
            logger.warning("bus %s: closing: %r", self.name, error)

    def _end(self) -> None:
        with self._changed:
            subscriptions, self._subscriptions = self._subscriptions, []
        self._enter("closed")
        for subscription in subscriptions:
            subscription.end()

    # Shared by the reader and the senders.

    def _deliver(self, frame: Frame) -> None:
        with self._changed:
            host = self._clock.now()
            stamped = replace(frame, timestamp=self._stamps.choose(frame.timestamp, host))
            if frame.is_error:
                self._learn(stamped)
            else:
                self._count(stamped)
            self._publish(self.ring.append(stamped))
        if frame.is_error and lost_frames(frame):
            self._mark_gap("the controller's buffer overflowed")

    def _count(self, frame: Frame) -> None:
        now = self._clock.monotonic()
        self._frames += 1
        self._last_frame_at = now
        # Who hears others is back, also without saying so.
        if not frame.is_tx and self._controller == "bus-off":
            self._set_controller("error-active", frame.timestamp)
        bitrate, data_bitrate = self.config.bitrate, self.config.data_bitrate
        self._meter.add(now, seconds_on_wire(frame, bitrate, data_bitrate) if bitrate else 0.0)

    def _learn(self, error: Frame) -> None:
        self._error_frames += 1
        self._last_error_frame = describe(error)
        if (state := state_after(error)) is not None:
            self._set_controller(state, error.timestamp)

    def _set_controller(self, state: ControllerState, timestamp: float) -> None:
        if state == "bus-off" and self._controller != "bus-off":
            self._bus_off_count += 1
        if state != self._controller or self._controller_since is None:
            self._controller, self._controller_since = state, timestamp

    def _mark_gap(self, reason: str) -> None:
        with self._changed:
            self._gaps += 1
            self._publish(self.ring.mark_gap(reason, self._clock.now()))

    def _publish(self, entry: Entry) -> None:
        for subscription in self._subscriptions:
            subscription.offer(entry)

    def _send_one(self, frame: Frame) -> None:
        with self._sending:
            if (adapter := self._adapter) is None:
                raise BusNotOpenError(f"bus '{self.name}' is {self._state}")
            if self._controller == "bus-off":
                raise BusOffError(f"the controller of bus '{self.name}' is bus-off")
            try:
                adapter.send(frame)
            except CanferryError:
                raise
            except Exception as error:  # the task border: a driver may raise anything at any time
                raise BusSendError(f"the driver of bus '{self.name}' failed: {error!r}") from error
        with self._changed:
            self._frames_sent += 1
        if not adapter.echoes:
            own = replace(frame, is_tx=True, channel=self.name, timestamp=self._clock.now())
            self._deliver(own)

    def _leave(self, subscription: Subscription) -> None:
        with self._changed:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)

    def _enter(self, state: BusState) -> None:
        with self._changed:
            if self._state != "closed":
                self._state = state
            self._changed.notify_all()

    def _wait(self, arrived: Callable[[], bool], timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(arrived, max(0.0, timeout))
