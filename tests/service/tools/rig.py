"""A context made of the real parts: temporary roots, buses with fake drivers, a real gate."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockbuster import blockbuster_ctx

from service.buses.adapter import Adapter, Opener
from service.buses.fake import FakeClock, FakeDriver
from service.buses.hub import Hub
from service.context import Context
from service.decode.catalog import Catalog
from service.dispatch import Dispatcher, Limits
from service.files import Files
from service.model.bus_config import BusConfig
from service.model.caller import Caller
from service.safety.audit import Audit
from service.safety.gate import Gate
from service.settings import Settings
from service.tools import registry

FIXTURES = Path(__file__).parents[2] / "fixtures"
ARMED, UNARMED = "bench", "vehicle"
AGENT = Caller("ada", "desktop")


@dataclass
class Rig:
    """Two buses (one armed), captures and databases in ``root``, tools called by name."""

    root: Path
    context: Context
    dispatcher: Dispatcher[Context]
    drivers: dict[str, FakeDriver]
    hub_clock: FakeClock

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The envelope, as a client reads it; a tool that blocks the event loop fails."""
        with blockbuster_ctx(scanned_modules=["service"]):
            outcome = await self.dispatcher.call(tool, arguments, AGENT)
        envelope: dict[str, Any] = json.loads(outcome.text)
        return envelope

    async def data(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The data of a call that works."""
        envelope = await self.call(tool, **arguments)
        assert envelope["ok"], envelope["errors"]
        data: dict[str, Any] = envelope["data"]
        return data

    async def code(self, tool: str, **arguments: object) -> str:
        """The error code of a call that fails."""
        envelope = await self.call(tool, **arguments)
        assert not envelope["ok"], envelope["data"]
        [error] = envelope["errors"]
        assert error["message"]
        assert error["hint"]
        return str(error["code"])

    def capture(self, name: str, *lines: str) -> str:
        """Write a capture and give its name."""
        content = "".join(f"{line}\n" for line in lines)
        (self.root / "captures" / name).write_bytes(content.encode("latin-1"))
        return name

    def database(self, name: str, content: str | bytes) -> str:
        raw = content.encode() if isinstance(content, str) else content
        (self.root / "databases" / name).write_bytes(raw)
        return name


DEFAULT_LIMITS = Limits()


@contextmanager
def opened(
    root: Path,
    buses: Mapping[str, BusConfig] | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Rig]:
    """A rig whose buses are open for as long as the block lasts."""
    for name in ("captures", "databases"):
        (root / name).mkdir()
    shutil.copy(FIXTURES / "sample.candump", root / "captures")
    shutil.copy(FIXTURES / "complex.dbc", root / "databases")
    configs = dict(buses or _BUSES)
    settings = Settings.model_validate(
        {
            "files": {"captures": root / "captures", "databases": [root / "databases"]},
            "buses": {name: config.model_dump() for name, config in configs.items()},
        }
    )
    drivers = {name: FakeDriver() for name in configs}
    clock = FakeClock()
    hub = Hub(configs, opener=_opener(drivers), clock=clock)
    files = Files(settings.files.captures, settings.files.databases)
    context = Context(
        settings=settings,
        hub=hub,
        gate=Gate([name for name, config in configs.items() if config.armed], Audit()),
        files=files,
        databases=Catalog(files.database),
        clock=clock.now,
        caller=AGENT,
        answer_bytes=limits.response_bytes,
    )
    hub.open()
    try:
        yield Rig(
            root, context, Dispatcher(registry, lambda caller: context, limits), drivers, clock
        )
    finally:
        hub.close()


_BUSES = {
    ARMED: BusConfig(channel="a", armed=True, databases=["complex.dbc"]),
    UNARMED: BusConfig(channel="b", ring_frames=20),
}


def _opener(drivers: Mapping[str, FakeDriver]) -> Opener:
    def open_(name: str, config: BusConfig) -> Adapter:
        return drivers[name](name, config)

    return open_
