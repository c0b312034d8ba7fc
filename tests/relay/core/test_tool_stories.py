"""Calls of tools whatever client, server and network do."""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay.core.events import Failure
from tests.relay.core.rig import STREAM, Sent, error, expire, notification, on_modern
from tests.relay.core.test_tools import call, tool

NAMES = ["one", "two"]
KINDS = st.sampled_from([None, "Region", "Zone", "not legal"])
PAGE = st.tuples(st.dictionaries(st.sampled_from(NAMES), KINDS), st.booleans())
STEPS = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(NAMES)),
    st.tuples(st.just("call"), st.sampled_from(NAMES)),
    st.tuples(st.just("list"), st.none()),
    st.tuples(st.just("cancel"), st.integers(0, 9)),
    st.tuples(st.just("change"), st.none()),
    st.tuples(st.just("page"), PAGE),
    st.tuples(st.just("page"), PAGE),
    st.tuples(st.just("error"), st.sampled_from([-32020, -32020, -32603])),
    st.tuples(st.just("fail"), st.sampled_from([Failure.CLOSED, Failure.IDLE_TIMEOUT])),
    st.tuples(st.just("fire"), st.integers(0, 9)),
)


class Story:
    """A client that calls tools, and a server that has others at any moment."""

    def __init__(self) -> None:
        self.rig = on_modern()
        self.rig.ask_modern("sub", "subscriptions/listen", {"notifications": {}})
        self.stream = self.rig.got_one()
        self.rig.head(self.stream, 200, STREAM)
        self.numbers = count(1)
        self.open: set[int] = set()
        self.refused: dict[int, int] = {}  # how often a call was refused for its headers
        self.known: dict[str, str | None] = {}  # the header of a tool, as last told
        self.waiting: list[Sent] = []  # what the server has not answered

    def step(self, what: str, how: Any, which: int = 0) -> None:
        if what == "call":
            self.open.add(number := next(self.numbers))
            call(self.rig, number, how)
        elif what == "list":
            self.open.add(number := next(self.numbers))
            self.rig.ask_modern(number, "tools/list")
        elif what == "cancel":
            if self.open:
                number = sorted(self.open)[how % len(self.open)]
                self.open.remove(number)
                self.rig.cancel(number)
        elif what == "change":
            self.rig.body(self.stream, notification("notifications/tools/list_changed"))
        elif what == "fire":
            if timers := sorted(self.rig.timers):
                expire(self.rig, timers[how % len(timers)])
        elif self.waiting:
            self.serve(self.waiting.pop(which % len(self.waiting)), what, how)
        self.look()

    def serve(self, sent: Sent, what: str, how: Any) -> None:
        if what == "fail":
            self.rig.fail(sent, how, may_have_executed=True)
        elif what == "error":
            if sent.method == "tools/call" and how == -32020:
                self.refused[sent.body["id"]] = self.refused.get(sent.body["id"], 0) + 1
            self.rig.reply(sent, error(sent.body["id"], how), 400 if how == -32020 else 200)
        elif sent.method == "tools/call":
            self.rig.succeed(sent, {"content": []})
        else:
            tools, more = how
            self.known.update({name: None if h == "not legal" else h for name, h in tools.items()})
            page = {"tools": [tool(name, header) for name, header in tools.items()]}
            self.rig.succeed(sent, {**page, "nextCursor": "2"} if more else page)

    def look(self) -> None:
        for told in self.rig.told():
            if "method" not in told:
                self.open.remove(told["id"])  # answered once, and not when cancelled
        for sent in self.rig.got():
            self.waiting.append(sent)
            if sent.method == "tools/call":
                self.check(sent)
        self.waiting = [each for each in self.waiting if each.exchange not in self.rig.aborted]

    def check(self, sent: Sent) -> None:
        """A call bears the header that was told last, goes up for who waits, and twice at most."""
        assert sent.body["id"] in self.open
        assert self.refused.get(sent.body["id"], 0) <= 1
        header = self.known.get(sent.body["params"]["name"])
        mirrored = [name for name in sent.headers if name.startswith("Mcp-Param-")]
        assert mirrored == ([] if header is None else [f"Mcp-Param-{header}"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(STEPS, st.integers(0, 3)), min_size=15, max_size=50))
def test_whatever_happens_each_call_is_answered_once_and_bears_what_was_told_last(
    steps: list[tuple[tuple[str, Any], int]],
) -> None:
    story = Story()
    for (what, how), which in steps:
        story.step(what, how, which)
    for _ in range(8):
        for _ in range(len(story.waiting)):
            story.step("page", ({"one": "Region"}, False))
        for timer in [*story.rig.timers]:
            expire(story.rig, timer)
            story.look()
    assert story.open == set()
    assert story.waiting == []
