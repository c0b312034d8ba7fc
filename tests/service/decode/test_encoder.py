"""Encoding: what is given is checked, what is not is filled in the open."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.decode.catalog import load
from service.decode.decoder import Decoder
from service.decode.encoder import encode
from service.errors import (
    DbcMessageNotFoundError,
    DbcSignalInvalidError,
    InvalidFrameArgumentsError,
    InvalidSignalAssignmentError,
)
from tests.service.decode.samples import COMPLEX, OVERLAP, dbc, loaded

DATABASE = load(COMPLEX.name, COMPLEX)


def test_numbers_and_texts_of_value_tables_are_accepted() -> None:
    encoded = encode(DATABASE, "DriveState", ["Gear=drive", " VehicleSpeed = 12.5 ", "Counter=0xA"])
    assert encoded.frame.data.hex() == "e20403000000000a"
    assert encoded.values["Gear"] == 3
    assert sorted(encoded.filled) == ["BrakePressed", "Checksum", "SteeringAngle", "YawRate"]


def test_signals_not_given_take_their_initial_value_else_zero_else_their_minimum(
    tmp_path: Path,
) -> None:
    database = loaded(
        tmp_path,
        dbc(
            "BO_ 100 M: 4 Node",
            ' SG_ Initial : 0|8@1+ (1,0) [0|0] "" Node',
            ' SG_ Zero : 8|8@1+ (1,-40) [-40|210] "" Node',
            ' SG_ Minimum : 16|8@1+ (1,0) [5|10] "" Node',
            'BA_DEF_ SG_ "GenSigStartValue" INT 0 255;',
            'BA_DEF_DEF_ "GenSigStartValue" 0;',
            'BA_ "GenSigStartValue" SG_ 100 Initial 7;',
        ),
    )
    filled = encode(database, "M", []).filled
    assert filled["Initial"] == 7
    assert filled["Zero"] in (0, -40)
    assert encode(database, "m", ["initial=1"]).values["Initial"] == 1


def test_where_zero_is_out_of_range_the_minimum_is_filled_in(tmp_path: Path) -> None:
    database = loaded(
        tmp_path,
        dbc(
            "BO_ 100 M: 2 Node",
            ' SG_ Above : 0|8@1+ (1,0) [5|10] "" Node',
            ' SG_ Beyond : 8|4@1+ (1,20) [0|0] "" Node',
        ),
    )
    assert encode(database, "M", []).filled == {"Above": 5, "Beyond": 20}


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (["VehicleSpeed=300.5"], "0 to 300"),
        (["VehicleSpeed=-1"], "0 to 300"),
        (["Gear=Drove"], "Drive"),
        (["VehicleSpeed=fast"], "Use a number"),
        (["VehicleSpeed=nan"], "Use a number"),
        (["VehicleSpeed=inf"], "Use a number"),
        (["VehicleSped=1"], "VehicleSpeed"),
        (["Gear=16"], "0 to 15"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_can(items: list[str], words: str) -> None:
    with pytest.raises(DbcSignalInvalidError) as caught:
        encode(DATABASE, "DriveState", items)
    assert words in caught.value.hint


def test_a_value_that_its_bits_cannot_carry_is_refused(tmp_path: Path) -> None:
    database = loaded(
        tmp_path,
        dbc("BO_ 100 M: 1 Node", ' SG_ Small : 0|4@1- (0.5,0) [-100|100] "" Node'),
    )
    assert encode(database, "M", ["Small=-4"]).frame.data == b"\x08"
    with pytest.raises(DbcSignalInvalidError) as caught:
        encode(database, "M", ["Small=4"])
    assert "-4.0 to 3.5" in caught.value.hint


@pytest.mark.parametrize("item", ["VehicleSpeed", "=5", "VehicleSpeed=", ""])
def test_an_item_is_a_name_and_a_value(item: str) -> None:
    with pytest.raises(InvalidSignalAssignmentError):
        encode(DATABASE, "DriveState", [item])


def test_a_signal_given_twice_is_refused() -> None:
    with pytest.raises(InvalidSignalAssignmentError):
        encode(DATABASE, "DriveState", ["Counter=1", "counter=2"])


def test_an_unknown_message_is_refused_with_near_names() -> None:
    with pytest.raises(DbcMessageNotFoundError) as caught:
        encode(DATABASE, "DriveStat", [])
    assert "DriveState" in caught.value.hint


def test_the_multiplexer_follows_from_the_signals_given() -> None:
    encoded = encode(DATABASE, "CellReport", ["PackCurrent=-1.5"])
    assert encoded.values == {"Page": 2, "PackCurrent": -1.5, "PackCharge": 0.0}
    assert encoded.filled == {"Page": 2, "PackCharge": 0.0}


def test_a_signal_of_another_branch_is_refused() -> None:
    with pytest.raises(DbcSignalInvalidError, match="while Page = 1") as caught:
        encode(DATABASE, "CellReport", ["Page=Temperatures", "CellVoltage1=3.7"])
    assert "Page = 0" in caught.value.hint


def test_a_multiplexer_value_without_a_branch_is_refused() -> None:
    with pytest.raises(DbcSignalInvalidError) as caught:
        encode(DATABASE, "CellReport", ["Page=3"])
    assert caught.value.hint == "Its values are: 0, 1, 2."


def test_a_long_message_becomes_an_fd_frame() -> None:
    encoded = encode(DATABASE, "Identity", ["SerialNumber=0xFFFFFFFFFFFFFFFF"])
    assert encoded.frame.is_fd
    assert encoded.frame.is_extended
    assert encoded.frame.data == b"\xff" * 8 + bytes(8)


def test_a_length_that_can_fd_does_not_have_is_padded(tmp_path: Path) -> None:
    database = loaded(tmp_path, dbc("BO_ 100 M: 10 Node", ' SG_ A : 0|8@1+ (1,0) [0|0] "" Node'))
    encoded = encode(database, "M", ["A=1"])
    assert len(encoded.frame.data) == 12
    assert encoded.notes == ["padded from 10 to 12 bytes"]


def test_what_needs_a_transport_protocol_is_refused(tmp_path: Path) -> None:
    database = loaded(tmp_path, dbc("BO_ 100 M: 70 Node"))
    with pytest.raises(InvalidFrameArgumentsError):
        encode(database, "M", [])


def test_a_message_whose_signals_overlap_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DbcSignalInvalidError, match="overlap"):
        encode(loaded(tmp_path, OVERLAP), "Bits", ["Low=1"])


def test_a_selector_too_narrow_for_its_branches_is_refused(tmp_path: Path) -> None:
    database = loaded(
        tmp_path,
        dbc(
            "BO_ 100 M: 2 Node",
            ' SG_ Selector M : 0|3@1- (1,0) [0|0] "" Node',
            ' SG_ Value m7 : 8|8@1+ (1,0) [0|0] "" Node',
        ),
    )
    with pytest.raises(DbcSignalInvalidError, match="cannot be encoded"):
        encode(database, "M", ["Value=1"])


@given(
    speed=st.integers(0, 30_000),
    gear=st.sampled_from([0, 1, 2, 3, 15]),
    angle=st.integers(-7800, 7800),
)
@settings(max_examples=100, deadline=None)
def test_what_was_encoded_decodes_to_the_same(speed: int, gear: int, angle: int) -> None:
    items = [f"VehicleSpeed={speed / 100}", f"Gear={gear}", f"SteeringAngle={angle / 10}"]
    encoded = encode(DATABASE, "DriveState", items)
    decoded = Decoder(DATABASE).decode(encoded.frame)
    assert decoded is not None
    assert decoded.signals == encoded.values
    assert decoded.signals["VehicleSpeed"] == pytest.approx(speed / 100)
    assert decoded.signals["SteeringAngle"] == pytest.approx(angle / 10)
