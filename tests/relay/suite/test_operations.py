"""A list of tools is followed over its pages, and a call is one request."""

from __future__ import annotations

import asyncio

import pytest

from relay.suite.channel import Broken
from relay.suite.document import Object
from relay.suite.judgement import Answer, RpcError, RpcResult
from relay.suite.operations import list_tools, perform
from relay.suite.suite import CallTool, ListTools
from tests.relay.suite.fake_session import FakeSession, Respond, fine


def session(respond: Respond) -> FakeSession:
    return FakeSession(respond, None)


def paged(*results: object) -> FakeSession:
    """Answer with one page after the other."""
    left = iter(results)

    def respond(method: str, params: Object) -> Answer:
        now = asyncio.get_running_loop().time
        begun = now()
        while now() == begun:
            """Time passes, however coarse the clock is."""
        return RpcResult(next(left))

    return session(respond)


def tool(name: str) -> Object:
    return {"name": name}


async def test_a_call_is_one_request() -> None:
    server = session(fine)
    await perform(server, CallTool("t", {"a": 1}), 2.0)
    assert server.asked == [("tools/call", {"name": "t", "arguments": {"a": 1}})]
    assert server.seconds == [2.0]


async def test_the_pages_of_a_list_are_merged_into_the_first() -> None:
    server = paged(
        {"tools": [tool("a")], "nextCursor": "", "ttlMs": 5},
        {"tools": [tool("b")], "nextCursor": "2", "ttlMs": 6},
        {"tools": [tool("c")], "nextCursor": None},
    )
    answer = await perform(server, ListTools(), 30.0)
    assert answer == RpcResult({"ttlMs": 5, "tools": [tool("a"), tool("b"), tool("c")]})
    assert [params for _, params in server.asked] == [{}, {"cursor": ""}, {"cursor": "2"}]
    assert 0 < server.seconds[2] < server.seconds[1] < server.seconds[0] <= 30.0


async def test_a_list_without_an_end_is_no_answer() -> None:
    page: Object = {"tools": [], "nextCursor": "again"}
    with pytest.raises(Broken, match='the cursor "again" a second time'):
        await list_tools(paged(page, page, page), 30.0)
    with pytest.raises(Broken, match="the next page is 7"):
        await list_tools(paged({"tools": [], "nextCursor": 7}), 30.0)


@pytest.mark.parametrize("page", [7, {}, {"tools": 7}, {"tools": {}}])
async def test_a_page_that_is_none_is_left_to_the_judge(page: object) -> None:
    first: Object = {"tools": [], "nextCursor": "2"}
    assert await list_tools(paged(first, page), 30.0) == RpcResult(page)


async def test_an_error_on_a_later_page_is_the_answer() -> None:
    answers: list[Answer] = [RpcResult({"tools": [], "nextCursor": "2"}), RpcError(-1, "no")]
    left = iter(answers)
    assert await list_tools(session(lambda method, params: next(left)), 30.0) == RpcError(-1, "no")
