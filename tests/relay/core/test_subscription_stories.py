"""Subscriptions whatever client, server and network do."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay.core.events import Failure
from relay.core.modern.listening import MAX_OLD, OVERLAP_SECONDS
from tests.relay.core.listens import (
    ACKNOWLEDGED,
    LISTEN,
    NO_LISTS,
    UPDATED,
    acknowledge,
    asked,
    client,
    tell,
    time_of,
    timer_of,
)
from tests.relay.core.rig import (
    STREAM,
    Sent,
    error,
    expire,
    result,
)

URIS = ["a://1", "a://2", "b://3"]
ALL = frozenset([*URIS, "c://last"])
REQUESTS = (
    st.tuples(st.just("subscribe"), st.sampled_from(URIS)),
    st.tuples(st.just("unsubscribe"), st.sampled_from(URIS)),
)
USUAL = (
    *REQUESTS,
    st.tuples(st.just("acknowledge"), st.just(ALL)),
    st.tuples(st.just("update"), st.sampled_from(URIS)),
)
STEPS = st.one_of(
    *USUAL,
    *USUAL,
    *USUAL,
    st.tuples(st.just("acknowledge"), st.frozensets(st.sampled_from(URIS))),
    st.tuples(st.just("cancel"), st.integers(0, 9)),
    st.tuples(st.just("fire"), st.integers(0, 9)),
    st.tuples(st.just("error"), st.sampled_from([-32601, -32602, -32603, -32000])),
    st.tuples(st.just("status"), st.sampled_from([401, 404, 500, 503])),
    st.tuples(st.sampled_from(["result", "end"]), st.none()),
    st.tuples(st.just("fail"), st.sampled_from(list(Failure))),
)


class Story:
    """A client and a server of which each does what it likes; keeps the books on both."""

    def __init__(self) -> None:
        self.rig = client(NO_LISTS)
        self.numbers = count(1)
        self.open: dict[int, tuple[str, str]] = {}  # requests without an answer
        self.has: set[str] = set()  # what the client is subscribed to, by all that it was told
        self.streams: list[Sent] = []
        self.headed: set[int] = set()

    def step(self, what: str, how: Any, which: int) -> None:
        if what in ("subscribe", "unsubscribe"):
            number = next(self.numbers)
            self.open[number] = what, how
            self.rig.ask(number, f"resources/{what}", {"uri": how})
        elif what == "cancel":
            if self.open:
                number = sorted(self.open)[how % len(self.open)]
                del self.open[number]
                self.rig.cancel(number)
        elif what == "fire":
            if timers := sorted(self.rig.timers):
                expire(self.rig, timers[how % len(timers)])
        elif self.streams:
            self.serve(self.streams[which % len(self.streams)], what, how)
        self.look()

    def serve(self, stream: Sent, what: str, how: Any) -> None:
        rig, listen_id = self.rig, stream.body["id"]
        if stream.exchange not in self.headed and what not in ("status", "fail"):
            rig.head(stream, 200, STREAM)
            self.headed.add(stream.exchange)
        if what == "acknowledge":
            uris = [uri for uri in asked(stream)["resourceSubscriptions"] if uri in how]
            tell(rig, stream, ACKNOWLEDGED, notifications={"resourceSubscriptions": uris})
        elif what == "update":
            tell(rig, stream, UPDATED, uri=how)
        elif what == "result":
            rig.body(stream, result(listen_id, {}))
        elif what == "error":
            rig.body(stream, error(listen_id, how))
        else:
            if what == "status" and stream.exchange not in self.headed:
                rig.head(stream, how, {})
            if what == "fail":
                rig.fail(stream, how)
            else:
                rig.end(stream)
            self.streams.remove(stream)

    def look(self) -> None:
        """Read what the client was told: each line has to make sense after those before it."""
        for told in self.rig.told():
            if "method" in told:
                assert told["method"] == UPDATED
                assert told["params"]["uri"] in self.has
                continue
            what, uri = self.open.pop(told["id"])  # answered once, and not when cancelled
            if what == "unsubscribe":
                assert told["result"] == {}
                self.has.discard(uri)
            elif "result" in told:
                self.has.add(uri)
        self.streams += [sent for sent in self.rig.got() if sent.method == LISTEN]
        self.streams = [each for each in self.streams if each.exchange not in self.rig.aborted]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(STEPS, st.integers(0, 3)), min_size=15, max_size=50))
def test_whatever_happens_each_request_is_answered_once_and_nothing_unwanted_is_told(
    steps: list[tuple[tuple[str, Any], int]],
) -> None:
    story = Story()
    for (what, how), which in steps:
        story.step(what, how, which)
        assert len([timer for timer in story.rig.timers if timer.startswith("listen")]) <= 8
    story.step("subscribe", "c://last", 0)
    for _ in range(6):
        for number in range(len(story.streams)):
            story.step("acknowledge", ALL, number)
        for timer in [each for each in story.rig.timers if not each.startswith("listen-stream")]:
            expire(story.rig, timer)
            story.look()
    for timer in [each for each in story.rig.timers if each.startswith("listen-stream")]:
        expire(story.rig, timer)
    story.look()
    assert story.open == {}
    (stream,) = story.streams
    kept = set(asked(stream)["resourceSubscriptions"])
    assert "c://last" in kept <= story.has
    let_go = " ".join(each for each in story.rig.notices if "tells of no changes" in each)
    assert all(uri in let_go for uri in story.has - kept)
    for uri in URIS:
        tell(story.rig, stream, UPDATED, uri=uri)
    heard = [told["params"]["uri"] for told in story.rig.told()]
    assert heard == [uri for uri in URIS if uri in kept]


@dataclass(eq=False)
class Pipe:
    """A stream and what is on its way on it; the empty text is the acknowledgement."""

    stream: Sent
    queue: list[str] = field(default_factory=lambda: [""])


class Bus:
    """A server that tells each change on all its streams, and a network that delays each of them.

    A stream is registered as its request is sent. ``unheard`` are the resources that have changed
    since the client, subscribed to them, last heard so.
    """

    def __init__(self) -> None:
        self.rig = client(NO_LISTS)
        self.numbers = count(1)
        self.open: dict[int, tuple[str, str]] = {}
        self.has: set[str] = set()
        self.pipes: list[Pipe] = []
        self.unheard: set[str] = set()

    @property
    def delayed(self) -> list[Pipe]:
        return [pipe for pipe in self.pipes if pipe.queue]

    def step(self, what: str, how: Any) -> None:
        if what in ("subscribe", "unsubscribe"):
            number = next(self.numbers)
            self.open[number] = what, how
            self.rig.ask(number, f"resources/{what}", {"uri": how})
        elif what == "publish":
            self.publish(how)
        elif what == "deliver":
            if self.delayed:
                self.deliver(self.delayed[how % len(self.delayed)])
        else:
            self.close_old()
        self.look()

    def publish(self, uri: str) -> None:
        for pipe in self.pipes:
            if uri in asked(pipe.stream)["resourceSubscriptions"]:
                pipe.queue.append(uri)
        if uri in self.has:
            self.unheard.add(uri)

    def deliver(self, pipe: Pipe) -> None:
        said = pipe.queue.pop(0)
        if said:
            tell(self.rig, pipe.stream, UPDATED, uri=said)
            return
        if len(self.old) >= MAX_OLD:
            while self.old[0].queue:
                self.deliver(self.old[0])
        acknowledge(self.rig, pipe.stream)

    @property
    def old(self) -> list[Pipe]:
        return [each for each in self.pipes if time_of(self.rig, each.stream) == OVERLAP_SECONDS]

    def close_old(self) -> None:
        """Let the time of old streams run out on which nothing is on its way."""
        for pipe in self.old:
            if not pipe.queue:
                expire(self.rig, timer_of(pipe.stream))

    def look(self) -> None:
        for told in self.rig.told():
            if "method" in told:
                self.unheard.discard(told["params"]["uri"])
                continue
            what, uri = self.open.pop(told["id"])
            if what == "subscribe":
                self.has.add(uri)
            else:
                self.has.discard(uri)
                self.unheard.discard(uri)
        self.pipes += [Pipe(sent) for sent in self.rig.got()]
        self.pipes = [each for each in self.pipes if each.stream.exchange not in self.rig.aborted]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(
            *REQUESTS,
            st.tuples(st.just("publish"), st.sampled_from(URIS)),
            st.tuples(st.just("deliver"), st.sampled_from([0, -1])),
            st.tuples(st.just("deliver"), st.sampled_from([0, -1])),
            st.tuples(st.just("close old"), st.none()),
        ),
        min_size=15,
        max_size=50,
    )
)
def test_no_change_is_lost_in_whatever_order_the_streams_deliver(
    steps: list[tuple[str, Any]],
) -> None:
    bus = Bus()
    for what, how in steps:
        bus.step(what, how)
    for uri in ["", *sorted(bus.has)]:
        bus.step("publish", uri)
        while bus.delayed:
            bus.step("deliver", 0)
        assert bus.unheard == set()
        bus.step("close old", None)
