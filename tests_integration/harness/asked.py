"""Calls in which a server asks the user something, for clients of either era."""

from __future__ import annotations

from typing import Any

from tests_integration.harness.pairings import text_of
from tests_integration.harness.questions import ANSWERS, retry
from tests_integration.harness.stdio_client import Json, ModernClient, StdioClient

ABLE: Json = {"elicitation": {}}
"""The capabilities of a client that can be asked."""

ANN: Json = ANSWERS["What is your name?"]
DECLINED: Json = {"action": "decline"}


class Asked:
    """A call for which the user has been asked one thing, and has not answered yet."""

    def __init__(self, client: StdioClient, tool: str, **arguments: Any) -> None:
        self._client = client
        self._call: Json = {"name": tool, "arguments": arguments}
        self._wanted: Json = {}
        self.question: Json = {}
        """The server's request, to a client with a handshake."""
        if isinstance(client, ModernClient):
            self._wanted = client.request("tools/call", self._call)
            assert self._wanted["resultType"] == "input_required", self._wanted
        else:
            self._id = client.start("tools/call", self._call)
            self.question = client.told("elicitation/create")

    def answer(self, answer: Json) -> Json:
        """What becomes of the call once the user has answered: the response, whole."""
        if self.question:
            self._client.respond(self.question, answer)
            return self._client.answer(self._id)
        assert len(self._wanted["inputRequests"]) == 1
        again = retry(self._call, self._wanted, lambda question: answer)
        return self._client.answer(self._client.start("tools/call", again))


def greeting(client: StdioClient) -> Asked:
    """The user has been asked for a name."""
    return Asked(client, "greet", greeting="hello")


def assert_greeted(response: Json) -> None:
    assert text_of(response["result"]) == "hello Ann"
