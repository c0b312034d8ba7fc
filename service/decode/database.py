"""One loaded database: its messages by identifier, by parameter group and by name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cantools.database.can import Database as CantoolsDatabase
from cantools.database.can import Message
from cantools.database.can.signal import Signal
from cantools.database.errors import Error as CantoolsError

from service.errors import DbcMessageNotFoundError, DbcSignalInvalidError
from service.model.j1939 import pgn


@dataclass(frozen=True, slots=True)
class Match:
    """The message of a frame; ``note`` says when another identifier than its own led there."""

    message: Message
    note: str | None = None


@dataclass(frozen=True)
class Database:
    """``warnings`` is what had to be forgiven while loading; ``is_strict`` when no signals had."""

    name: str
    path: Path
    format: str
    encoding: str
    content: CantoolsDatabase
    is_strict: bool = True
    warnings: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        return self.content.messages

    def match(self, arbitration_id: int, is_extended: bool) -> Match | None:
        """The message of an identifier: exactly, else by J1939 parameter group number.

        The latter is for 29-bit identifiers, whose priority and addresses differ from network to
        network while the layout does not (SAE J1939-21, 5.2).
        """
        if exact := self._by_id.get((is_extended, arbitration_id)):
            return Match(exact)
        if not is_extended:
            return None
        group = pgn(arbitration_id)
        candidates = self._by_group.get(group, [])
        if not candidates:
            return None
        note = f"matched by PGN {group} from source address {arbitration_id & 0xFF:#04x}"
        if len(candidates) > 1:
            note += f", the first of {len(candidates)} messages"
        return Match(candidates[0], note)

    def message(self, name: str) -> Message:
        """By name, exactly or else without regard to case when that is unambiguous.

        Errors: DbcMessageNotFoundError with near matches.
        """
        same = [each for each in self.messages if each.name == name]
        same = same or [each for each in self.messages if each.name.lower() == name.lower()]
        if len({each.name for each in same}) == 1:
            return same[-1]
        raise DbcMessageNotFoundError(
            f"database '{self.name}' has no message '{name}'",
            hint=_near(name, [each.name for each in self.messages]) or None,
        )

    def signal(self, message: Message, name: str) -> Signal:
        """A signal of a message, by name as for ``message``.

        Errors: DbcSignalInvalidError with near matches.
        """
        same = [each for each in message.signals if each.name == name]
        same = same or [each for each in message.signals if each.name.lower() == name.lower()]
        if len(same) == 1:
            return same[0]
        names = [each.name for each in message.signals]
        raise DbcSignalInvalidError(
            f"message '{message.name}' has no signal '{name}'",
            hint=_near(name, names) or f"Its signals are: {', '.join(names[:30])}.",
        )

    def is_consistent(self, message: Message) -> bool:
        """Whether cantools' codec for the whole message is right: it shifts those signals that
        overlap, which only a lenient load lets through."""
        return self.is_strict or id(message) not in self._inconsistent

    @cached_property
    def _inconsistent(self) -> frozenset[int]:
        return frozenset(id(message) for message in self.messages if not _fits(message))

    @cached_property
    def _by_id(self) -> dict[tuple[bool, int], Message]:
        return {(each.is_extended_frame, each.frame_id): each for each in self.messages}

    @cached_property
    def _by_group(self) -> dict[int, list[Message]]:
        groups: dict[int, list[Message]] = {}
        for message in self.messages:
            if self._is_j1939(message):
                groups.setdefault(pgn(message.frame_id), []).append(message)
        return groups

    def _is_j1939(self, message: Message) -> bool:
        """Any 29-bit message counts, unless the database names another protocol."""
        if not message.is_extended_frame:
            return False
        if message.protocol == "j1939":
            return True
        specifics = self.content.dbc
        named = specifics.attributes.get("ProtocolType") if specifics else None
        return named is None or "J1939" in str(named.value).upper()


def _fits(message: Message) -> bool:
    try:
        message.refresh(strict=True)
    except CantoolsError:
        return False
    return True


def _near(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(each) for each in near)}?" if near else ""
