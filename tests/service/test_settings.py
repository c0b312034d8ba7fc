"""One file, the environment and flags; nothing misspelt is ignored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.errors import ConfigInvalidError, ConfigNotFoundError
from service.settings import arm, load


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No configuration anywhere: own home, own working directory, no variables of ours."""
    for name in [name for name in os.environ if name.startswith("CANFERRY_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home" / name.lower()))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_any_configuration_it_is_the_simulated_rig_unarmed_on_loopback() -> None:
    settings = load()
    assert settings.config_file is None
    assert settings.server.host == "127.0.0.1"
    assert settings.server.max_response_bytes == 48 * 1024
    assert {name: bus.simulate for name, bus in settings.buses.items()} == {
        "powertrain": "powertrain",
        "truck": "truck",
    }
    assert not any(bus.armed for bus in settings.buses.values())


def test_flags_win_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "rig.toml", "[server]\nport = 1\nmax_response_bytes = 2000\n")
    assert load(file).server.port == 1
    monkeypatch.setenv("CANFERRY_SERVER__PORT", "2")
    assert load(file).server.port == 2
    settings = load(file, {"server": {"port": 3}})
    assert settings.server.port == 3
    assert settings.server.max_response_bytes == 2000
    assert settings.config_file == file


def test_the_file_is_found_by_flag_variable_folder_and_home_in_this_order(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def port() -> int:
        return load().server.port

    write(empty_machine / "home/xdg_config_home/canferry/service.toml", "[server]\nport = 4\n")
    assert port() == 4
    write(empty_machine / "work/canferry.toml", "[server]\nport = 3\n")
    assert port() == 3
    named = write(empty_machine / "named.toml", "[server]\nport = 2\n")
    monkeypatch.setenv("CANFERRY_CONFIG", str(named))
    assert port() == 2
    assert load(write(empty_machine / "flag.toml", "[server]\nport = 1\n")).server.port == 1


def test_configured_buses_replace_the_simulated_ones(tmp_path: Path) -> None:
    file = write(
        tmp_path / "rig.toml",
        '[buses.chassis]\ninterface = "socketcan"\nchannel = "can0"\nbitrate = 500000\n'
        'databases = ["chassis.dbc"]\n',
    )
    [(name, bus)] = load(file).buses.items()
    assert (name, bus.interface, bus.channel, bus.bitrate, bus.armed) == (
        "chassis",
        "socketcan",
        "can0",
        500_000,
        False,
    )


def test_a_bus_of_the_environment_or_of_a_flag_replaces_the_simulated_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert list(load(None, {"buses": {"replay": {"replay": "x.log"}}}).buses) == ["replay"]
    monkeypatch.setenv("CANFERRY_BUSES__CHASSIS__INTERFACE", "socketcan")
    assert list(load().buses) == ["chassis"]


def test_a_variable_can_change_a_simulated_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANFERRY_BUSES__TRUCK__RING_FRAMES", "10")
    assert {name: bus.ring_frames for name, bus in load().buses.items()} == {
        "powertrain": 200_000,
        "truck": 10,
    }


def test_paths_in_a_file_are_relative_to_the_file(tmp_path: Path) -> None:
    file = write(
        tmp_path / "etc/rig.toml",
        '[files]\ncaptures = "captures"\ndatabases = ["a", "/b"]\n[audit]\nfile = "audit.jsonl"\n'
        '[buses.x]\nreplay = "drive.log"\n',
    )
    settings = load(file)
    assert settings.files.captures == tmp_path / "etc/captures"
    assert settings.files.databases == [tmp_path / "etc/a", Path("/b")]
    assert settings.audit.file == tmp_path / "etc/audit.jsonl"
    assert settings.buses["x"].replay == str(tmp_path / "etc/drive.log")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[server]\nprot = 1\n", ["'server.prot'", "did you mean 'port'"]),
        ("[sever]\nport = 1\n", ["'sever'", "did you mean 'server'"]),
        ("[buses.x]\nchanel = 'can0'\n", ["'buses.x.chanel'", "did you mean 'channel'"]),
        ("[server]\nport = 'http'\n", ["server.port", "'http'"]),
        ("[server]\nport = 70000\n", ["server.port", "70000"]),
        ("[server]\nmax_response_bytes = 1023\n", ["server.max_response_bytes", "1024"]),
        ("[server\nport = 1\n", ["line 1"]),
        ("buses = 5\n", ["buses"]),
        ("files = 5\n", ["files"]),
    ],
)
def test_a_broken_file_is_refused_with_the_place(
    tmp_path: Path, text: str, parts: list[str]
) -> None:
    file = write(tmp_path / "rig.toml", text)
    with pytest.raises(ConfigInvalidError) as raised:
        load(file)
    assert str(file) in raised.value.message
    for part in parts:
        assert part in raised.value.message


def test_every_fault_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "rig.toml", "[server]\nprot = 1\nhots = 'x'\n")
    with pytest.raises(ConfigInvalidError, match=r"prot.*hots"):
        load(file)


@pytest.mark.parametrize("name", ["CANFERRY_SERVR__PORT", "CANFERRY_SERVER__PROT"])
def test_a_misspelt_variable_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(ConfigInvalidError, match="did you mean"):
        load()


def test_a_variable_that_is_no_section_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANFERRY_SERVER", "{")
    with pytest.raises(ConfigInvalidError, match="server"):
        load()


def test_variables_of_the_relay_are_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANFERRY_RELAY_LOG_LEVEL", "debug")
    assert load().server.port == 8765


def test_a_named_file_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigNotFoundError, match=r"nowhere\.toml"):
        load(tmp_path / "nowhere.toml")
    monkeypatch.setenv("CANFERRY_CONFIG", "also-nowhere.toml")
    with pytest.raises(ConfigNotFoundError, match=r"also-nowhere\.toml"):
        load()


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rig.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigInvalidError, match="cannot be read"):
        load(file)


def test_arming_names_existing_buses_and_changes_nothing_else() -> None:
    settings = load()
    armed = arm(settings, ["truck"])
    assert [name for name, bus in armed.buses.items() if bus.armed] == ["truck"]
    assert not settings.buses["truck"].armed
    with pytest.raises(ConfigInvalidError, match="'trcuk'") as raised:
        arm(settings, ["trcuk"])
    assert "powertrain, truck" in raised.value.hint


def test_settings_cannot_be_changed_afterwards() -> None:
    settings = load()
    with pytest.raises(ValueError, match="frozen"):
        settings.server.port = 1
    with pytest.raises(ValueError, match="frozen"):
        settings.buses["truck"].armed = True
