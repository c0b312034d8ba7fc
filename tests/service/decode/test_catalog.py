"""Loading databases: encodings, leniency, causes, and the cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.decode.catalog import Catalog, load
from service.errors import DbcLoadError, DbcNotFoundError
from tests.service.decode.samples import COMPLEX, OVERLAP, dbc, loaded

DEGREE = dbc("BO_ 100 M: 8 Node", ' SG_ T : 0|8@1+ (1,0) [0|0] "°C" Node')


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (DEGREE.encode(), "utf-8"),
        (b"\xef\xbb\xbf" + DEGREE.encode(), "utf-8"),
        (DEGREE.encode("cp1252"), "cp1252"),
    ],
)
def test_units_are_right_in_utf_8_and_in_cp1252(
    tmp_path: Path, content: bytes, encoding: str
) -> None:
    database = loaded(tmp_path, content)
    assert database.messages[0].signals[0].unit == "°C"
    assert (database.encoding, database.warnings) == (encoding, [])


def test_bytes_of_no_known_encoding_are_told(tmp_path: Path) -> None:
    database = loaded(tmp_path, DEGREE.replace("°C", "X").encode().replace(b"X", b"\x81\xff"))
    assert any("no cp1252" in warning for warning in database.warnings)


def test_overlapping_signals_load_with_the_cause_as_a_warning(tmp_path: Path) -> None:
    database = loaded(tmp_path, OVERLAP)
    [warning] = database.warnings
    assert "overlapping" in warning
    assert "Bits" in warning


def test_two_messages_with_one_identifier_are_told(tmp_path: Path) -> None:
    database = loaded(tmp_path, dbc("BO_ 100 First: 8 Node", "", "BO_ 100 Second: 8 Node"))
    [warning] = database.warnings
    assert "'First' and 'Second'" in warning
    match = database.match(100, is_extended=False)
    assert match is not None
    assert match.message.name == "Second"


def test_the_same_number_in_11_and_29_bits_is_no_duplicate(tmp_path: Path) -> None:
    database = loaded(
        tmp_path, dbc("BO_ 1536 Standard: 8 Node", "", "BO_ 2147485184 Extended: 8 Node")
    )
    assert database.warnings == []
    names = [database.match(0x600, is_extended) for is_extended in (False, True)]
    assert [each.message.name for each in names if each] == ["Standard", "Extended"]


@pytest.mark.parametrize(
    "content",
    ["this is no database", dbc("BO_ 100 M: 8 Node", ' SG_ TBOX版本 : 0|8@1+ (1,0) [0|0] "" A')],
)
def test_a_broken_database_fails_with_line_and_cause(tmp_path: Path, content: str) -> None:
    with pytest.raises(DbcLoadError, match="line"):
        loaded(tmp_path, content)


def test_an_unknown_suffix_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DbcLoadError) as caught:
        loaded(tmp_path, DEGREE, "database.txt")
    assert ".dbc" in caught.value.hint


def test_the_format_follows_the_suffix_alone(tmp_path: Path) -> None:
    with pytest.raises(DbcLoadError):
        loaded(tmp_path, DEGREE, "database.kcd")


def test_a_database_is_loaded_once_until_its_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.dbc"
    path.write_text(DEGREE)
    catalog = Catalog(lambda name: path)
    first = catalog.get("a.dbc")
    assert catalog.get("a.dbc") is first
    path.write_text(DEGREE.replace("T :", "Temperature :"))
    second = catalog.get("a.dbc")
    assert second.messages[0].signals[0].name == "Temperature"
    os.utime(path, ns=(1, 1))
    assert catalog.get("a.dbc") is not second


def test_a_file_that_vanished_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(DbcNotFoundError):
        Catalog(lambda name: tmp_path / name).get("gone.dbc")


def test_the_fixture_and_the_simulated_rigs_databases_load_strictly() -> None:
    rig = Path(__file__).parents[3] / "service" / "rig"
    for path in (COMPLEX, rig / "powertrain.dbc", rig / "truck.dbc"):
        assert load(path.name, path).warnings == []
