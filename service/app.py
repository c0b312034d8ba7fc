"""The parts put together: from settings to a service that opens and closes in order."""

from __future__ import annotations

import time
from dataclasses import replace
from types import TracebackType
from typing import Self

from anyio import CancelScope, to_thread

from service.buses.hub import Hub
from service.context import Context
from service.decode.catalog import Catalog
from service.dispatch import Dispatcher, Limits
from service.files import Files
from service.mcp import build_server
from service.model.caller import LOCAL, Caller
from service.rig.rig import Rig
from service.safety.audit import Audit
from service.safety.gate import Gate
from service.settings import Settings
from service.tools import registry
from service.version import VERSION


class Service:
    """One rig's service: the dispatcher works on files at once, on buses while it is open."""

    def __init__(self, context: Context, audit: Audit, rig: Rig, limits: Limits) -> None:
        self.context = context
        self.dispatcher = Dispatcher(registry, self._context_for, limits)
        self.server = build_server(
            self.dispatcher,
            version=VERSION,
            structured_content=context.settings.server.structured_content,
        )
        self._audit = audit
        self._rig = rig

    async def __aenter__(self) -> Self:
        """Open the buses, then let the simulated and replayed traffic begin."""
        try:
            await to_thread.run_sync(self.context.hub.open)
            await to_thread.run_sync(self._rig.start)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        """Whatever ended the service, also a cancellation, the hardware is let go in order."""
        with CancelScope(shield=True):
            await to_thread.run_sync(self._rig.stop)
            await to_thread.run_sync(self.context.hub.close)
        self._audit.close()

    def health(self) -> dict[str, object]:
        """``/health``: whether every bus is open, and each one's state."""
        states = {bus.name: bus.status().state for bus in self.context.hub}
        every_one_open = all(state == "open" for state in states.values())
        return {"ok": every_one_open, "version": VERSION, "buses": states}

    def _context_for(self, caller: Caller) -> Context:
        return replace(self.context, caller=caller)


def build(settings: Settings, *, confined: bool = True, limits: Limits | None = None) -> Service:
    """A service that is not open yet.

    ``confined=False`` lets file tools take any path: for the operator's own command line.
    """
    chosen = limits or Limits(response_bytes=settings.server.max_response_bytes)
    files = Files(settings.files.captures, settings.files.databases, confined)
    audit = Audit(settings.audit.file if confined else None)
    hub = Hub(settings.buses)
    context = Context(
        settings=settings,
        hub=hub,
        gate=Gate([name for name, bus in settings.buses.items() if bus.armed], audit),
        files=files,
        databases=Catalog(files.database),
        clock=time.time,
        caller=LOCAL,
        answer_bytes=chosen.response_bytes,
    )
    return Service(context, audit, Rig(settings.buses, hub), chosen)
