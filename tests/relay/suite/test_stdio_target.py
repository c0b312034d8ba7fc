"""A server that is a child process: what it says, and how it ends, whatever it does."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from relay.suite.channel import Broken, Lost, NotOpened, TimedOut
from relay.suite.document import Object
from relay.suite.eras import EraChoice
from relay.suite.judgement import RpcError, RpcResult
from relay.suite.targets.child import Command, Patience
from relay.suite.targets.session import McpSession
from relay.suite.targets.stdio import StdioTarget
from tests.relay.suite.fake_session import Witnessed
from tests.relay.suite.stub import AT_ONCE, CONNECT_SECONDS, command, stub

LONG = 30.0


async def opened(target: StdioTarget, witness: Witnessed | None = None) -> McpSession:
    return await target.open(CONNECT_SECONDS, witness or Witnessed())


async def called(session: McpSession, tool: str, seconds: float = LONG, **given: object) -> Any:
    """What the text of a tool's result says."""
    params: Object = {"name": tool, "arguments": given}
    answer = await session.request("tools/call", params, seconds)
    assert isinstance(answer, RpcResult), answer
    return json.loads(answer.value["content"][0]["text"])  # type: ignore[index]


def is_gone(pid: int) -> bool:
    """Whether a process is no more; as a zombie it is none either."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z"


async def ended(pid: int) -> None:
    for _ in range(1000):
        if is_gone(pid):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


# -- what the process gets --


async def test_a_server_gets_the_environment_and_the_directory_that_it_is_given(
    tmp_path: Path,
) -> None:
    target = StdioTarget(command(environ={"ONLY": "this"}, cwd=tmp_path), EraChoice.LEGACY)
    session = await opened(target)
    facts = await called(session, "facts")
    assert [name for name in facts["environ"] if not name.startswith(("LC_", "__CF"))] == ["ONLY"]
    assert facts["cwd"] == str(tmp_path)
    assert await session.close() is not None


@pytest.mark.parametrize("argv", [("/no/such/program",), ("no-such-program",), ("a\0b",)])
async def test_a_program_that_cannot_be_started_is_named(argv: tuple[str, ...]) -> None:
    with pytest.raises(NotOpened, match="cannot be started"):
        await opened(StdioTarget(Command(argv, {})))


async def test_a_program_is_looked_for_where_the_environment_says() -> None:
    folder, name = os.path.split(sys.executable)
    argv = (name, *command().argv[1:])
    session = await opened(StdioTarget(Command(argv, {"PATH": folder}), EraChoice.LEGACY))
    assert session.info.name == "stub"
    await session.close()


# -- answers --


async def test_requests_that_are_open_together_get_their_own_answers() -> None:
    session = await opened(stub())
    held = asyncio.ensure_future(session.request("tools/call", _call("hold"), LONG))
    await called(session, "facts")
    await called(session, "release")
    answer = await held
    assert isinstance(answer, RpcResult)
    assert answer.value == {"content": [{"type": "text", "text": "late"}]}
    await session.close()


def _call(tool: str, **given: object) -> Object:
    return {"name": tool, "arguments": given}


async def test_a_json_rpc_error_is_given_as_one() -> None:
    session = await opened(stub())
    answer = await session.request("tools/call", _call("rpcless"), LONG)
    assert answer == RpcError(-32602, "unknown tool: rpcless", {"tool": "rpcless"})
    await session.close()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"jsonrpc":"2.0","id":$ID,"result":{},"error":{}}', "both a result and an error"),
        ('{"jsonrpc":"2.0","id":$ID,"error":null}', "the error is null"),
        ('{"jsonrpc":"2.0","id":$ID,"error":"no"}', 'the error is "no"'),
        ('{"jsonrpc":"2.0","id":$ID,"error":{"code":"1","message":""}}', 'the code .* is "1"'),
        ('{"jsonrpc":"2.0","id":$ID,"error":{"code":1}}', "the message of the error is null"),
    ],
)
async def test_a_response_that_is_none_fails_its_request_alone(line: str, said: str) -> None:
    session = await opened(stub())
    with pytest.raises(Broken, match=said):
        await session.request("tools/call", _call("raw", lines=[f"[{line},{line}]"]), LONG)
    assert await called(session, "ok")
    await session.close()


async def test_a_batch_is_taken_apart() -> None:
    session = await opened(stub())
    line = '[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":$ID,"result":1}]'
    assert await session.request("tools/call", _call("raw", lines=[line]), LONG) == RpcResult(1)
    await session.close()


async def test_an_answer_to_what_nobody_asked_is_noted() -> None:
    witness = Witnessed()
    session = await opened(stub(), witness)
    lines = ['{"jsonrpc":"2.0","id":"$ID","result":{}}', '{"jsonrpc":"2.0","id":99,"result":{}}']
    fine = '{"jsonrpc":"2.0","id":$ID,"result":{}}'
    await session.request("tools/call", _call("raw", lines=[*lines, fine]), LONG)
    assert [note.rpartition(" ")[2] for note in witness.notes] == ["'2'", "99"]
    await session.close()


async def test_requests_of_the_server_are_answered_as_by_a_client_without_capabilities() -> None:
    witness = Witnessed()
    session = await opened(stub(), witness)
    methods = ["ping", "roots/list", "sampling/createMessage", "elicitation/create"]
    said = await called(session, "ask", methods=methods)
    assert said == {"q0": {}, "q1": -32601, "q2": -32601, "q3": -32601}
    assert witness.notes == [f"the server asked for {method} in vain" for method in methods[1:]]
    await session.close()


async def test_lines_that_are_no_messages_are_told_and_kept() -> None:
    witness = Witnessed()
    session = await opened(stub(), witness)
    lines = ["plain", '{"level":"info"}', "42", '{"jsonrpc":"2.0"}', '{"jsonrpc":"1.0","id":$ID}']
    lines += ["\x1b[31mred", "z" * 600]
    fine = '{"jsonrpc":"2.0","id":$ID,"result":{}}'
    await session.request("tools/call", _call("raw", lines=[*lines, fine]), LONG)
    assert witness.lines[:4] == lines[:4]
    assert witness.lines[-1] == "z" * 500 + "..."
    end = await session.close()
    assert end is not None
    assert list(end.noise) == witness.lines
    assert end.telling


async def test_a_line_that_is_too_long_is_told_and_not_kept() -> None:
    witness = Witnessed()
    limited = msgspec.structs.replace(command(), longest_line=1000)
    session = await opened(StdioTarget(limited, EraChoice.LEGACY), witness)
    fine = '{"jsonrpc":"2.0","id":$ID,"result":{}}'
    await session.request("tools/call", _call("raw", lines=["z" * 2000, fine]), LONG)
    assert witness.lines == ["a line of 2000 bytes, which is longer than 1000"]
    await session.close()


async def test_a_line_of_megabytes_is_read() -> None:
    session = await opened(stub())
    assert len((await called(session, "big"))["x"]) == 3_000_000
    await session.close()


# -- time --


async def test_a_request_that_times_out_is_cancelled_and_its_late_answer_dropped() -> None:
    witness = Witnessed()
    session = await opened(stub(), witness)
    with pytest.raises(TimedOut, match="within 200 ms"):
        await session.request("tools/call", _call("hold"), 0.2)
    said = await called(session, "release")
    assert said["cancelled"] == said["held"] != []
    assert witness.notes == []
    await session.close()


async def test_a_request_that_its_caller_gives_up_leaves_the_session_usable() -> None:
    session = await opened(stub())
    asking = asyncio.ensure_future(session.request("tools/call", _call("hold"), LONG))
    await called(session, "ok")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await called(session, "release")
    await session.close()


async def test_a_server_that_never_speaks_is_not_waited_for_and_its_stderr_told() -> None:
    witness = Witnessed()
    with pytest.raises(NotOpened, match=r"within 4 s") as caught:
        await stub("deaf", EraChoice.AUTO, AT_ONCE).open(4.0, witness)
    assert caught.value.end is not None
    assert caught.value.end.stderr == "waiting for a device\n"
    await ended(int(witness.lines[0].split()[1]))


# -- eras --


@pytest.mark.parametrize(
    ("mode", "era"), [("normal", "legacy"), ("modern", "modern"), ("strict", "legacy")]
)
async def test_the_era_is_found_out_once(mode: str, era: str) -> None:
    target = stub(mode, EraChoice.AUTO)
    first = await opened(target)
    assert first.info.era == era
    await first.close()
    second = await opened(target)
    methods = (await called(second, "facts"))["methods"]
    handshake = {"legacy": ["initialize", "notifications/initialized"]}.get(
        era, ["server/discover"]
    )
    assert methods == [*handshake, "tools/call"]
    await second.close()


async def test_a_server_that_is_silent_to_the_probe_is_asked_for_a_legacy_session() -> None:
    session = await stub("silent", EraChoice.AUTO).open(6.0, Witnessed())
    assert session.info.era == "legacy"
    await session.close()


@pytest.mark.parametrize(
    ("mode", "choice", "said"),
    [
        ("normal", EraChoice.MODERN, "does not speak 2026-07-28"),
        ("modern", EraChoice.LEGACY, "refused initialize: modern only"),
        ("ancient", EraChoice.AUTO, 'the revision "1999-01-01"'),
        ("exit3", EraChoice.LEGACY, "exited with code 3 before"),
    ],
)
async def test_a_handshake_that_fails_says_why_and_leaves_what_the_server_left(
    mode: str, choice: EraChoice, said: str
) -> None:
    with pytest.raises(NotOpened, match=said) as caught:
        await opened(stub(mode, choice))
    assert caught.value.end is not None


async def test_a_modern_server_that_asks_for_input_gives_no_result() -> None:
    session = await opened(stub("modern", EraChoice.AUTO))
    with pytest.raises(Broken, match="asks for input"):
        await session.request("tools/call", _call("input_required"), LONG)
    await session.close()


# -- the end --


async def test_a_server_ends_when_its_stdin_is_closed() -> None:
    session = await opened(stub())
    end = await session.close()
    assert end is not None
    assert (end.exit_code, end.signal, end.abnormal, end.telling) == (0, None, False, False)
    assert not end.stderr_cut


async def test_a_server_that_stays_is_terminated_and_that_is_told() -> None:
    session = await opened(stub("stays", patience=Patience(0.1, 20.0, 20.0, 5.0)))
    end = await session.close()
    assert end is not None
    assert (end.signal, end.abnormal) == ("SIGTERM", True)
    assert end.detail.endswith("was sent SIGTERM")


async def test_a_server_that_ignores_the_signal_is_killed() -> None:
    session = await opened(stub("obstinate", patience=Patience(0.1, 0.1, 20.0, 5.0)))
    end = await session.close()
    assert end is not None
    assert end.signal == "SIGKILL"


async def test_what_a_server_has_started_ends_with_it() -> None:
    session = await opened(stub())
    pid = (await called(session, "spawn"))["pid"]
    await session.close()
    await ended(pid)


async def test_a_server_that_crashes_while_its_child_holds_the_pipes_is_lost_all_the_same() -> None:
    session = await opened(stub(patience=Patience(20.0, 20.0, 20.0, 0.2)))
    pid = (await called(session, "spawn"))["pid"]
    with pytest.raises(Lost, match="exited with code 7"):
        await session.request("tools/call", _call("crash"), LONG)
    assert session.lost is not None
    with pytest.raises(Lost):
        await session.request("tools/call", _call("ok"), LONG)
    assert await session.close() is session.lost
    await ended(pid)


async def test_a_server_that_closes_its_stdout_is_lost_and_ended() -> None:
    session = await opened(stub(patience=Patience(20.0, 20.0, 20.0, 0.2)))
    pid = (await called(session, "facts"))["pid"]
    with pytest.raises(Lost, match="closed its pipes"):
        await session.request("tools/call", _call("close_stdout"), LONG)
    await session.close()
    await ended(pid)


async def test_a_server_that_closes_its_stdin_is_lost() -> None:
    session = await opened(stub(patience=Patience(20.0, 20.0, 20.0, 0.2)))
    await called(session, "close_stdin")
    for _ in range(2):
        with pytest.raises(Lost, match="closed its pipes"):
            await session.request("tools/call", _call("ok"), LONG)
    await session.close()


async def test_of_stderr_the_last_64_kib_are_kept() -> None:
    session = await opened(stub())
    with pytest.raises(Lost) as caught:
        await session.request("tools/call", _call("crash", stderr=300_000), LONG)
    end = caught.value.end
    assert len(end.stderr) == 64 << 10
    assert end.stderr.endswith("xit broke here\n")
    assert end.stderr_cut
    await session.close()


async def test_a_last_line_without_an_end_is_read() -> None:
    session = await opened(stub())
    answer = await session.request("tools/call", _call("last_words"), LONG)
    assert answer == RpcResult({"content": []})
    await session.close()


async def test_a_close_that_is_cancelled_kills_the_server() -> None:
    session = await opened(stub("stays"))
    pid = (await called(session, "facts"))["pid"]
    closing = asyncio.ensure_future(session.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await ended(pid)
