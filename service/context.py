"""What a tool may touch, handed to it with every call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.model.caller import Caller

if TYPE_CHECKING:  # a tool that reads files must not pay for the drivers
    from service.buses.hub import Hub
    from service.decode.catalog import Catalog
    from service.files import Files
    from service.safety.gate import Gate
    from service.settings import Settings


@dataclass(frozen=True, slots=True)
class Context:
    """``clock`` gives seconds since the epoch; ``caller`` is who made this very call.

    ``answer_bytes`` is how large the JSON of an answer may be: a page keeps well below it, as rows
    that are cut off later would be lost between two cursors.
    """

    settings: Settings
    hub: Hub
    gate: Gate
    files: Files
    databases: Catalog
    clock: Callable[[], float]
    caller: Caller
    answer_bytes: int
