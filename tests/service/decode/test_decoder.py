"""Decoding: cantools' own values where it has any, and something useful where it gives up."""

from __future__ import annotations

from pathlib import Path

import cantools
import pytest
from cantools.database.can import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from service.decode.catalog import load
from service.decode.database import Database
from service.decode.decoder import Decoded, Decoder
from service.model.frame import Frame
from tests.service.decode.samples import COMPLEX, OVERLAP, dbc, loaded

RIG = Path(__file__).parents[3] / "service" / "rig"
DATABASES = {
    path.name: load(path.name, path)
    for path in (COMPLEX, RIG / "powertrain.dbc", RIG / "truck.dbc")
}
MESSAGES = [
    (database, message)
    for database in DATABASES.values()
    for message in database.messages
    if message.length <= 64
]


def decoded(database: Database, frame: Frame) -> Decoded:
    result = Decoder(database).decode(frame)
    assert result is not None
    return result


def frame_of(message: Message, data: bytes) -> Frame:
    return Frame(message.frame_id, data, is_extended=message.is_extended_frame, is_fd=len(data) > 8)


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_values_equal_those_of_cantools(data: st.DataObject) -> None:
    database, message = data.draw(st.sampled_from(MESSAGES))
    payload = data.draw(st.binary(min_size=message.length, max_size=message.length))
    result = Decoder(database).decode_payload(message.frame_id, message.is_extended_frame, payload)
    assert result is not None
    assert result.message == message.name
    try:
        expected = message.decode_simple(payload, decode_choices=False)
    except cantools.database.DecodeError:  # a multiplexer value without a branch
        assert any("has no signals defined" in note for note in result.notes)
        return
    for name, value in expected.items():
        assert isinstance(value, int | float)
        if result.signals[name] is None:
            assert value != value or abs(value) == float("inf")
            assert any(note.startswith(f"{name} is ") for note in result.notes)
        else:
            assert result.signals[name] == value
    labels = message.decode_simple(payload, decode_choices=True)
    texts = {name: str(text) for name, text in labels.items() if not isinstance(text, int | float)}
    assert result.labels == texts
    assert set(result.signals) == set(expected)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_short_frame_gives_the_signals_that_fit_and_says_so(data: st.DataObject) -> None:
    database, message = data.draw(st.sampled_from(MESSAGES))
    length = data.draw(st.integers(0, message.length - 1))
    payload = data.draw(st.binary(min_size=length, max_size=length))
    result = Decoder(database).decode_payload(message.frame_id, message.is_extended_frame, payload)
    assert result is not None
    assert f"truncated: {length} of {message.length} bytes" in result.notes
    whole = Decoder(database).decode_payload(
        message.frame_id, message.is_extended_frame, payload.ljust(message.length, b"\xff")
    )
    assert whole is not None
    for name, value in result.signals.items():
        assert whole.signals[name] == value


def test_a_value_table_gives_number_and_text() -> None:
    result = decoded(DATABASES["complex.dbc"], Frame(256, bytes.fromhex("E204030000000000")))
    assert (result.signals["Gear"], result.labels) == (3, {"Gear": "Drive"})
    assert result.signals["VehicleSpeed"] == 12.5


def test_an_unknown_multiplexer_value_gives_the_multiplexer_and_the_common_signals() -> None:
    result = decoded(DATABASES["complex.dbc"], Frame(512, bytes.fromhex("0911223344500000")))
    assert result.signals == {"Page": 9, "PackCharge": 40.0}
    assert result.notes == ("multiplexer Page = 9 has no signals defined",)


@pytest.mark.parametrize("raw", ["0000C07F", "0000807F", "000080FF"])
def test_not_a_number_and_infinity_become_null_with_a_note(raw: str) -> None:
    result = decoded(DATABASES["complex.dbc"], Frame(768, bytes.fromhex(raw + "0000803F")))
    assert result.signals == {"Latitude": None, "Longitude": 1.0}
    assert result.notes[0].startswith("Latitude is ")


def test_remote_and_error_frames_are_not_decoded() -> None:
    decoder = Decoder(DATABASES["complex.dbc"])
    assert decoder.decode(Frame(256, is_remote=True, remote_length=8)) is None
    assert decoder.decode(Frame(256, bytes(8), is_error=True)) is None


def test_the_type_of_the_identifier_counts() -> None:
    decoder = Decoder(DATABASES["complex.dbc"])
    assert decoder.decode(Frame(0x400, bytes(8))) is None
    assert decoder.decode(Frame(0x400, bytes(16), is_extended=True, is_fd=True)) is not None


def test_overlapping_signals_are_each_read_from_their_own_bits(tmp_path: Path) -> None:
    database = loaded(tmp_path, OVERLAP)
    result = decoded(database, Frame(100, bytes.fromhex("ABCDEFFEFF123400")))
    assert result.signals == {
        "Low": 0xAB,
        "Middle": 0xDA,
        "Signed": -1.0,
        "Motorola": 0x1234,
    }


def test_a_signal_beyond_the_message_needs_a_longer_frame(tmp_path: Path) -> None:
    content = dbc(
        "BO_ 100 M: 2 Node",
        ' SG_ In : 0|8@1+ (1,0) [0|0] "" Node',
        ' SG_ Out : 16|8@1+ (1,0) [0|0] "" Node',
    )
    database = loaded(tmp_path, content)
    assert decoded(database, Frame(100, b"\x01\x02")).signals == {"In": 1}
    assert decoded(database, Frame(100, b"\x01\x02\x03")).signals == {"In": 1, "Out": 3}


def test_a_group_is_found_from_any_source_address(tmp_path: Path) -> None:
    database = loaded(
        tmp_path,
        dbc(
            "BO_ 2364540158 EEC1: 8 Node",  # 0x0CF004FE
            ' SG_ EngSpeed : 24|16@1+ (0.125,0) [0|8031.875] "rpm" Node',
        ),
    )
    data = bytes.fromhex("F07D859B0FFFFF85")
    result = decoded(database, Frame(0x0CF00400, data, is_extended=True))
    assert result.signals == {"EngSpeed": 499.375}
    assert result.match == "matched by PGN 61444 from source address 0x00"
    assert decoded(database, Frame(0x0CF004FE, data, is_extended=True)).match is None


def test_a_destination_address_is_no_part_of_the_group(tmp_path: Path) -> None:
    database = loaded(tmp_path, dbc("BO_ 2565603582 Command: 8 Node"))  # 0x18EC00FE
    assert database.match(0x18EC2101, is_extended=True) is not None
    assert database.match(0x18ED00FE, is_extended=True) is None
    assert database.match(0x1AEC00FE, is_extended=True) is None  # extended data page


def test_a_database_of_another_protocol_is_matched_exactly(tmp_path: Path) -> None:
    database = loaded(
        tmp_path,
        dbc(
            "BO_ 2364540158 M: 8 Node",
            'BA_DEF_ "ProtocolType" STRING ;',
            'BA_DEF_DEF_ "ProtocolType" "";',
            'BA_ "ProtocolType" "CAN";',
        ),
    )
    assert database.match(0x0CF004FE, is_extended=True) is not None
    assert database.match(0x0CF00400, is_extended=True) is None


def test_a_frame_of_several_candidates_says_so(tmp_path: Path) -> None:
    database = loaded(tmp_path, dbc("BO_ 2364540158 A: 8 Node", "", "BO_ 2364540157 B: 8 Node"))
    match = database.match(0x0CF00400, is_extended=True)
    assert match is not None
    assert match.message.name == "A"
    assert "the first of 2" in (match.note or "")


def test_a_container_is_named_and_not_unpacked() -> None:
    inner = Message(1, "Inner", 2, [], header_id=7)
    outer = Message(100, "Outer", 8, [], contained_messages=[inner])
    content = cantools.database.can.Database(messages=[outer])
    database = Database("c.arxml", Path("c.arxml"), "arxml", "utf-8", content)
    result = decoded(database, Frame(100, bytes.fromhex("0000070211220000")))
    assert (result.message, result.signals) == ("Outer", {})
    assert result.notes == ("container messages are not unpacked",)
