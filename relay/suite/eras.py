"""Agreeing with a server on a revision: one handshake, in the era that the server is of.

*Legacy* revisions begin with ``initialize``. For the *modern* one, ``server/discover`` tells the
same, and each request describes itself (2026-07-28, basic/versioning). Unless the era is given,
the server is asked for the modern one first. What is not an answer of a modern server means that
it is legacy; silence too, but only as long as the answer does not come after all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, cast

from relay import __version__
from relay.core.errors import Code
from relay.core.messages import PROTOCOL_VERSION_KEY
from relay.core.versions import LEGACY_VERSIONS, MODERN_VERSIONS
from relay.suite.channel import Broken, Channel, NotOpened
from relay.suite.document import Json, Object
from relay.suite.judgement import Answer, RpcError, RpcResult
from relay.suite.outcome import ServerInfo
from relay.suite.wire import Request
from relay.suite.wording import shown

_PREFIX = "io.modelcontextprotocol/"
_CLIENT_INFO: Object = {"name": "canferry-relay test", "version": __version__}
_MODERN_ALL_THE_SAME = (Code.HEADER_MISMATCH, Code.MISSING_CAPABILITY)
_NOT_MODERN = frozenset({400, 404, 405, 406, 415})
_LONGEST_NAME = 200


class EraChoice(StrEnum):
    """The era to speak: a given one, or the one that the server is of."""

    AUTO = "auto"
    LEGACY = "legacy"
    MODERN = "modern"


def request_of(info: ServerInfo, number: int, method: str, params: Object) -> Request:
    """A request as the agreed revision has it."""
    if info.era == "modern":
        return _modern_request(number, method, params)
    return Request(number, method, params, "legacy", info.revision)


async def agree(
    channel: Channel, choice: EraChoice, numbers: Iterator[int], probe_seconds: float
) -> ServerInfo:
    """Hold the handshake; raise :class:`NotOpened`, or what the channel raises.

    ``probe_seconds`` are those after which a server that says nothing to ``server/discover`` is
    asked for a legacy session as well.
    """
    if choice is EraChoice.LEGACY:
        return await _initialize(channel, numbers)
    if choice is EraChoice.MODERN:
        found = await _discover(channel, numbers)
        if found is None:
            raise NotOpened(
                f"the server does not speak {MODERN_VERSIONS[-1]}",
                "let the era be found out, or ask for the legacy one",
            )
        return found
    probe: asyncio.Future[ServerInfo | None] = asyncio.ensure_future(_discover(channel, numbers))
    try:
        if (await asyncio.wait({probe}, timeout=probe_seconds))[0]:
            return probe.result() or await _initialize(channel, numbers)
        return await _either(probe, channel, numbers)
    finally:
        probe.cancel()


async def _either(
    probe: asyncio.Future[ServerInfo | None], channel: Channel, numbers: Iterator[int]
) -> ServerInfo:
    """The probe is open still: take whichever handshake succeeds."""
    handshake = asyncio.ensure_future(_initialize(channel, numbers))
    try:
        both: set[asyncio.Future[Any]] = {probe, handshake}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if handshake.done() and handshake.exception() is None:
            return handshake.result()
        return await probe or await handshake
    finally:
        handshake.cancel()
        await asyncio.wait({handshake})
        _ = handshake.cancelled() or handshake.exception()  # seen, as the probe may have won


async def _initialize(channel: Channel, numbers: Iterator[int]) -> ServerInfo:
    params: Object = {
        "protocolVersion": LEGACY_VERSIONS[-1],
        "capabilities": {},
        "clientInfo": _CLIENT_INFO,
    }
    answer = await channel.ask(Request(next(numbers), "initialize", params, "legacy"))
    result = _result(answer, "initialize")
    revision = result.get("protocolVersion")
    if revision not in LEGACY_VERSIONS:
        raise NotOpened(
            f"the server answered initialize with the revision {shown(revision)}",
            f"known are {', '.join(LEGACY_VERSIONS)}",
        )
    info = _info(result.get("serverInfo"), str(revision), modern=False)
    await channel.notify("notifications/initialized", {}, info.revision)
    return info


async def _discover(channel: Channel, numbers: Iterator[int]) -> ServerInfo | None:
    """What a modern server says of itself; None for a server that is not modern."""
    try:
        answer = await channel.ask(_modern_request(next(numbers), "server/discover", {}))
    except Broken as error:
        if error.status is None or error.status < 300 or error.status in _NOT_MODERN:
            return None
        raise NotOpened(str(error), error.hint) from error
    if isinstance(answer, RpcError):
        _raise_if_modern(answer)
        return None
    result = answer.value if isinstance(answer.value, dict) else {}
    offered = result.get("supportedVersions")
    if not isinstance(offered, list) or _is_legacy(offered):
        return None
    meta = result.get("_meta")
    named = meta.get(f"{_PREFIX}serverInfo") if isinstance(meta, dict) else None
    return _info(named, MODERN_VERSIONS[-1], modern=True)


def _raise_if_modern(error: RpcError) -> None:
    """A modern server's refusal is raised; any other one comes from a legacy server."""
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    unsupported = error.code == Code.UNSUPPORTED_VERSION
    if unsupported and isinstance(supported, list) and not _is_legacy(supported):
        raise _not_opened(error, "server/discover")
    if error.code in _MODERN_ALL_THE_SAME:
        raise _not_opened(error, "server/discover")


def _is_legacy(versions: list[Json]) -> bool:
    """Whether these are the revisions of a legacy server; raise if none of them is known."""
    known = [version for version in versions if isinstance(version, str)]
    if MODERN_VERSIONS[-1] in known:
        return False
    if known and not set(known) & set(LEGACY_VERSIONS):
        raise NotOpened(
            f"the server speaks none of the known revisions, but {', '.join(known)[:200]}",
            f"known are {', '.join(LEGACY_VERSIONS + MODERN_VERSIONS)}",
        )
    return True


def _modern_request(number: int, method: str, params: Object) -> Request:
    revision = MODERN_VERSIONS[-1]
    meta: Object = {
        PROTOCOL_VERSION_KEY: revision,
        f"{_PREFIX}clientInfo": _CLIENT_INFO,
        f"{_PREFIX}clientCapabilities": {},
    }
    return Request(number, method, {**params, "_meta": meta}, "modern", revision)


def _result(answer: Answer, method: str) -> Object:
    if isinstance(answer, RpcError):
        raise _not_opened(answer, method)
    if isinstance(answer.value, dict):
        return cast(Object, answer.value)
    raise NotOpened(
        f"the result of {method} is {shown(answer.value)}, where MCP has an object",
        "mend the server: no client can connect to it",
    )


def _not_opened(error: RpcError, method: str) -> NotOpened:
    return NotOpened(
        f"the server refused {method}: {error.message} ({error.code})",
        "see what the server wants before it accepts a client",
    )


def _info(named: Json, revision: str, *, modern: bool) -> ServerInfo:
    """What a server says of itself; that it should have a name, is not for a session to decide."""
    fields: Object = named if isinstance(named, dict) else {}
    name, version = (_text(fields.get(field)) for field in ("name", "version"))
    return ServerInfo(name, version, revision, "modern" if modern else "legacy")


def _text(value: Json) -> str:
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""


def incomplete(info: ServerInfo, answer: Answer) -> str | None:
    """What keeps a modern result from being the whole answer (2026-07-28, "resultType")."""
    if info.era != "modern" or not isinstance(answer, RpcResult):
        return None
    kind = answer.value.get("resultType", "complete") if isinstance(answer.value, dict) else ""
    if kind == "complete" or not isinstance(answer.value, dict):
        return None
    if kind == "input_required":
        return "the server asks for input, which a test has not, before it gives a result"
    return f"the result is of the type {shown(kind)} and not complete"
