"""MCP clients of both lifecycles behind a relay, for a user who agrees to whatever is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tests_integration.harness.deadline import Deadline
from tests_integration.harness.stdio_client import (
    CLIENT,
    MODERN,
    Json,
    LegacyClient,
    ModernClient,
    StdioClient,
)

CAPABILITIES: Json = {"elicitation": {}}

FILLED: Mapping[str, Any] = {
    "boolean": True,
    "integer": 1,
    "number": 1.5,
    "string": "text",
    "array": [],
    "object": {},
}
"""A value of each type, where a schema proposes none."""


METHOD_NOT_FOUND = -32601


class Refused(Exception):
    """A request was answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


def filled(schema: Json) -> Json:
    """An object that a schema allows, with what the schema proposes."""
    return {
        name: value["default"] if "default" in value else FILLED.get(value.get("type", "object"))
        for name, value in schema.get("properties", {}).items()
    }


def agreed(elicitation: Json) -> Json:
    """The user's answer to ``elicitation/create``."""
    return {"action": "accept", "content": filled(elicitation["params"]["requestedSchema"])}


class Host(Protocol):
    """What a scenario needs of a client, whatever its lifecycle."""

    @property
    def client(self) -> StdioClient: ...

    def open(self) -> None:
        """What a client does before its first request of use."""
        ...

    def call(self, tool: str, arguments: Json) -> Json:
        """The result of a tool that may ask its user something."""
        ...

    def request(self, method: str, params: Json | None = None) -> Json:
        """The result of any other request."""
        ...


def result_of(answer: Json) -> Json:
    """The result of an answered request. Errors: Refused."""
    if "error" in answer:
        raise Refused(answer["error"]["code"], answer["error"]["message"])
    result: Json = answer["result"]
    return result


class LegacyHost:
    """A client with a handshake: the server asks it by requests of its own."""

    def __init__(self, command: Sequence[str], deadline: Deadline, revision: str) -> None:
        self.client = LegacyClient(command, deadline)
        self._handshake = {
            "protocolVersion": revision,
            "capabilities": CAPABILITIES,
            "clientInfo": CLIENT,
        }

    def open(self) -> None:
        self.request("initialize", self._handshake)
        self.client.notify("notifications/initialized")

    def call(self, tool: str, arguments: Json) -> Json:
        number = self.client.start("tools/call", {"name": tool, "arguments": arguments})
        while True:
            message = self.client.take(
                lambda message: (
                    message.get("method") == "elicitation/create"
                    or ("method" not in message and message["id"] == number)
                ),
                f"an answer or a question of {tool}",
            )
            if "method" not in message:
                return result_of(message)
            self.client.respond(message, agreed(message))

    def request(self, method: str, params: Json | None = None) -> Json:
        return result_of(self.client.answer(self.client.start(method, params)))


class ModernHost:
    """A client without a handshake: a result asks it, and it calls again with the answers."""

    def __init__(self, command: Sequence[str], deadline: Deadline) -> None:
        self.client = ModernClient(command, deadline).with_capabilities(CAPABILITIES)

    def open(self) -> None:
        try:
            self.request("server/discover")
        except Refused as error:
            # So a relay tells a client of both lifecycles to fall back; one of this alone goes on.
            if error.code != METHOD_NOT_FOUND:
                raise

    def call(self, tool: str, arguments: Json) -> Json:
        params: Json = {"name": tool, "arguments": arguments}
        result = self.request("tools/call", params)
        while result.get("resultType") == "input_required":
            asked = result["inputRequests"].items()
            again = {**params, "inputResponses": {key: agreed(each) for key, each in asked}}
            if "requestState" in result:
                again["requestState"] = result["requestState"]
            result = self.request("tools/call", again)
        return result

    def request(self, method: str, params: Json | None = None) -> Json:
        return result_of(self.client.answer(self.client.start(method, params)))


def host(revision: str, command: Sequence[str], deadline: Deadline) -> Host:
    """A client of a revision of the protocol, and the relay that it starts."""
    if revision == MODERN:
        return ModernHost(command, deadline)
    return LegacyHost(command, deadline, revision)
