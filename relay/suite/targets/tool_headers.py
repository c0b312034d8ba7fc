"""The headers that a modern server wants beside a tool's arguments, once it has asked for them.

2026-07-28, server/tools, "x-mcp-header". To know them beforehand would take a ``tools/list`` that
no case has; so a call goes without, and only one that is refused for that has them looked up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import msgspec

from relay.core.headers import Headers, modern_post
from relay.core.messages import Fields
from relay.core.modern.toolparams import IllegalAnnotation, Mirror, mirrors_of, param_headers
from relay.suite.canonical import compact
from relay.suite.document import Json, Object
from relay.suite.judgement import Answer, RpcResult
from relay.suite.wire import Request

Post = Callable[[Request, Headers], Awaitable[Answer]]


class ToolHeaders:
    """What is known of the tools of one session."""

    def __init__(self, numbers: Iterator[int], post: Post) -> None:
        self._numbers = numbers
        self._post = post
        self._mirrors: dict[str, tuple[Mirror, ...]] = {}

    def of(self, request: Request) -> Headers:
        """The ``Mcp-Param-*`` headers of a request, as far as its tool is known."""
        mirrors = self._mirrors.get(str(request.params.get("name")), ())
        return param_headers(mirrors, as_raw(request.params.get("arguments")))

    async def learn(self, request: Request) -> Request | None:
        """Look a refused call's tool up; the call to be made then, if that may change anything."""
        if request.method != "tools/call" or self.of(request):
            return None
        await self._look_up(request)
        if not self.of(request):
            return None
        return msgspec.structs.replace(request, id=next(self._numbers))

    async def _look_up(self, call: Request) -> None:
        params: Object = {"_meta": call.params["_meta"]}
        while True:  # within the time of the call
            request = Request(next(self._numbers), "tools/list", params, call.era, call.revision)
            headers = modern_post(request.method, call.revision or "", {})
            answer = await self._post(request, headers)
            result = answer.value if isinstance(answer, RpcResult) else None
            if not isinstance(result, dict):
                return
            self._remember(result.get("tools"))
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or call.params.get("name") in self._mirrors:
                return
            params = {**params, "cursor": cursor}

    def _remember(self, tools: Json) -> None:
        for tool in tools if isinstance(tools, list) else []:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                try:
                    mirrors = mirrors_of(as_raw(tool.get("inputSchema")))
                except IllegalAnnotation:
                    mirrors = ()
                self._mirrors[tool["name"]] = mirrors


def as_raw(value: Json) -> msgspec.Raw:
    """A value as the relay's core has it; half a surrogate pair has no place in a header."""
    text = compact(value)
    try:
        return msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return msgspec.Raw(b"null")


def as_fields(params: Object) -> Fields:
    """The members that name what a request is about."""
    return {key: as_raw(value) for key, value in params.items() if isinstance(value, str)}
