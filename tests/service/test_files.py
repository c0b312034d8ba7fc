"""Names and roots: what may be read, what may be written, and what is said otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from service.errors import (
    CanferryError,
    CaptureExistsError,
    CaptureSourceUnavailableError,
    CaptureTooLargeError,
    CaptureWriteError,
    DbcLoadError,
    DbcNotFoundError,
    InvalidFileNameError,
    PathOutsideRootsError,
)
from service.files import MAX_CAPTURE_BYTES, MAX_DATABASE_BYTES, Files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("captures/deep", "databases", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "captures/drive.candump").write_text("(0.0) can0 123#11\n")
    (tmp_path / "captures/deep/inner.log").write_text("(0.0) can0 123#11\n")
    (tmp_path / "databases/leaf.dbc").write_text('VERSION ""\n')
    (tmp_path / "elsewhere/secret").write_text("secret")
    return tmp_path


@pytest.fixture
def files(root: Path) -> Files:
    return Files(root / "captures", [root / "databases"])


def test_a_capture_is_found_by_name_also_in_a_folder(files: Files, root: Path) -> None:
    assert files.capture("drive.candump") == root / "captures/drive.candump"
    assert files.capture("deep/inner.log") == root / "captures/deep/inner.log"
    assert files.capture_names() == ["deep/inner.log", "drive.candump"]


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../elsewhere/secret", "deep/../../elsewhere/secret", "..", "..\\secret"],
)
def test_paths_out_of_the_roots_are_refused(files: Files, name: str) -> None:
    for find in (files.capture, files.database):
        with pytest.raises(PathOutsideRootsError):
            find(name)


def test_a_link_out_of_the_root_is_refused(files: Files, root: Path) -> None:
    (root / "captures/link.log").symlink_to(root / "elsewhere/secret")
    (root / "captures/folder").symlink_to(root / "elsewhere")
    for name in ("link.log", "folder/secret"):
        with pytest.raises(PathOutsideRootsError):
            files.capture(name)


def test_a_link_inside_the_root_is_followed(files: Files, root: Path) -> None:
    (root / "captures/link.log").symlink_to(root / "captures/drive.candump")
    assert files.capture("link.log").read_text().startswith("(0.0)")


@pytest.mark.parametrize("name", ["", "nul\x00byte"])
def test_a_text_that_is_no_name_is_refused(files: Files, name: str) -> None:
    with pytest.raises(InvalidFileNameError):
        files.capture(name)


@pytest.mark.parametrize("name", ["x" * 5000, "deep", "."])
def test_what_is_no_regular_file_is_no_capture(files: Files, name: str) -> None:
    with pytest.raises(CaptureSourceUnavailableError):
        files.capture(name)


def test_a_pipe_is_refused_without_being_opened(files: Files, root: Path) -> None:
    os.mkfifo(root / "captures/pipe.log")
    with pytest.raises(CaptureSourceUnavailableError, match="not a regular file"):
        files.capture("pipe.log")


def test_a_device_is_refused_also_to_the_operator(root: Path) -> None:
    operator = Files(root / "captures", [], confined=False)
    with pytest.raises(CaptureSourceUnavailableError, match="not a regular file"):
        operator.capture("/dev/zero")


def test_files_that_are_too_large_are_refused(files: Files, root: Path) -> None:
    with (root / "captures/huge.log").open("wb") as file:
        file.truncate(MAX_CAPTURE_BYTES + 1)
    with pytest.raises(CaptureTooLargeError):
        files.capture("huge.log")
    with (root / "databases/huge.dbc").open("wb") as file:
        file.truncate(MAX_DATABASE_BYTES + 1)
    with pytest.raises(DbcLoadError):
        files.database("huge.dbc")


def hint_of(find: Callable[[str], Path], name: str) -> str:
    with pytest.raises(CanferryError) as caught:
        find(name)
    return caught.value.hint


def test_a_missing_name_gets_the_near_ones_as_hint(files: Files, root: Path) -> None:
    assert hint_of(files.capture, "drive.log").startswith("Did you mean 'drive.candump'")
    assert "deep/inner.log, drive.candump" in hint_of(files.capture, "zzz")
    assert "leaf.dbc" in hint_of(files.database, "laef.dbc")
    assert "no capture at all" in hint_of(Files(root / "nothing", []).capture, "x")


def test_the_simulated_rigs_databases_are_always_there(files: Files) -> None:
    for name in ("powertrain.dbc", "truck.dbc"):
        assert files.database(name).is_file()
        assert name in files.database_names()


def test_an_own_database_goes_before_the_embedded_one(files: Files, root: Path) -> None:
    (root / "databases/truck.dbc").write_text('VERSION "own"\n')
    assert files.database("truck.dbc") == root / "databases/truck.dbc"


def test_the_packages_code_is_no_database(files: Files) -> None:
    with pytest.raises(DbcNotFoundError):
        files.database("rig.py")


def test_the_operator_may_name_any_path(root: Path) -> None:
    operator = Files(root / "captures", [root / "databases"], confined=False)
    assert operator.capture(str(root / "elsewhere/secret")) == root / "elsewhere/secret"
    assert operator.capture("drive.candump") == root / "captures/drive.candump"


def test_a_new_capture_appears_whole_and_with_a_suffix(files: Files, root: Path) -> None:
    path = files.write_capture("night drive", lambda temporary: _put(temporary, "all of it"))
    assert path == root / "captures/night drive.candump"
    assert path.read_text() == "all of it"
    assert files.capture_names() == ["deep/inner.log", "drive.candump", "night drive.candump"]


def test_an_existing_capture_is_never_replaced(files: Files, root: Path) -> None:
    with pytest.raises(CaptureExistsError):
        files.new_capture("drive")

    def race(temporary: Path) -> None:
        _put(temporary, "mine")
        _put(root / "captures/late.candump", "somebody else's")

    with pytest.raises(CaptureExistsError):
        files.write_capture("late", race)
    assert (root / "captures/late.candump").read_text() == "somebody else's"


def test_a_failed_write_leaves_nothing_behind(files: Files, root: Path) -> None:
    def fail(temporary: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(CaptureWriteError, match="No space left"):
        files.write_capture("late", fail)
    assert sorted(path.name for path in (root / "captures").iterdir()) == ["deep", "drive.candump"]


@pytest.mark.parametrize("name", ["../out", "a/b", "/abs", ".hidden", "", "a\n", "-x", "x" * 200])
def test_a_new_capture_has_a_plain_name(files: Files, name: str) -> None:
    with pytest.raises(InvalidFileNameError):
        files.new_capture(name)


def _put(path: Path, text: str) -> None:
    path.write_text(text)
