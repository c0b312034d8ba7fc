"""The shell with a scripted core and scripted HTTP: what it does with each command, and when."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest

from relay.core.commands import (
    Abort,
    ClearTimer,
    Command,
    Emit,
    Level,
    Notice,
    Request,
    SetTimer,
    Stop,
    Verb,
)
from relay.core.events import (
    ClientClosed,
    ClientLine,
    Event,
    ExchangeId,
    Failure,
    ServerAnswered,
    ServerEnded,
    ServerFailed,
    ServerSent,
    Started,
    Terminated,
    TimerFired,
    TimerId,
)
from relay.http.errors import HttpError
from relay.http.fake import FakeHttpClient, FakeResponse, Gate
from relay.http.interface import HttpClient, HttpRequest, HttpResponse
from relay.shell import INTERNAL_ERROR, Shell

ONE, TWO = ExchangeId(1), ExchangeId(2)
JSON, STREAM = {"content-type": "application/json"}, {"content-type": "text/event-stream"}
GO = ClientLine(b"go")


def post(exchange: ExchangeId) -> Request:
    return Request(exchange, Verb.POST, (("A", "b"),), b"body")


class Core:
    """Answers events by a function, keeps them, and stops when the client closes."""

    def __init__(self, answer: Callable[[Event], list[Command]], news: asyncio.Event) -> None:
        self.answer = answer
        self.events: list[Event] = []
        self.news = news

    def receive(self, event: Event) -> list[Command]:
        self.events.append(event)
        self.news.set()
        return [Stop(0)] if event == ClientClosed() else self.answer(event)

    def of(self, *kinds: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]


class Client:
    """Says what the test says; writes are kept, and wait when the test says so."""

    def __init__(self, news: asyncio.Event) -> None:
        self.says: asyncio.Queue[Event] = asyncio.Queue()
        self.news = news
        self.lines: list[bytes] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.closed = False

    async def events(self) -> AsyncIterator[Event]:
        while True:
            yield await self.says.get()

    def send(self, line: bytes) -> None:
        self.lines.append(line)
        self.news.set()

    async def room(self) -> None:
        await self.reads.wait()

    async def close(self) -> None:
        self.closed = True


class Run:
    """A shell at work on a scripted core, client and HTTP client."""

    def __init__(
        self,
        answer: Callable[[Event], list[Command]],
        *responses: FakeResponse,
        limit: int = 0,
        http: HttpClient | None = None,
    ) -> None:
        self.news = asyncio.Event()
        self.core = Core(answer, self.news)
        self.client = Client(self.news)
        self.http = FakeHttpClient(responses)
        self.recorded: list[tuple[Event, list[Command]]] = []
        self.shell = Shell(
            self.core,
            self.client,
            http or self.http,
            max_message_size=limit,
            record=lambda event, commands: self.recorded.append((event, commands)),
        )
        self.code: int | None = None

    def say(self, *events: Event) -> None:
        for event in events:
            self.client.says.put_nowait(event)

    async def until(self, done: Callable[[], object]) -> None:
        """Let the loop run until something is so."""
        with anyio.fail_after(5):
            while not done():
                self.news.clear()
                await self.news.wait()

    async def __aenter__(self) -> Run:
        self.task = asyncio.create_task(self.shell.run())
        self.task.add_done_callback(lambda _: self.news.set())
        await self.until(lambda: self.core.events)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.say(ClientClosed())
        with anyio.fail_after(5):
            self.code = await self.task


def on(script: Mapping[Event, list[Command]]) -> Callable[[Event], list[Command]]:
    """A core that knows some events and ignores the rest."""
    return lambda event: next((script[known] for known in script if known == event), [])


def starting(*commands: Command) -> Callable[[Event], list[Command]]:
    return lambda event: list(commands) if event == Started() else []


async def test_started_comes_first_and_stop_ends_with_its_code() -> None:
    run = Run(lambda event: [Stop(3)] if event == GO else [])
    async with run:
        run.say(GO)
        await run.until(run.task.done)
    assert run.core.events == [Started(), GO]
    assert run.code == 3
    assert run.client.closed and run.http.closed


async def test_what_is_emitted_goes_to_the_client_in_order() -> None:
    async with Run(lambda event: [Emit(b"1"), Emit(b"2")] if event == GO else []) as run:
        run.say(GO, GO)
    assert run.client.lines == [b"1", b"2", b"1", b"2"]


async def test_a_json_body_is_one_message_then_the_end() -> None:
    response = FakeResponse([b'{"a":', b"1}"])
    async with Run(starting(post(ONE)), response) as run:
        await run.until(lambda: run.core.of(ServerEnded))
    assert run.http.requests == [HttpRequest("POST", (("A", "b"),), b"body")]
    assert run.core.events[1:-1] == [
        ServerAnswered(ONE, 200, JSON),
        ServerSent(ONE, b'{"a":1}'),
        ServerEnded(ONE),
    ]


async def test_a_request_goes_where_the_core_sends_it() -> None:
    request = Request(ONE, Verb.POST, (), b"body", "/messages?session=7")
    async with Run(starting(request), FakeResponse([], 202, {})) as run:
        await run.until(lambda: run.core.of(ServerEnded))
    assert [asked.target for asked in run.http.requests] == ["/messages?session=7"]


async def test_an_empty_body_is_just_the_end() -> None:
    async with Run(starting(post(ONE)), FakeResponse([], 202, {})) as run:
        await run.until(lambda: run.core.of(ServerEnded))
    assert run.core.events[1:-1] == [ServerAnswered(ONE, 202, {}), ServerEnded(ONE)]


async def test_events_of_a_stream_are_told_as_they_arrive() -> None:
    more = Gate()
    first = b"id: 7\nretry: 20\ndata: one\n\ndata: t"
    headers = {"content-type": "Text/Event-Stream; charset=utf-8"}
    response = FakeResponse([first, more, b"wo\n\n"], headers=headers)
    async with Run(starting(post(ONE)), response) as run:
        await run.until(lambda: run.core.of(ServerSent))
        assert run.core.of(ServerSent) == [ServerSent(ONE, b"one", "message", "7", 20)]
        more.set()
        await run.until(lambda: run.core.of(ServerEnded))
    assert run.core.of(ServerSent)[1:] == [ServerSent(ONE, b"two", "message", "7")]


@pytest.mark.parametrize("page", [b"<html>" + b"x" * 100_000, b" " * 50_000 + b"text"])
async def test_of_a_body_that_is_not_json_only_the_beginning_is_kept(page: bytes) -> None:
    response = FakeResponse([page, page, Gate()], 502, {"content-type": "text/html"})
    async with Run(starting(post(ONE)), response) as run:
        await run.until(lambda: run.core.of(ServerEnded))
    assert run.core.of(ServerSent) == [ServerSent(ONE, page[:4096])]


@pytest.mark.parametrize("first", [b"{", b"[", b"\xef\xbb\xbf\r\n {"])
async def test_json_is_kept_whole_whatever_its_type_is_called(first: bytes) -> None:
    body = first + b"x" * 100_000
    async with Run(starting(post(ONE)), FakeResponse([body], headers={})) as run:
        await run.until(lambda: run.core.of(ServerEnded))
    assert run.core.of(ServerSent) == [ServerSent(ONE, body)]


@pytest.mark.parametrize("headers", [JSON, STREAM])
async def test_a_message_above_the_limit_ends_its_exchange(headers: dict[str, str]) -> None:
    parts = [b'{"data: "' if headers is JSON else b"data: ", b"x" * 1000, b"x" * 1000, Gate()]
    response = FakeResponse(parts, headers=headers)
    async with Run(starting(post(ONE)), response, limit=1500) as run:
        await run.until(lambda: run.core.of(ServerFailed))
    (failed,) = run.core.of(ServerFailed)
    assert isinstance(failed, ServerFailed)
    assert (failed.failure, failed.may_have_executed) == (Failure.TOO_LARGE, True)
    assert "1500" in failed.detail and run.http.exchanges[0].aborted


async def test_the_limit_is_for_each_message_not_for_the_stream() -> None:
    event = b"data: " + b"x" * 1000 + b"\n\n"
    async with Run(
        starting(post(ONE)), FakeResponse([event] * 9, headers=STREAM), limit=1500
    ) as run:
        await run.until(lambda: run.core.of(ServerEnded))
    assert len(run.core.of(ServerSent)) == 9


@pytest.mark.parametrize("executed", [True, False])
async def test_a_failed_exchange_is_told_with_its_reason(executed: bool) -> None:
    reset = HttpError(Failure.CLOSED, "reset by peer", may_have_executed=executed)
    response = FakeResponse([b"{", reset])
    async with Run(starting(post(ONE)), response) as run:
        await run.until(lambda: run.core.of(ServerFailed))
    assert run.core.of(ServerFailed, ServerEnded) == [
        ServerFailed(ONE, Failure.CLOSED, "reset by peer", executed)
    ]


async def test_a_waiting_exchange_holds_no_other_up() -> None:
    silent, quick = FakeResponse(before_head=[Gate()]), FakeResponse([b"{}"])
    async with Run(starting(post(ONE), post(TWO)), silent, quick) as run:
        await run.until(lambda: run.core.of(ServerEnded))
        assert run.core.of(ServerEnded) == [ServerEnded(TWO)]
        assert not run.http.exchanges[0].ended.is_set()


async def test_abort_before_the_head_closes_at_once_and_nothing_follows() -> None:
    head = Gate()
    response = FakeResponse([b"{}"], before_head=[head])
    async with Run(on({Started(): [post(ONE)], GO: [Abort(ONE)]}), response) as run:
        with anyio.fail_after(5):
            exchange = await run.http.started(0)
            run.say(GO)
            await exchange.ended.wait()
        assert exchange.aborted
        head.set()
    assert run.core.events == [Started(), GO, ClientClosed()]


async def test_abort_in_the_list_of_its_request_never_sends_it() -> None:
    async with Run(starting(post(ONE), Abort(ONE)), FakeResponse([b"{}"])) as run:
        run.say(GO)
        await run.until(lambda: GO in run.core.events)
    assert run.http.requests == []


async def test_abort_by_an_event_of_its_own_stops_the_events_behind_it() -> None:
    response = FakeResponse([b"data: 1\n\ndata: 2\n\n", b"data: 3\n\n"], headers=STREAM)
    script = on({Started(): [post(ONE)], ServerSent(ONE, b"1"): [Abort(ONE)]})
    async with Run(script, response) as run:
        with anyio.fail_after(5):
            await (await run.http.started(0)).ended.wait()
    assert run.core.events == [
        Started(),
        ServerAnswered(ONE, 200, STREAM),
        ServerSent(ONE, b"1"),
        ClientClosed(),
    ]


async def test_no_failure_follows_an_abort_even_if_http_reports_one() -> None:
    fake = FakeHttpClient([FakeResponse(before_head=[Gate()])])

    class Stubborn:
        aclose = fake.aclose

        @asynccontextmanager
        async def exchange(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
            try:
                async with fake.exchange(request) as response:
                    yield response
            except asyncio.CancelledError:
                raise HttpError(Failure.CLOSED, "reset", may_have_executed=True) from None

    run = Run(on({Started(): [post(ONE)], GO: [Abort(ONE)]}), http=Stubborn())
    async with run:
        with anyio.fail_after(5):
            exchange = await fake.started(0)
            run.say(GO)
            await exchange.ended.wait()
    assert run.core.events == [Started(), GO, ClientClosed()]


async def test_abort_of_what_is_over_is_nothing() -> None:
    async with Run(on({GO: [Abort(TWO), ClearTimer(TimerId("none")), Emit(b"on")]})) as run:
        run.say(GO)
        await run.until(lambda: run.client.lines)
    assert run.code == 0


async def test_a_timer_fires_once_and_can_be_set_again_by_its_own_event() -> None:
    tick = TimerId("tick")
    left = [SetTimer(tick, 0.0), SetTimer(tick, 0.0)]

    def answer(event: Event) -> list[Command]:
        return [left.pop()] if left and event in (Started(), TimerFired(tick)) else []

    async with Run(answer) as run:
        await run.until(lambda: len(run.core.of(TimerFired)) == 2)
    assert run.core.events == [Started(), TimerFired(tick), TimerFired(tick), ClientClosed()]


async def test_a_cleared_timer_does_not_fire_and_a_restarted_one_fires_once() -> None:
    one, two = TimerId("one"), TimerId("two")
    script = starting(SetTimer(one, 0.0), ClearTimer(one), SetTimer(two, 60.0), SetTimer(two, 0.0))
    async with Run(script) as run:
        await run.until(lambda: run.core.of(TimerFired))
        run.say(GO)
        await run.until(lambda: GO in run.core.events)
    assert run.core.of(TimerFired) == [TimerFired(two)]


async def test_a_timer_that_is_cleared_as_it_runs_out_does_not_fire() -> None:
    one, two, three = TimerId("one"), TimerId("two"), TimerId("three")
    script = on(
        {
            Started(): [SetTimer(one, 0.0), SetTimer(two, 0.0), SetTimer(three, 0.0)],
            TimerFired(one): [ClearTimer(two)],
        }
    )
    async with Run(script) as run:
        await run.until(lambda: TimerFired(three) in run.core.events)
    assert run.core.of(TimerFired) == [TimerFired(one), TimerFired(three)]


async def test_a_timer_that_is_left_does_not_ring_after_the_end() -> None:
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    async with Run(on({GO: [SetTimer(TimerId("late"), 0.02), Stop(0)]})) as run:
        run.say(GO)
    later = asyncio.Event()
    asyncio.get_running_loop().call_later(0.02, later.set)
    with anyio.fail_after(5):
        await later.wait()
    assert run.core.events == [Started(), GO]
    assert faults == []


async def test_events_that_came_together_are_told_before_a_slow_client_is_waited_for() -> None:
    chunks = [b"data: 1\n\ndata: 2\n\n", b"data: 3\n\n"]

    def answer(event: Event) -> list[Command]:
        if event == Started():
            return [post(ONE)]
        return [Emit(event.data)] if isinstance(event, ServerSent) else []

    run = Run(answer, FakeResponse(chunks, headers=STREAM))
    run.client.reads.clear()
    async with run:
        await run.until(lambda: run.client.lines)
        run.say(GO)
        await run.until(lambda: GO in run.core.events)
        assert len(run.core.of(ServerSent)) == 2
        run.client.reads.set()
        await run.until(lambda: run.core.of(ServerEnded))
    assert len(run.core.of(ServerSent)) == 3


async def test_a_slow_client_holds_up_the_stream_that_emits_and_nothing_else() -> None:
    others = Gate()
    loud = FakeResponse([b"data: 1\n\n", b"data: 2\n\n"], headers=STREAM)
    other = FakeResponse([others, b"{}"])

    def answer(event: Event) -> list[Command]:
        if event == Started():
            return [post(ONE), post(TWO)]
        return [Emit(event.data)] if isinstance(event, ServerSent) and event.exchange == ONE else []

    run = Run(answer, loud, other)
    run.client.reads.clear()
    async with run:
        await run.until(lambda: run.client.lines)
        others.set()
        await run.until(lambda: run.core.of(ServerEnded))
        run.say(GO)
        await run.until(lambda: GO in run.core.events)
        assert run.client.lines == [b"1"]
        run.client.reads.set()
        await run.until(lambda: len(run.core.of(ServerEnded)) == 2)
    assert run.client.lines == [b"1", b"2"]


async def test_a_slow_client_does_not_hold_the_end() -> None:
    async with Run(on({GO: [Emit(b"1")], Terminated("SIGTERM"): [Stop(0)]})) as run:
        run.client.reads.clear()
        run.say(GO)
        await run.until(lambda: run.client.lines)
        run.shell.terminate("SIGTERM")
    assert run.code == 0


async def test_stop_aborts_what_is_open() -> None:
    response = FakeResponse([b"data: 1\n\n", Gate()], headers=STREAM)
    async with Run(starting(post(ONE)), response) as run:
        await run.until(lambda: run.core.of(ServerSent))
    assert run.http.exchanges[0].aborted and run.code == 0


async def test_commands_behind_a_stop_are_not_carried_out() -> None:
    async with Run(on({GO: [Emit(b"1"), Stop(0), Emit(b"2"), post(ONE)]})) as run:
        run.say(GO)
    assert run.client.lines == [b"1"] and run.http.requests == []


async def test_terminate_is_told_and_after_the_end_is_nothing() -> None:
    run = Run(on({Terminated("SIGTERM"): [Emit(b"sorry"), Stop(0)]}))
    async with run:
        run.shell.terminate("SIGTERM")
        await run.until(run.task.done)
        run.shell.terminate("SIGTERM")
    assert run.core.events == [Started(), Terminated("SIGTERM")]
    assert run.client.lines == [b"sorry"]


@pytest.mark.parametrize("moment", [Started(), GO, ServerEnded(ONE), TimerFired(TimerId("t"))])
async def test_a_fault_in_the_core_is_logged_and_ends_with_its_own_code(
    moment: Event, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(event: Event) -> list[Command]:
        if event == moment:
            raise LookupError("a bug")
        return [post(ONE), SetTimer(TimerId("t"), 0.0)] if event == Started() else []

    async with Run(answer, FakeResponse([b"{}"])) as run:
        run.say(GO)
        await run.until(run.task.done)
    assert run.code == INTERNAL_ERROR
    assert run.client.lines == [] and run.client.closed
    assert "LookupError: a bug" in caplog.text


async def test_a_fault_in_an_exchange_is_logged_and_ends_with_its_own_code(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Run(starting(post(ONE))) as run:  # the fake takes no request beyond its script
        await run.until(run.task.done)
    assert run.code == INTERNAL_ERROR and "is not in the script" in caplog.text


async def test_every_event_is_recorded_with_its_commands() -> None:
    async with Run(on({GO: [Emit(b"1"), Emit(b"2")]})) as run:
        run.say(GO)
    assert run.recorded == [
        (Started(), []),
        (GO, [Emit(b"1"), Emit(b"2")]),
        (ClientClosed(), [Stop(0)]),
    ]


async def test_notices_events_and_commands_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "relay")
    notice = Notice(Level.WARNING, "protocol era: legacy")
    async with Run(on({ClientLine(b"x" * 999): [notice]})) as run:
        run.say(ClientLine(b"x" * 999))
    assert ("relay.core", logging.WARNING, notice.text) in caplog.record_tuples
    (long,) = [text for text in caplog.messages if text.startswith("< ClientLine")]
    assert "(999 bytes)" in long and len(long) < 300
