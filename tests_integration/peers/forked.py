"""Servers of one SDK, started and killed as the harness orders.

Loading an SDK takes seconds, so it is loaded once and each server is forked from there; where
there is no fork, each is a new interpreter. Lines on stdin are orders: ``start KIND PORT`` (port
0: of the kernel's choice) and ``kill NUMBER``. Lines on stdout tell where a server listens and
under which number, that one was killed, when a session opens, when a stream of GET begins and
ends, and whatever a server has to tell of its own doings.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NoReturn

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Applications = Mapping[str, Callable[[], ASGIApp]]
"""How to build the application of each kind."""

Kill = Callable[[], object]
"""End a server as a crash does, and wait until it has ended."""

SERVE = "serve"


def say(line: str) -> None:
    """Tell the harness; one write, so that the lines of all servers stay whole."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Observed:
    """An application that tells of its sessions, and of its streams of GET.

    What it says before such a stream begins is lost.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope.get("method")
        streams = False

        async def sending(message: Message) -> None:
            nonlocal streams
            await send(message)
            if message["type"] != "http.response.start" or message["status"] != 200:
                return
            if method == "GET":
                streams = True
                say("stream begins")
            elif names_session(message) and not names_session(scope):
                say("session opens")

        try:
            await self._app(scope, receive, sending)
        finally:
            if streams:
                say("stream ends")


def names_session(message: Mapping[str, Any]) -> bool:
    """Whether a request or a response bears the id of a session."""
    return any(name.lower() == b"mcp-session-id" for name, _ in message.get("headers", ()))


def serve(app: ASGIApp, port: str, number: str) -> None:
    """Serve until the process is killed."""
    listener = socket.create_server(("127.0.0.1", int(port)))
    say(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp as {number}")
    config = uvicorn.Config(Observed(app), log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


def spawn(kind: str, port: str, number: str) -> Kill:
    """Start a server in a new interpreter, which loads the SDK anew."""
    specification = sys.modules["__main__"].__spec__
    assert specification, "started without -m"
    child = subprocess.Popen(
        (sys.executable, "-m", specification.name, SERVE, kind, port, number),
        stdin=subprocess.DEVNULL,
    )

    def kill() -> None:
        child.kill()
        child.wait()

    return kill


def fork(app: Callable[[], ASGIApp], port: str, number: str) -> Kill:
    """Start a server in a copy of this process."""
    if sys.platform == "win32":
        raise NotImplementedError("no fork")
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        serve(app(), port, number)
        os._exit(0)

    def kill() -> None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    return kill


class Children:
    """The servers that run, by their numbers."""

    def __init__(self, applications: Applications) -> None:
        self._applications = applications
        self._numbers = map(str, count(1))
        self._running: dict[str, Kill] = {}

    def start(self, kind: str, port: str) -> None:
        number = next(self._numbers)
        if hasattr(os, "fork"):
            self._running[number] = fork(self._applications[kind], port, number)
        else:
            self._running[number] = spawn(kind, port, number)

    def kill(self, number: str) -> None:
        self._running.pop(number)()
        say(f"killed {number}")

    def end(self, *_: object) -> NoReturn:
        for kill in self._running.values():
            kill()
        sys.exit(0)


def main(applications: Applications) -> None:
    """Do what stdin orders until it ends."""
    if sys.argv[1:2] == [SERVE]:
        kind, port, number = sys.argv[2:]
        serve(applications[kind](), port, number)
        return
    children = Children(applications)
    signal.signal(signal.SIGTERM, children.end)
    for line in sys.stdin:
        match line.split():
            case ["start", kind, port]:
                children.start(kind, port)
            case ["kill", number]:
                children.kill(number)
    children.end()
