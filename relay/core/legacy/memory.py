"""What a client has said that its next session has to hear again."""

from __future__ import annotations

import msgspec

from relay.core import messages
from relay.core.commands import Command, Level, Notice
from relay.core.messages import Fields, Message, RequestId, fields_of, text_of

MAX_SUBSCRIPTIONS = 1024
"""Subscriptions that are made again at most."""

SET_LEVEL = "logging/setLevel"
SUBSCRIBE = "resources/subscribe"
UNSUBSCRIBE = "resources/unsubscribe"
STATEFUL = frozenset({SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE})
"""Requests that change what the session is, and harm nothing when they run twice."""

_LISTS = ("tools", "prompts", "resources")


class Memory:
    """What the client has said and the server has taken, as far as it makes the session."""

    def __init__(self, initialize: Message | None = None) -> None:
        """``initialize`` is what the client said to a server of another era."""
        self.initialize = initialize
        self._told: Fields = {}  # the InitializeResult that came last
        self._level: Message | None = None
        self._subscriptions: dict[str, Message] = {}

    def introduce(self, initialize: Message, result: Fields) -> None:
        """The client has a session of its own making."""
        self.initialize = initialize
        self._told = result

    def learn(self, message: Message) -> list[Command]:
        """Remember a request that the server has accepted, if it is one of STATEFUL."""
        if message.method == SET_LEVEL:
            self._level = message
        uri = text_of((fields_of(message.params) or {}).get("uri"))
        if message.method not in (SUBSCRIBE, UNSUBSCRIBE) or uri is None:
            return []
        self._subscriptions.pop(uri, None)
        if message.method == UNSUBSCRIBE:
            return []
        if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            return [Notice(Level.WARNING, "too many subscriptions to make them all again")]
        self._subscriptions[uri] = message
        return []

    def handshake(self, request_id: RequestId) -> bytes:
        """The client's ``initialize`` under another id; its parameters keep their bytes."""
        assert self.initialize is not None, "a session was begun before it was lost"
        params = fields_of(self.initialize.params) or {}
        return messages.request(request_id, self.initialize.method, params)

    def replayed(self) -> list[Message]:
        """The requests that bring a new session to where the old one was."""
        level = [] if self._level is None else [self._level]
        return [*level, *self._subscriptions.values()]

    def holds(self, message: Message) -> bool:
        """Whether a request is one of those still."""
        return any(message is each for each in self.replayed())

    def compare(self, result: Fields) -> tuple[list[Command], list[Message]]:
        """Notices on how a new InitializeResult differs from the last, and what the client is told.

        The client goes by the first that it got, so it is told which lists to fetch again: all of
        them if the capabilities differ, or else those whose changes it was promised to hear of.
        """
        before, self._told = self._told, result
        commands: list[Command] = []
        if before and before.get("protocolVersion") != result.get("protocolVersion"):
            version = (text_of(result.get("protocolVersion")) or "none")[:40]
            text = f"the new session is of another protocol revision than the client's: {version}"
            commands.append(Notice(Level.WARNING, text))
        capabilities = fields_of(result.get("capabilities")) or {}
        differ = capabilities != (fields_of(before.get("capabilities")) or {})
        if differ:
            commands.append(Notice(Level.INFO, "the server's capabilities are not what they were"))
        names = [
            f"notifications/{name}/list_changed"
            for name in _LISTS
            if name in capabilities and (differ or _promises_changes(capabilities[name]))
        ]
        return commands, [messages.new_notification(name, {}) for name in names]


def _promises_changes(capability: msgspec.Raw) -> bool:
    return bytes((fields_of(capability) or {}).get("listChanged", b"")) == b"true"
