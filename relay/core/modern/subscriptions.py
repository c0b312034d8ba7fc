"""A legacy client's subscriptions on a 2026-07-28 server, which has ``subscriptions/listen``."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from relay.core.commands import Command, Emit, Level, Notice
from relay.core.era import Context
from relay.core.errors import Code, Problem
from relay.core.events import Event
from relay.core.inflight import Call
from relay.core.messages import Fields, fields_of, text_of
from relay.core.modern import downgrade
from relay.core.modern.filters import TOOLS_CHANGED, Filter, fetched_by, offered_lists
from relay.core.modern.listening import Ended, Listening, NotOpened, Opened, Told

MAX_URIS = 1024
"""Resources subscribed to at most; also the calls that wait for a subscription."""

_NO_URI = Problem(
    Code.INVALID_PARAMS,
    "params.uri is not the name of a resource",
    {"hint": "give the URI of the resource"},
)
_TOO_MANY = Problem(
    Code.INTERNAL_ERROR,
    f"no more than {MAX_URIS} resources can be subscribed to",
    {"hint": "unsubscribe from those that are no longer needed"},
)
_NOT_TOLD = Problem(
    Code.INVALID_PARAMS,
    "the server does not tell of changes of this resource",
    {"hint": "read the resource when its content is needed"},
)


class Subscriptions:
    """What a legacy client wants to hear of, and hears.

    ``envelope`` puts the reserved keys of ``_meta`` into the params of a request in ``version``.
    ``tools_changed`` is called whenever the list of tools may have changed.
    """

    def __init__(
        self,
        context: Context,
        version: str,
        envelope: Callable[[Fields], Fields],
        tools_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._inflight = context.inflight
        self._tools_changed = tools_changed
        self._listening = Listening(context, version, envelope)
        self._lists: frozenset[str] = frozenset()
        self._uris: frozenset[str] = frozenset()  # those that the client was told it has
        self._waiting: dict[Call, str] = {}  # calls that are still to be told, with their URIs

    @property
    def busy(self) -> bool:
        """Whether a ``resources/subscribe`` waits for the server."""
        return bool(self._waiting)

    # -- the client --

    def begin(self, capabilities: Fields) -> list[Command]:
        """Listen for changes of the lists of which the server's ``capabilities`` promise them."""
        self._lists = offered_lists(capabilities)
        return self._want(now=True)

    def subscribe(self, call: Call) -> list[Command]:
        """Answer ``resources/subscribe`` as soon as a stream tells of the resource."""
        uri = _uri_of(call)
        if uri is None:
            return self._inflight.fail(call, _NO_URI)
        if uri in self._uris & self._listening.told.uris:
            return self._inflight.succeed(call, {})
        wanted = self._wanted.uris
        if len(self._waiting) >= MAX_URIS or len(wanted | {uri}) > MAX_URIS:
            return self._inflight.fail(call, _TOO_MANY)
        self._waiting[call] = uri
        return self._want(now=True)

    def unsubscribe(self, call: Call) -> list[Command]:
        """Answer ``resources/unsubscribe`` at once: nothing of it is passed on any more."""
        uri = _uri_of(call)
        if uri is None:
            return self._inflight.fail(call, _NO_URI)
        commands = self._admit(frozenset({uri}))
        self._uris -= {uri}
        return [*commands, *self._inflight.succeed(call, {}), *self._want()]

    def sent(self, call: Call) -> list[Command]:
        """Listen again, if the server has ended that, for a client that goes on fetching.

        It cannot know of the end: to it, a subscription lasts as long as its connection.
        """
        hint = fetched_by(call.message)
        return self._listening.resume() if hint is not None and self._has.covers(hint) else []

    def cancel(self, call: Call) -> list[Command]:
        """A call that has been closed waits no longer; others change nothing."""
        return [] if self._waiting.pop(call, None) is None else self._want()

    def farewell(self) -> list[Command]:
        """Close the streams and want nothing any more."""
        self._lists = self._uris = frozenset()
        self._waiting.clear()
        return self._listening.close()

    @property
    def _wanted(self) -> Filter:
        return Filter(self._lists, self._uris.union(self._waiting.values()))

    def _want(self, *, now: bool = False) -> list[Command]:
        return self._listening.want(self._wanted, now=now)

    def _admit(self, uris: frozenset[str]) -> list[Command]:
        """Tell the calls that wait for one of ``uris`` that they have it."""
        commands: list[Command] = []
        for call, uri in self._take(uris):
            self._uris |= {uri}
            commands += self._inflight.succeed(call, {})
        return commands

    def _refuse(self, uris: frozenset[str], error: Problem | msgspec.Raw) -> list[Command]:
        commands: list[Command] = []
        for call, _ in self._take(uris):
            commands += self._inflight.fail(call, error)
        return commands

    def _take(self, uris: frozenset[str]) -> list[tuple[Call, str]]:
        taken = [(call, uri) for call, uri in self._waiting.items() if uri in uris]
        for call, _ in taken:
            del self._waiting[call]
        return taken

    # -- the server --

    def receive(self, event: Event) -> list[Command]:
        """Take in an event; one that is not about these streams changes nothing."""
        commands: list[Command] = []
        for report in self._listening.receive(event):
            match report:
                case Told():
                    commands += self._told(report)
                case Opened():
                    commands += self._opened(report)
                case Ended():
                    commands += self._ended()
                case NotOpened(asked=asked, error=error):
                    commands += self._refuse(asked.uris, error)
                    commands += self._want(now=self.busy)
                case command:
                    commands.append(command)
        return commands

    @property
    def _has(self) -> Filter:
        """What the client may be told of: it has asked for it and knows that it has it."""
        return Filter(self._lists, self._uris)

    def _told(self, told: Told) -> list[Command]:
        if told.hint is not None and not self._has.covers(told.hint):
            return []
        if told.message.method == TOOLS_CHANGED:
            self._tools_changed()
        line = downgrade.server_notification(told.message)
        return [] if line is None else [Emit(line)]

    def _opened(self, opened: Opened) -> list[Command]:
        refused = opened.asked - opened.told
        commands = self._forget(self._has & refused)
        if opened.missed:
            text = "the server tells of changes again; what was missed is said to have changed"
            commands += [Notice(Level.INFO, text), *self._catch_up()]
        commands += self._admit(opened.told.uris)
        commands += self._refuse(refused.uris, _NOT_TOLD)
        return commands + self._want()

    def _forget(self, lost: Filter) -> list[Command]:
        """What the server does not tell of any more would be asked for again and again."""
        self._lists -= lost.lists
        self._uris -= lost.uris
        if not lost:
            return []
        names = ", ".join([*sorted(lost.lists), *sorted(lost.uris)])
        return [Notice(Level.WARNING, f"the server tells of no changes of {names[:200]}")]

    def _ended(self) -> list[Command]:
        text = "the server tells of no more changes; it is asked to once the client fetches again"
        return [Notice(Level.WARNING, text), *self._catch_up()]

    def _catch_up(self) -> list[Command]:
        """Nothing is replayed: have the client look at all that may have changed unheard."""
        if "tools" in self._lists:
            self._tools_changed()
        return [Emit(line) for line in self._has.notifications()]


def _uri_of(call: Call) -> str | None:
    """The resource that a call names; an empty name is none."""
    return text_of((fields_of(call.message.params) or {}).get("uri")) or None
