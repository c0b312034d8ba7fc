"""Two small MCP clients on stdio, written by hand so that they share no fault with an SDK."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from tests_integration.harness.deadline import Deadline
from tests_integration.harness.process import Process

Json = dict[str, Any]
RequestId = int | str

RELAY = (sys.executable, "-m", "relay")
LEGACY = "2025-06-18"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
CLIENT = {"name": "harness", "version": "1"}


def parse(line: bytes) -> Json:
    """The message on a line of stdout; anything else there is a fault of the relay."""
    assert line.endswith(b"\n"), f"a message without its LF: {line[:200]!r}"
    message = json.loads(line)
    assert isinstance(message, dict), f"not one JSON object: {line[:200]!r}"
    assert message.get("jsonrpc") == "2.0", f"not a message: {line[:200]!r}"
    return message


class StdioClient:
    """A client's end of the pipes: one JSON object a line, every wait under one deadline."""

    def __init__(
        self,
        command: Sequence[str],
        deadline: Deadline,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.deadline = deadline
        self.process = Process(command, environ)
        self.capabilities: Json = {}
        self._last_id = 0

    # -- what it says --

    def send(self, **message: Any) -> None:
        """One message, as it is given, with ``jsonrpc`` added."""
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
        self.process.write(text.encode() + b"\n")

    def notify(self, method: str, params: Json | None = None) -> None:
        self.send(method=method, **({} if params is None else {"params": params}))

    def ask(self, request_id: RequestId, method: str, params: Json | None = None) -> None:
        """Send a request under an id of the test's choice."""
        params = self._addressed(params)
        self.send(id=request_id, method=method, **({} if params is None else {"params": params}))

    def start(self, method: str, params: Json | None = None) -> int:
        """Send a request; its id."""
        self._last_id += 1
        self.ask(self._last_id, method, params)
        return self._last_id

    def _addressed(self, params: Json | None) -> Json | None:
        """The params of a request, with what this client's revision puts on each."""
        return params

    def start_call(self, tool: str, meta: Json | None = None, /, **arguments: Any) -> int:
        """Send a ``tools/call``; its id."""
        params: Json = {"name": tool, "arguments": arguments}
        return self.start("tools/call", params if meta is None else {**params, "_meta": meta})

    def cancel(self, request_id: RequestId) -> None:
        self.notify("notifications/cancelled", {"requestId": request_id})

    def respond(self, request: Json, result: Json) -> None:
        """Answer a request of the server."""
        self.send(id=request["id"], result=result)

    # -- what it hears --

    def take(self, wanted: Callable[[Json], bool], what: str = "a message") -> Json:
        """The first message, not taken yet, that is wanted; those before it stay.

        Errors: Ended when stdout ends first, Silent at the deadline.
        """
        lines = self.process.lines
        return parse(lines.take(lambda line: wanted(parse(line)), self.deadline, what))

    def answer(self, request_id: RequestId) -> Json:
        """The response to a request of this client: its result or its error, whole."""
        return self.take(
            lambda message: "method" not in message and message.get("id") == request_id,
            f"the answer to {request_id!r}",
        )

    def result(self, request_id: RequestId) -> Json:
        """The result of a request; an error fails the test."""
        answer = self.answer(request_id)
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    def error(self, request_id: RequestId) -> Json:
        """The error of a request; a result fails the test."""
        answer = self.answer(request_id)
        assert "error" in answer, answer
        error: Json = answer["error"]
        return error

    def told(self, method: str) -> Json:
        """The next notification or request of the server with this method, whole."""
        return self.take(lambda message: message.get("method") == method, method)

    def call(self, tool: str, meta: Json | None = None, /, **arguments: Any) -> Json:
        """The result of a ``tools/call``."""
        return self.result(self.start_call(tool, meta, **arguments))

    def request(self, method: str, params: Json | None = None) -> Json:
        """The result of a request."""
        return self.result(self.start(method, params))

    def drain(self, quiet: float = 0.5) -> list[Json]:
        """What has come and was not taken, once nothing came for ``quiet`` seconds.

        Errors: Ended if stdout ends, so that silence of a dead relay proves nothing.
        """
        return [parse(line) for line in self.process.lines.drain(quiet, self.deadline)]

    # -- its end --

    def close(self) -> int:
        """EOF, then terminate, then kill, each with a bound; the exit code.

        What nobody took has to be messages, too.
        """
        code = self.process.close()
        for line in self.process.lines.left():
            parse(line)
        return code


class LegacyClient(StdioClient):
    """A client of a revision with a handshake."""

    def initialize(self, capabilities: Json | None = None, version: str = LEGACY) -> Json:
        """The handshake; the server's result."""
        return self.finish_handshake(self.start_handshake(capabilities, version))

    def start_handshake(self, capabilities: Json | None = None, version: str = LEGACY) -> int:
        """Send ``initialize``; its id."""
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": CLIENT,
        }
        return self.start("initialize", params)

    def finish_handshake(self, request_id: int) -> Json:
        result = self.result(request_id)
        self.notify("notifications/initialized")
        return result


class ModernClient(StdioClient):
    """A client of 2026-07-28: no handshake, version and capabilities on every request."""

    def with_capabilities(self, capabilities: Json) -> Self:
        self.capabilities = capabilities
        return self

    def _addressed(self, params: Json | None) -> Json:
        params = params or {}
        envelope = {
            META + "protocolVersion": MODERN,
            META + "clientInfo": CLIENT,
            META + "clientCapabilities": self.capabilities,
        }
        return {**params, "_meta": {**envelope, **params.get("_meta", {})}}

    def discover(self) -> Json:
        return self.request("server/discover")

    def listen(self, **notifications: Any) -> int:
        """Open ``subscriptions/listen`` with this filter and see it acknowledged; its id."""
        number = self.start("subscriptions/listen", {"notifications": notifications})
        self.told("notifications/subscriptions/acknowledged")
        return number
