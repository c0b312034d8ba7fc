"""Answers that only a server of 2026-07-28 gives: the one at the URL is no longer a legacy one."""

from __future__ import annotations

import re

from relay.core.era import INITIALIZE
from relay.core.errors import Code
from relay.core.exchange import Exchange
from relay.core.messages import Message, problem_of
from relay.core.outcomes import TOOL_CALL

_MODERN_CODES = (Code.HEADER_MISMATCH, Code.MISSING_CAPABILITY, Code.UNSUPPORTED_VERSION)
_ENVELOPE = re.compile(r"_meta|envelope|io\.modelcontextprotocol/")


def is_modern_error(exchange: Exchange, message: Message) -> bool:
    """Whether an error says that its request was not of 2026-07-28.

    Sources: 2026-07-28, basic/versioning, "Era detection", and basic, "_meta" (HTTP 400 and
    -32602 for a request without it).
    """
    problem = problem_of(message.error)
    if problem is None:
        return False
    if problem.code == Code.METHOD_NOT_FOUND:
        return exchange.method == INITIALIZE
    if problem.code == Code.INVALID_PARAMS:
        return exchange.status == 400 and _ENVELOPE.search(problem.message) is not None
    return problem.code in _MODERN_CODES


def was_not_executed(exchange: Exchange) -> bool:
    """Whether such an error surely came before any execution; legacy tools may use its codes."""
    return exchange.method != TOOL_CALL or exchange.status == 400
