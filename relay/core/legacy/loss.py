"""Telling that a server has lost a session from how it refuses what was sent in it.

HTTP 404 says so (2025-11-25, basic/transports, "Session Management"), yet many servers say it in
other words: HTTP 400, 401 or 5xx, or an error in a successful response, with a text about the
session. A tool that speaks of a session of its own must not be taken for that, so:

=========================  =====================================================================
what came back             it means a lost session if
=========================  =====================================================================
HTTP 404                   always; but -32601 is an unknown method unless its text says a session
HTTP 400, 401, 5xx, error  the code is one of a refusal and the text says nothing but a lost session
HTTP 400, 401, 5xx, other  the body tells of it somewhere; for a tool call not at 5xx
HTTP 2xx, error            as above, with -32600, or -32000 and -32001 for all but tool calls
=========================  =====================================================================

A 401 with a challenge asks for credentials, whatever its text.
"""

from __future__ import annotations

import re

from relay.core.errors import Code
from relay.core.exchange import Exchange
from relay.core.messages import Message, problem_of
from relay.core.outcomes import TOOL_CALL

_REFUSALS = frozenset({-32600, -32603, *range(-32019, -31999)})
_REFUSALS_IN_SUCCESS = frozenset({-32600, -32001, -32000})
_TELLING = (400, 401, 404)
_LENGTH = 200  # no refusal of a session takes more characters
_BODY_LENGTH = 4096  # nor does it come later in a body

_SUBJECT = re.compile(r"session|sessionid|mcp-session-id|initialized")
_FATE = re.compile(
    r"closed|ended|exist|expired|invalid|longer|missing|no|not|required|terminated|unknown"
)
_OTHER_WORD = re.compile(
    r"a|active|an|any|bad|been|by|client|could|did|does|doesn't|error|exists|for|found|given|has"
    r"|have|header|id|identifier|in|is|it|mcp|must|of|or|please|provided|(?:re-?)?initialize"
    r"|request|server|start|started|supplied|the|this|to|transport|unauthorized|valid|was|with|you|your"
)
_ID = re.compile(r".*\d.*")
_AROUND_WORDS = ".,:;()[]'\"`-"
_TOLD = re.compile(
    r"\b(?:no|not|invalid|missing|unknown|expired|terminated)\b[^.<>]{0,40}\bsession"
    r"|\bsession[^.<>]{0,40}"
    r"\b(?:no|not|invalid|missing|unknown|expired|terminated|closed|required)\b"
)


def tells_of_loss(exchange: Exchange, message: Message | None = None) -> bool:
    """Whether an exchange was refused because its session is no more.

    ``message`` is the response that came, None if there was none but the body's first bytes.
    What was refused so has not been executed.
    """
    if not exchange.in_session:
        return False
    if exchange.status == 404:
        return message is None or not _is_unknown_method(message)
    if exchange.status not in _TELLING and 300 <= exchange.status < 500:
        return False
    if message is not None:
        return _error_tells(exchange, message)
    if exchange.status < 300 or (exchange.status >= 500 and exchange.method == TOOL_CALL):
        return False
    return _evidence_tells(exchange)


def stream_tells_of_loss(exchange: Exchange, *, was_open: bool) -> bool:
    """Whether a GET for the standing stream was refused because its session is no more.

    Servers that offer no stream answer 404 as well, where the path knows POST alone; not if the
    stream ``was_open`` before.
    """
    if exchange.status == 404 and was_open:
        return True
    return exchange.status in _TELLING and _evidence_tells(exchange)


def _evidence_tells(exchange: Exchange) -> bool:
    """Whether a body that is no response to the request speaks of a lost session."""
    if "www-authenticate" in exchange.headers:
        return False
    told = exchange.evidence[:_BODY_LENGTH].decode(errors="replace").lower()
    return _TOLD.search(told) is not None


def _is_unknown_method(message: Message) -> bool:
    problem = problem_of(message.error)
    if problem is None or problem.code != Code.METHOD_NOT_FOUND:
        return False
    return not _says_nothing_else(problem.message)


def _error_tells(exchange: Exchange, message: Message) -> bool:
    problem = problem_of(message.error)
    if problem is None or "www-authenticate" in exchange.headers:
        return False
    codes = _REFUSALS if exchange.status >= 400 else _REFUSALS_IN_SUCCESS
    if exchange.status < 300 and exchange.method == TOOL_CALL:
        codes = frozenset({int(Code.INVALID_REQUEST)})
    return problem.code in codes and _says_nothing_else(problem.message)


def _says_nothing_else(text: str) -> bool:
    """Whether a text is made of the words that refuse a session, and of ids."""
    if len(text) > _LENGTH:
        return False
    words = [word.strip(_AROUND_WORDS) for word in text.lower().split()]
    subject = [word for word in words if _SUBJECT.fullmatch(word)]
    fate = [word for word in words if _FATE.fullmatch(word)]
    others = [word for word in words if word not in (*subject, *fate) and not _ID.fullmatch(word)]
    return bool(subject and fate) and all(_OTHER_WORD.fullmatch(word) for word in others if word)
