"""An event loop whose name look-ups cannot hold up the end of the process.

asyncio resolves names in a pool of threads that both the loop's end and the interpreter's wait
for, and a resolver without a network may take half a minute. A client gives its relay a few
seconds to end before it kills it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress

if sys.platform == "win32":
    from asyncio import ProactorEventLoop as _SystemLoop
else:
    from asyncio import SelectorEventLoop as _SystemLoop

Addresses = Sequence[tuple[object, ...]]
Resolve = Callable[..., Addresses]


class RelayLoop(_SystemLoop):
    """The system's default loop with each look-up in a daemon thread of its own.

    Connections to one name that begin at the same time share a look-up: a client may send
    thousands of requests at once, and there must not be as many threads.
    """

    def __init__(self, resolve: Resolve = socket.getaddrinfo) -> None:
        super().__init__()
        self._resolve = resolve
        self._under_way: dict[Hashable, asyncio.Future[Addresses]] = {}

    async def getaddrinfo(  # type: ignore[override]
        self, host: object, port: object, **hints: int
    ) -> Addresses:
        question = (host, port, *sorted(hints.items()))
        found = self._under_way.get(question)
        if found is None:
            found = self._under_way[question] = self._look_up(host, port, hints)
            found.add_done_callback(lambda _: self._under_way.pop(question))
        return await asyncio.shield(found)  # others may wait for it when this one no longer does

    def _look_up(
        self, host: object, port: object, hints: Mapping[str, int]
    ) -> asyncio.Future[Addresses]:
        found: asyncio.Future[Addresses] = self.create_future()

        def settle(answer: Addresses | OSError) -> None:
            if isinstance(answer, OSError):
                found.set_exception(answer)
                found.exception()  # seen, even if nobody waits any more
            else:
                found.set_result(answer)

        def run() -> None:
            answer: Addresses | OSError
            try:
                answer = self._resolve(host, port, **hints)
            except OSError as error:  # socket.gaierror is one
                answer = error
            except UnicodeError:  # a label that is empty or longer than 63 bytes
                answer = socket.gaierror(socket.EAI_NONAME, "not a host name")
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self.call_soon_threadsafe(settle, answer)

        threading.Thread(target=run, name="resolver", daemon=True).start()
        return found
