"""What the refusal of a subscription means: asking again may help, or never will."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from relay.core.commands import Request, Verb
from relay.core.errors import Problem
from relay.core.events import ExchangeId, Failure
from relay.core.exchanges import Exchange, Over
from relay.core.messages import Message, parse_server
from relay.core.modern.refusals import NO_LISTEN, lost, refused
from tests.relay.core.rig import JSON, STREAM

PROBLEM = Problem(-32603, "why")


def over(status: int, failure: Failure | None = None, headers: Mapping[str, str] = JSON) -> Over:
    number = ExchangeId(1)
    exchange = Exchange(number, "subscriptions/listen", Request(number, Verb.POST, ()))
    exchange.begin(status, headers)
    return Over(exchange, PROBLEM, failure)


def answer(members: bytes) -> Message:
    (message,) = parse_server(b'{"jsonrpc":"2.0","id":1,%b}' % members)
    return message


@pytest.mark.parametrize("status", [401, 403, 408, 425, 429, 500, 503])
def test_a_status_that_may_change_is_passing(status: int) -> None:
    refusal = lost(over(status), PROBLEM)
    assert (refusal.passing, refusal.error, refusal.text) == (True, PROBLEM, "why")


@pytest.mark.parametrize(
    "status", [200, 302, 400, 402, 406, 407, 409, 413, 415, 424, 426, 428, 499]
)
def test_a_status_that_is_about_the_request_is_not(status: int) -> None:
    refusal = lost(over(status), PROBLEM)
    assert (refusal.passing, refusal.error) == (False, PROBLEM)


@pytest.mark.parametrize("status", [404, 405])
def test_an_endpoint_that_is_not_there_has_no_subscriptions(status: int) -> None:
    assert lost(over(status), PROBLEM) is NO_LISTEN


def test_a_connection_or_a_stream_that_broke_off_is_passing() -> None:
    assert lost(over(0, Failure.CONNECT), PROBLEM).passing
    assert lost(over(404, Failure.CLOSED), PROBLEM).passing
    assert lost(over(200, headers=STREAM), PROBLEM).passing


@pytest.mark.parametrize(
    ("code", "passing"),
    [
        (-32600, False),
        (-32602, False),
        (-32020, False),
        (-32021, False),
        (-32022, False),
        (-32603, True),
        (-32700, True),
        (-32000, True),
        (7, True),
    ],
)
def test_an_error_is_passing_unless_it_is_about_the_request(code: int, passing: bool) -> None:
    response = answer(b'"error":{"code":%d,"message":"why"}' % code)
    refusal = refused(response)
    assert (refusal.passing, refusal.error, refusal.text) == (passing, response.error, "why")


def test_a_method_that_is_not_found_has_no_subscriptions() -> None:
    assert refused(answer(b'"error":{"code":-32601,"message":"why"}')) is NO_LISTEN
    assert not NO_LISTEN.passing


def test_an_error_without_a_reason_is_passing() -> None:
    refusal = refused(answer(b'"error":7'))
    assert (refusal.passing, refusal.text) == (True, "the server gives no reason")


def test_a_result_in_the_place_of_an_acknowledgement_ends_the_matter() -> None:
    refusal = refused(answer(b'"result":{}'))
    assert not refusal.passing
    assert "before it began" in refusal.text
