"""The rules of the conftest, each on children, relays and stand-ins that put it to the test.

Where a wait has to fail at once, its deadline lies beyond the test's own time limit.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial

import pytest

from tests_integration.conftest import SETUP_SECONDS, TEARDOWN_SECONDS, TEST_SECONDS
from tests_integration.harness.deadline import Deadline
from tests_integration.harness.fakes import FakeChild, FakeClock, FakePeer
from tests_integration.harness.inbox import Ended, Inbox, Silent
from tests_integration.harness.process import (
    CLOSING_SECONDS,
    PATIENCE,
    ROOT,
    Orphaned,
    Patience,
    Process,
    end,
)
from tests_integration.harness.servers import Peer
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import StdioClient, parse
from tests_integration.manifest import requirement
from tests_integration.peers.mcp_2_changing import URI

FAR = 3600.0
SOON = Patience(eof=0.05, terminate=0.05)
"""For a child of which it is known that it does not heed what it outlives."""

IDLE = "import threading; print('ready', flush=True); threading.Event().wait()"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {IDLE}"
CHATTY = "while True: print('still here', flush=True)"


def child(program: str, patience: Patience = PATIENCE) -> Process:
    return Process((sys.executable, "-c", program), patience=patience)


def ready(program: str, patience: Patience) -> Process:
    """A child that has come to where it does not heed what it outlives."""
    process = child(program, patience)
    process.says("ready", Deadline(TEST_SECONDS))
    return process


# -- EOF, then terminate, then kill --


@requirement("harness.close-eof")
def test_a_process_that_heeds_eof_ends_by_itself() -> None:
    assert child("import sys; sys.stdin.read(); sys.exit(7)").close() == 7


@requirement("harness.close-terminate")
def test_a_process_that_outlives_eof_is_terminated() -> None:
    assert ready(IDLE, SOON).close() == -signal.SIGTERM


@requirement("harness.close-kill")
def test_a_process_that_outlives_terminate_is_killed() -> None:
    assert ready(STUBBORN, SOON).close() == -signal.SIGKILL


@requirement("harness.close-eof", "harness.close-terminate", "harness.close-kill")
@pytest.mark.parametrize("outlives", [0, 1, 2])
def test_each_step_of_the_ladder_is_taken_only_when_the_one_before_has_been_waited_for(
    outlives: int,
) -> None:
    process = FakeChild(outlives)
    assert end(process, Patience(eof=3.0, terminate=2.0, kill=1.0)) == 0
    ladder: list[str | float] = ["EOF", 3.0, "terminate", 2.0, "kill", 1.0]
    assert process.steps == ladder[: 2 * outlives + 2]


@requirement("harness.close-kill", "harness.waits-bounded")
def test_a_process_that_outlives_the_whole_ladder_is_a_failure_and_no_endless_wait() -> None:
    process = FakeChild(outlives=3)
    with pytest.raises(subprocess.TimeoutExpired):
        end(process)
    waits = [step for step in process.steps if isinstance(step, float)]
    assert waits == [PATIENCE.eof, PATIENCE.terminate, PATIENCE.kill]
    assert 0 < sum(waits) < CLOSING_SECONDS


@requirement("harness.waits-bounded")
def test_what_a_process_leaves_behind_on_its_pipes_does_not_hold_up_its_end() -> None:
    heir = "import threading; threading.Event().wait()"
    program = f"import subprocess, sys; p = subprocess.Popen((sys.executable, '-c', {heir!r})); "
    process = child(program + "print('left', p.pid, flush=True)", Patience(pipes=0.1))
    left = int(process.says(r"left (\d+)", Deadline(TEST_SECONDS))[1])
    try:
        with pytest.raises(Orphaned):
            process.close()
    finally:
        os.kill(left, signal.SIGKILL)
    assert process.close() == 0


# -- death is no silence --


@requirement("harness.drain-raises")
def test_a_drain_at_the_end_of_the_stream_raises_and_takes_nothing() -> None:
    inbox = Inbox[str]()
    inbox.put("the last word")
    inbox.end()
    with pytest.raises(Ended, match="the last word"):
        inbox.drain(quiet=0.0, deadline=Deadline(FAR))
    assert inbox.left() == ["the last word"]


@requirement("harness.drain-raises")
def test_a_stream_that_ends_while_it_is_drained_raises() -> None:
    inbox = Inbox[str]()
    ending = threading.Thread(target=inbox.end)
    ending.start()
    with pytest.raises(Ended):
        inbox.drain(quiet=FAR, deadline=Deadline(2 * FAR))
    ending.join(TEST_SECONDS)


def answered(client: StdioClient) -> None:
    client.answer(1)


def drained(client: StdioClient) -> None:
    client.drain(quiet=10.0)


@requirement("harness.drain-raises", "harness.death-fails-at-once")
@pytest.mark.parametrize("wait", [answered, drained])
def test_the_silence_of_a_relay_that_has_been_killed_proves_nothing(
    wait: Callable[[StdioClient], None], stage: Stage
) -> None:
    relay = stage.unopened(stage.server(FakePeer()), "--protocol-era", "modern")
    relay.process.write(b"17\n")
    relay.take(lambda message: message.get("id") is None)  # it runs
    relay.process.kill()
    with pytest.raises(Ended):
        wait(relay)


@requirement("harness.death-fails-at-once")
def test_a_wait_for_a_process_that_dies_fails_at_once_with_all_of_its_stderr() -> None:
    last_words = "sys.stderr.write('complaint\\n' * 20_000 + 'the last word\\n')"
    dying = child(f"import os, sys; os.close(1); {last_words}")
    with pytest.raises(Ended, match="ended before 'ready'") as failure:
        dying.says("ready", Deadline(FAR))
    assert str(failure.value).endswith("complaint\n" * 20_000 + "the last word\n")
    dying.close()


# -- every wait has a bound, and all of them the same --


@requirement("harness.waits-bounded")
def test_a_deadline_is_never_less_than_now() -> None:
    clock = FakeClock()
    deadline = Deadline(10.0, clock)
    assert deadline.left() == 10.0
    clock.now += 4.0
    assert deadline.left() == 6.0
    clock.now += 400.0
    assert deadline.left() == 0.0


@requirement("harness.waits-bounded")
def test_a_wait_ends_at_its_deadline_but_what_has_come_is_taken() -> None:
    clock, inbox = FakeClock(), Inbox[str](lambda: "stderr: busy")
    deadline = Deadline(10.0, clock)
    inbox.put("something else")
    inbox.put("this")
    clock.now += 10.0
    assert inbox.take(lambda item: item == "this", deadline) == "this"
    with pytest.raises(Silent, match=r"(?s)this did not come.*something else.*stderr: busy"):
        inbox.take(lambda item: item == "this", deadline, "this")
    assert inbox.left() == ["something else"]


@requirement("harness.waits-bounded")
def test_what_comes_before_the_item_that_is_wanted_stays() -> None:
    inbox = Inbox[int]()

    def come() -> None:
        for number in range(5):
            inbox.put(number)

    coming = threading.Thread(target=come)
    coming.start()
    assert inbox.take(lambda number: number == 3, Deadline(TEST_SECONDS)) == 3
    coming.join(TEST_SECONDS)
    assert inbox.left() == [0, 1, 2, 4]


@requirement("harness.waits-bounded")
def test_a_process_that_says_nothing_is_waited_for_no_longer_than_the_deadline() -> None:
    silent = child(IDLE, SOON)
    with pytest.raises(Silent):
        silent.says("something else", Deadline(0.1))
    silent.close()


@requirement("harness.waits-bounded")
def test_a_process_that_is_never_quiet_is_drained_no_longer_than_the_deadline() -> None:
    chatty = child(CHATTY, SOON)
    chatty.says("still here", Deadline(TEST_SECONDS))
    with pytest.raises(Silent, match="not quiet"):
        chatty.lines.drain(quiet=5.0, deadline=Deadline(5.3))
    chatty.close()


@requirement("harness.waits-bounded")
def test_a_drain_that_does_not_fit_the_deadline_fails_rather_than_outlast_it() -> None:
    with pytest.raises(Silent):
        Inbox[str]().drain(quiet=FAR, deadline=Deadline(1.0))


@requirement("harness.one-deadline")
def test_the_waits_of_all_clients_draw_on_the_deadline_of_the_test(stage: Stage) -> None:
    nowhere = stage.server(FakePeer())
    assert stage.unopened(nowhere).deadline is stage.deadline
    assert stage.modern(nowhere).deadline is stage.deadline


@requirement("harness.one-deadline")
@pytest.mark.parametrize(
    "seconds",
    [TEST_SECONDS, pytest.param(75.0, marks=pytest.mark.takes(75))],
    ids=["by default", "as it asks"],
)
def test_the_deadline_of_a_test_leaves_its_time_limit_enough_for_the_teardown(
    seconds: float, stage: Stage, request: pytest.FixtureRequest
) -> None:
    limit = request.node.get_closest_marker("timeout").args[0]
    assert seconds - 10.0 < stage.deadline.left() <= seconds
    assert limit >= SETUP_SECONDS + seconds + 2 * CLOSING_SECONDS


@requirement("harness.one-deadline")
def test_no_test_has_a_time_limit_that_its_waits_do_not_fit(
    request: pytest.FixtureRequest,
) -> None:
    """Of those that run with this one."""
    for item in request.session.items:
        limit, takes = item.get_closest_marker("timeout"), item.get_closest_marker("takes")
        waits = float(takes.args[0]) if takes else TEST_SECONDS
        if "stage" in getattr(item, "fixturenames", ()):
            assert limit, item.nodeid
            assert limit.args[0] >= waits + TEARDOWN_SECONDS, item.nodeid


# -- what is written, whole --


@requirement("harness.stderr-content")
def test_stderr_is_kept_whole_however_much_it_is() -> None:
    lines = [f"line {number} of many\n" for number in range(50_000)]
    writing = child(
        "import sys\n"
        "for number in range(50_000): sys.stderr.write(f'line {number} of many\\n')\n"
        "sys.stdin.read()\n"
        "sys.stderr.write('and the last word, after EOF')\n"
    )
    writing.close()
    assert writing.stderr() == "".join(lines) + "and the last word, after EOF"


@requirement("harness.stderr-content")
def test_a_relay_that_has_ended_has_no_more_to_say(stage: Stage) -> None:
    relay = stage.unopened(stage.server(FakePeer()), "--protocol-era", "modern")
    code, said = stage.end(relay)
    assert code == 0
    assert re.fullmatch(r"\S+ INFO relay.core: protocol era: modern \(as set\)\n", said)


NOISE = [
    b"starting up ...\n",
    b"\n",
    b"[]\n",
    b'"text"\n',
    b'{"result": {}, "id": 1}\n',
    b'{"jsonrpc": "1.0", "result": {}, "id": 1}\n',
    b'{"jsonrpc": "2.0", "result": {}, "id": 1} {"jsonrpc": "2.0", "result": {}, "id": 2}\n',
    b'{"jsonrpc": "2.0", "result": {}, "id": 1}',
]


@requirement("harness.one-object-a-line")
@pytest.mark.parametrize("line", NOISE, ids=range(len(NOISE)))
def test_a_line_that_is_not_one_message_is_a_failure(line: bytes) -> None:
    with pytest.raises((AssertionError, ValueError)):
        parse(line)


@requirement("harness.one-object-a-line")
def test_a_line_that_is_one_message_is_that_message() -> None:
    assert parse(b'{"jsonrpc": "2.0", "method": "x"}\n') == {"jsonrpc": "2.0", "method": "x"}


@requirement("harness.one-object-a-line")
@pytest.mark.parametrize("wait", [answered, StdioClient.drain, StdioClient.close])
def test_noise_among_the_messages_fails_whoever_hears_it(
    wait: Callable[[StdioClient], object],
) -> None:
    answer = '{"jsonrpc": "2.0", "id": 1, "result": {}}'
    lines = "\n".join(["noise", answer, "ready"])
    program = f"import sys; print({lines!r}, flush=True); sys.stdin.read()"
    noisy = StdioClient((sys.executable, "-c", program), Deadline(TEST_SECONDS))
    noisy.process.says("ready", noisy.deadline)
    with pytest.raises(ValueError, match="Expecting value"):
        wait(noisy)
    noisy.process.close()


# -- a relay ends before its server --


@requirement("harness.relay-before-server")
def test_a_relay_ends_before_servers_that_were_started_before_it_and_after_it() -> None:
    codes: list[int] = []
    peer, stage = FakePeer(), Stage(Deadline(TEST_SECONDS))
    relay = stage.unopened(stage.server(peer))
    stage.server(peer)
    peer.on_kill = lambda: codes.append(relay.process.wait(0))  # raises while it runs
    stage.close()
    assert codes == [0, 0]


@requirement("harness.relay-before-server")
def test_a_relay_whose_end_fails_keeps_neither_the_others_nor_the_server() -> None:
    ended: list[str] = []
    peer, stage = FakePeer(partial(ended.append, "server")), Stage(Deadline(TEST_SECONDS))
    server = stage.server(peer)
    older, newer = stage.unopened(server), stage.unopened(server)
    newer.process.lines.put(b"noise\n")
    with pytest.raises(ValueError, match="Expecting value"):
        stage.close()
    assert (newer.process.wait(0), older.process.wait(0), ended) == (0, 0, ["server"])


@requirement("harness.waits-bounded")
def test_a_test_does_not_hear_what_servers_of_earlier_tests_have_said(sdk: Peer) -> None:
    for _ in range(2):
        stage = Stage(Deadline(TEST_SECONDS))
        server = stage.server(sdk, "changing")
        assert server.process.lines.left() == []
        stage.legacy(server).request("resources/subscribe", {"uri": URI})  # nobody hears of it
        stage.close()


INNER = """
import pytest

from tests_integration.harness.fakes import FakePeer

relays = []

@pytest.fixture(scope="session")
def server():
    peer = FakePeer()
    server = peer.start()
    yield server
    assert [relay.process.wait(0) for relay in relays] == [0, 0, 0]  # raises while one runs
    peer.kill(server)

def test_the_server_first(server, stage):
    relays.append(stage.unopened(server))

def test_the_relay_first(stage, server):
    relays.append(stage.unopened(server))

def test_a_failure(stage, server, measured):
    relays.append(stage.unopened(server, "--protocol-era", "modern"))
    relays[-1].process.write(b"17\\n")
    relays[-1].take(lambda message: message.get("id") is None)
    assert measured("a figure", 0.0015) is None
    assert not "this is the failure"
"""


@pytest.fixture(scope="module")
def inner(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints of a small run under our conftest."""
    tests = tmp_path_factory.mktemp("inner") / "test_inner.py"
    tests.write_text(INNER, encoding="utf-8")
    options = ["-p", "tests_integration.conftest", "-p", "no:cacheprovider", "-c", "pyproject.toml"]
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *options, str(tests)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TEST_SECONDS,
        check=False,
    )
    return done.stdout + done.stderr


@requirement("harness.relay-before-server")
def test_a_relay_ends_before_its_server_in_whatever_order_a_test_names_them(inner: str) -> None:
    assert re.search(r"1 failed, 2 passed in", inner), inner


@requirement("harness.measured")
def test_what_is_measured_is_printed_at_the_end(inner: str) -> None:
    assert re.search(r"= measured here =+\na figure: 1\.5 ms\n", inner), inner


@requirement("harness.stderr-content")
def test_a_test_that_fails_shows_what_its_relays_said(inner: str) -> None:
    assert re.search(r"- relay 1 -+\n\S+ INFO relay.core: protocol era: modern", inner), inner
