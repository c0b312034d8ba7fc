"""The tools of a 2026-07-28 server: which may be shown, and which arguments go into headers.

An HTTP client, which the relay is, must know a tool's input schema to call it (2026-07-28,
server/tools, "x-mcp-header"). So the relay learns from each tool list that passes, and asks for
one itself where a call cannot be sent without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from relay.core import messages
from relay.core.commands import ClearTimer, Command, Level, Notice, SetTimer
from relay.core.era import Context
from relay.core.errors import Code, Problem
from relay.core.events import Event, TimerFired, TimerId
from relay.core.exchanges import Accepted, Answered, Exchanges, Over, Received
from relay.core.headers import Headers, modern_post
from relay.core.inflight import Call
from relay.core.messages import (
    Fields,
    Message,
    fields_of,
    items_of,
    problem_of,
    protocol_version_of,
    text_of,
)
from relay.core.modern.toolparams import IllegalAnnotation, Mirror, mirrors_of, param_headers

_T = TypeVar("_T")

TOOLS_LIST = "tools/list"

MAX_TOOLS = 10_000
"""Tools that are known at most; the one that was learnt first is forgotten first."""

MAX_PARKED = 256
"""Calls that wait for a listing at most; more are sent without one."""

MAX_PAGES = 100
"""Pages of one listing that are asked for at most."""

LISTING_SECONDS = 10.0
"""How long calls wait for a listing before they are sent with what is known."""

_RESERVED = "io.modelcontextprotocol/"
_LOG_LEVEL = _RESERVED + "logLevel"


class ToolCatalogue:
    """What is known of the tools, by name.

    ``envelope`` puts the reserved keys of ``_meta`` into the params of a legacy client's request;
    a modern client's are those of its call.
    """

    def __init__(
        self, context: Context, version: str, envelope: Callable[[Fields], Fields]
    ) -> None:
        self._inflight = context.inflight
        self._version = version
        self._envelope = envelope
        self._exchanges = Exchanges("tools", context.numbers)
        self._deadline = TimerId(f"tools-listing:{next(context.numbers)}")
        self._mirrors: dict[str, tuple[Mirror, ...]] = {}
        self._fresh: dict[str, None] = {}  # names that have been listed or looked for
        self._complaints: dict[str, None] = {}
        self._parked: dict[Call, str] = {}  # with the tool's name
        self._repaired: set[Call] = set()
        self._pages = 0
        self._request: tuple[str, Fields] = (version, {})

    @property
    def busy(self) -> bool:
        """Whether a call waits for a listing."""
        return bool(self._parked)

    # -- learning --

    def sift(self, result: msgspec.Raw | None) -> tuple[msgspec.Raw | None, list[Command]]:
        """Learn from a result of ``tools/list`` and hide what must be hidden from it.

        ``result`` itself is given back where nothing is hidden.
        """
        fields = fields_of(result)
        if fields is None:
            return result, []
        tools, notices = items_of(fields.get("tools")), list[Command]()
        legal: list[msgspec.Raw] = []
        for tool in tools:
            complaint = self._learn(tool)
            if complaint is None:
                legal.append(tool)
            elif complaint not in self._complaints:
                _remember(self._complaints, complaint, None)
                notices.append(Notice(Level.WARNING, complaint))
        if len(legal) == len(tools):
            return result, []
        fields["tools"] = msgspec.Raw(msgspec.json.encode(legal))
        return msgspec.Raw(msgspec.json.encode(fields)), notices

    def _learn(self, tool: msgspec.Raw) -> str | None:
        """Remember a tool; what is wrong with it is told if it may not be shown."""
        fields = fields_of(tool) or {}
        name = text_of(fields.get("name")) or ""
        mirrors, complaint = tuple[Mirror, ...](), None
        try:
            mirrors = mirrors_of(fields.get("inputSchema"))
        except IllegalAnnotation as error:
            complaint = f"tool {name[:100]!r} is hidden: {error}"
        _remember(self._mirrors, name, mirrors)
        _remember(self._fresh, name, None)
        return complaint

    def changed(self) -> None:
        """Doubt what is known: the server said that its tools have changed."""
        self._fresh.clear()

    # -- calling --

    def headers(self, params: Fields) -> Headers:
        """The ``Mcp-Param-*`` headers of a ``tools/call``, as far as its tool is known."""
        return param_headers(self._mirrors.get(_name(params), ()), params.get("arguments"))

    def must_look(self, call: Call, params: Fields) -> bool:
        """Whether a ``tools/call`` is to wait until its tool has been looked for."""
        return _name(params) not in self._fresh and len(self._parked) < MAX_PARKED

    def look(self, call: Call, version: str) -> list[Command]:
        """Keep a call until its tool was found or is not to be found; then it is repeated.

        ``version`` is the call's, as visible ASCII. However many wait there is one listing.
        """
        self._parked[call] = _name(fields_of(call.message.params) or {})
        if len(self._parked) > 1:
            return []
        self._request = version, self._listing_params(call)
        self._pages = 0
        return [SetTimer(self._deadline, LISTING_SECONDS), self._ask(None)]

    def mismatch(self, call: Call, message: Message) -> list[Command] | None:
        """Look for the tool of a call anew that was refused for its headers, and repeat the call.

        None if the error is to be answered: it is another one, or not the first of the call.
        """
        problem = problem_of(message.error)
        if problem is None or problem.code != Code.HEADER_MISMATCH:
            return None
        self._repaired = {each for each in self._repaired if self._inflight.is_open(each)}
        if call in self._repaired or len(self._parked) >= MAX_PARKED:
            return None
        self._repaired.add(call)
        self._fresh.pop(_name(fields_of(call.message.params) or {}), None)
        return self.look(call, protocol_version_of(call.message) or self._version)

    def cancel(self, call: Call) -> list[Command]:
        """A call that has been closed waits no longer; others change nothing."""
        if self._parked.pop(call, None) is None or self._parked:
            return []
        return self._stop()

    def farewell(self) -> list[Command]:
        """Let nothing wait any more."""
        self._parked.clear()
        return self._stop()

    # -- the listing --

    def receive(self, event: Event) -> list[Command]:
        """Take in an event; one that is not about the listing changes nothing."""
        if isinstance(event, TimerFired) and event.timer == self._deadline:
            return self._give_up(f"no answer within {LISTING_SECONDS:g} s") if self.busy else []
        commands: list[Command] = []
        for arrival in self._exchanges.receive(event):
            match arrival:
                case Answered(message=message):
                    commands += self._page(message)
                case Over(problem=Problem(message=text)):
                    commands += self._give_up(text)
                case Over() | Received() | Accepted():
                    pass
                case command:
                    commands.append(command)
        return commands

    def _ask(self, cursor: msgspec.Raw | None) -> Command:
        version, params = self._request
        if cursor is not None:
            params = {**params, "cursor": cursor}
        request_id = self._inflight.new_id()
        body = messages.request(request_id, TOOLS_LIST, params)
        headers = modern_post(TOOLS_LIST, version, params)
        return self._exchanges.post(TOOLS_LIST, headers, body, expects=request_id)[1]

    def _page(self, message: Message) -> list[Command]:
        if message.error is not None:
            problem = problem_of(message.error)
            return self._give_up("no reason given" if problem is None else problem.message)
        _, commands = self.sift(message.result)
        self._release([call for call, name in self._parked.items() if name in self._fresh])
        cursor = (fields_of(message.result) or {}).get("nextCursor")
        self._pages += 1
        if not self._parked or text_of(cursor) is None or self._pages >= MAX_PAGES:
            return [*commands, *self._finish()]
        return [*commands, self._ask(cursor)]

    def _give_up(self, reason: str) -> list[Command]:
        text = f"calls are sent without headers for their arguments, {TOOLS_LIST}: {reason[:200]}"
        return [Notice(Level.WARNING, text), *self._finish()]

    def _finish(self) -> list[Command]:
        """Let go all that wait; a tool that was not found is not looked for again."""
        for name in self._parked.values():
            _remember(self._fresh, name, None)
        self._release([*self._parked])
        return self._stop()

    def _release(self, calls: list[Call]) -> None:
        for call in calls:
            del self._parked[call]
            self._inflight.repeat(call)

    def _stop(self) -> list[Command]:
        unsettled = [exchange for exchange in self._exchanges if not exchange.settled]
        return [
            ClearTimer(self._deadline),
            *(self._exchanges.abort(exchange) for exchange in unsettled),
        ]

    def _listing_params(self, call: Call) -> Fields:
        params = fields_of(call.message.params) or {}
        if protocol_version_of(call.message) is None:
            return self._envelope({})
        meta = fields_of(params.get("_meta")) or {}
        kept = {
            key: value
            for key, value in meta.items()
            if key.startswith(_RESERVED) and key != _LOG_LEVEL
        }
        return {"_meta": msgspec.Raw(msgspec.json.encode(kept))}


def _name(params: Fields) -> str:
    return text_of(params.get("name")) or ""


def _remember(known: dict[str, _T], name: str, value: _T) -> None:
    known.pop(name, None)
    known[name] = value
    if len(known) > MAX_TOOLS:
        del known[next(iter(known))]
