"""What a legacy server asks a client in the middle of a request, as 2026-07-28 puts it.

There a request that needs input ends with what is to be asked, and is sent again with the answers
(2026-07-28, basic/patterns/mrtr); before, the server sent requests of its own to the client.
"""

from __future__ import annotations

import msgspec

from relay.core import messages
from relay.core.errors import Code, Problem
from relay.core.messages import Fields, Message, RequestId, fields_of, items_of, text_of
from relay.core.questions import ELICITATION, ROOTS, SAMPLING, Question

_URL_REQUIRED = -32042
_LEGACY_MEMBERS = ("_meta", "elicitationId", "task")


class ServerQuestion(msgspec.Struct, frozen=True):
    """A question, and whom to tell the answer.

    ``origin`` is the id of the server's request, None for a URL that an error named; ``url_id``
    is by which the server tells when the user is done there.
    """

    question: Question
    origin: RequestId | None = None
    url_id: str | None = None

    @property
    def url(self) -> str:
        return text_of(self.question.params.get("url")) or ""

    def input_request(self) -> Fields:
        """The question as a member of ``inputRequests``."""
        request: Fields = {"method": _raw(self.question.method)}
        params = {
            key: value for key, value in self.question.params.items() if key not in _LEGACY_MEMBERS
        }
        if params:
            request["params"] = _raw(params)
        return request

    @property
    def unanswered(self) -> msgspec.Raw | Problem:
        """What the server is told when nobody answers."""
        if self.question.method == ELICITATION:
            return _raw({"action": "cancel"})
        return Problem(Code.INTERNAL_ERROR, "the client gave no answer")


def question_of(message: Message) -> ServerQuestion | None:
    """The question that a request of the server is, or None if clients are not asked such."""
    if message.method not in (ELICITATION, SAMPLING, ROOTS):
        return None
    question = Question(message.method, fields_of(message.params) or {})
    return ServerQuestion(question, message.request_id)


def urls_of(error: Problem | msgspec.Raw | None) -> list[ServerQuestion]:
    """What is in the error that sends the user to URLs before the request is sent again.

    -32042 of 2025-11-25 (client/elicitation, "URL Mode Elicitation Required Error").
    """
    if error is None or isinstance(error, Problem):
        return []
    problem = messages.problem_of(error)
    if problem is None or problem.code != _URL_REQUIRED:
        return []
    data = fields_of((fields_of(error) or {}).get("data")) or {}
    found: list[ServerQuestion] = []
    for item in items_of(data.get("elicitations")):
        params = fields_of(item) or {}
        if text_of(params.get("url")) is not None:
            question = Question(ELICITATION, {**params, "mode": _raw("url")})
            found.append(ServerQuestion(question, url_id=text_of(params.get("elicitationId"))))
    return found


def lacking(capability: str, method: str) -> Problem:
    """The error for a request that cannot go on without ``elicitation.url``, say."""
    nested: dict[str, object] = {}
    for part in reversed(capability.split(".")):
        nested = {part: nested}
    return Problem(
        Code.MISSING_CAPABILITY,
        f"{method} needs the user to go to a URL, which the client does not offer",
        {"requiredCapabilities": nested},
    )


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
