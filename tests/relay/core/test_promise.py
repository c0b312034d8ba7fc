"""The core's promise: each request is answered exactly once, or never if it was cancelled.

A session is driven through arbitrary conversations: any HTTP status, body, content type and shape
of stream, cancellations, lost sessions and questions at any point, in all pairings of eras and
transports. The rig checks each line out: one line, one JSON-RPC object.
"""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay.core.options import ProtocolEra
from tests.relay.core.conversations import conversation


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), era=st.sampled_from(list(ProtocolEra)))
def test_each_request_is_answered_once_or_never_if_cancelled(
    data: st.DataObject, era: ProtocolEra
) -> None:
    _, client, server = conversation(data.draw, era)
    server.finish()
    client.read()
    server.finish()
    assert {n: client.answers[n] for n in client.expected()} == client.expected()
    assert set(client.answers) <= set(client.expected())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), era=st.sampled_from(list(ProtocolEra)))
def test_a_signal_at_any_moment_leaves_nothing_unanswered(
    data: st.DataObject, era: ProtocolEra
) -> None:
    rig, client, server = conversation(data.draw, era)
    rig.terminate()
    server.finish()
    client.read()
    assert {n: client.answers[n] for n in client.expected()} == client.expected()
    assert rig.exit_code == 0


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), era=st.sampled_from(list(ProtocolEra)))
def test_a_client_that_leaves_at_any_moment_is_answered_and_lets_the_relay_stop(
    data: st.DataObject, era: ProtocolEra
) -> None:
    rig, client, server = conversation(data.draw, era)
    rig.close()
    server.finish()
    client.read()
    assert rig.exit_code == 0
    assert {n: client.answers[n] for n in client.expected()} == client.expected()
