"""config_show, doctor, and what is true of all tools together."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from service.context import Context
from service.dispatch import Dispatcher, Limits
from service.model.bus_config import BusConfig
from service.registry import Effect, Tool
from service.tools import registry
from tests.service.tools.rig import AGENT, ARMED, UNARMED, Rig, opened


async def test_the_configuration_is_shown_without_option_values(tmp_path: Path) -> None:
    buses = {"main": BusConfig(options={"password": "hunter2"}, armed=True)}
    with opened(tmp_path, buses) as rig:
        envelope = await rig.call("config_show")
    data = envelope["data"]
    assert (envelope["command"], data["backend"]) == ("config show", "python-can")
    assert data["roots"]["captures"] == str(tmp_path / "captures")
    assert data["policy"]["armed_buses"] == ["main"]
    assert data["buses"][0]["options"] == ["password"]
    assert "hunter2" not in json.dumps(envelope)


async def checks(rig: Rig) -> dict[str, str]:
    data = await rig.data("doctor")
    statuses = [check["status"] for check in data["checks"]]
    for status in ("ok", "warn", "fail"):
        assert data[f"{status}_count"] == statuses.count(status)
    return {check["name"]: check["status"] for check in data["checks"]}


async def test_a_healthy_service_has_nothing_to_fail(rig: Rig) -> None:
    found = await checks(rig)
    assert "fail" not in found.values()
    assert found[f"bus {ARMED}"] == found[f"bus {UNARMED}"] == "ok"
    assert found["database complex.dbc"] == "ok"
    assert found["clock"] == "warn"  # the rig's clock stands in 2023


async def test_what_is_broken_fails_with_a_hint(rig: Rig) -> None:
    rig.database("complex.dbc", "nonsense")
    (rig.root / "captures").rename(rig.root / "moved")
    (rig.root / "captures").write_text("in the way")
    rig.context.hub[ARMED].stop()
    assert rig.context.hub[ARMED].join(5)
    data = await rig.data("doctor")
    failed = {check["name"]: check for check in data["checks"] if check["status"] == "fail"}
    assert set(failed) == {"captures root", "database complex.dbc", f"bus {ARMED}"}
    assert all(check["hint"] for check in failed.values())


@pytest.mark.parametrize("tool", list(registry), ids=lambda tool: str(tool.name))
def test_a_tool_is_described_and_its_parameters_are(tool: Tool[Context]) -> None:
    assert tool.description
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    for name, schema in tool.input_schema["properties"].items():
        assert schema.get("description"), f"{tool.name}.{name}"


def test_every_path_parameter_is_guarded_against_stdin() -> None:
    guarded = registry.stdin_guarded()
    for tool in registry:
        paths = {parameter.name for parameter in tool.parameters} & {"file", "dbc"}
        assert paths == guarded.get(tool.name, frozenset())


def test_only_send_transmits() -> None:
    assert [tool.name for tool in registry if tool.effect is Effect.TRANSMIT] == ["send"]


def test_the_equivalent_command_lines_are_the_known_ones() -> None:
    def argv(tool: str, **arguments: object) -> list[str]:
        return registry.build_argv(tool, arguments)

    assert argv("capture", interface="can0") == ["capture", "can0", "--json"]
    assert argv("capture_info", file="trace.candump") == [
        "capture-info",
        "--file",
        "trace.candump",
        "--json",
    ]
    encode = argv("encode", dbc="t.dbc", message="Msg", signals=["RPM=1000"])
    assert encode == ["encode", "Msg", "RPM=1000", "--dbc", "t.dbc", "--json"]
    inspect = argv("dbc_inspect", dbc="t.dbc", message="Msg", signals_only=True, layout=True)
    assert inspect[:3] == ["dbc", "inspect", "t.dbc"]
    assert {"--message", "Msg", "--signals-only", "--layout"} <= set(inspect)


async def test_answers_match_their_published_schema(rig: Rig) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("bus_status", {}),
        ("bus_recent", {"interface": ARMED, "latest": True}),
        ("capture", {"interface": ARMED, "seconds": 0.01}),
        ("capture_info", {"file": "sample.candump"}),
        ("stats", {"file": "sample.candump"}),
        ("filter", {"file": "sample.candump", "expression": "all"}),
        ("decode", {"file": "sample.candump", "dbc": "truck.dbc"}),
        ("encode", {"dbc": "complex.dbc", "message": "Position"}),
        ("dbc_inspect", {"dbc": "complex.dbc", "message": "DriveState", "layout": True}),
        ("config_show", {}),
        ("doctor", {}),
        ("send", {"interface": ARMED, "frame_id": "1", "data": "", "ack_active": True}),
        ("stats", {"file": "nowhere"}),
    ]
    assert {name for name, _ in calls} == {tool.name for tool in registry}
    for name, arguments in calls:
        jsonschema.validate(await rig.call(name, **arguments), registry[name].output_schema)


async def test_a_small_cap_keeps_a_drawing_within_its_bytes_and_the_service_usable(
    rig: Rig,
) -> None:
    context = rig.context
    dispatcher = Dispatcher(registry, lambda caller: context, Limits(response_bytes=1024))
    drawn = await dispatcher.call("dbc_inspect", {"dbc": "complex.dbc", "layout": True}, AGENT)
    assert len(drawn.text.encode()) <= 1024
    assert json.loads(drawn.text)["data"]["truncated"] is True
    after = await dispatcher.call("capture_info", {"file": "sample.candump"}, AGENT)
    assert json.loads(after.text)["ok"]


async def test_the_sample_sizes_of_default_answers_stay_small(rig: Rig) -> None:
    lines = [
        f"({index / 1000:.6f}) can0 {index % 200 + 256:03X}#{index:016X}" for index in range(5000)
    ]
    file = rig.capture("large.log", *lines)
    for tool, more in (("capture_info", {}), ("stats", {}), ("filter", {"expression": "all"})):
        envelope = await rig.call(tool, file=file, **more)
        assert len(json.dumps(envelope)) < 12_000
