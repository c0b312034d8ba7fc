"""The questions in a 2026-07-28 server's result, as requests to a client of an older revision.

2026-07-28, basic/patterns/mrtr; 2025-11-25, client/elicitation, client/sampling, client/roots.
"""

from __future__ import annotations

import msgspec

from relay.core.errors import Code, Problem
from relay.core.messages import Fields, RequestId, fields_of, text_of
from relay.core.modern.legacy_client import DIVIDED_SINCE
from relay.core.questions import ELICITATION, ROOTS, SAMPLING, Question


def params_for(question: Question, revision: str, request_id: RequestId) -> Fields:
    """The params of the request ``request_id`` that puts a question to a client of ``revision``."""
    params = dict(question.params)
    if question.by_url:
        params["elicitationId"] = msgspec.Raw(request_id)
    elif question.method == ELICITATION and revision < DIVIDED_SINCE:
        params.pop("mode", None)
    return params


def read(asked: msgspec.Raw | None, capabilities: Fields) -> dict[str, Question] | Problem:
    """The ``inputRequests`` of a result, by key; none if there are none.

    A problem if any of them is not one that the client has declared to answer: a server must not
    ask for anything else, and some do.
    """
    if asked is None or bytes(asked) == b"null":
        return {}
    values = fields_of(asked)
    if values is None:
        return Problem(Code.INTERNAL_ERROR, "the server's inputRequests are no object")
    questions: dict[str, Question] = {}
    for key, value in values.items():
        question = _question(fields_of(value) or {})
        if isinstance(question, Problem):
            return question
        needed = question.needs(capabilities)
        if needed is not None:
            return Problem(
                Code.INTERNAL_ERROR,
                f"the server asks the client for {needed}, which it has not declared",
                {"capability": needed, "hint": f"use a client that offers {needed}"},
            )
        questions[key] = question
    return questions


def _question(value: Fields) -> Question | Problem:
    method = text_of(value.get("method"))
    if method not in (ELICITATION, SAMPLING, ROOTS):
        shown = "nothing that has a name" if method is None else repr(method[:40])
        return Problem(
            Code.INTERNAL_ERROR, f"the server asks for {shown}, which no client can be asked"
        )
    params = fields_of(value["params"]) if "params" in value else {}
    if params is None:
        return Problem(Code.INTERNAL_ERROR, f"the params of the server's {method} are no object")
    return Question(method, params)
