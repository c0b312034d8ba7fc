"""An envelope fits its budget and tells the truth about what was left out."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.render import Payload, bound_payload, to_json

CAPS = (1024, 2048, 48 * 1024, 512_000)

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=30)
giants = st.sampled_from(["x" * 3000, "é" * 3000, "\x00" * 3000, "🚗" * 1500])
values = st.recursive(
    scalars | giants,
    lambda inner: (
        st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=8), inner, max_size=6)
    ),
    max_leaves=80,
)
texts = st.text(max_size=60) | giants
errors = st.fixed_dictionaries({"code": texts, "message": texts, "hint": texts})
payloads = st.fixed_dictionaries(
    {
        "ok": st.booleans(),
        "command": texts,
        "data": st.dictionaries(st.text(max_size=8), values, max_size=6),
        "warnings": st.lists(texts, max_size=8),
        "errors": st.lists(errors, max_size=3),
    }
)


def envelope(data: dict[str, object], **changes: object) -> Payload:
    return {"ok": True, "command": "stats", "data": data, "warnings": [], "errors": []} | changes


def at(payload: Any, path: str) -> Any:
    """Follow a path such as ``data.events[0].n`` (keys of these tests hold no dots)."""
    for step in path.replace("[", ".[").split("."):
        payload = payload[int(step[1:-1])] if step.startswith("[") else payload[step]
    return payload


def truncation(payload: Payload) -> Any:
    return at(payload, "data.truncation")


def test_a_payload_that_fits_is_the_very_same_object() -> None:
    payload = envelope({"events": [1, 2, 3]})
    assert bound_payload(payload, 1024) is payload
    assert "truncated" not in at(payload, "data")


@pytest.mark.parametrize("cap", CAPS)
def test_a_payload_of_exactly_the_cap_is_not_cut(cap: int) -> None:
    room = cap - len(to_json(envelope({"text": ""})))
    payload = envelope({"text": "x" * room})
    assert len(to_json(payload)) == cap
    assert bound_payload(payload, cap) is payload
    assert bound_payload(envelope({"text": "x" * (room + 1)}), cap)["data"] != {}


@pytest.mark.parametrize("cap", [1024, 2048, 48 * 1024])
def test_a_long_list_is_cut_at_its_end_and_counted(cap: int) -> None:
    events = [{"frame": f"can0 123#{n:016X}"} for n in range(20_000)]
    payload = envelope({"events": events, "total": 20_000}, warnings=["first"])
    before = copy.deepcopy(payload)
    bounded = bound_payload(payload, cap)
    assert payload == before
    assert len(to_json(bounded)) <= cap
    kept = at(bounded, "data.events")
    assert kept == events[: len(kept)]
    assert at(bounded, "data.truncated") is True
    assert truncation(bounded)["lists"] == [
        {"path": "data.events", "total_items": 20_000, "returned_items": len(kept)}
    ]
    assert truncation(bounded)["max_response_bytes"] == cap
    assert at(bounded, "data.total") == 20_000
    warnings = bounded["warnings"]
    assert isinstance(warnings, list)
    assert warnings[0] == "first"
    assert str(cap) in warnings[-1]


def test_the_budget_is_used_and_not_halved_away() -> None:
    events = [f"can0 123#{n:016X}" for n in range(20_000)]
    bounded = bound_payload(envelope({"events": events}), 48 * 1024)
    assert len(to_json(bounded)) > 48 * 1024 - 200


def test_sibling_lists_share_the_budget_in_proportion() -> None:
    data: dict[str, object] = {"long": ["x" * 20] * 3000, "short": ["y" * 20] * 1000}
    bounded = bound_payload(envelope(data), 20_000)
    long, short = len(at(bounded, "data.long")), len(at(bounded, "data.short"))
    assert long == pytest.approx(3 * short, rel=0.05)
    assert len(to_json(bounded)) > 19_800


def test_a_small_sibling_of_a_long_list_stays_whole() -> None:
    bounded = bound_payload(envelope({"ids": [1, 2], "events": ["x" * 50] * 1000}), 2048)
    assert at(bounded, "data.ids") == [1, 2]
    assert [cut["path"] for cut in truncation(bounded)["lists"]] == ["data.events"]


def test_lists_inside_the_first_item_are_cut_when_no_item_fits_whole() -> None:
    data: dict[str, object] = {"groups": [{"name": g, "n": list(range(5000))} for g in "abc"]}
    bounded = bound_payload(envelope(data), 2048)
    cuts = truncation(bounded)["lists"]
    assert [cut["path"] for cut in cuts] == ["data.groups", "data.groups[0].n"]
    assert cuts[0]["returned_items"] == 1
    assert cuts[1]["returned_items"] == len(at(bounded, "data.groups[0].n")) > 100
    assert len(to_json(bounded)) <= 2048


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("character", ["x", "é", "🚗", "\x01", '"', "\\"])
def test_a_giant_scalar_leaves_a_stub_with_the_hint(cap: int, character: str) -> None:
    hint = "For the rest run on the rig: canferry-service dbc inspect complex.dbc --layout --json."
    payload = envelope({"content": character * 600_000}, command="dbc inspect")
    bounded = bound_payload(payload, cap, hint=hint)
    assert len(to_json(bounded)) <= cap
    assert (bounded["ok"], bounded["command"]) == (True, "dbc inspect")
    assert bounded["data"] == {
        "truncated": True,
        "truncation": {"max_response_bytes": cap, "hint": hint, "lists": []},
    }


@pytest.mark.parametrize("cap", [1024, 2048])
def test_a_giant_error_keeps_its_code_and_the_start_of_its_words(cap: int) -> None:
    error = {"code": "TOOL_EXECUTION_ERROR", "message": "é" * 100_000, "hint": "h" * 100_000}
    payload = envelope({}, ok=False, errors=[error])
    bounded = bound_payload(payload, cap)
    assert len(to_json(bounded)) <= cap
    assert bounded["ok"] is False
    assert at(bounded, "errors[0].code") == "TOOL_EXECUTION_ERROR"
    assert at(bounded, "errors[0].message").startswith("é" * 40)
    assert at(bounded, "errors[0].hint").startswith("h" * 80)


def test_many_warnings_are_counted_when_they_do_not_fit() -> None:
    bounded = bound_payload(envelope({"n": 1}, warnings=["w" * 50] * 1000), 1024)
    warnings = bounded["warnings"]
    assert isinstance(warnings, list)
    kept = warnings.count("w" * 50)
    assert 0 < kept < 1000
    assert f"{1000 - kept} warnings left out." in warnings
    assert at(bounded, "data.n") == 1
    assert len(to_json(bounded)) <= 1024


@pytest.mark.parametrize("size", [1_000, 10_000, 100_000])
def test_the_work_does_not_grow_with_what_is_left_out(size: int) -> None:
    calls = 0

    def counting(value: object) -> bytes:
        nonlocal calls
        calls += 1
        return to_json(value)

    bound_payload(envelope({"events": ["x" * 40] * size}), 16 * 1024, encode=counting)
    assert calls < 450  # 16 KiB hold less than 400 such items


@settings(max_examples=300, deadline=None)
@given(payload=payloads, cap=st.sampled_from([1024, 2048, 4096]))
def test_any_payload_fits_and_says_the_truth_about_itself(payload: Payload, cap: int) -> None:
    before = copy.deepcopy(payload)
    bounded = bound_payload(payload, cap)
    assert payload == before
    wire = to_json(bounded)
    assert len(wire) <= cap
    decoded = json.loads(wire)
    assert decoded["ok"] == payload["ok"]
    if bounded is payload:
        return
    assert decoded["data"]["truncated"] is True
    for cut in decoded["data"]["truncation"]["lists"]:
        if "." in cut["path"].removeprefix("data.") or "[" in cut["path"]:
            continue  # keys may hold dots and brackets themselves; the named tests walk those
        kept, original = at(decoded, cut["path"]), at(payload, cut["path"])
        assert len(kept) == cut["returned_items"] <= cut["total_items"] == len(original)
