"""One handshake finds out the era, and silence, refusals and nonsense each mean something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from relay.suite.channel import Broken, Lost, NotOpened, Witness
from relay.suite.document import Object
from relay.suite.eras import EraChoice, agree, incomplete, request_of
from relay.suite.judgement import Answer, RpcError, RpcResult
from relay.suite.outcome import ServerEnd, ServerInfo
from relay.suite.targets.session import Opener
from relay.suite.wire import Request
from tests.relay.suite.fake_session import FakeChannel, Witnessed, never

DISCOVER, INITIALIZE = "server/discover", "initialize"
INITIALIZED: Object = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "n", "version": "1"}}
DISCOVERED: Object = {
    "supportedVersions": ["2026-07-28"],
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "m", "version": "2"}},
}
WELCOME = RpcResult(INITIALIZED)
NOT_FOUND = RpcError(-32601, "no such method")

Reaction = Answer | Exception | Callable[[], Any]


def server(discover: Reaction, initialize: Reaction = WELCOME) -> FakeChannel:
    """A server that answers the one and the other like this."""

    def script(request: Request) -> Any:
        reaction = discover if request.method == DISCOVER else initialize
        return reaction() if callable(reaction) else reaction

    return FakeChannel(script)


async def agreed(
    channel: FakeChannel, choice: EraChoice = EraChoice.AUTO, probe_seconds: float = 30.0
) -> ServerInfo:
    return await asyncio.wait_for(agree(channel, choice, count(1), probe_seconds), 30)


async def test_a_modern_server_is_asked_nothing_else() -> None:
    channel = server(RpcResult(DISCOVERED))
    assert await agreed(channel) == ServerInfo("m", "2", "2026-07-28", "modern")
    assert (channel.methods, channel.notified) == ([DISCOVER], [])


@pytest.mark.parametrize(
    "discover",
    [
        NOT_FOUND,
        RpcError(-32022, "unsupported", {"supported": ["2025-06-18"]}),
        RpcError(-32022, "unsupported", {"supported": []}),
        RpcError(-32022, "unsupported", "what"),
        Broken("HTTP 404", "", 404),
        Broken("HTTP 202", "", 202),
        Broken("nonsense", ""),
        RpcResult({"supportedVersions": ["2025-06-18", 7]}),
        RpcResult({"supportedVersions": "2026-07-28"}),
        RpcResult({}),
        RpcResult([]),
    ],
)
async def test_what_no_modern_server_answers_makes_it_a_legacy_one(discover: Reaction) -> None:
    channel = server(discover)
    assert await agreed(channel) == ServerInfo("n", "1", "2025-06-18", "legacy")
    assert channel.methods == [DISCOVER, INITIALIZE]
    assert channel.notified == ["notifications/initialized"]
    assert [request.id for request in channel.requests] == [1, 2]


@pytest.mark.parametrize(
    ("discover", "said"),
    [
        (RpcError(-32022, "why", {"supported": ["2026-07-28"]}), "refused server/discover: why"),
        (RpcError(-32022, "why", {"supported": ["2031-01-01"]}), "none of the known revisions"),
        (RpcError(-32021, "why"), "refused server/discover: why"),
        (RpcError(-32020, "why"), "refused server/discover: why"),
        (RpcResult({"supportedVersions": ["2031-01-01"]}), "but 2031-01-01"),
        (Broken("HTTP 503", "wait", 503), "HTTP 503"),
        (Broken("HTTP 401", "authorize", 401), "HTTP 401"),
    ],
)
async def test_what_says_nothing_about_the_era_ends_the_attempt(
    discover: Reaction, said: str
) -> None:
    channel = server(discover)
    with pytest.raises(NotOpened, match=said):
        await agreed(channel)
    assert channel.methods == [DISCOVER]


@pytest.mark.parametrize(
    ("initialize", "said"),
    [
        (RpcError(-32603, "not today"), r"refused initialize: not today \(-32603\)"),
        (RpcResult(7), "the result of initialize is 7"),
        (RpcResult({}), "the revision null"),
    ],
)
async def test_a_handshake_that_fails_says_why(initialize: Reaction, said: str) -> None:
    with pytest.raises(NotOpened, match=said):
        await agreed(server(NOT_FOUND, initialize))


async def test_a_server_may_leave_out_its_name() -> None:
    named = RpcResult({"protocolVersion": "2024-11-05", "serverInfo": {"name": 7}})
    assert await agreed(server(NOT_FOUND, named)) == ServerInfo("", "", "2024-11-05", "legacy")
    nameless = RpcResult({"supportedVersions": ["2026-07-28"], "_meta": 7})
    assert (await agreed(server(nameless))).name == ""


async def test_a_given_era_is_not_found_out() -> None:
    channel = server(RpcResult(DISCOVERED))
    assert (await agreed(channel, EraChoice.LEGACY)).era == "legacy"
    assert channel.methods == [INITIALIZE]
    channel = server(RpcResult(DISCOVERED))
    assert (await agreed(channel, EraChoice.MODERN)).era == "modern"
    with pytest.raises(NotOpened, match="does not speak 2026-07-28"):
        await agreed(server(NOT_FOUND), EraChoice.MODERN)


async def test_silence_is_followed_by_a_legacy_handshake() -> None:
    channel = server(never)
    assert (await agreed(channel, probe_seconds=0.01)).era == "legacy"


async def test_a_probe_that_is_answered_late_counts_all_the_same() -> None:
    asked = asyncio.Event()

    async def late() -> Answer:
        await asked.wait()
        return RpcResult(DISCOVERED)

    async def refuse() -> Answer:
        asked.set()
        return RpcError(-32022, "modern only")

    async def hold() -> Answer:
        asked.set()
        return await never()

    for initialize in (refuse, hold):
        asked.clear()
        channel = server(late, initialize)
        assert (await agreed(channel, probe_seconds=0.01)).era == "modern"
        assert channel.notified == []


async def test_a_probe_that_is_refused_late_leaves_the_legacy_handshake() -> None:
    refused = asyncio.Event()

    async def late() -> Answer:
        refused.set()
        return NOT_FOUND

    async def slow() -> Answer:
        await refused.wait()
        await asyncio.sleep(0)
        return RpcResult(INITIALIZED)

    async def silent() -> Answer:
        await asyncio.sleep(0.05)
        return await late()

    assert (await agreed(server(silent, slow), probe_seconds=0.01)).era == "legacy"


async def test_what_a_channel_raises_goes_up() -> None:
    with pytest.raises(Lost):
        await agreed(server(Lost(ServerEnd("gone"))))


# -- requests and results --


def test_requests_are_made_as_the_revision_has_them() -> None:
    legacy = request_of(ServerInfo("", "", "2025-03-26", "legacy"), 3, "m", {"a": 1})
    assert (legacy.id, legacy.params, legacy.revision) == (3, {"a": 1}, "2025-03-26")
    modern = request_of(ServerInfo("", "", "2026-07-28", "modern"), 4, "m", {"a": 1})
    assert list(modern.params) == ["a", "_meta"]


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        ({}, None),
        ({"resultType": "complete"}, None),
        (7, None),
        ({"resultType": "input_required"}, "asks for input"),
        ({"resultType": "task"}, 'of the type "task"'),
    ],
)
def test_a_modern_result_has_to_be_complete(result: object, fault: str | None) -> None:
    modern = ServerInfo("", "", "2026-07-28", "modern")
    found = incomplete(modern, RpcResult(result))
    assert found is None if fault is None else fault in str(found)
    legacy = ServerInfo("", "", "2025-11-25", "legacy")
    assert incomplete(legacy, RpcResult(result)) is None
    assert incomplete(modern, NOT_FOUND) is None


# -- opening --


def opener(
    *channels: FakeChannel, choice: EraChoice = EraChoice.AUTO, starts: bool = True
) -> Opener:
    left = iter(channels)

    async def connect(numbers: Iterator[int], witness: Witness) -> FakeChannel:
        return next(left)

    return Opener(connect, choice, starts=starts)


async def test_a_server_that_dies_of_the_probe_is_started_again_for_a_legacy_session() -> None:
    first, second = server(Lost(ServerEnd("gone"))), server(NOT_FOUND)
    session = await opener(first, second).open(30, Witnessed())
    assert session.info.era == "legacy"
    assert first.closed
    assert second.methods == [INITIALIZE]


async def test_a_server_of_a_given_era_that_dies_is_not_started_again() -> None:
    gone = Lost(ServerEnd("it went"))
    with pytest.raises(NotOpened, match="it went before it could be spoken to") as caught:
        await opener(server(gone), choice=EraChoice.MODERN).open(30, Witnessed())
    assert caught.value.end == ServerEnd("it went")


async def test_a_server_that_others_have_started_is_reached_or_not() -> None:
    channel = server(Lost(ServerEnd("nobody listens")))
    with pytest.raises(NotOpened, match=r"^nobody listens$") as caught:
        await opener(channel, starts=False).open(30, Witnessed())
    assert caught.value.end is None
    assert channel.closed


async def test_an_attempt_that_fails_closes_its_channel() -> None:
    for reaction in (Broken("HTTP 500", "", 500), RpcError(-32021, "no")):
        channel = server(reaction)
        with pytest.raises(NotOpened) as caught:
            await opener(channel).open(30, Witnessed())
        assert channel.closed
        assert caught.value.end == ServerEnd("closed")
    channel = server(NOT_FOUND, Broken("nonsense", "mend it"))
    with pytest.raises(NotOpened, match="nonsense"):
        await opener(channel).open(30, Witnessed())
    assert channel.closed


async def test_an_attempt_without_an_end_is_ended() -> None:
    channel = server(never, never)
    with pytest.raises(NotOpened, match=r"within 0\.05 s") as caught:
        await opener(channel).open(0.05, Witnessed())
    assert channel.closed
    assert caught.value.end == ServerEnd("closed")
