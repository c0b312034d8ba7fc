"""A legacy client on a 2026-07-28 server: what the server no longer does is done here.

The older revisions keep state in the connection; 2026-07-28 has every request carry it. So this
module remembers what the client said of itself and stamps it on what goes up.
"""

from __future__ import annotations

import msgspec

from relay.core import downgrade
from relay.core.era import INITIALIZE, INITIALIZED
from relay.core.errors import Code, Problem
from relay.core.messages import PROTOCOL_VERSION_KEY, Fields, Message, fields_of, text_of
from relay.core.options import Options

_PREFIX = "io.modelcontextprotocol/"
_TASKS = _PREFIX + "tasks"
_LOG_LEVELS = frozenset(
    {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
)
_UNSUPPORTED = {
    "resources/subscribe": "subscriptions are not carried to a server of revision 2026-07-28",
    "resources/unsubscribe": "subscriptions are not carried to a server of revision 2026-07-28",
    "tasks/get": "tasks are not offered",
    "tasks/result": "tasks are not offered",
    "tasks/list": "tasks are not offered",
    "tasks/cancel": "tasks are not offered",
    "server/discover": "server/discover belongs to revision 2026-07-28 and needs its _meta",
    "subscriptions/listen": "subscriptions/listen belongs to revision 2026-07-28",
}
_SWALLOWED = frozenset({INITIALIZED, "notifications/roots/list_changed", "notifications/progress"})
# Nothing yet answers these on behalf of a legacy client, so the server must not ask.
_UNBRIDGED_CAPABILITIES = ("elicitation", "sampling", "roots", "tasks")


class LegacyClient:
    """What a legacy client has said of itself, and what it gets for it."""

    def __init__(self, options: Options, version: str, initialize: Message | None = None) -> None:
        """``version`` is spoken to the server; ``initialize`` is what the client said earlier."""
        self._server_name = options.server_name
        self._version = version
        self._info: object = {"name": options.client_name, "version": options.client_version}
        self._capabilities: object = {}
        self._requested: str | None = None
        self._log_level: msgspec.Raw | None = None
        if initialize is not None:
            self.introduce(initialize)

    def introduce(self, initialize: Message) -> None:
        """Remember who the client is and what it can do."""
        params = fields_of(initialize.params) or {}
        self._requested = text_of(params.get("protocolVersion"))
        info = fields_of(params.get("clientInfo"))
        if info is not None:
            self._info = info
        capabilities = fields_of(params.get("capabilities")) or {}
        for name in _UNBRIDGED_CAPABILITIES:
            capabilities.pop(name, None)
        extensions = fields_of(capabilities.get("extensions"))
        if extensions is not None and extensions.pop(_TASKS, None) is not None:
            capabilities["extensions"] = _raw(extensions)
        self._capabilities = capabilities

    def initialize_result(self, discovered: Fields) -> Fields:
        return downgrade.initialize_result(discovered, self._requested, self._server_name)

    def local_answer(self, message: Message) -> Fields | Problem | None:
        """The result of a request that the server has no part in; None if it goes up."""
        if message.method in _UNSUPPORTED:
            return Problem(Code.METHOD_NOT_FOUND, _UNSUPPORTED[message.method])
        if message.method == "ping":
            return {}
        if message.method == "logging/setLevel":
            return self._set_level(fields_of(message.params) or {})
        if message.params is not None and fields_of(message.params) is None:
            return Problem(Code.INVALID_PARAMS, f"the params of {message.method} are no object")
        return None

    @staticmethod
    def swallows(message: Message) -> bool:
        """Whether a notification ends here."""
        return message.method in _SWALLOWED

    def stamped(self, message: Message) -> Fields:
        """The params of a message with the envelope of 2026-07-28 (basic, "_meta").

        The client's own keys of ``_meta`` stay; the reserved ones are the relay's to write.
        """
        params = dict(fields_of(message.params) or {})
        if message.method == "tools/call":
            params.pop("task", None)  # no tasks capability was advertised
        if message.method == INITIALIZE:
            params = {}  # goes up as server/discover
        return self.envelope(params)

    def envelope(self, params: Fields | None = None) -> Fields:
        """``params`` with the reserved keys of ``_meta`` set."""
        params = dict(params or {})
        meta = fields_of(params.get("_meta")) or {}
        meta = {key: value for key, value in meta.items() if not key.startswith(_PREFIX)}
        meta[PROTOCOL_VERSION_KEY] = _raw(self._version)
        meta[_PREFIX + "clientInfo"] = _raw(self._info)
        meta[_PREFIX + "clientCapabilities"] = _raw(self._capabilities)
        if self._log_level is not None:
            meta[_PREFIX + "logLevel"] = self._log_level
        params["_meta"] = _raw(meta)
        return params

    def _set_level(self, params: Fields) -> Fields | Problem:
        level = text_of(params.get("level"))
        if level not in _LOG_LEVELS:
            shown = "none" if level is None else repr(level[:40])
            return Problem(
                Code.INVALID_PARAMS,
                f"no such log level: {shown}",
                {"hint": f"one of {', '.join(sorted(_LOG_LEVELS))}"},
            )
        self._log_level = params["level"]
        return {}


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
