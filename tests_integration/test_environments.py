"""The environments beside ours: what is taken for built, when they are built anew, their locks."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests_integration.harness.environments import (
    COMMAND,
    RECIPES,
    REQUIREMENTS,
    Builder,
    Missing,
    NoNpm,
    Recipe,
    build_node,
)
from tests_integration.manifest import requirement

pytestmark = requirement("harness.environments")

LOCKS = sorted(REQUIREMENTS.glob("*.txt"))
PACKAGES = json.loads((REQUIREMENTS / "package-lock.json").read_text(encoding="utf-8"))["packages"]
by_name = pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.stem))


class Broken(subprocess.SubprocessError):
    """A step of a build has failed."""


class Kitchen:
    """A builder of one environment, which copies its lock and can be made to fail midway."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "peers"
        self.lock = folder / "fake.txt"
        self.lock.write_text("one==1")
        self.broken = False
        self.builds = 0

    def build(self, root: Path, locks: Sequence[Path]) -> None:
        self.builds += 1
        if self.broken:
            (root / "half").touch()
            raise Broken("no network")
        [lock] = locks
        (root / "installed").write_text(lock.read_text())

    def builder(self, python: str = "3.11") -> Builder:
        return Builder(self.home, {"fake": Recipe([self.lock], self.build, [python])})

    def installed(self, python: str = "3.11") -> str:
        return (self.builder(python).environment("fake").root / "installed").read_text()


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    return Kitchen(tmp_path)


def test_an_environment_that_is_missing_is_built_once(kitchen: Kitchen) -> None:
    assert kitchen.builder().build("fake")
    assert not kitchen.builder().build("fake")
    assert kitchen.installed() == "one==1"
    assert kitchen.builds == 1


def test_a_missing_environment_names_the_command_that_builds_it(kitchen: Kitchen) -> None:
    with pytest.raises(Missing, match=re.escape(f"{COMMAND} fake")):
        kitchen.builder().environment("fake")


def test_a_changed_lock_is_built_anew_and_not_used_before(kitchen: Kitchen) -> None:
    kitchen.builder().build("fake")
    kitchen.lock.write_text("one==2")
    with pytest.raises(Missing):
        kitchen.builder().environment("fake")
    assert kitchen.builder().build("fake")
    assert kitchen.installed() == "one==2"


def test_an_environment_of_another_interpreter_is_built_anew(kitchen: Kitchen) -> None:
    kitchen.builder("3.11").build("fake")
    with pytest.raises(Missing):
        kitchen.builder("3.12").environment("fake")
    assert kitchen.builder("3.12").build("fake")
    assert kitchen.installed("3.12") == "one==1"


def test_a_build_that_has_failed_is_not_taken_and_leaves_nothing_to_the_next(
    kitchen: Kitchen,
) -> None:
    kitchen.broken = True
    with pytest.raises(Broken):
        kitchen.builder().build("fake")
    with pytest.raises(Missing):
        kitchen.builder().environment("fake")
    kitchen.broken = False
    assert kitchen.builder().build("fake")
    files = {path.name for path in kitchen.builder().environment("fake").root.iterdir()}
    assert "installed" in files
    assert "half" not in files


def test_a_failed_build_takes_the_place_of_what_an_older_lock_had_built(kitchen: Kitchen) -> None:
    kitchen.builder().build("fake")
    kitchen.lock.write_text("one==2")
    kitchen.broken = True
    with pytest.raises(Broken):
        kitchen.builder().build("fake")
    with pytest.raises(Missing):
        kitchen.builder().environment("fake")


def test_a_folder_that_was_never_finished_is_not_taken(kitchen: Kitchen) -> None:
    (kitchen.home / "fake").mkdir(parents=True)
    (kitchen.home / "fake" / "half").touch()
    with pytest.raises(Missing):
        kitchen.builder().environment("fake")
    assert kitchen.builder().build("fake")
    assert kitchen.installed() == "one==1"


def test_a_lock_that_changes_during_the_build_is_built_anew(kitchen: Kitchen) -> None:
    def build(root: Path, locks: Sequence[Path]) -> None:
        kitchen.build(root, locks)
        kitchen.lock.write_text("one==2")

    builder = Builder(kitchen.home, {"fake": Recipe([kitchen.lock], build)})
    builder.build("fake")
    with pytest.raises(Missing):
        builder.environment("fake")


def test_two_builders_at_once_build_one_after_the_other(kitchen: Kitchen) -> None:
    both_inside = threading.Barrier(2)

    def build(root: Path, locks: Sequence[Path]) -> None:
        kitchen.build(root, locks)
        with pytest.raises(threading.BrokenBarrierError):
            both_inside.wait(timeout=0.5)

    builder = Builder(kitchen.home, {"fake": Recipe([kitchen.lock], build)})
    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(builder.build, ["fake", "fake"])) == [False, True]
    assert kitchen.builds == 1


def test_the_command_says_one_line_for_each_environment(
    kitchen: Kitchen, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kitchen.builder().build_all([]) == 0
    assert kitchen.builder().build_all(["fake"]) == 0
    kitchen.lock.write_text("one==2")
    kitchen.broken = True
    assert kitchen.builder().build_all([]) == 1
    assert capsys.readouterr().out == "fake: built\nfake: ready\nfake: failed: no network\n"


@pytest.mark.parametrize(("variables", "code"), [({}, 0), ({"CI": "true"}, 1)], ids=["home", "CI"])
def test_a_machine_without_npm_is_told_how_to_get_it_and_fails_only_in_ci(
    kitchen: Kitchen,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variables: dict[str, str],
    code: int,
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", str(kitchen.home))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    builder = Builder(kitchen.home, {"node": Recipe([kitchen.lock], build_node)})
    with pytest.raises(NoNpm, match="install npm"):
        builder.environment("node")
    assert builder.build_all([]) == code
    assert "install npm" in capsys.readouterr().out


# -- the locks --


def test_every_python_environment_has_a_lock_and_what_it_was_resolved_from() -> None:
    locks = {lock for recipe in RECIPES.values() for lock in recipe.locks if lock.suffix == ".txt"}
    assert locks == set(LOCKS)
    assert {lock.stem for lock in LOCKS} == {path.stem for path in REQUIREMENTS.glob("*.in")}


@by_name
def test_a_lock_satisfies_what_it_was_resolved_from_within_bounds(lock: Path) -> None:
    pins = {
        name: Version(version)
        for name, version in re.findall(r"^([a-z0-9._-]+)==(\S+)", lock.read_text(), re.MULTILINE)
    }
    wanted = [
        line
        for line in lock.with_suffix(".in").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert wanted
    for text in wanted:
        needed = Requirement(text)
        operators = {specifier.operator for specifier in needed.specifier}
        assert operators & {"<", "=="}, f"{text}: no upper bound"
        assert needed.specifier.contains(pins[needed.name]), text


@by_name
def test_a_lock_pins_every_package_by_hash_and_names_no_index(lock: Path) -> None:
    text = lock.read_text()
    pins = re.split(r"\n(?=[a-z0-9])", text)
    assert [pin.split()[0] for pin in pins if "--hash=" not in pin] == []
    assert "://" not in text
    assert "--index-url" not in text


def test_the_lock_of_node_pins_every_package_by_hash_and_names_no_address_to_load_from() -> None:
    installed = {path: package for path, package in PACKAGES.items() if path}
    assert len(installed) > 100
    assert [path for path, package in installed.items() if "integrity" not in package] == []
    assert [path for path, package in installed.items() if "resolved" in package] == []


def test_no_package_of_node_needs_a_script_of_its_own() -> None:
    assert [path for path, package in PACKAGES.items() if package.get("hasInstallScript")] == []


def test_the_lock_of_node_satisfies_its_package_json_to_the_version() -> None:
    manifest = json.loads((REQUIREMENTS / "package.json").read_text(encoding="utf-8"))
    wanted = {**manifest["dependencies"], **manifest["optionalDependencies"]}
    for name, version in wanted.items():
        exact = version.rpartition("@")[2]
        assert re.fullmatch(r"\d+\.\d+\.\d+(-[a-z]+\.\d+)?", exact), f"{name}: {version}"
        assert PACKAGES[f"node_modules/{name}"]["version"] == exact


def test_the_releases_of_the_sdk_beside_ours_are_others_than_ours() -> None:
    ours = tomllib.loads((REQUIREMENTS.parents[2] / "pyproject.toml").read_text())
    [own] = [
        Requirement(text).specifier
        for text in ours["project"]["optional-dependencies"]["service"]
        if Requirement(text).name == "mcp"
    ]
    beside = re.findall(r"^mcp==(\S+)", "\n".join(map(Path.read_text, LOCKS)), re.MULTILINE)
    assert len(beside) == len(LOCKS)
    assert [version for version in beside if own.contains(version)] == []
