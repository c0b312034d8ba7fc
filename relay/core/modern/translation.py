"""A legacy client on a 2026-07-28 server: its requests upwards, the server's answers downwards.

What the older revisions do in a connection and 2026-07-28 does not do at all happens here: the
handshake, ``ping``, log levels, subscriptions and the server's questions.
"""

from __future__ import annotations

from collections.abc import Callable

from relay.core.commands import Command, Emit, Level, Notice
from relay.core.era import DISCOVER, INITIALIZE, Context
from relay.core.errors import Code, Problem
from relay.core.events import Event
from relay.core.inflight import Call
from relay.core.messages import Fields, Message, fields_of
from relay.core.modern import downgrade
from relay.core.modern.legacy_client import LegacyClient
from relay.core.modern.progress import Progress
from relay.core.modern.rounds import Rounds
from relay.core.modern.subscriptions import Subscriptions
from relay.core.questions import ASKING_METHODS
from relay.core.versions import common_modern_version, no_common_version, offered_versions

_SUBSCRIBE = "resources/subscribe"
_UNSUBSCRIBE = "resources/unsubscribe"


class Translation:
    """The calls of a legacy client, each from its request to its answer.

    ``discovered`` is the DiscoverResult, None while it is not known. ``tools_changed`` is called
    whenever the server's tools may have changed.
    """

    def __init__(
        self,
        context: Context,
        version: str,
        client: LegacyClient,
        discovered: Fields | None,
        tools_changed: Callable[[], None],
    ) -> None:
        self._inflight = context.inflight
        self._server_name = context.options.server_name
        self._client = client
        self._discovered = discovered
        self._rounds = Rounds(context.inflight, context.numbers, client)
        self._subscriptions = Subscriptions(context, version, client.envelope, tools_changed)
        self._calls: dict[Call, Progress] = {}  # that are on their way to the server
        self._ready = False  # the client has said so

    def __contains__(self, call: Call) -> bool:
        """Whether a call is one of a legacy client."""
        return call in self._calls

    @property
    def busy(self) -> bool:
        return self._rounds.busy or self._subscriptions.busy

    def farewell(self) -> list[Command]:
        return [*self._rounds.farewell(), *self._subscriptions.farewell()]

    def receive(self, event: Event) -> list[Command]:
        return [*self._rounds.receive(event), *self._subscriptions.receive(event)]

    # -- the client's messages --

    def request(self, call: Call) -> tuple[str, Fields] | list[Command]:
        """The method and params that go up for a request, or what is done about it here."""
        if call.method == INITIALIZE:
            return self._initialize(call)
        if call.method == _SUBSCRIBE:
            return self._subscriptions.subscribe(call)
        if call.method == _UNSUBSCRIBE:
            return self._subscriptions.unsubscribe(call)
        answer = self._client.local_answer(call.message)
        if answer is not None:
            return self._close(call, answer)
        return call.method, self._on_its_way(call)

    def sent(self, call: Call) -> list[Command]:
        """A request has gone up."""
        return self._subscriptions.sent(call)

    def _initialize(self, call: Call) -> tuple[str, Fields] | list[Command]:
        self._client.introduce(call.message)
        if self._discovered is not None:
            return self._close(call, self._introduction(self._discovered))
        return DISCOVER, self._on_its_way(call)

    def _on_its_way(self, call: Call) -> Fields:
        if len(self._calls) >= len(self._inflight):  # some have ended while nobody knew the era
            self._calls = {
                each: progress
                for each, progress in self._calls.items()
                if self._inflight.is_open(each)
            }
        self._calls.setdefault(call, Progress(call.message))
        return self._client.stamped(call.message)

    def notification(self, message: Message) -> Fields | None:
        """The params that go up for a notification; None if it does not."""
        return None if self._client.keeps_back(message) else self._client.stamped(message)

    def begin(self) -> list[Command]:
        """``notifications/initialized``: listen to the changes that the client was promised."""
        self._ready = True
        offered = fields_of((self._discovered or {}).get("capabilities"))
        return [] if offered is None else self._subscriptions.begin(offered)

    def response(self, message: Message) -> list[Command]:
        """A response of the client, to one of the server's questions if to anything."""
        return self._rounds.answer(message)

    def cancel(self, call: Call) -> list[Command]:
        """End the work on a call that has been closed."""
        self._calls.pop(call, None)
        return [*self._rounds.forget(call), *self._subscriptions.cancel(call)]

    def withdraw(self, call: Call) -> tuple[Message, list[Command]]:
        """Let a call go that is to be begun anew elsewhere; what the client asked for is given."""
        original = self._rounds.original(call)
        return original, self.cancel(call)

    # -- the server's messages --

    def tell(self, call: Call, message: Message) -> list[Command]:
        """A notification of the server on the way to the answer of ``call``."""
        if message.method == "notifications/message" and not self._client.wants_log:
            return []
        if message.method == "notifications/progress" and not self._calls[call].advances(message):
            return [Notice(Level.DEBUG, f"dropped progress that is none for {call.method}")]
        line = downgrade.server_notification(message)
        return [] if line is None else [Emit(line)]

    def answer(self, call: Call, fields: Fields | None) -> list[Command]:
        """The server's result for a call; None if it is no object."""
        if fields is None:
            text = f"the server's result for {call.method} is no object"
            return self.fail(call, Problem(Code.INTERNAL_ERROR, text))
        if call.method in ASKING_METHODS and downgrade.wants_input(fields):
            return self._rounds.ask(call, fields)
        if call.method == INITIALIZE:
            commands = self._close(call, self._introduced(fields))
            return [*commands, *self.begin()] if self._ready else commands
        return self._close(call, downgrade.result(call.method, fields, self._client.revision))

    def fail(self, call: Call, problem: Problem) -> list[Command]:
        """Close a call with an error."""
        return [*self.cancel(call), *self._inflight.fail(call, problem)]

    def _close(self, call: Call, answer: Fields | Problem) -> list[Command]:
        if isinstance(answer, Problem):
            return self.fail(call, answer)
        return [*self.cancel(call), *self._inflight.succeed(call, answer)]

    def _introduced(self, discovered: Fields) -> Fields | Problem:
        offered = offered_versions(discovered, "supportedVersions")
        if common_modern_version(offered) is None:
            return no_common_version(offered)
        self._discovered = discovered
        return self._introduction(discovered)

    def _introduction(self, discovered: Fields) -> Fields:
        return downgrade.initialize_result(discovered, self._client.revision, self._server_name)
