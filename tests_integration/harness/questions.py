"""What servers ask in the course of a call, and what the clients of either era answer."""

from __future__ import annotations

from collections.abc import Callable

from tests_integration.harness.stdio_client import Json, ModernClient, StdioClient

ABLE: Json = {"elicitation": {}, "sampling": {}, "roots": {}}
"""The capabilities of a client that can be asked anything but to go to a URL."""

ANSWERS: Json = {
    "What is your name?": {"action": "accept", "content": {"name": "Ann"}},
    "How old are you?": {"action": "accept", "content": {"age": 30}},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "word"},
        "model": "m",
    },
    "roots/list": {"roots": [{"uri": "file:///truck", "name": "truck"}]},
}

Answering = Callable[[Json], Json]
"""From a question, as a request or as a member of ``inputRequests``, to the answer."""


def answer_to(question: Json) -> Json:
    """What the user, the model or the client itself says to what the SDKs' servers ask."""
    asked = question.get("params", {}).get("message", question["method"])
    answer: Json = ANSWERS[asked]
    return answer


def is_question(message: Json) -> bool:
    """Whether a message is a request of the server."""
    return "method" in message and "id" in message


def retry(call: Json, wanted: Json, answer: Answering = answer_to) -> Json:
    """The params of a call once more, with the answers to an ``input_required``."""
    responses = {key: answer(question) for key, question in wanted["inputRequests"].items()}
    return {**call, "inputResponses": responses, "requestState": wanted["requestState"]}


def converse(
    client: StdioClient, tool: str, answer: Answering = answer_to, /, **arguments: object
) -> Json:
    """Call a tool and answer what it asks, in the way of the client's era; the last result."""
    call: Json = {"name": tool, "arguments": arguments}
    if not isinstance(client, ModernClient):
        return _answering(client, client.start("tools/call", call), answer)
    result = client.request("tools/call", call)
    while result["resultType"] == "input_required":
        result = client.request("tools/call", retry(call, result, answer))
    return result


def _answering(client: StdioClient, call: int, answer: Answering) -> Json:
    """The result of a call of a legacy client, which answers what comes before it."""
    while True:
        message = client.take(
            lambda message: is_question(message) or message.get("id") == call,
            f"the answer to {call}, or a question",
        )
        if not is_question(message):
            assert "result" in message, message
            result: Json = message["result"]
            return result
        client.respond(message, answer(message))
