"""The relay's event loop serves a client, a server and a clock at once: nothing may block it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx


@pytest.fixture(autouse=True)
def no_blocking_call_on_the_loop() -> Iterator[None]:
    with blockbuster_ctx(scanned_modules=["relay"]):
        yield
