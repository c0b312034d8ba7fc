"""The calls of a legacy client as the modern era keeps them."""

from __future__ import annotations

from itertools import count

import msgspec

from relay.core.era import Context
from relay.core.errors import Code, Problem
from relay.core.inflight import Call, Inflight
from relay.core.messages import parse_client
from relay.core.modern.legacy_client import LegacyClient
from relay.core.modern.translation import Translation
from relay.core.options import Options
from tests.relay.core.rig import MODERN


class Kept:
    """A translation and the calls that it is given."""

    def __init__(self) -> None:
        options = Options()
        self.inflight = Inflight()
        context = Context(options, self.inflight, count(1))
        client = LegacyClient(options, MODERN)
        self.translation = Translation(context, MODERN, client, None, lambda: None)

    def call(self, number: int) -> Call:
        request = {"jsonrpc": "2.0", "id": number, "method": "prompts/list"}
        message = parse_client(msgspec.json.encode(request))
        assert message.request_id is not None
        call = self.inflight.admit(message, message.request_id)
        assert call is not None
        assert not isinstance(self.translation.request(call), list)
        return call


def test_a_call_is_kept_from_its_request_to_its_answer() -> None:
    kept = Kept()
    call = kept.call(1)
    assert call in kept.translation
    kept.translation.answer(call, {})
    assert call not in kept.translation


def test_a_call_is_kept_until_it_fails() -> None:
    kept = Kept()
    call = kept.call(1)
    kept.translation.fail(call, Problem(Code.INTERNAL_ERROR, "no"))
    assert call not in kept.translation


def test_a_call_that_ended_elsewhere_is_let_go_with_the_next_one() -> None:
    kept = Kept()
    first, second = kept.call(1), kept.call(2)
    kept.inflight.abandon(first)
    third = kept.call(3)
    assert [call in kept.translation for call in (first, second, third)] == [False, True, True]
