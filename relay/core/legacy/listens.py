"""The ``subscriptions/listen`` of 2026-07-28 clients on one legacy session.

Before, a session told of its changes unasked, and of a resource's after ``resources/subscribe``
(2026-07-28, basic/patterns/subscriptions; 2025-11-25, server/resources).
"""

from __future__ import annotations

import msgspec

from relay.core.commands import Command, Emit, SetTimer
from relay.core.era import CANCELLED, LISTEN, Context
from relay.core.errors import Code, Problem
from relay.core.events import TimerId
from relay.core.exchanges import notice
from relay.core.inflight import Call
from relay.core.legacy.own_session import Answer, OwnSession
from relay.core.messages import (
    Fields,
    Message,
    fields_of,
    items_of,
    notification,
    text_of,
)

MAX_LISTENS = 64
MAX_URIS = 1024
"""Of one session; what is beyond is refused."""

ALIVE_SECONDS = 60.0
"""How often the server is asked whether the session is still there."""

UPDATED = "notifications/resources/updated"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
_URIS = "resourceSubscriptions"
_KINDS = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}

CHANGES = {f"notifications/{name}/list_changed": kind for kind, name in _KINDS.items()}
"""The notifications of changed lists, by what a client asks them with."""


class Listen:
    """One listen of the client: what is to be told, once ``unknown`` URIs are settled."""

    def __init__(self, call: Call, kinds: list[str], uris: list[str]) -> None:
        self.call = call
        self.kinds = kinds
        self.uris = uris
        self.unknown = set(uris)
        self.acknowledged = False

    def wants(self, uri: str) -> bool:
        """Whether a resource is one of those listened to, or a part of one."""
        return any(uri == each or uri.startswith(each.rstrip("/") + "/") for each in self.uris)


class _Subscription:
    """One URI at the server: requests about it never overtake each other."""

    def __init__(self) -> None:
        self.users: list[Listen] = []
        self.held = False  # the server has it
        self.asking = False


class Listens:
    """All listens on one session."""

    def __init__(self, context: Context, session: OwnSession) -> None:
        self._inflight = context.inflight
        self._session = session
        self._beat = TimerId(f"listens:{next(context.numbers)}")
        self._beating = False
        self._listens: dict[Call, Listen] = {}
        self._subscriptions: dict[str, _Subscription] = {}

    def __len__(self) -> int:
        return len(self._listens)

    def begin(self, call: Call, params: Fields) -> list[Command]:
        """Open a listen: subscribe to what it names, then say what of it can be had."""
        wanted = fields_of(params.get("notifications"))
        if wanted is None:
            text = f"{LISTEN} needs params.notifications, an object"
            return self._inflight.fail(call, Problem(Code.INVALID_PARAMS, text))
        listen = self._listen(call, wanted)
        new = [uri for uri in listen.uris if uri not in self._subscriptions]
        if len(self) >= MAX_LISTENS or len(self._subscriptions) + len(new) > MAX_URIS:
            text = "too many subscriptions are open already"
            hint = {"hint": f"at most {MAX_LISTENS} listens and {MAX_URIS} resources"}
            return self._inflight.fail(call, Problem(Code.INTERNAL_ERROR, text, dict(hint)))
        self._listens[call] = listen
        for uri in listen.uris:
            self._subscriptions.setdefault(uri, _Subscription()).users.append(listen)
        commands: list[Command] = []
        for uri in tuple(listen.uris):
            commands += self._advance(uri)
        return commands + self._acknowledge(listen) + self._keep_alive()

    def _listen(self, call: Call, wanted: Fields) -> Listen:
        """What can be had of what is wanted, as far as the server's capabilities tell."""
        offers = self._session.server.offers
        kinds = [
            kind
            for kind, name in _KINDS.items()
            if bytes(wanted.get(kind, b"")) == b"true" and offers(name, "listChanged")
        ]
        named = [text_of(item) for item in items_of(wanted.get(_URIS))]
        uris = dict.fromkeys(uri for uri in named if uri is not None)
        return Listen(call, kinds, [*uris] if offers("resources", "subscribe") else [])

    def cancel(self, call: Call) -> list[Command]:
        """Close a listen whose call has been closed."""
        listen = self._listens.pop(call, None)
        if listen is None:
            return []
        commands: list[Command] = []
        for uri in listen.uris:
            self._subscriptions[uri].users.remove(listen)
            commands += self._advance(uri)
        return commands

    # -- a listen lives as long as its session, which nothing else may be using --

    def _keep_alive(self) -> list[Command]:
        if self._beating:
            return []
        self._beating = True
        return [SetTimer(self._beat, ALIVE_SECONDS)]

    def timer_fired(self, timer: TimerId) -> list[Command]:
        if timer != self._beat:
            return []
        self._beating = False
        return self._session.ask("ping", {}, self._alive) if self._listens else []

    def _alive(self, answer: Answer) -> list[Command]:
        """A server that refuses a ping is there all the same."""
        if isinstance(answer.error, Problem):
            return [notice(answer.error, LISTEN), *self.lose()]
        return self._keep_alive()

    # -- the server's subscriptions --

    def _advance(self, uri: str) -> list[Command]:
        """Bring the server's state of a URI nearer to what the listens want it to be."""
        subscription = self._subscriptions[uri]
        if subscription.asking:
            return []
        if bool(subscription.users) == subscription.held:
            if subscription.held:
                return self._settle(uri, subscription)
            del self._subscriptions[uri]
            return []
        subscription.asking = True
        method = "resources/unsubscribe" if subscription.held else "resources/subscribe"
        return self._session.ask(
            method, {"uri": _raw(uri)}, lambda answer: self._answered(uri, subscription, answer)
        )

    def _answered(self, uri: str, subscription: _Subscription, answer: Answer) -> list[Command]:
        if self._subscriptions.get(uri) is not subscription:
            return []  # all listens have ended meanwhile
        subscription.asking = False
        if subscription.held:
            subscription.held = False
            return self._advance(uri)
        if answer.error is None:
            subscription.held = True
            return self._advance(uri)
        del self._subscriptions[uri]
        return self._settle(uri, subscription)

    def _settle(self, uri: str, subscription: _Subscription) -> list[Command]:
        """Tell the listens of a URI that wait to know whether the server has it."""
        commands: list[Command] = []
        for listen in subscription.users:
            if not subscription.held:
                listen.uris.remove(uri)
            listen.unknown.discard(uri)
            commands += self._acknowledge(listen)
        return commands

    # -- to the client --

    def _acknowledge(self, listen: Listen) -> list[Command]:
        if listen.acknowledged or listen.unknown:
            return []
        listen.acknowledged = True
        honoured: dict[str, object] = dict.fromkeys(listen.kinds, True)
        if listen.uris:
            honoured[_URIS] = listen.uris
        return [_frame(listen, _ACKNOWLEDGED, {"notifications": _raw(honoured)})]

    def heard(self, message: Message) -> list[Command]:
        """Hand a change on to the listens that want it."""
        params = fields_of(message.params) or {}
        uri = text_of(params.get("uri"))
        if message.method == UPDATED and uri is not None:
            takers = [each for each in self._listens.values() if each.wants(uri)]
        else:
            kind = CHANGES.get(message.method)
            takers = [each for each in self._listens.values() if kind in each.kinds]
        return [_frame(each, message.method, params) for each in takers if each.acknowledged]

    def lose(self) -> list[Command]:
        """End all listens: a result would say that the server ended them in good order."""
        listens = [*self._listens.values()]
        self._listens.clear()
        self._subscriptions.clear()
        commands: list[Command] = []
        for listen in listens:
            params = {"requestId": msgspec.Raw(listen.call.request_id)}
            commands += self._inflight.end(listen.call, notification(CANCELLED, params))
        return commands


def _frame(listen: Listen, method: str, params: Fields) -> Command:
    """A notification of a listen; each bears the id of the client's request for it."""
    meta = fields_of(params.get("_meta")) or {}
    meta[_SUBSCRIPTION_ID] = msgspec.Raw(listen.call.request_id)
    return Emit(notification(method, {**params, "_meta": _raw(meta)}))


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
