"""Traces: what is written reads back equal, and replays."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.core.commands import Command, Emit, Level, Notice, Request, SetTimer, Stop, Verb
from relay.core.events import (
    ClientClosed,
    ClientLine,
    Event,
    ExchangeId,
    Failure,
    ServerAnswered,
    ServerFailed,
    ServerSent,
    Started,
    TimerFired,
    TimerId,
)
from relay.trace import Difference, TraceError, TraceWriter, read_trace, replay

STEPS: list[tuple[Event, list[Command]]] = [
    (Started(), [SetTimer(TimerId("probe"), 8.0)]),
    (
        ClientLine(b'{"id":1}'),
        [Request(ExchangeId(1), Verb.POST, (("Accept", "a"), ("Accept", "b")), b'{"id":1}')],
    ),
    (ServerAnswered(ExchangeId(1), 200, {"content-type": "application/json"}), []),
    (ServerSent(ExchangeId(1), b"\xff\xfe", "message", "7", 250), [Emit("ü".encode())]),
    (ServerFailed(ExchangeId(1), Failure.TLS, "no", False), [Notice(Level.WARNING, "no")]),
    (TimerFired(TimerId("probe")), []),
    (ClientClosed(), [Stop(0)]),
]


def write(path: Path, steps: list[tuple[Event, list[Command]]]) -> None:
    writer = TraceWriter(str(path), {"protocol_era": "auto"})
    for event, commands in steps:
        writer.record(event, commands)
    writer.close()


class Recorded:
    """A core that says what it is told to say."""

    def __init__(self, steps: list[tuple[Event, list[Command]]]) -> None:
        self.answers = [commands for _, commands in steps]

    def receive(self, _event: Event) -> list[Command]:
        return self.answers.pop(0)


def test_a_trace_reads_back_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path / "t", STEPS)
    trace = read_trace(str(tmp_path / "t"))
    assert trace.options == {"protocol_era": "auto"}
    assert trace.steps == STEPS


def test_what_was_said_can_be_read_in_the_file(tmp_path: Path) -> None:
    write(
        tmp_path / "t",
        [
            (ClientLine(b"a line"), [Request(ExchangeId(1), Verb.POST, (), b"a body")]),
            (ServerSent(ExchangeId(1), b"an event"), [Emit(b"an answer")]),
        ],
    )
    text = (tmp_path / "t").read_text()
    assert all(f'"{said}"' in text for said in ("a line", "a body", "an event", "an answer"))


def anything(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type, whatever fields there are; a JSON text has no lone surrogates."""
    if hint is str:
        return st.text(st.characters(exclude_categories=["Cs"]))
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if hint is int:
        return st.integers(-(2**63), 2**63)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        fields = {field.name: anything(field.type) for field in msgspec.structs.fields(hint)}
        return st.builds(hint, **fields)
    if hasattr(hint, "__supertype__"):
        return anything(hint.__supertype__)
    members = get_args(hint)
    if not members:
        return st.from_type(hint)
    if get_origin(hint) is dict:
        return st.dictionaries(*map(anything, members), max_size=3)
    if members[-1] is ...:
        return st.lists(anything(members[0]), max_size=3).map(tuple)
    each = map(anything, members)
    return st.tuples(*each) if get_origin(hint) is tuple else st.one_of(*each)


@settings(deadline=None)  # each example writes a file
@given(
    event=st.one_of(*map(anything, get_args(Event))),
    commands=st.lists(st.one_of(*map(anything, get_args(Command))), max_size=3),
)
def test_any_event_and_any_commands_survive(
    tmp_path_factory: pytest.TempPathFactory, event: Event, commands: list[Command]
) -> None:
    path = tmp_path_factory.mktemp("trace") / "t"
    write(path, [(event, commands)])
    assert read_trace(str(path)).steps == [(event, commands)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows files have no such mode")
def test_a_trace_is_private_even_over_an_older_file(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.touch(0o644)
    write(path, STEPS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_run_cut_short_reads_up_to_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, STEPS)
    path.write_bytes(path.read_bytes()[:-5])
    assert read_trace(str(path)).steps == [*STEPS[:-1], (ClientClosed(), [])]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1"),
        ('{"format":"other/1","options":{}}\n', "does not begin with"),
        ('{"format":"canferry-trace/1","options":{}}\nnonsense\n', "line 2"),
        ('{"format":"canferry-trace/1","options":{}}\n{"at":0,"event":{"type":"No"}}\n', "line 2"),
        (
            '{"format":"canferry-trace/1","options":{}}\n{"at":0,"command":{"type":"Stop","code":0}}\n',
            "without an event",
        ),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    with pytest.raises(TraceError, match=says):
        read_trace(str(path))


def test_a_core_that_does_the_same_shows_no_difference(tmp_path: Path) -> None:
    write(tmp_path / "t", STEPS)
    assert replay(read_trace(str(tmp_path / "t")), Recorded(STEPS)) is None


def test_the_first_difference_is_found(tmp_path: Path) -> None:
    write(tmp_path / "t", STEPS)
    core = Recorded(STEPS)
    core.answers[3] = []
    event, recorded = STEPS[3]
    assert replay(read_trace(str(tmp_path / "t")), core) == Difference(4, event, recorded, [])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_trace_and_not_the_relay(caplog: pytest.LogCaptureFixture) -> None:
    writer = TraceWriter("/dev/full", {})
    writer.record(Started(), [])
    writer.close()
    assert [record.message for record in caplog.records] == [
        "the trace ends here: [Errno 28] No space left on device"
    ]
