"""Finding out the era: every answer to the probe, and what the client sees meanwhile."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from relay.core.events import Failure
from relay.core.session import ProtocolEra
from tests.relay.core.rig import (
    DISCOVERED,
    INTRODUCTION,
    JSON,
    MODERN,
    PREFIX,
    STREAM,
    Rig,
    error,
    notification,
    on_modern,
    result,
    started,
)

PROBE = "canferry-probe"


def asked() -> Rig:
    """A client's initialize waits for the era."""
    rig = started()
    rig.ask(0, "initialize", INTRODUCTION)
    assert rig.told() == []
    return rig


def test_the_probe_is_sent_at_once_and_is_a_proper_modern_request() -> None:
    rig = started(client_name="relay", client_version="1.2")
    probe = rig.got_one()
    assert probe.body == {
        "jsonrpc": "2.0",
        "id": PROBE,
        "method": "server/discover",
        "params": {
            "_meta": {
                PREFIX + "protocolVersion": MODERN,
                PREFIX + "clientInfo": {"name": "relay", "version": "1.2"},
                PREFIX + "clientCapabilities": {},
            }
        },
    }
    assert probe.headers == {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "server/discover",
    }
    assert list(rig.timers.values()) == [8.0]


MODERN_ANSWERS: list[tuple[int, Any]] = [
    (200, result(PROBE, DISCOVERED)),
    (200, result(PROBE, {**DISCOVERED, "supportedVersions": ["2025-11-25", MODERN, "2031-01-01"]})),
    (400, error(None, -32020)),
    (400, error(PROBE, -32021, data={"requiredCapabilities": {}})),
]
LEGACY_ANSWERS: list[tuple[int, Any]] = [
    (200, result(PROBE, {"supportedVersions": ["2025-11-25"]})),
    (200, result(PROBE, {})),
    (200, result(PROBE, "what")),
    (200, error(PROBE, -32601)),
    (200, error(PROBE, -32602)),
    (200, result("another", DISCOVERED)),
    (200, b"<html>"),
    (200, b""),
    (202, b""),
    (400, error(None, -32600, "Bad Request: Missing session ID")),
    (400, error("server-error", -32000)),
    (400, b"no"),
    (400, error(PROBE, -32022, data={"supported": ["2025-06-18"]})),
    (404, b""),
    (404, error(PROBE, -32601)),
    (405, b""),
    (406, b""),
    (415, b""),
]
NO_VERDICTS: list[tuple[int, Any, str]] = [
    (200, result(PROBE, {"supportedVersions": ["2031-01-01"]}), "no protocol revision"),
    (400, error(PROBE, -32022, data={"supported": ["2031-01-01"]}), "2031-01-01"),
    (400, error(PROBE, -32022), "no protocol revision"),
    (400, error(PROBE, -32022, data=7), "no protocol revision"),
    (401, b"", "HTTP 401"),
    (403, b"", "HTTP 403"),
    (403, error(None, -32000), "HTTP 403"),
    (300, b"", "redirects"),
    (302, b"", "redirects"),
    (410, b"", "HTTP 410"),
    (421, b"bad host", "HTTP 421"),
]
PASSING: list[tuple[int, Any]] = [(429, b""), (500, b"oops"), (502, b"<html>"), (503, b"")]
PASSING += [(500, error(PROBE, -32601))]


@pytest.mark.obligation(12)
@pytest.mark.parametrize(("status", "body"), MODERN_ANSWERS)
def test_a_modern_answer_makes_the_era_modern(status: int, body: Any) -> None:
    rig = asked()
    rig.reply(rig.got_one(), body, status)
    assert rig.session.protocol_era is ProtocolEra.MODERN
    assert rig.notices == ["protocol era: modern (auto-detected)"]
    assert rig.timers == {}


@pytest.mark.obligation(12)
@pytest.mark.parametrize(("status", "body"), LEGACY_ANSWERS)
def test_any_answer_of_an_older_server_makes_the_era_legacy(status: int, body: Any) -> None:
    rig = asked()
    rig.reply(rig.got_one(), body, status)
    assert rig.session.protocol_era is ProtocolEra.LEGACY
    assert "protocol era: legacy (auto-detected)" in rig.notices
    forwarded = rig.got_one()
    assert forwarded.method == "initialize"
    assert not {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Session-Id"} & set(forwarded.headers)


@pytest.mark.obligation(12)
@pytest.mark.parametrize(("status", "body", "named"), NO_VERDICTS)
def test_what_is_no_verdict_is_told_to_who_waits_and_asked_again_later(
    status: int, body: Any, named: str
) -> None:
    rig = asked()
    rig.reply(rig.got_one(), body, status)
    answer = rig.told_one()
    assert answer["id"] == 0
    assert answer["error"]["code"] == -32603
    assert named in answer["error"]["message"]
    assert answer["error"]["data"]["hint"]
    assert rig.session.protocol_era is None
    assert rig.timers == {}
    rig.ask(1, "initialize", INTRODUCTION)
    rig.succeed(rig.got_one(), DISCOVERED)
    assert rig.told_one()["result"]["serverInfo"]["name"] == "truck"


def test_a_refused_authorization_names_the_challenge_and_the_options() -> None:
    rig = asked()
    challenge = 'Bearer resource_metadata="https://lab.example/.well-known/x"'
    rig.reply(rig.got_one(), status=401, headers={"www-authenticate": challenge})
    told = rig.told_one()["error"]
    assert challenge in told["message"]
    assert "--bearer-env" in told["data"]["hint"]
    assert "-H" in told["data"]["hint"]


@pytest.mark.parametrize(("status", "body"), PASSING)
def test_a_passing_failure_is_waited_out_while_somebody_waits(status: int, body: Any) -> None:
    rig = asked()
    rig.reply(rig.got_one(), body, status)
    assert rig.told() == []
    rig.fire("probe-again")
    rig.succeed(rig.got_one(), DISCOVERED)
    assert rig.told_one()["result"]["serverInfo"]["name"] == "truck"


def test_the_operator_is_told_at_once_and_once_of_a_server_that_is_waited_for() -> None:
    rig = asked()
    rig.fail(rig.got_one(), Failure.CONNECT)
    assert rig.notices == ["still trying: cannot reach the server: 10.0.0.1:80"]
    rig.fire("probe-again")
    rig.fail(rig.got_one(), Failure.CONNECT)
    assert len(rig.notices) == 1


def test_a_notification_that_waits_is_dropped_with_the_rest() -> None:
    rig = asked()
    rig.say(notification("notifications/initialized"))
    rig.fail(rig.got_one(), Failure.TLS)
    assert rig.told_one()["id"] == 0
    rig.ask(1, "ping")
    rig.succeed(rig.got_one(), DISCOVERED)
    assert rig.got() == []


def test_a_server_that_stays_away_is_told_when_the_time_is_up() -> None:
    rig = asked()
    rig.fail(rig.got_one(), Failure.CONNECT)
    for _ in range(3):
        rig.fire("probe-again")
        rig.fail(rig.got_one(), Failure.CONNECT)
    rig.fire("probe:")
    told = rig.told_one()
    assert told["id"] == 0
    assert "cannot reach the server: 10.0.0.1:80" in told["error"]["message"]
    assert rig.timers == {}


def test_a_server_that_is_down_at_the_start_does_not_settle_the_era() -> None:
    rig = started()
    rig.fail(rig.got_one(), Failure.CONNECT)
    assert rig.timers == {}
    assert rig.session.protocol_era is None
    rig.ask(0, "initialize", INTRODUCTION)
    rig.reply(rig.got_one(), status=404)
    assert rig.got_one().method == "initialize"


@pytest.mark.parametrize(
    "failure", [Failure.TLS, Failure.PROTOCOL, Failure.TOO_LARGE, Failure.HEADERS_TIMEOUT]
)
def test_a_failure_that_will_not_pass_is_told_at_once(failure: Failure) -> None:
    rig = asked()
    rig.fail(rig.got_one(), failure)
    assert rig.told_one()["error"]["data"]["failure"] == failure.value


@pytest.mark.obligation(15)
def test_a_silent_server_is_given_up_in_time() -> None:
    rig = asked()
    probe = rig.got_one()
    rig.fire("probe:")
    told = rig.told_one()["error"]
    assert "within 8 s" in told["message"]
    assert "--protocol-era legacy" in told["data"]["hint"]
    assert rig.aborted == [probe.exchange]


@pytest.mark.obligation(13)
def test_a_preferred_version_is_asked_for_once_only() -> None:
    rig = asked()
    disliked = error(PROBE, -32022, data={"supported": ["2025-11-25", MODERN, 7]})
    rig.reply(rig.got_one(), disliked, 400)
    assert rig.told() == []
    rig.reply(rig.got_one(), disliked, 400)
    assert rig.session.protocol_era is None
    assert "no protocol revision" in rig.told_one()["error"]["message"]


def test_an_answer_on_a_stream_counts_and_closes_the_stream() -> None:
    rig = asked()
    probe = rig.got_one()
    rig.head(probe, 200, STREAM)
    rig.body(probe, notification("notifications/message"))
    rig.body(probe, b"not json")
    assert rig.session.protocol_era is None
    rig.body(probe, result(PROBE, DISCOVERED))
    assert rig.session.protocol_era is ProtocolEra.MODERN
    assert rig.aborted == [probe.exchange]


def test_messages_wait_in_order_and_go_out_in_order() -> None:
    rig = asked()
    rig.say(notification("notifications/initialized"))
    rig.ask(1, "ping")
    rig.reply(rig.got_one(), status=404)
    assert [sent.method for sent in rig.got()] == ["initialize"]
    assert rig.told() == []


def test_a_request_cancelled_while_it_waits_is_never_sent_and_never_answered() -> None:
    rig = started()
    probe = rig.got_one()
    rig.ask_modern(1, "tools/call", {"name": "t"})
    rig.ask_modern(2, "tools/list")
    rig.cancel(1)
    rig.cancel("unknown")
    rig.succeed(probe, DISCOVERED)
    assert [sent.body["id"] for sent in rig.got()] == [2]
    assert rig.told() == []


def test_without_a_server_a_notification_or_a_response_goes_nowhere() -> None:
    rig = started()
    rig.fail(rig.got_one(), Failure.CONNECT)
    rig.say(notification("notifications/initialized"))
    rig.say({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert rig.got() == []
    assert rig.told() == []


def test_what_waits_is_bounded_in_number() -> None:
    rig = started()
    for number in range(300):
        rig.ask(number, "initialize")
    refused = rig.told()
    assert [message["id"] for message in refused] == list(range(256, 300))
    assert {message["error"]["code"] for message in refused} == {-32603}
    rig.say(notification("notifications/x"))
    assert "too many messages wait" in rig.notices[-1]


def test_what_waits_is_bounded_in_bytes_but_one_message_always_may() -> None:
    rig = started(max_line=1000)
    rig.ask(1, "m", {"a": "x" * 2000})
    rig.ask(2, "m", {"a": "x"})
    assert [message["id"] for message in rig.told()] == [2]


def test_late_news_of_an_old_probe_changes_nothing() -> None:
    rig = on_modern()
    assert rig.timers == {}
    rig.ask_modern(1, "tools/list")
    (sent,) = rig.got()
    rig.reply(sent, msgspec.json.encode(result(1, {"tools": []})), headers=JSON)
    assert rig.told_one()["result"] == {"tools": []}


def test_a_client_that_leaves_is_not_kept_by_the_probe() -> None:
    rig = asked()
    rig.close()
    assert rig.exit_code is None
    rig.fire("drain")
    assert rig.exit_code == 0
    assert rig.timers == {}
