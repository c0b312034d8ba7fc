"""``serve`` and ``mcp serve``: the service as a process that signals end in order."""

from __future__ import annotations

import logging
import signal
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anyio

from service.app import Service, build
from service.http import build_app, listen, serving, url_of
from service.mcp import serve_stdio
from service.settings import Settings, arm, load

_log = logging.getLogger("service.serve")


def serve(options: Namespace) -> None:
    """Serve until SIGINT, SIGTERM or, on stdio, the end of stdin.

    Errors: ConfigurationError; nothing has been opened then.
    """
    settings = arm(load(options.config, flags_of(options)), options.arm)
    if options.stdio:
        anyio.run(_serve_stdio, settings)
    else:
        anyio.run(_serve_http, settings, options.ready_file)


def flags_of(options: Namespace) -> dict[str, Any]:
    """The command line in the shape of the configuration file."""
    flags: dict[str, Any] = {}
    for section, key, value in (
        ("server", "host", options.host),
        ("server", "port", options.port),
        ("files", "captures", options.captures and options.captures.absolute()),
        ("files", "databases", options.databases and [options.databases.absolute()]),
    ):
        if value is not None:
            flags.setdefault(section, {})[key] = value
    if options.replay is not None:
        replay = {"replay": str(options.replay.absolute()), "replay_loop": options.replay_loop}
        flags["buses"] = {"replay": {"channel": "replay", **replay}}
    return flags


async def _serve_http(settings: Settings, ready_file: Path | None) -> None:
    with _signals() as signals, listen(settings.server.host, settings.server.port) as bound:
        async with build(settings) as service:
            app = build_app(service.server, service.health, settings.server.allowed_hosts)
            async with serving(app, bound):
                _announce(url_of(bound), ready_file)
                await _first_of(signals)


async def _serve_stdio(settings: Settings) -> None:
    with _signals() as signals:
        async with build(settings) as service, anyio.create_task_group() as tasks:
            tasks.start_soon(_serve_client, service, tasks.cancel_scope)
            await _first_of(signals)
            tasks.cancel_scope.cancel()


async def _serve_client(service: Service, whole: anyio.CancelScope) -> None:
    await serve_stdio(service.server)
    whole.cancel()


def _signals() -> AbstractContextManager[AsyncIterator[signal.Signals]]:
    """Taken before anything opens: also a signal that comes meanwhile ends the service in order."""
    return anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM)


async def _first_of(signals: AsyncIterator[signal.Signals]) -> None:
    async for number in signals:
        _log.info("stopping", extra={"signal": number.name})
        return


def _announce(url: str, ready_file: Path | None) -> None:
    """The URL for scripts: first line of stdout, and the ready file, which appears whole."""
    if ready_file is not None:
        partial = ready_file.with_name(ready_file.name + ".partial")
        partial.write_text(url + "\n", encoding="utf-8")
        partial.replace(ready_file)
    print(f"listening on {url}", flush=True)
