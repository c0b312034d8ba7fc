"""Which clock a frame's time comes from: the adapter's while it makes sense, else the host's."""

from __future__ import annotations

import math
from typing import Literal

MAX_OFFSET_SECONDS = 1.0
"""An adapter's stamp further from the host's clock counts from something else than the epoch."""

Source = Literal["adapter", "host"]


class Stamps:
    """Judges one adapter from its opening to its closing.

    An adapter whose stamp was once unrelated to the host's clock is not believed any more, so that
    the two clocks do not alternate. A stamp before the previous one is replaced by itself alone.
    """

    def __init__(self) -> None:
        self.source: Source = "adapter"
        self._last = -math.inf

    def choose(self, adapter: float, host: float) -> float:
        """The time of a frame, in seconds since the epoch."""
        if self.source == "adapter" and not abs(host - adapter) <= MAX_OFFSET_SECONDS:
            self.source = "host"
        if self.source == "adapter" and adapter >= self._last:
            self._last = adapter
            return adapter
        self._last = host
        return host
