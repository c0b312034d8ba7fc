"""An expected error is verified only if it is known to be the refusal of an input."""

from __future__ import annotations

import pytest

from relay.suite.judgement import RpcError, RpcResult
from relay.suite.reports.rejection import NO_REJECTION, Rejection, RejectionBasis, rejection
from tests.relay.suite.examples import call, listing, loaded, suite
from tests.relay.suite.reports.outcomes import said

EXPECTED = {"type": "isError", "expected": True}
[CASE] = loaded(suite(call(EXPECTED))).suite.cases


@pytest.mark.parametrize(
    "text",
    [
        "MCP error -32602: Invalid arguments for tool t",
        "Input validation error: 'a' is a required property",
        "  Error executing tool t: 2 validation errors for tArguments\na",
    ],
)
def test_the_refusals_of_the_sdks_are_known(text: str) -> None:
    found = rejection(CASE, said(text, isError=True))
    assert found == Rejection(RejectionBasis.VERIFIED)


@pytest.mark.parametrize(
    "text",
    [
        "Error executing tool t: 1 validation error for tResponse",
        "Error executing tool t: 1 validation error for tArgumentsToo",
        "Error executing tool u: 1 validation error for uArguments",
        "it said: Input validation error: x",
        "division by zero",
    ],
)
def test_any_other_error_may_be_a_crash(text: str) -> None:
    found = rejection(CASE, said(text, isError=True))
    assert found == Rejection(RejectionBasis.UNVERIFIED, text)


def test_a_json_body_is_kept_without_credentials() -> None:
    found = rejection(CASE, said('{"token": "s3cret"}', isError=True))
    assert found == Rejection(RejectionBasis.UNVERIFIED, '{"token":"[redacted]"}')


def test_without_a_body_nothing_is_known() -> None:
    found = rejection(CASE, RpcResult({"content": [], "isError": True}))
    assert found == Rejection(RejectionBasis.UNVERIFIED)


@pytest.mark.parametrize(
    "answer", [said("x"), said("x", isError=False), RpcResult(None), RpcError(-32602, "no")]
)
def test_there_is_nothing_to_know_of_what_is_no_error(answer: RpcResult | RpcError) -> None:
    assert rejection(CASE, answer) == NO_REJECTION


def test_there_is_nothing_to_know_of_an_error_that_was_not_expected() -> None:
    plain, lists = loaded(suite(call(), listing("t"))).suite.cases
    refused = said("MCP error -32602: x", isError=True)
    assert rejection(plain, refused) == NO_REJECTION
    assert rejection(lists, refused) == NO_REJECTION
