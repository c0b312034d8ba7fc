"""Name look-ups off the loop: results, errors, and an end that does not wait for them."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading

import anyio
import pytest

from relay.loop import RelayLoop


def test_a_name_is_resolved_as_the_system_does() -> None:
    async def look_up() -> object:
        with anyio.fail_after(5):
            return await asyncio.get_running_loop().getaddrinfo(
                "localhost", 80, family=socket.AF_INET, type=socket.SOCK_STREAM
            )

    with asyncio.Runner(loop_factory=RelayLoop) as runner:
        found = runner.run(look_up())
    assert found == socket.getaddrinfo("localhost", 80, socket.AF_INET, socket.SOCK_STREAM)


def test_a_failed_look_up_fails_as_the_system_does() -> None:
    def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def look_up() -> None:
        with anyio.fail_after(5):
            await asyncio.get_running_loop().create_connection(asyncio.Protocol, "nowhere", 80)

    with (
        asyncio.Runner(loop_factory=lambda: RelayLoop(resolve)) as runner,
        pytest.raises(socket.gaierror, match="no such name"),
    ):
        runner.run(look_up())


@pytest.mark.parametrize("name", ["a..b", "x" * 64 + ".example"])
def test_a_name_that_can_be_none_fails_like_any_other(name: str) -> None:
    async def look_up() -> None:
        with anyio.fail_after(5):
            await asyncio.get_running_loop().getaddrinfo(name, 80)

    with (
        asyncio.Runner(loop_factory=RelayLoop) as runner,
        pytest.raises(socket.gaierror, match="not a host name"),
    ):
        runner.run(look_up())


def test_look_ups_of_one_name_at_once_are_one_look_up() -> None:
    asked: list[object] = []
    go_on = threading.Event()

    def resolve(host: object, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(host)
        go_on.wait(5)
        return [(host,)]

    async def look_up() -> list[object]:
        loop = asyncio.get_running_loop()
        names = ["one"] * 500 + ["two"]
        waiting = [asyncio.ensure_future(loop.getaddrinfo(name, 80)) for name in names]
        await asyncio.sleep(0)
        waiting[0].cancel()  # which must not take the answer from the others
        go_on.set()
        with anyio.fail_after(5):
            found: list[object] = await asyncio.gather(*waiting[1:])
            found.append(await loop.getaddrinfo("one", 80))
        return found

    with asyncio.Runner(loop_factory=lambda: RelayLoop(resolve)) as runner:
        found = runner.run(look_up())
    assert found == [[("one",)]] * 499 + [[("two",)], [("one",)]]
    assert sorted(map(str, asked)) == ["one", "one", "two"]


def test_a_failure_that_nobody_waits_for_any_more_is_no_complaint(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on = threading.Event()

    def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        go_on.wait(5)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def look_up() -> None:
        loop = asyncio.get_running_loop()
        with anyio.move_on_after(0.01):
            await loop.getaddrinfo("nowhere", 80)
        go_on.set()
        with anyio.fail_after(5), pytest.raises(socket.gaierror):
            await loop.getaddrinfo("elsewhere", 80)

    with asyncio.Runner(loop_factory=lambda: RelayLoop(resolve)) as runner:
        runner.run(look_up())
    gc.collect()
    assert caplog.records == []


def test_a_resolver_that_hangs_does_not_hold_the_end() -> None:
    asked, go_on = threading.Event(), threading.Event()
    ended = threading.Event()

    def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        asked.set()
        go_on.wait(20)
        return []

    async def look_up() -> None:
        with anyio.move_on_after(0.05):
            await asyncio.get_running_loop().getaddrinfo("nowhere", 80)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: RelayLoop(resolve)) as runner:
            runner.run(look_up())
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        assert ended.wait(5) and asked.is_set()
    finally:
        go_on.set()
