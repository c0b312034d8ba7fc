"""Why a ``subscriptions/listen`` brought no stream, and whether asking again may help."""

from __future__ import annotations

import msgspec

from relay.core.era import LISTEN
from relay.core.errors import Code, Problem
from relay.core.exchanges import Over
from relay.core.messages import Message, problem_of

_NO_LISTEN_STATUSES = frozenset({404, 405})
_PASSING_STATUSES = frozenset({401, 403, 408, 425, 429})
_FAULTS_OF_THE_REQUEST = frozenset(
    {
        Code.INVALID_REQUEST,
        Code.METHOD_NOT_FOUND,
        Code.INVALID_PARAMS,
        Code.HEADER_MISMATCH,
        Code.MISSING_CAPABILITY,
        Code.UNSUPPORTED_VERSION,
    }
)


class Refusal(msgspec.Struct, frozen=True):
    """``error`` is for the client. Unless it is ``passing`` the same request meets it again."""

    error: Problem | msgspec.Raw
    passing: bool

    @property
    def text(self) -> str:
        problem = self.error if isinstance(self.error, Problem) else problem_of(self.error)
        return "the server gives no reason" if problem is None else problem.message


NO_LISTEN = Refusal(
    Problem(
        Code.METHOD_NOT_FOUND,
        f"the server tells of no changes: it does not know {LISTEN}",
        {"hint": "read the resource when its content is needed"},
    ),
    passing=False,
)
_ENDED_EARLY = Refusal(
    Problem(
        Code.INTERNAL_ERROR,
        "the server ended the subscription before it began",
        {"hint": "subscribe again later"},
    ),
    passing=False,
)


def refused(response: Message) -> Refusal:
    """What a JSON-RPC response means that came in the place of an acknowledgement."""
    if response.error is None:
        return _ENDED_EARLY
    problem = problem_of(response.error)
    code = Code.INTERNAL_ERROR if problem is None else problem.code
    if code == Code.METHOD_NOT_FOUND:
        return NO_LISTEN
    return Refusal(response.error, passing=code not in _FAULTS_OF_THE_REQUEST)


def lost(over: Over, problem: Problem) -> Refusal:
    """What the end of an exchange means that brought neither; ``problem`` is the exchange's."""
    status = over.exchange.status
    if over.failure is not None or over.exchange.is_stream:
        return Refusal(problem, passing=True)
    if status in _NO_LISTEN_STATUSES:
        return NO_LISTEN
    return Refusal(problem, passing=status >= 500 or status in _PASSING_STATUSES)
