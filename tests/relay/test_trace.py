"""Traces: what is written reads back equal, and replays."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
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


@given(line=st.binary(), text=st.text())
def test_any_bytes_survive(
    tmp_path_factory: pytest.TempPathFactory, line: bytes, text: str
) -> None:
    path = tmp_path_factory.mktemp("trace") / "t"
    steps: list[tuple[Event, list[Command]]] = [
        (ClientLine(line), [Emit(text.encode(errors="replace"))])
    ]
    write(path, steps)
    assert read_trace(str(path)).steps == steps


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
