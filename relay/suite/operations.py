"""The operations of a suite, as requests: nothing is sent that the suite does not say."""

from __future__ import annotations

import asyncio
from typing import cast

from relay.suite.channel import Broken
from relay.suite.document import Json, Object
from relay.suite.judgement import Answer, RpcResult
from relay.suite.suite import CallTool, Operation
from relay.suite.targets.interface import Session
from relay.suite.wording import shown


async def perform(session: Session, operation: Operation, seconds: float) -> Answer:
    """Carry out an operation within so many seconds; raises as :meth:`Session.request` does."""
    if isinstance(operation, CallTool):
        params: Object = {"name": operation.tool, "arguments": operation.input}
        return await session.request("tools/call", params, seconds)
    return await list_tools(session, seconds)


async def list_tools(session: Session, seconds: float) -> Answer:
    """List the tools: the result is that of the first page with the tools of all pages."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    first: Object | None = None
    tools: list[Json] = []
    cursors: set[str] = set()
    params: Object = {}
    while True:
        answer = await session.request("tools/list", params, max(deadline - clock(), 0))
        if not isinstance(answer, RpcResult) or not _has_tools(answer.value):
            return answer
        page = cast(Object, answer.value)
        first = first or page
        tools += cast(list[Json], page["tools"])
        cursor = page.get("nextCursor")
        if cursor is None:
            rest = {name: value for name, value in first.items() if name != "nextCursor"}
            return RpcResult({**rest, "tools": tools})
        if not isinstance(cursor, str) or cursor in cursors:
            raise _no_next_page(cursor)
        cursors.add(cursor)
        params = {"cursor": cursor}


def _has_tools(page: Json) -> bool:
    return isinstance(page, dict) and isinstance(page.get("tools"), list)


def _no_next_page(cursor: Json) -> Broken:
    if isinstance(cursor, str):
        return Broken(
            f"the server gives the cursor {shown(cursor)} a second time, so its list has no end",
            "mend the server: each page names the next one",
        )
    return Broken(
        f"the cursor of the next page is {shown(cursor)}, where MCP has a string",
        "mend the server: leave nextCursor out on the last page",
    )
