"""Whether an error that a case expects is known to be the refusal of its input.

``isError: true`` alone cannot tell a server that checks its input from one that breaks on it. The
texts by which the SDKs refuse an input are known; of any other nothing is known, and it may be
either. No verdict depends on it.
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from relay.suite.extraction import Extracted, body_of
from relay.suite.judgement import Answer, RpcError
from relay.suite.reports.masking import excerpt
from relay.suite.suite import CallTool, Case, IsError

_BY_SDKS = ("MCP error -32602:", "Input validation error:")


class RejectionBasis(StrEnum):
    """What is known of an error that was expected."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    NOT_APPLICABLE = "notApplicable"


class Rejection(Struct, frozen=True):
    """The basis, and the beginning of the body where it could not be verified."""

    basis: RejectionBasis
    body: str | None = None


NO_REJECTION = Rejection(RejectionBasis.NOT_APPLICABLE)
UNKNOWN_REJECTION = Rejection(RejectionBasis.UNVERIFIED)


def expects_rejection(case: Case) -> bool:
    return IsError(True) in case.assertions


def rejection(case: Case, answer: Answer) -> Rejection:
    """What is known of the answer to a case: there is nothing to know unless it is an error."""
    if isinstance(answer, RpcError) or not isinstance(answer.value, dict):
        return NO_REJECTION
    if not expects_rejection(case) or answer.value.get("isError") is not True:
        return NO_REJECTION
    body = body_of(answer.value)
    if not isinstance(body, Extracted):
        return UNKNOWN_REJECTION
    if isinstance(body.value, str) and _is_of_sdk(case, body.value.strip()):
        return Rejection(RejectionBasis.VERIFIED)
    return Rejection(RejectionBasis.UNVERIFIED, excerpt(body.value))


def _is_of_sdk(case: Case, text: str) -> bool:
    if text.startswith(_BY_SDKS):
        return True
    # The model that FastMCP makes of a tool's parameters is named for the tool; a model with
    # another name is the tool's own, and broke while the tool was at work.
    tool = re.escape(case.operation.tool) if isinstance(case.operation, CallTool) else ""
    refused = rf"Error executing tool {tool}: \d+ validation errors? for {tool}Arguments\b"
    return re.match(refused, text) is not None
