"""Making a new session in place of one that the server has lost, in the client's own words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from relay.core import messages
from relay.core.commands import ClearTimer, Command, Level, Notice, SetTimer
from relay.core.era import INITIALIZE, Context
from relay.core.events import TimerId
from relay.core.exchanges import Exchange, notice
from relay.core.inflight import Call
from relay.core.legacy.channel import Channel
from relay.core.legacy.memory import SUBSCRIBE, Memory
from relay.core.messages import Fields, Message, fields_of, problem_of

RESTORE_SECONDS = 30.0
"""How long the client's messages wait at most for a new session to be answered."""

REPLAYS_AT_ONCE = 8
"""Requests of the relay's own that a new session gets side by side."""

Deliver = Callable[[Exchange, Message], list[Command]]
"""Takes what the server says of its own accord to the client; the exchange is what it came on."""


class Recovery:
    """The relay's own side of a session: its handshake, and what it repeats in a new session.

    ``needed`` says that there was a session and that there is none at present.
    """

    def __init__(
        self, context: Context, channel: Channel, deliver: Deliver, initialize: Message | None
    ) -> None:
        self._inflight = context.inflight
        self._channel = channel
        self._deliver = deliver
        self._handshake: Exchange | None = None
        self._left: deque[Message] = deque()
        self._replayed: dict[Exchange, Message] = {}
        self._refused: set[Call] = set()  # by a lost session, once
        self._memory = Memory(initialize)
        self._proven = True  # the session has answered something, or is of the client's making
        self.timer = TimerId(f"restore:{next(context.numbers)}")
        self.needed = initialize is not None
        self.late_comer = False
        """Whether who waits came in the middle, and must not be told of an end long due."""

    @property
    def under_way(self) -> bool:
        return self._handshake is not None

    def is_handshake(self, exchange: Exchange) -> bool:
        """Whether an exchange is the ``initialize`` of the relay."""
        return exchange is self._handshake

    def forget(self) -> None:
        """The client starts over."""
        self._memory = Memory()
        self.needed, self._proven = False, True

    def learn(self, exchange: Exchange, answer: Message) -> list[Command]:
        """The present session has answered a call of the client."""
        self._proven = True
        result = fields_of(answer.result)
        if result is None or exchange.call is None:
            return []
        if exchange.method == INITIALIZE:
            self._channel.adopt(exchange, result)
            self._memory.introduce(exchange.call.message, result)
        return self._memory.learn(exchange.call.message)

    def lose(self) -> bool:
        """There is no session any more; whether it is worth asking for another one at once.

        It is not where one that the relay has made is lost before it was of any use.
        """
        self.needed = True
        return self._proven

    def start(self) -> list[Command]:
        """Ask for a new session: once, whoever waits for it and whatever becomes of them."""
        if self.under_way:
            return []
        self._proven = self.late_comer = False
        self._refused = {call for call in self._refused if self._inflight.is_open(call)}
        request_id = self._inflight.new_id()
        body = self._memory.handshake(request_id)
        self._handshake, posted = self._channel.post(INITIALIZE, body, expects=request_id)
        return [*posted, SetTimer(self.timer, RESTORE_SECONDS)]

    def join(self) -> None:
        """Somebody begins to wait, the first one."""
        self.late_comer = self.under_way

    def stop(self) -> list[Command]:
        """Wait no longer for an answer to the handshake."""
        exchange, self._handshake = self._handshake, None
        self._left.clear()
        self._replayed.clear()
        if exchange is None:
            return []
        waits = self._channel.is_open(exchange) and not exchange.settled
        return [ClearTimer(self.timer), *(self._channel.release(exchange) if waits else [])]

    def second_chance(self, call: Call) -> bool:
        """Whether a call that a lost session has refused, unexecuted, is to be sent once more."""
        if call in self._refused or not self._inflight.may_repeat(call):
            return False
        self._refused.add(call)
        return True

    def restored(self, result: Fields) -> list[Command]:
        """There is a new session; what it has to hear again is sent by :meth:`replay`."""
        exchange, self._handshake = self._handshake, None
        assert exchange is not None, "a handshake is answered once"
        self.needed = False
        self._channel.adopt(exchange, result)
        self._left = deque(self._memory.replayed())
        notices, changes = self._memory.compare(result)
        restored = Notice(Level.INFO, "the session is restored")
        commands: list[Command] = [ClearTimer(self.timer), restored, *notices]
        for change in changes:
            commands += self._deliver(exchange, change)
        return commands

    def replay(self) -> list[Command]:
        """Say what is still to be said, a few requests at a time."""
        commands: list[Command] = []
        while self._left and len(self._replayed) < REPLAYS_AT_ONCE:
            message = self._left.popleft()
            if not self._memory.holds(message):
                continue  # the client has taken it back meanwhile
            request_id = self._inflight.new_id()
            body = messages.request(request_id, message.method, fields_of(message.params) or {})
            exchange, posted = self._channel.post(message.method, body, expects=request_id)
            self._replayed[exchange] = message
            commands += posted
        return commands

    def replayed(self, exchange: Exchange, answer: Message | None = None) -> list[Command]:
        """One of these requests is over; it is not if the exchange is another one."""
        said = self._replayed.pop(exchange, None)
        if said is None:
            return []
        commands: list[Command] = []
        refusal = None if answer is None else problem_of(answer.error)
        if refusal is not None:
            commands.append(notice(refusal, f"the new session refuses {said.method}"))
        elif said.method == SUBSCRIBE and answer is not None:
            commands += self._deliver(exchange, _updated(said))
        return commands + self.replay()


def _updated(subscribe: Message) -> Message:
    """A notification that a resource may have changed while nobody could tell."""
    uri = (fields_of(subscribe.params) or {}).get("uri", msgspec.Raw(b'""'))
    return messages.new_notification("notifications/resources/updated", {"uri": uri})
