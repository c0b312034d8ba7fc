"""What another process says, in order, to be waited for from a test's own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from tests_integration.harness.deadline import Deadline

Item = TypeVar("Item")


class Ended(AssertionError):
    """The other side closed its stream while something was still expected of it."""


class Silent(AssertionError):
    """What was expected did not come in time."""


class Inbox(Generic[Item]):
    """Items in the order in which they came; one may be taken before those that came earlier.

    ``describe`` tells what the other side said elsewhere (its stderr), for the failure's text.
    """

    def __init__(self, describe: Callable[[], str] = lambda: "") -> None:
        self._describe = describe
        self._items: list[Item] = []
        self._changed = threading.Condition()
        self._ended = False

    def put(self, item: Item) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()

    def end(self) -> None:
        """Nothing follows."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self, wanted: Callable[[Item], bool], deadline: Deadline, what: str = "it") -> Item:
        """Remove and return the first item that is wanted.

        Errors: Ended as soon as it can no longer come, Silent at the deadline.
        """
        with self._changed:
            seen = 0
            while True:
                for place, item in enumerate(self._items[seen:], seen):
                    if wanted(item):
                        return self._items.pop(place)
                seen = len(self._items)
                if self._ended:
                    raise Ended(self._failure(f"ended before {what}"))
                if not self._changed.wait(deadline.left()) and not deadline.left():
                    raise Silent(self._failure(f"{what} did not come in time"))

    def drain(self, quiet: float, deadline: Deadline) -> list[Item]:
        """Remove and return what has come, once nothing has come for ``quiet`` seconds.

        Errors: Ended at the end of the stream, so that no test passes because the other side has
        died; Silent if there is no time left in which it could be quiet for so long.
        """
        with self._changed:
            while True:
                count = len(self._items)
                if self._ended:
                    raise Ended(self._failure("ended while it was to be quiet"))
                if deadline.left() < quiet:
                    raise Silent(self._failure(f"was not quiet for {quiet} s in time"))
                if not self._changed.wait(quiet) and len(self._items) == count:
                    taken, self._items[:] = self._items[:], []
                    return taken

    def forget(self) -> None:
        """Remove what has come; does not wait."""
        with self._changed:
            self._items.clear()

    def left(self) -> list[Item]:
        """What has come and was not taken; does not wait."""
        with self._changed:
            return list(self._items)

    def _failure(self, text: str) -> str:
        return f"{text}; not taken: {self._items[-20:]!r}\n{self._describe()}"
