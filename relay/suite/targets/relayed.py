"""A URL behind the relay: its process, started as a client would start it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from relay.suite.eras import EraChoice
from relay.suite.targets.child import Command
from relay.suite.targets.stdio import StdioTarget

# How long a case may take is the suite's to say.
_UNLIMITED = ("--timeout-head", "0", "--timeout-read", "0", "--timeout-total", "0")


def relayed(
    url: str,
    environ: Mapping[str, str],
    options: Sequence[str] = (),
    choice: EraChoice = EraChoice.AUTO,
) -> StdioTarget:
    """The server at a URL, by way of ``canferry-relay URL``.

    ``options`` are the relay's own; it gets the whole environment, for it reads proxies and
    credentials from there.
    """
    argv = (sys.executable, "-m", "relay", url, *_UNLIMITED, *options)
    return StdioTarget(Command(argv, environ), choice)
