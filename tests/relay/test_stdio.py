"""Lines through real pipes and sockets: framing, bounds, and ends that never hang."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.core.events import ClientClosed, ClientLine, ClientLineTooLong, Terminated
from relay.stdio import StdioClient
from relay.stdio.client import MAX_BACKLOG, MAX_LINE
from relay.stdio.lines import ClientEvent, LineSplitter


def pipe(_folder: Path) -> tuple[int, int]:
    return os.pipe()


def named_pipe(folder: Path) -> tuple[int, int]:
    """What no call can be told not to wait for: threads have to serve it, as they do files."""
    path = folder / f"fifo-{len(list(folder.iterdir()))}"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reading, True)
    return reading, os.open(path, os.O_WRONLY)


def socket_pair(_folder: Path) -> tuple[int, int]:
    """What clients on Node start a process with."""
    reading, writing = socket.socketpair()
    return reading.detach(), writing.detach()


KINDS = [pipe] if sys.platform == "win32" else [pipe, named_pipe, socket_pair]


class Pipes:
    """Both ends of a client: ``to`` feeds stdin, ``of`` is what stdout wrote."""

    def __init__(self, stdin: tuple[int, int], stdout: tuple[int, int]) -> None:
        self.stdin, self.to = stdin
        self.of, self.stdout = stdout
        self.open = {self.stdin, self.to, self.of, self.stdout}

    def close(self, descriptor: int) -> None:
        self.open.discard(descriptor)
        os.close(descriptor)

    def read(self, size: int) -> bytes:
        """Read exactly ``size`` bytes of stdout; blocks, so call it in a thread."""
        data = b""
        while len(data) < size:
            data += os.read(self.of, size - len(data))
        return data

    def write(self, data: bytes) -> None:
        """Write to stdin and close it; blocks, so call it in a thread."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.to, view) :]
        self.close(self.to)


@pytest.fixture(params=KINDS)
def pipes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipes]:
    made = Pipes(request.param(tmp_path), request.param(tmp_path))
    yield made
    # The relay's daemon threads may still block on these two; ending the pipes lets them go.
    for descriptor in sorted(made.open, key=lambda d: d in (made.stdin, made.stdout)):
        os.close(descriptor)


async def upto_end(events: AsyncIterator[ClientEvent]) -> list[ClientEvent]:
    got: list[ClientEvent] = []
    with anyio.fail_after(10):
        async for event in events:
            got.append(event)
            if isinstance(event, ClientClosed | Terminated):
                break
    return got


async def all_of(pipes: Pipes, data: bytes, max_line: int = MAX_LINE) -> list[ClientEvent]:
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout, max_line=max_line)
    writing = asyncio.create_task(asyncio.to_thread(pipes.write, data))
    got = await upto_end(client.events())
    await writing
    return got


async def test_lines_arrive_in_order_and_then_the_end(pipes: Pipes) -> None:
    assert await all_of(pipes, b'{"a":1}\n\n{"b":2}\n') == [
        ClientLine(b'{"a":1}'),
        ClientLine(b""),
        ClientLine(b'{"b":2}'),
        ClientClosed(),
    ]


async def test_many_lines_arrive_complete_and_in_order(pipes: Pipes) -> None:
    lines = [b"%d" % number + b"." * 100 for number in range(20_000)]
    got = await all_of(pipes, b"".join(line + b"\n" for line in lines))
    assert got == [*map(ClientLine, lines), ClientClosed()]


async def test_a_last_line_without_lf_is_a_line(pipes: Pipes) -> None:
    assert await all_of(pipes, b"one\ntwo") == [
        ClientLine(b"one"),
        ClientLine(b"two"),
        ClientClosed(),
    ]


async def test_bytes_are_not_interpreted(pipes: Pipes) -> None:
    line = b"\xef\xbb\xbf\xff\x00\x1a \xe2\x80\xa8\r"
    assert await all_of(pipes, line + b"\n") == [ClientLine(line), ClientClosed()]


async def test_a_line_of_twenty_megabytes_arrives_whole(pipes: Pipes) -> None:
    line = b"x" * 20_000_000
    assert await all_of(pipes, line + b"\n") == [ClientLine(line), ClientClosed()]


async def test_a_line_above_the_limit_is_discarded_and_the_next_one_read(pipes: Pipes) -> None:
    got = await all_of(pipes, b"x" * 300_000 + b"\nnext\n" + b"y" * 100, max_line=99)
    assert got == [
        ClientLineTooLong(300_000, 99),
        ClientLine(b"next"),
        ClientLineTooLong(100, 99),
        ClientClosed(),
    ]


async def test_a_client_that_is_not_taken_from_is_not_read_from(pipes: Pipes) -> None:
    """The reader may be a few reads ahead, and no more: the pipe fills and the client waits."""
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    os.set_blocking(pipes.to, False)
    line = b"z" * 1023 + b"\n"
    written = 0
    async with aclosing(client.events()) as events:
        with anyio.fail_after(10):
            os.write(pipes.to, line)
            assert await anext(events) == ClientLine(line[:-1])
            full = 0
            while full < 50:  # full for 50 rounds of the loop: nobody reads any more
                try:
                    written += os.write(pipes.to, line * 64)
                    full = 0
                except BlockingIOError:
                    full += 1
                await asyncio.to_thread(lambda: None)
    assert written < 2_000_000


async def test_a_stdin_that_was_never_open_is_a_closed_one(pipes: Pipes) -> None:
    pipes.close(pipes.stdin)
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    assert await upto_end(client.events()) == [ClientClosed()]


async def test_messages_are_written_in_order_each_ending_in_lf(pipes: Pipes) -> None:
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    lines = [b"%d" % n * (1 if n % 7 else 70_000) for n in range(50)]
    expected = b"".join(line + b"\n" for line in lines)
    reading = asyncio.create_task(asyncio.to_thread(pipes.read, len(expected)))
    for line in lines:
        client.send(line)
    with anyio.fail_after(5):
        await client.close()
        assert await reading == expected


async def test_lines_that_are_sent_while_stdout_is_full_follow_in_order(pipes: Pipes) -> None:
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    lines = [b"a" * 500_000, *(b"%d" % n for n in range(100))]
    for line in lines:
        client.send(line)
        await asyncio.sleep(0)
    expected = b"".join(line + b"\n" for line in lines)
    reading = asyncio.create_task(asyncio.to_thread(pipes.read, len(expected) + 5))
    with anyio.fail_after(5):
        await client.close()
        client.send(b"last")  # stdout has room again
        assert await reading == expected + b"last\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no such mode there")
async def test_nobody_who_shares_the_pipes_finds_them_in_another_mode(pipes: Pipes) -> None:
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    async with aclosing(client.events()) as events:
        with anyio.fail_after(5):
            await asyncio.to_thread(pipes.write, b"line\n")
            assert await anext(events) == ClientLine(b"line")
            client.send(b"x" * 500_000)
            await asyncio.to_thread(pipes.read, 500_001)
            await client.close()
    assert os.get_blocking(pipes.stdin)
    assert os.get_blocking(pipes.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be told not to wait")
@pytest.mark.parametrize("kind", [pipe, socket_pair])
async def test_small_lines_through_pipes_and_sockets_need_no_thread(
    kind: Callable[[Path], tuple[int, int]], tmp_path: Path
) -> None:
    from relay.stdio import direct

    pipes = Pipes(kind(tmp_path), kind(tmp_path))
    if not direct.serves(pipes.stdin):
        pytest.skip("this kernel waits in any case")
    before = set(threading.enumerate())
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    async with aclosing(client.events()) as events:
        os.write(pipes.to, b"line\n")
        with anyio.fail_after(5):
            assert await anext(events) == ClientLine(b"line")
            client.send(b"answer")
            await client.close()
        assert os.read(pipes.of, 100) == b"answer\n"
        assert set(threading.enumerate()) <= before
    for descriptor in pipes.open:
        os.close(descriptor)


async def test_who_sends_waits_while_stdout_is_full_and_goes_on_when_it_is_read(
    pipes: Pipes,
) -> None:
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    with anyio.fail_after(5):
        client.send(b"s")
        await client.room()  # below the bound: at once
    client.send(b"x" * (2 * MAX_BACKLOG))
    waiting = asyncio.create_task(client.room())
    with anyio.move_on_after(0.05):
        await asyncio.shield(waiting)
    assert not waiting.done()
    with anyio.fail_after(5):
        await asyncio.to_thread(pipes.read, 2 * MAX_BACKLOG + 3)
        await waiting
        await client.close()


async def test_a_stdout_that_nobody_reads_does_not_hold_the_end(pipes: Pipes) -> None:
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout, patience=0.05)
    client.send(b"x" * 1_000_000)
    with anyio.fail_after(5):
        await client.close()


async def test_a_closed_stdout_is_an_end_and_releases_who_waits(pipes: Pipes) -> None:
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    pipes.close(pipes.of)
    client.send(b"x" * (2 * MAX_BACKLOG))
    with anyio.fail_after(5):
        await client.room()
    assert await upto_end(client.events()) == [Terminated("stdout closed")]
    client.send(b"lost")
    with anyio.fail_after(5):
        await client.close()


async def test_a_stdout_that_is_closed_while_it_is_full_is_one_end(pipes: Pipes) -> None:
    client = StdioClient(stdin=pipes.stdin, stdout=pipes.stdout)
    os.write(pipes.to, b"line\n")
    client.send(b"x" * 500_000)
    await asyncio.sleep(0)
    client.send(b"y" * 500_000)
    pipes.close(pipes.of)
    async with aclosing(client.events()) as events:
        with anyio.fail_after(5):
            got = {await anext(events), await anext(events)}
            client.send(b"lost")
            await client.close()
            pipes.close(pipes.to)
    assert got == {Terminated("stdout closed"), ClientLine(b"line")}


@given(
    st.lists(st.binary(max_size=8).map(lambda part: part.replace(b"x", b"\n"))), st.integers(0, 6)
)
def test_lines_do_not_depend_on_how_the_stream_is_cut(parts: list[bytes], limit: int) -> None:
    splitter = LineSplitter(limit)
    cut = [line for part in parts for line in splitter.feed(part)] + list(splitter.finish())
    lines = b"".join(parts).split(b"\n")
    if not lines[-1]:
        lines.pop()
    assert cut == [
        ClientLine(line) if not limit or len(line) <= limit else ClientLineTooLong(len(line), limit)
        for line in lines
    ]
