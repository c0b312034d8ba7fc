"""What a run of a suite tells while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from relay.suite.load import Loaded
from relay.suite.outcome import CaseOutcome, ServerEnd, ServerInfo, SuiteOutcome
from relay.suite.suite import Case


class SuiteStarted(Struct, frozen=True):
    """The suite from ``source`` begins; the first event, always."""

    loaded: Loaded
    source: str


class ServerReady(Struct, frozen=True):
    """A session is open: the first one, or another one after that."""

    info: ServerInfo


class CaseStarted(Struct, frozen=True):
    """A case is being run, the ``number``-th (from 1) of ``total``."""

    case: Case
    number: int
    total: int


class CaseEnded(Struct, frozen=True):
    """A case has ended. One that is not run ends without having started."""

    outcome: CaseOutcome
    number: int
    total: int


class ServerLost(Struct, frozen=True):
    """The session ended by itself; ``case_id`` was running then, if any was."""

    end: ServerEnd
    case_id: str | None = None


class Noise(Struct, frozen=True):
    """The server wrote a line to stdout that is no message."""

    line: str


class SuiteEnded(Struct, frozen=True):
    """The suite has ended; the last event, always."""

    outcome: SuiteOutcome


Event: TypeAlias = (
    SuiteStarted | ServerReady | CaseStarted | CaseEnded | ServerLost | Noise | SuiteEnded
)

Tell = Callable[[Event], None]
