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
from collections.abc import Callable, Sequence
from contextlib import suppress

if sys.platform == "win32":
    from asyncio import ProactorEventLoop as _SystemLoop
else:
    from asyncio import SelectorEventLoop as _SystemLoop

Resolve = Callable[..., Sequence[tuple[object, ...]]]


class RelayLoop(_SystemLoop):
    """The system's default loop with each look-up in a daemon thread of its own."""

    def __init__(self, resolve: Resolve = socket.getaddrinfo) -> None:
        super().__init__()
        self._resolve = resolve

    async def getaddrinfo(  # type: ignore[override]
        self, host: object, port: object, **hints: int
    ) -> Sequence[tuple[object, ...]]:
        found: asyncio.Future[Sequence[tuple[object, ...]]] = self.create_future()

        def settle(answer: Sequence[tuple[object, ...]] | OSError) -> None:
            if found.done():
                return  # nobody waits any more
            if isinstance(answer, OSError):
                found.set_exception(answer)
            else:
                found.set_result(answer)

        def look_up() -> None:
            answer: Sequence[tuple[object, ...]] | OSError
            try:
                answer = self._resolve(host, port, **hints)
            except OSError as error:  # socket.gaierror is one
                answer = error
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self.call_soon_threadsafe(settle, answer)

        threading.Thread(target=look_up, name="resolver", daemon=True).start()
        return await found
