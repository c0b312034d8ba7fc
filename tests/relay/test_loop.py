"""Name look-ups off the loop: results, errors, and an end that does not wait for them."""

from __future__ import annotations

import asyncio
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
