"""Every call is answered once, by an envelope, in time, whatever the tool does."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping

import anyio
import pytest

from service.dispatch import Limits, Outcome
from service.model.caller import Caller
from service.render import to_json
from tests.service.sample_tools import Bench, dispatcher

AGENT = Caller("local", client="agent")


@pytest.fixture
def bench() -> Bench:
    return Bench(Caller("nobody"))


async def call(
    bench: Bench, name: str, limits: Limits | None = None, **arguments: object
) -> Outcome:
    with anyio.fail_after(5):
        return await dispatcher(bench, limits).call(name, arguments, AGENT)


def error(outcome: Outcome) -> Mapping[str, object]:
    assert outcome.is_error
    assert outcome.payload["ok"] is False
    [only] = outcome.errors
    assert set(only) == {"code", "message", "hint"}
    return only


async def test_a_result_is_an_envelope_with_the_command_words(bench: Bench) -> None:
    outcome = await call(bench, "capture_info", file="a.log")
    assert not outcome.is_error
    assert outcome.payload == {
        "ok": True,
        "command": "capture-info",
        "data": {"text": "a.log", "count": 0, "ratio": 0.0, "thread": ""},
        "warnings": ["only looked"],
        "errors": [],
    }
    assert json.loads(outcome.text) == outcome.payload
    assert outcome.text == to_json(outcome.payload).decode()
    assert bench.caller == AGENT


async def test_an_error_of_ours_keeps_code_message_hint_and_data(bench: Bench) -> None:
    outcome = await call(bench, "capture_info", file="missing")
    assert error(outcome) == {
        "code": "SAMPLE_MISSING",
        "message": "there is no 'missing'",
        "hint": "Name another thing.",
    }
    assert outcome.payload["command"] == "capture-info"
    assert outcome.payload["data"]["file"] == "missing"  # type: ignore[index]


async def test_an_unknown_tool_is_named_with_its_neighbours(bench: Bench) -> None:
    outcome = await call(bench, "ecco")
    assert error(outcome)["code"] == "UNKNOWN_TOOL"
    assert "'ecco'" in str(error(outcome)["message"])
    assert "echo" in str(error(outcome)["hint"])


async def test_every_bad_argument_is_named(bench: Bench) -> None:
    outcome = await call(bench, "stats", fil="x", pgn="notanint", top=0)
    assert outcome.is_schema_failure
    assert outcome.payload["command"] == "stats"
    assert error(outcome)["code"] == "INVALID_ARGUMENTS"
    message = str(error(outcome)["message"])
    for part in ("'file' is missing", "'pgn' = 'notanint'", "'top' = 0", "did you mean 'file'?"):
        assert part in message


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("capture_info", {"file": "-"}, "file"),
        ("stats", {"file": "-"}, "file"),
        ("stats", {"file": "a", "files": ["b", "-"]}, "files"),
        ("send", {"interface": "can0", "ack_active": True, "source": "-"}, "source"),
        ("send", {"source": "-"}, "source"),
    ],
)
async def test_a_dash_is_refused_before_anything_starts(
    bench: Bench, name: str, arguments: dict[str, object], parameter: str
) -> None:
    threads = set(threading.enumerate())
    with anyio.fail_after(5):
        outcome = await dispatcher(bench).call(name, arguments, AGENT)
    assert set(threading.enumerate()) == threads
    assert error(outcome)["code"] == "STDIN_MCP_EXCLUDED"
    assert f"'{parameter}'" in str(error(outcome)["message"])
    assert "path" in str(error(outcome)["hint"])
    payload = outcome.payload
    assert (payload["command"], payload["data"], payload["warnings"]) == (name, {}, [])
    assert not outcome.is_schema_failure
    assert bench.notes == []


async def test_a_dash_is_data_where_nothing_is_read(bench: Bench) -> None:
    outcome = await call(bench, "echo", text="-")
    assert not outcome.is_error


@pytest.mark.parametrize("how", ["runtime", "exit", "cancelled", "wrong"])
@pytest.mark.parametrize("name", ["fail", "fail_waiting"])
async def test_a_crash_is_an_envelope_and_the_next_call_works(
    bench: Bench, name: str, how: str
) -> None:
    if (name, how) == ("fail_waiting", "wrong"):
        how = "timeout"
    outcome = await call(bench, name, how=how)
    assert error(outcome)["code"] == "TOOL_EXECUTION_ERROR"
    assert outcome.payload["command"] == name
    assert not (await call(bench, "echo", text="still here")).is_error


async def test_the_traceback_goes_to_the_log_alone(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = await call(bench, "fail")
    assert "the sky fell" in outcome.text
    assert "Traceback" not in outcome.text
    assert "sample_tools" not in outcome.text
    assert "sample_tools" in caplog.text


async def test_a_giant_crash_stays_within_the_cap(bench: Bench) -> None:
    outcome = await call(bench, "fail", Limits(response_bytes=1024), how="long")
    assert len(outcome.text.encode()) <= 1024
    assert error(outcome)["code"] == "TOOL_EXECUTION_ERROR"
    assert error(outcome)["hint"]


async def test_values_that_json_cannot_carry_become_null_with_a_warning(bench: Bench) -> None:
    outcome = await call(bench, "odd_values")
    data = json.loads(outcome.text)["data"]
    assert data["ratio"] is None
    assert data["text"] == "half \ufffd pair"
    assert "data.ratio" in str(outcome.payload["warnings"])


async def test_an_answer_over_the_cap_is_cut_and_tells_how_to_get_the_rest(bench: Bench) -> None:
    outcome = await call(bench, "many", Limits(response_bytes=2048), count=5000)
    assert len(outcome.text.encode()) <= 2048
    hint = json.loads(outcome.text)["data"]["truncation"]["hint"]
    assert "canferry-service many --count 5000 --json" in hint
    assert "limit and cursor" in hint


@pytest.mark.parametrize("name", ["wait_at_door", "block_at_latch"])
async def test_a_call_ends_in_time_whatever_the_tool_does(bench: Bench, name: str) -> None:
    outcome = await call(bench, name, Limits(seconds=0.05))
    bench.latch.set()
    assert error(outcome)["code"] == "TOOL_TIMEOUT"
    assert name in str(error(outcome)["message"])


async def test_stuck_threads_keep_their_places_and_later_calls_are_still_answered(
    bench: Bench,
) -> None:
    calls = dispatcher(bench, Limits(seconds=0.05, threads=2))
    with anyio.fail_after(5):
        codes = [error(await calls.call("block_at_latch", {}, AGENT))["code"] for _ in range(4)]
        blocked = [each for each in threading.enumerate() if each.name == "tool"]
        assert codes == ["TOOL_TIMEOUT"] * 4
        assert len(blocked) == 2
        bench.latch.set()
        for thread in blocked:
            await anyio.to_thread.run_sync(thread.join)
        assert not (await calls.call("echo", {"text": "free again"}, AGENT)).is_error


async def test_cancelling_a_call_cancels_the_tool(bench: Bench) -> None:
    calls = dispatcher(bench)
    answers: list[Outcome] = []

    async def wait() -> None:
        answers.append(await calls.call("wait_at_door", {}, AGENT))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await bench.entered.wait()
            tasks.cancel_scope.cancel()
    assert bench.notes == ["cancelled"]
    assert answers == []


async def test_no_call_waits_for_another(bench: Bench) -> None:
    calls = dispatcher(bench)
    finished: list[str] = []

    async def run(name: str, text: str | None = None) -> None:
        await calls.call(name, {"text": text} if text else {}, AGENT)
        finished.append(name)
        if finished.count("echo") == 63:
            bench.door.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "wait_at_door")
            await bench.entered.wait()
            for number in range(63):
                tasks.start_soon(run, "echo", str(number))
    assert finished == ["echo"] * 63 + ["wait_at_door"]


async def test_the_loop_stays_alive_while_a_thread_works(bench: Bench) -> None:
    calls = dispatcher(bench)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.call, "block_at_latch", {}, AGENT)
            bench.latch.set()  # runs only if the loop does


async def test_each_call_is_logged_without_argument_values(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "service.calls")
    await call(bench, "echo", text="s3cret")
    await call(bench, "echo", text=5)
    ok, bad = (vars(record) for record in caplog.records if record.name == "service.calls")
    assert (ok["tool"], ok["principal"], ok["client"], ok["result"]) == (
        "echo",
        "local",
        "agent",
        "ok",
    )
    assert bad["result"] == "INVALID_ARGUMENTS"
    assert ok["ms"] >= 0
    assert "s3cret" not in repr(ok)
