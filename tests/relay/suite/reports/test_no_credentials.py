"""No credential gets into any report, wherever a suite or a server puts it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from relay.suite.events import Event, Noise, ServerLost, ServerReady
from relay.suite.judgement import Answer, RpcError, RpcResult
from relay.suite.outcome import (
    CaseOutcome,
    CaseStatus,
    ServerEnd,
    ServerInfo,
    StopReason,
    SuiteOutcome,
)
from relay.suite.reports.github import write_annotations
from relay.suite.reports.json import Rejections, write_json
from relay.suite.reports.junit import write_junit
from relay.suite.reports.rejection import rejection
from tests.relay.suite.examples import Document, body, call, listing, loaded, suite
from tests.relay.suite.reports.outcomes import SOURCE, ended, judged, run_of, said, told

SECRET = "Zx9Kq"  # the beginning of each; whatever has it got through

NAMES = ["authToken", "x-api-key", "sessionId", "password", "client_secret", "Authorization"]
AROUND: list[Callable[[str], str]] = [
    lambda secret: f"Bearer {secret}",
    lambda secret: f"https://user:{secret}@rig/mcp",
    lambda secret: f"GET /mcp?token={secret}&a=1",
    lambda secret: f"x-api-key: {secret}",
    lambda secret: json.dumps({"a": {"sessionId": secret}, "b": 1}),
    lambda secret: json.dumps({"a": json.dumps({"credentials": [secret, {"b": secret}]})}),
    lambda secret: f"{{'password': '{secret}'}}",
    lambda secret: f"run --auth-token {secret} --verbose",
    lambda secret: f"\n\tCookie: a={secret}; b={secret}\n",
    lambda secret: f"-----BEGIN RSA PRIVATE KEY-----\n{secret}\n-----END RSA PRIVATE KEY-----",
]

secrets = st.text("abcXYZ0189-_", min_size=12, max_size=24).map(lambda rest: SECRET + rest)
texts = st.builds(lambda around, secret: around(secret), st.sampled_from(AROUND), secrets)
named = st.dictionaries(st.sampled_from(NAMES), secrets, min_size=1)
held_values = st.recursive(
    named | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


def schemas(name: str, secret: str) -> Document:
    """A response schema that a credential must match, and does not."""
    inner = {"type": "object", "properties": {"a": {"const": secret}}, "required": ["zz"]}
    properties = {
        name: {"type": "string", "minLength": 99, "stringContains": secret},
        "of": {"const": {name: secret}},
        "among": {"enum": [{name: secret}, [f"Bearer {secret}"]]},
        "secrets": {"type": "array", "items": inner},
    }
    return body({"type": "object", "properties": properties, "additionalProperties": False})


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Event], SuiteOutcome, Rejections]:
    """A run with credentials wherever there is a place for one."""
    name, secret, value = draw(st.sampled_from(NAMES)), draw(secrets), draw(held_values)
    operation = {"type": "callTool", "tool": "t", "input": {name: secret, "b": value}}
    expects = {"type": "isError", "expected": True}
    held = loaded(
        suite(
            call(schemas(name, secret), id="schema", operation=operation, name=draw(texts)),
            call(id="error", operation=operation),
            call(expects, id="rejected"),
            call(id="rpc"),
            call(id="malformed"),
            listing("missing"),
            name=draw(texts),
        )
    )
    wrong = {name: secret, "of": value, "among": {name: secret}, "secrets": [{"a": secret}]}
    answers: list[Answer] = [
        said(json.dumps(wrong | {"more": value})),
        said(draw(texts), isError=True),
        said(draw(texts), isError=True),
        RpcError(-32000, draw(texts), {name: secret, "a": value}),
        RpcResult({"isError": draw(texts)}),
        RpcResult({"tools": [{"name": draw(texts)}]}),
    ]
    cases = [*map(judged, held.suite.cases, answers)]
    cases.append(CaseOutcome(held.suite.cases[0], CaseStatus.CANCELLED, None, 0.1, (draw(texts),)))
    end = ServerEnd(draw(texts), 1, None, draw(texts), draw(st.booleans()), (draw(texts),))
    info = ServerInfo(draw(texts), draw(texts), "2025-11-25", "legacy")
    stop = StopReason("connectionFailed", draw(texts), draw(texts), "c1")
    outcome = ended(held, cases, stop=stop, server=info, ends=(end,))
    known = {
        (SOURCE, case.id): rejection(case, answer)
        for case, answer in zip(held.suite.cases, answers, strict=True)
    }
    began, *events = run_of(held, outcome)
    events = [began, ServerReady(info), Noise(draw(texts)), ServerLost(end), *events]
    return events, outcome, known


@settings(deadline=None)  # each example is a run with all its reports
@given(runs())
def test_no_report_shows_a_credential(run: tuple[list[Event], SuiteOutcome, Rejections]) -> None:
    events, outcome, known = run
    stream = io.StringIO()
    write_json([outcome, outcome], stream, known)
    write_junit([outcome], stream)
    write_annotations([outcome], stream, lambda _source: "{}")
    assert SECRET not in told(events)
    assert SECRET not in stream.getvalue()
    assert "[redacted]" in stream.getvalue()
