"""Ways through a nested value that no depth of nesting can break."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

Walk: TypeAlias = Generator["Walk", None, None]
"""The visit of one value: it yields the visits of values inside, which end before it goes on."""


def run(walk: Walk) -> None:
    """Carry a walk to its end.

    A recursive function would do the same and fail where the interpreter's stack ends.
    """
    running = [walk]
    while running:
        inner = next(running[-1], None)
        if inner is None:
            running.pop()
        else:
            running.append(inner)


class Path:
    """The place of a value in a JSON document; a step is a member's name or an item's index.

    Linked to its parent, for a copy of all steps at each level would cost the square of the depth.
    """

    __slots__ = ("_parent", "_step")

    def __init__(self, parent: Path | None = None, step: str | int = "") -> None:
        self._parent = parent
        self._step = step

    def __truediv__(self, step: str | int) -> Path:
        return Path(self, step)

    def steps(self) -> list[str | int]:
        """The steps from the root."""
        steps: list[str | int] = []
        path = self
        while path._parent is not None:
            steps.append(path._step)
            path = path._parent
        return steps[::-1]

    def __str__(self) -> str:
        """From a root named ``$``, as in ``$.cases[0].id``. Names are not escaped."""
        return "$" + self._text()

    def inside(self) -> str:
        """Without a name for the root, as in ``cases[0].id``; ``$`` is the root itself."""
        return self._text().removeprefix(".") if self._parent else "$"

    def _text(self) -> str:
        return "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps()
        )
