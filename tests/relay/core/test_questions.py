"""What a modern server may ask a legacy client, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relay.core.asking import (
    EVERYTHING,
    FORM,
    ROOTS,
    SAMPLE,
    URL,
    calling,
    client,
    wants,
)
from tests.relay.core.rig import (
    PREFIX,
    Json,
    bridged,
)


@pytest.mark.obligation(20)
@pytest.mark.parametrize(
    ("capabilities", "question", "lacking"),
    [
        ({}, FORM, "elicitation"),
        ({}, SAMPLE, "sampling"),
        ({}, ROOTS, "roots"),
        ({"elicitation": {}}, URL, "elicitation.url"),
        ({"elicitation": {"url": {}}}, FORM, "elicitation.form"),
        ({"sampling": {}}, {**SAMPLE, "params": {"tools": []}}, "sampling.tools"),
        ({"sampling": {}}, {**SAMPLE, "params": {"toolChoice": {}}}, "sampling.tools"),
    ],
)
def test_what_the_client_has_not_declared_is_not_asked(
    capabilities: Json, question: Json, lacking: str
) -> None:
    rig = client({"experimental": {}, **capabilities})
    (told,) = wants(rig, calling(rig), {"q": question})
    assert (told["id"], told["error"]["code"]) == (1, -32603)
    assert told["error"]["data"]["capability"] == lacking
    assert lacking in told["error"]["message"]
    assert lacking in told["error"]["data"]["hint"]


@pytest.mark.obligation(20)
def test_one_question_too_many_keeps_back_its_whole_round() -> None:
    rig = client({"roots": {}})
    (told,) = wants(rig, calling(rig), {"a": ROOTS, "b": FORM})
    assert told["id"] == 1
    assert "elicitation" in told["error"]["message"]


@pytest.mark.parametrize(
    ("capabilities", "question"),
    [
        ({"elicitation": {}}, FORM),
        ({"elicitation": {}}, {"method": "elicitation/create"}),
        ({"elicitation": {"form": {}}}, FORM),
        ({"elicitation": {"url": {}}}, URL),
        ({"sampling": {}}, SAMPLE),
        ({"sampling": {"tools": {}}}, {**SAMPLE, "params": {"tools": []}}),
        ({"roots": {}}, ROOTS),
    ],
)
def test_what_the_client_has_declared_is_asked(capabilities: Json, question: Json) -> None:
    rig = client(capabilities)
    (told,) = wants(rig, calling(rig), {"q": question})
    assert told["method"] == question["method"]


@pytest.mark.parametrize(
    "question",
    [7, None, [], {}, {"method": 7}, {"method": "tools/call"}, {"method": "ping\n"}],
)
def test_what_no_client_can_be_asked_is_an_error(question: Any) -> None:
    rig = client()
    (told,) = wants(rig, calling(rig), {"q": question})
    assert "no client can be asked" in told["error"]["message"]


@pytest.mark.parametrize("asked", [7, [], "x"])
def test_questions_that_are_no_object_are_an_error(asked: Any) -> None:
    rig = client()
    (told,) = wants(rig, calling(rig), asked)
    assert "no object" in told["error"]["message"]


@pytest.mark.parametrize("params", [7, [], None])
def test_a_question_whose_params_are_no_object_is_an_error(params: Any) -> None:
    rig = client()
    (told,) = wants(rig, calling(rig), {"q": {**ROOTS, "params": params}})
    assert "roots/list are no object" in told["error"]["message"]


def test_a_url_question_has_an_id_of_its_own() -> None:
    rig = client()
    first, second = wants(rig, calling(rig), {"a": URL, "b": URL})
    assert first["params"] == {**URL["params"], "elicitationId": first["id"]}
    assert first["params"]["elicitationId"] != second["params"]["elicitationId"]


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_revisions_that_know_forms_alone_are_told_no_mode(revision: str) -> None:
    rig = client(revision=revision)
    (question,) = wants(rig, calling(rig), {"q": FORM})
    assert ("mode" in question["params"]) == (revision == "2025-11-25")
    assert question["params"]["message"] == "Name?"


def test_the_mode_of_other_questions_is_left_as_it_is() -> None:
    rig = client(revision="2025-06-18")
    params = {**SAMPLE["params"], "mode": "vendor"}
    (question,) = wants(rig, calling(rig), {"q": {**SAMPLE, "params": params}})
    assert question["params"] == params


def test_a_client_that_was_never_introduced_is_asked_nothing() -> None:
    rig = bridged()
    rig.ask("again", "initialize")
    rig.told()
    (told,) = wants(rig, calling(rig), {"q": ROOTS})
    assert told["error"]["data"]["capability"] == "roots"


def test_the_declared_capabilities_are_told_to_the_server() -> None:
    def stamped(capabilities: Json, revision: str) -> Any:
        meta = calling(client(capabilities, revision)).body["params"]["_meta"]
        return meta[PREFIX + "clientCapabilities"]

    assert stamped(EVERYTHING, "2025-11-25") == {**EVERYTHING, "roots": {}}
    assert stamped(EVERYTHING, "2025-06-18") == {"elicitation": {}, "sampling": {}, "roots": {}}
    assert stamped({"elicitation": 7, "roots": True, "tasks": {}}, "2025-11-25") == {}
    extensions: Json = {PREFIX + "tasks": {}, "vendor/y": {}}
    assert stamped({"extensions": extensions}, "2025-11-25") == {"extensions": {"vendor/y": {}}}
