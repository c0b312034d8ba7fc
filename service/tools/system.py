"""Tools about the service itself: how it is configured, and whether it is well."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from service.buses.bus import Bus
from service.context import Context
from service.errors import CanferryError
from service.registry import Effect
from service.tools.registry import registry

Status = Literal["ok", "warn", "fail"]
_EARLIEST_CLOCK = 1_735_689_600  # 2025-01-01: a clock before that was never set


class BusSettings(BaseModel):
    """One bus as configured; `options` are names alone, as values may be secrets."""

    name: str
    driver: str
    channel: str
    bitrate: int | None
    data_bitrate: int | None
    fd: bool
    armed: bool
    databases: list[str]
    simulate: str | None
    replay: str | None
    ring_frames: int
    options: list[str]


class Roots(BaseModel):
    """Where tools read, and the one folder where they write."""

    captures: str
    databases: list[str]


class Policy(BaseModel):
    """What stands before a transmission."""

    require_active_ack: bool = True
    dry_run_by_default: bool = True
    armed_buses: list[str]
    audit_file: str | None


class Configuration(BaseModel):
    """The settings in force."""

    backend: str = "python-can"
    config_file: str | None
    config_file_found: bool
    host: str
    port: int
    max_response_bytes: int
    structured_content: bool
    roots: Roots
    policy: Policy
    buses: list[BusSettings]


@registry.tool(Effect.READ, command="config show")
def config_show(context: Context) -> Configuration:
    """Show the service's settings: buses, roots, limits, transmit policy, config file."""
    settings = context.settings
    audit = settings.audit.file
    return Configuration(
        config_file=None if settings.config_file is None else str(settings.config_file),
        config_file_found=settings.config_file is not None,
        host=settings.server.host,
        port=settings.server.port,
        max_response_bytes=settings.server.max_response_bytes,
        structured_content=settings.server.structured_content,
        roots=Roots(
            captures=str(context.files.captures),
            databases=[str(root) for root in context.files.databases],
        ),
        policy=Policy(
            armed_buses=[name for name in settings.buses if context.gate.is_armed(name)],
            audit_file=None if audit is None else str(audit),
        ),
        buses=[_bus_settings(bus) for bus in context.hub],
    )


class Check(BaseModel):
    """One thing looked at; `hint` says what to do about it."""

    name: str
    status: Status
    detail: str
    hint: str | None = None


class Diagnosis(BaseModel):
    """All checks with counts by status."""

    summary: str
    ok_count: int
    warn_count: int
    fail_count: int
    checks: list[Check]


@registry.tool(Effect.READ)
def doctor(context: Context) -> Diagnosis:
    """Check the service's health: versions, buses, roots, databases, clock."""
    checks = [
        Check(name="python", status="ok", detail=platform.python_version()),
        *(_package(name) for name in ("python-can", "cantools", "mcp", "polars")),
        *(_bus(bus) for bus in context.hub),
        _captures_root(context.files.captures),
        *(_database_root(root) for root in context.files.databases),
        *_databases(context),
        _port(context),
        _clock(context.clock),
    ]
    counts = Counter(check.status for check in checks)
    return Diagnosis(
        summary=f"{counts['ok']} ok, {counts['warn']} warnings, {counts['fail']} failures",
        ok_count=counts["ok"],
        warn_count=counts["warn"],
        fail_count=counts["fail"],
        checks=checks,
    )


def _bus_settings(bus: Bus) -> BusSettings:
    config = bus.config
    return BusSettings(
        name=bus.name,
        driver=config.interface,
        channel=config.channel,
        bitrate=config.bitrate,
        data_bitrate=config.data_bitrate,
        fd=config.fd,
        armed=config.armed,
        databases=config.databases,
        simulate=config.simulate,
        replay=config.replay,
        ring_frames=config.ring_frames,
        options=sorted(config.options),
    )


def _package(name: str) -> Check:
    try:
        return Check(name=name, status="ok", detail=importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        hint = "Install canferry with its 'service' extra."
        return Check(name=name, status="fail", detail="not installed", hint=hint)


def _bus(bus: Bus) -> Check:
    status = bus.status()
    name = f"bus {bus.name}"
    where = f"{status.interface} '{status.channel}'"
    if status.state == "open" and status.controller == "error-active":
        return Check(name=name, status="ok", detail=f"{where}: open, {status.frames} frames")
    if status.state == "open":
        hint = "Check wiring, termination and bit rate; see bus_status."
        return Check(name=name, status="warn", detail=f"{where}: {status.controller}", hint=hint)
    if status.state == "opening" and status.last_error is None:
        return Check(name=name, status="ok", detail=f"{where}: configured, not opened here")
    why = f": {status.last_error}" if status.last_error else ""
    hint = "Check that the interface exists, is up and may be used by this user."
    return Check(name=name, status="fail", detail=f"{where}: {status.state}{why}", hint=hint)


def _captures_root(root: Path) -> Check:
    existing = next((each for each in (root, *root.parents) if each.exists()), root)
    if not os.access(existing, os.W_OK | os.X_OK) or not existing.is_dir():
        hint = "Make it writable for the service, or set 'captures' under [files]."
        detail = f"{root}: cannot be written"
        return Check(name="captures root", status="fail", detail=detail, hint=hint)
    made = "" if root.exists() else " (made when first needed)"
    return Check(name="captures root", status="ok", detail=f"{root}{made}")


def _database_root(root: Path) -> Check:
    if root.is_dir() and os.access(root, os.R_OK | os.X_OK):
        return Check(name="database root", status="ok", detail=str(root))
    hint = "Make the folder, or set 'databases' under [files]."
    return Check(name="database root", status="warn", detail=f"{root}: not there", hint=hint)


def _databases(context: Context) -> Iterator[Check]:
    """Those that buses use: what lies in a root and is used by nobody may be anything."""
    for name in dict.fromkeys(each for bus in context.hub for each in bus.config.databases):
        check = f"database {name}"
        try:
            database = context.databases.get(name)
        except CanferryError as error:
            yield Check(name=check, status="fail", detail=error.message, hint=error.hint)
            continue
        if database.warnings:
            yield Check(name=check, status="warn", detail="; ".join(database.warnings))
        else:
            yield Check(name=check, status="ok", detail=f"{len(database.messages)} messages")


def _port(context: Context) -> Check:
    server = context.settings.server
    return Check(name="endpoint", status="ok", detail=f"http://{server.host}:{server.port}/mcp")


def _clock(clock: Callable[[], float]) -> Check:
    now = clock()
    if now >= _EARLIEST_CLOCK:
        return Check(name="clock", status="ok", detail=f"{now:.3f} s since the epoch")
    hint = "Set the clock (NTP): stamps of captures and audit depend on it."
    return Check(name="clock", status="warn", detail=f"{now:.3f} s since the epoch", hint=hint)
