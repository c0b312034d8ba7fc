"""A server that is down for longer than an attempt to make a new session lasts."""

from __future__ import annotations

import pytest

from relay.core.events import Failure
from tests.relay.core.losing import calling, lose
from tests.relay.core.old_times import answer, in_session, restore
from tests.relay.core.rig import Rig, error, result


def down() -> Rig:
    """The stream of a session is lost while nobody waits for anything."""
    rig, stream = in_session()
    rig.fail(stream, Failure.CLOSED)
    rig.fire("sse-again")
    rig.fail(rig.got_one(), Failure.CONNECT)
    return rig


@pytest.mark.obligation(31)
def test_who_comes_late_in_an_attempt_is_not_told_of_its_end() -> None:
    rig = down()
    rig.ask(1, "tools/list")
    rig.fire("sse-endpoint")
    assert rig.told() == []
    stream = restore(rig)
    listing = rig.got_one()
    answer(rig, stream, listing, {"tools": []})
    assert rig.told_one() == result(1, {"tools": []})


def test_the_next_attempt_is_the_last_whoever_joins_in() -> None:
    rig = down()
    rig.ask(1, "tools/list")
    rig.fire("sse-endpoint")
    rig.got()
    rig.ask(2, "tools/list")
    rig.fire("sse-endpoint")
    assert [told["error"]["code"] for told in rig.told()] == [-32603, -32603]
    assert rig.got() == []


def test_an_attempt_for_which_nobody_waits_ends_without_another() -> None:
    rig = down()
    rig.fire("sse-endpoint")
    assert (rig.told(), rig.got()) == ([], [])


def test_who_was_there_at_the_start_of_an_attempt_is_told_of_its_end() -> None:
    rig, call = calling()
    handshake = lose(rig, call)
    rig.ask(2, "tools/list")
    rig.reply(handshake, error(handshake.body["id"], -32603, "not today"), 400)
    assert [told["id"] for told in rig.told()] == [1, 2]
    assert rig.got() == []
