"""What a legacy client has said of itself, for a server of 2026-07-28.

The older revisions keep state in the connection; 2026-07-28 has every request carry it. So this
module remembers what the client said and stamps it on what goes up.
"""

from __future__ import annotations

import msgspec

from relay.core.era import INITIALIZE
from relay.core.errors import Code, Problem
from relay.core.messages import PROTOCOL_VERSION_KEY, Fields, Message, fields_of, text_of
from relay.core.options import Options
from relay.core.versions import LEGACY_VERSIONS, LOG_LEVELS

_PREFIX = "io.modelcontextprotocol/"
_TASKS = _PREFIX + "tasks"
_CLIENT_INFO = _PREFIX + "clientInfo"
_CLIENT_CAPABILITIES = _PREFIX + "clientCapabilities"
_LOG_LEVEL = _PREFIX + "logLevel"
_UNSUPPORTED = {
    "tasks/get": "tasks are not offered",
    "tasks/result": "tasks are not offered",
    "tasks/list": "tasks are not offered",
    "tasks/cancel": "tasks are not offered",
    "server/discover": "server/discover belongs to revision 2026-07-28 and needs its _meta",
    "subscriptions/listen": "subscriptions/listen belongs to revision 2026-07-28",
}
_DROPPED = frozenset({"notifications/roots/list_changed", "notifications/progress"})
_DIVIDED = ("elicitation", "sampling")

DIVIDED_SINCE = "2025-11-25"
"""The first revision that knows kinds of elicitation (form, URL) and of sampling (with tools)."""


class LegacyClient:
    """Who the client is, what it can do and what it wants to hear.

    ``revision`` is the legacy one that it speaks, ``capabilities`` what it can do in the words of
    2026-07-28; ``wants_log`` is set once it has asked for log messages.
    """

    def __init__(self, options: Options, version: str, initialize: Message | None = None) -> None:
        """``version`` is spoken to the server; ``initialize`` is what the client said earlier."""
        info: object = {"name": options.client_name, "version": options.client_version}
        self._stamp: Fields = {
            PROTOCOL_VERSION_KEY: _raw(version),
            _CLIENT_INFO: _raw(info),
            _CLIENT_CAPABILITIES: _raw({}),
        }
        self.revision = LEGACY_VERSIONS[-1]
        self.capabilities: Fields = {}
        if initialize is not None:
            self.introduce(initialize)

    @property
    def wants_log(self) -> bool:
        return _LOG_LEVEL in self._stamp

    def introduce(self, initialize: Message) -> None:
        """Remember who the client is and what it can do.

        It gets the revision that it asks for, or the newest legacy one.
        """
        params = fields_of(initialize.params) or {}
        requested = text_of(params.get("protocolVersion"))
        self.revision = requested if requested in LEGACY_VERSIONS else LEGACY_VERSIONS[-1]
        info = fields_of(params.get("clientInfo"))
        if info is not None:
            self._stamp[_CLIENT_INFO] = _raw(info)
        said = fields_of(params.get("capabilities")) or {}
        self.capabilities = _converted(said, self.revision)
        self._stamp[_CLIENT_CAPABILITIES] = _raw(self.capabilities)

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
    def keeps_back(message: Message) -> bool:
        """Whether a notification is one that the server no longer knows."""
        return message.method in _DROPPED

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
        said = fields_of(params.get("_meta")) or {}
        meta = {key: value for key, value in said.items() if not key.startswith(_PREFIX)}
        params["_meta"] = _raw({**meta, **self._stamp})
        return params

    def _set_level(self, params: Fields) -> Fields | Problem:
        level = text_of(params.get("level"))
        if level not in LOG_LEVELS:
            shown = "none" if level is None else repr(level[:40])
            return Problem(
                Code.INVALID_PARAMS,
                f"no such log level: {shown}",
                {"hint": f"one of {', '.join(LOG_LEVELS)}"},
            )
        self._stamp[_LOG_LEVEL] = params["level"]
        return {}


def _converted(said: Fields, revision: str) -> Fields:
    """Capabilities in the words of 2026-07-28 (schema, ClientCapabilities).

    What is no object is left out: a server would refuse every request for it.
    """
    capabilities = {name: value for name, value in said.items() if fields_of(value) is not None}
    capabilities.pop("tasks", None)
    if "roots" in capabilities:
        capabilities["roots"] = _raw({})
    if revision < DIVIDED_SINCE:
        capabilities.update({name: _raw({}) for name in _DIVIDED if name in capabilities})
    extensions = fields_of(capabilities.get("extensions"))
    if extensions is not None and extensions.pop(_TASKS, None) is not None:
        capabilities["extensions"] = _raw(extensions)
    return capabilities


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
