"""What passes between a 2026-07-28 client and a legacy server, in the words of the other side.

Pure functions from payload to payload: members that the other side does not know are removed or
added, everything else keeps its bytes (2026-07-28, changelog; basic, "_meta"; server/discover).
"""

from __future__ import annotations

import msgspec

from relay.core.era import DISCOVER, INITIALIZE
from relay.core.errors import Code, Problem
from relay.core.messages import (
    PROTOCOL_VERSION_KEY,
    Fields,
    Message,
    fields_of,
    items_of,
    problem_of,
    protocol_version_of,
    text_of,
)
from relay.core.options import Options
from relay.core.versions import LEGACY_VERSIONS, LOG_LEVELS, MODERN_VERSIONS

REMOVED_METHODS = frozenset(
    {
        INITIALIZE,
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        # of 2025-11-25, in another shape than the extension's
        "tasks/get",
        "tasks/result",
        "tasks/list",
        "tasks/update",
        "tasks/cancel",
    }
)
"""Requests that 2026-07-28 does not have, or that have no counterpart before it."""

_PREFIX = "io.modelcontextprotocol/"
_CAPABILITIES_KEY = _PREFIX + "clientCapabilities"
_TASKS = _PREFIX + "tasks"
_CACHEABLE = frozenset(
    {
        DISCOVER,
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)
_COMPLETE = msgspec.Raw(b'"complete"')
_RESOURCE_NOT_FOUND = -32002
_SPECIFIED = (Code.HEADER_MISMATCH, Code.MISSING_CAPABILITY, Code.UNSUPPORTED_VERSION)


class Envelope(msgspec.Struct, frozen=True):
    """What a request says of its sender, and of how it wants to be answered."""

    capabilities: Fields
    key: bytes
    """The capabilities in a form that is the same however they were written."""
    info: Fields | None = None
    level: str | None = None
    token: msgspec.Raw | None = None


class Introduction(msgspec.Struct, frozen=True):
    """What a server says of itself in its InitializeResult."""

    capabilities: Fields
    info: msgspec.Raw
    instructions: msgspec.Raw | None = None

    def offers(self, capability: str, member: str) -> bool:
        """Whether a capability is there with that member true."""
        offered = fields_of(self.capabilities.get(capability)) or {}
        return bytes(offered.get(member, b"")) == b"true"


def envelope_of(message: Message) -> Envelope | Problem:
    """What a request carries in its ``_meta``, or what is wrong with that."""
    meta = fields_of((fields_of(message.params) or {}).get("_meta")) or {}
    version = protocol_version_of(message)
    if version is None:
        return _incomplete(PROTOCOL_VERSION_KEY)
    if version not in MODERN_VERSIONS:
        return Problem(
            Code.UNSUPPORTED_VERSION,
            "the protocol revision is not supported",
            {"supported": list(MODERN_VERSIONS), "requested": version[:40]},
        )
    capabilities = fields_of(meta.get(_CAPABILITIES_KEY))
    if capabilities is None:
        return _incomplete(_CAPABILITIES_KEY)
    level = meta.get(_PREFIX + "logLevel")
    if level is not None and text_of(level) not in LOG_LEVELS:
        return Problem(
            Code.INVALID_PARAMS,
            f"_meta[{_PREFIX}logLevel] is no log level",
            {"hint": f"one of {', '.join(LOG_LEVELS)}"},
        )
    return Envelope(
        capabilities,
        canonical(capabilities),
        fields_of(meta.get(_PREFIX + "clientInfo")),
        text_of(level),
        meta.get("progressToken"),
    )


def canonical(value: object) -> bytes:
    """JSON that is the same for the same value, whatever its layout and the order of its names."""
    text = msgspec.json.encode(value)
    try:
        return msgspec.json.encode(msgspec.json.decode(text), order="sorted")
    except (msgspec.DecodeError, RecursionError):
        return text  # a number out of range, say, which is legal JSON all the same


def _incomplete(key: str) -> Problem:
    return Problem(
        Code.INVALID_PARAMS,
        f"the request's _meta lacks {key}",
        {"hint": "a request of revision 2026-07-28 says who it comes from in params._meta"},
    )


# -- up: from the client to the server --


def initialize_params(envelope: Envelope, options: Options) -> Fields:
    """The params of an ``initialize`` on behalf of a request's sender."""
    capabilities = dict(envelope.capabilities)
    capabilities.pop("tasks", None)
    extensions = fields_of(capabilities.get("extensions"))
    if extensions is not None and extensions.pop(_TASKS, None) is not None:
        capabilities["extensions"] = _raw(extensions)
    if "roots" in capabilities:
        capabilities["roots"] = _raw({})  # a 2026-07-28 client does not tell of changes
    info: object = envelope.info
    if info is None:
        info = {"name": options.client_name, "version": options.client_version}
    return {
        "protocolVersion": _raw(LEGACY_VERSIONS[-1]),
        "capabilities": _raw(capabilities),
        "clientInfo": _raw(info),
    }


def legacy_params(message: Message) -> Fields:
    """The params of a message without what 2026-07-28 has added."""
    params = dict(fields_of(message.params) or {})
    for member in ("inputResponses", "requestState", "task"):
        params.pop(member, None)
    meta = fields_of(params.pop("_meta", None)) or {}
    meta = {key: value for key, value in meta.items() if not key.startswith(_PREFIX)}
    if meta:
        params["_meta"] = _raw(meta)
    return params


# -- down: from the server to the client --


def introduction(result: Fields, options: Options) -> Introduction:
    """What an InitializeResult says; both members of the server's info must exist."""
    info = dict(fields_of(result.get("serverInfo")) or {})
    if not text_of(info.get("name")):
        info["name"] = _raw(options.server_name)
    if text_of(info.get("version")) is None:
        info["version"] = _raw("")
    instructions = result.get("instructions")
    return Introduction(
        fields_of(result.get("capabilities")) or {},
        _raw(info),
        None if text_of(instructions) is None else instructions,
    )


def discover_result(server: Introduction) -> Fields:
    """The DiscoverResult that stands for an InitializeResult."""
    capabilities = dict(server.capabilities)
    capabilities.pop("tasks", None)
    answer: Fields = {
        "supportedVersions": _raw(list(MODERN_VERSIONS)),
        "capabilities": _raw(capabilities),
    }
    if server.instructions is not None:
        answer["instructions"] = server.instructions
    return completed(DISCOVER, answer, server)


def completed(method: str, answer: Fields, server: Introduction) -> Fields:
    """A result with what 2026-07-28 wants in it, and without what it has dropped."""
    answer = {**answer, "resultType": _COMPLETE, "_meta": stamped(answer.get("_meta"), server)}
    if method in _CACHEABLE:
        answer["ttlMs"] = _raw(0)
        answer["cacheScope"] = _raw("private")
    if method == "tools/list":
        tools = [_tool(tool) for tool in items_of(answer.get("tools"))]
        answer["tools"] = _raw([tool for tool in tools if tool is not None])
    return answer


def stamped(meta: msgspec.Raw | None, server: Introduction) -> msgspec.Raw:
    """A result's ``_meta`` with the server's name."""
    return _raw({**(fields_of(meta) or {}), _PREFIX + "serverInfo": server.info})


def failed(error: Problem | msgspec.Raw | None, params: Fields) -> Problem | msgspec.Raw:
    """An error that a 2026-07-28 client may be shown.

    -32002 became -32602, and the codes from -32020 to -32099 are the specification's alone
    (2026-07-28, basic, "Error codes"). ``params`` are those of the request.
    """
    if isinstance(error, Problem):
        return error
    problem = problem_of(error)
    if problem is None or error is None:
        return Problem(Code.INTERNAL_ERROR, "the server's error is none of JSON-RPC")
    if problem.code == _RESOURCE_NOT_FOUND:
        uri = params.get("uri")
        data: dict[str, object] | None = None if uri is None else {"uri": uri}
        return Problem(Code.INVALID_PARAMS, problem.message, data)
    if -32099 <= problem.code <= -32020 and problem.code not in _SPECIFIED:
        return Problem(Code.INTERNAL_ERROR, problem.message, {"serverCode": problem.code})
    return error


def _tool(tool: msgspec.Raw) -> object:
    """A tool as 2026-07-28 has it; None for one that runs only as a task of the older kind."""
    fields = fields_of(tool)
    if fields is None or "execution" not in fields:
        return tool
    execution = fields_of(fields.pop("execution")) or {}
    return None if text_of(execution.get("taskSupport")) == "required" else fields


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
