"""Filter expressions: the grammar, what each condition means, and that both evaluators agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.expression import parse
from service.analysis.filter import condition, matches
from service.errors import InvalidFilterExpressionError
from service.logs.table import from_frames
from service.model.frame import Frame

STANDARD = Frame(0x123, b"\x11\x22\x40", 1.5, "can0")
SPEED = Frame(0x18FEF100, bytes(range(8)), 2.0, "can1", is_extended=True)  # PGN 65265 from 0x00
REQUEST = Frame(0x18EA00F9, b"\xca\xfe\x00", 2.5, "can0", is_extended=True, is_tx=True)
BEYOND = Frame(0x1AFEEE00, b"\x01", 3.0, "can0", is_extended=True)  # extended data page set
SAME = Frame(0x123, b"", 3.5, "can0", is_extended=True)
FD = Frame(0x300, bytes(63) + b"\x99", 4.0, "can1", is_fd=True, bitrate_switch=True)
REMOTE = Frame(0x123, timestamp=5.0, channel="can0", is_remote=True, remote_length=8)
ERROR = Frame(0x4, b"\x00\x04" + bytes(6), 6.0, "can0", is_error=True)
FRAMES = [STANDARD, SPEED, REQUEST, BEYOND, SAME, FD, REMOTE, ERROR]


def found(text: str) -> list[Frame]:
    expression = parse(text)
    by_frame = [frame for frame in FRAMES if matches(expression, frame)]
    assert list(from_frames(FRAMES).filter(condition(expression))) == by_frame
    return by_frame


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all", FRAMES),
        ("extended", [SPEED, REQUEST, BEYOND, SAME]),
        ("standard", [STANDARD, FD, REMOTE]),
        ("id==0x123", [STANDARD, SAME, REMOTE]),
        ("id==291", [STANDARD, SAME, REMOTE]),
        ("ID == 0X123 && Standard", [STANDARD, REMOTE]),
        ("id==18FEF100", [SPEED]),
        ("id==0b100", []),
        ("id == 0o443", [STANDARD, SAME, REMOTE]),
        ("pgn==65265", [SPEED]),
        ("pgn == 59904", [REQUEST]),
        ("pgn == 0x2FEEE", [BEYOND]),
        ("pgn == 65262", []),
        ("sa==0xF9", [REQUEST]),
        ("sa != 0", [REQUEST, SAME]),
        ("dlc>8", [FD]),
        ("dlc == 0", [SAME]),
        ("data~=2240", [STANDARD]),
        ("data ~= CAfe", [REQUEST]),
        ("data~=0240", []),
        ("data[2] == 0x40", [STANDARD]),
        ("data[63] == 0x99", [FD]),
        ("data[0] & 0xF0 == 0x10", [STANDARD]),
        ("data[1] in 1..4", [SPEED, ERROR]),
        ("id & 0x7F0 == 0x120 && standard", [STANDARD, REMOTE]),
        ("id in 0x100..0x1FF", [STANDARD, SAME, REMOTE]),
        ("time >= 5", [REMOTE, ERROR]),
        ("time in 1.5..2.0", [STANDARD, SPEED]),
        ("time > -1 && time < 1.75", [STANDARD]),
        ('channel == "can1"', [SPEED, FD]),
        ("channel != can0", [SPEED, FD]),
        ("fd", [FD]),
        ("brs || tx", [REQUEST, FD]),
        ("rtr", [REMOTE]),
        ("err", [ERROR]),
        ("error and not rx", []),
        ("!(extended||fd)", [STANDARD, REMOTE, ERROR]),
        ("not pgn == 65265 && extended", [REQUEST, BEYOND, SAME]),
        ("id==0x123 && dlc>2 || fd", [STANDARD, FD, REMOTE]),
        ("id==0x123 && (dlc>3 || fd)", [REMOTE]),
    ],
)
def test_an_expression_finds_what_it_says(text: str, expected: list[Frame]) -> None:
    assert found(text) == expected


def test_what_a_frame_does_not_have_never_matches() -> None:
    assert STANDARD not in found("pgn != 1")
    assert ERROR not in found("id != 1")
    assert SAME not in found("data[0] != 1")


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 1),
        ("id", 3),
        ("id==", 5),
        ("id==zz", 5),
        ("id === 1", 6),
        ("id==1 fd", 7),
        ("id==1 &&", 9),
        ("(fd", 4),
        ("fd)", 3),
        ("speed > 5", 1),
        ("id == 0x20000000", 7),
        ("sa == 256", 7),
        ("pgn in 5..4", 11),
        ("data ~= 1", 9),
        ("data == 11", 6),
        ("data[64] == 1", 6),
        ("fd $ brs", 4),
        ("channel == ", 12),
        ('channel == "can0', 12),
        ("time == 1A", 9),
        ("dlc > -1", 7),
        ("!" * 40 + "fd", 31),
        ("(" * 40 + "fd" + ")" * 40, 31),
    ],
)
def test_a_faulty_expression_is_pointed_at(text: str, position: int) -> None:
    with pytest.raises(InvalidFilterExpressionError) as caught:
        parse(text)
    assert caught.value.data["position"] == position
    assert caught.value.message.endswith("\n" + " " * (position - 1) + "^")


def test_an_endless_expression_is_refused() -> None:
    with pytest.raises(InvalidFilterExpressionError, match="1000 are allowed"):
        parse("fd || " * 200 + "fd")


def test_a_long_flat_expression_is_no_problem() -> None:
    text = " || ".join(f"id=={number}" for number in range(90))
    assert found(text) == [ERROR][:0]


frames = st.one_of(
    st.sampled_from(FRAMES),
    st.builds(
        Frame,
        arbitration_id=st.integers(0, 0x7FF),
        data=st.binary(max_size=8),
        timestamp=st.sampled_from([0.0, 1.5, 2.0, -1.0]),
        channel=st.sampled_from(["can0", "can1"]),
        is_tx=st.booleans(),
    ),
    st.builds(
        Frame,
        arbitration_id=st.integers(0, 0x1FFFFFFF),
        data=st.binary(max_size=8),
        is_extended=st.just(True),
    ),
)
numbers = {"id": 0x1FFFFFFF, "pgn": 0x3FFFF, "sa": 0xFF, "dlc": 64, "data[0]": 255, "data[7]": 255}
atoms = st.one_of(
    st.sampled_from(["all", "standard", "extended", "fd", "brs", "esi", "rtr", "err", "tx", "rx"]),
    st.sampled_from(['channel == "can0"', "channel != can1", "data~=00", "data ~= 1122"]),
    st.sampled_from(["time < 1.5", "time in 1.5..2", "time != 2", "time >= -1"]),
    st.sampled_from(list(numbers)).flatmap(
        lambda field: st.tuples(
            st.sampled_from([f"{field} ", f"{field} & 0x11 ", f"{field}&0xF "]),
            st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
            st.one_of(st.integers(0, 9), st.integers(0, numbers[field])),
        ).map(lambda parts: f"{parts[0]}{parts[1]} {parts[2]:#x}")
    ),
    st.tuples(st.integers(0, 0x800), st.integers(0, 0x800)).map(
        lambda ends: f"id in {min(ends)}..{max(ends)}"
    ),
)
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        inner.map(lambda text: f"!({text})"),
        st.lists(inner, min_size=2, max_size=3).map(" && ".join).map("({})".format),
        st.lists(inner, min_size=2, max_size=3).map(" || ".join).map("({})".format),
    ),
    max_leaves=6,
)


@given(text=expressions, some=st.lists(frames, max_size=6))
@settings(max_examples=250, deadline=None)
def test_columns_and_single_frames_are_judged_alike(text: str, some: list[Frame]) -> None:
    expression = parse(text)
    selected = from_frames(some).filter(condition(expression))
    assert list(selected) == [frame for frame in some if matches(expression, frame)]
