"""The protocol revisions that the relay knows, by era, and what is the same in all of them."""

from __future__ import annotations

from collections.abc import Iterable

from relay.core.errors import Code, Problem
from relay.core.messages import Fields, items_of, text_of

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The most verbose first (all revisions, server/utilities/logging)."""


def common_modern_version(offered: Iterable[str]) -> str | None:
    """The newest modern revision that both sides speak."""
    return max(set(offered) & set(MODERN_VERSIONS), default=None)


def offered_versions(fields: Fields, member: str) -> list[str]:
    """The revisions that a server lists; items that are no strings are no revisions."""
    offered = [text_of(item) for item in items_of(fields.get(member))]
    return [version for version in offered if version is not None]


def no_common_version(offered: Iterable[str]) -> Problem:
    """The error where a server speaks only revisions that the relay does not know."""
    shown = ", ".join(version[:40] for version in list(offered)[:10])
    return Problem(
        Code.INTERNAL_ERROR,
        f"the server speaks no protocol revision that the relay knows: {shown or 'it lists none'}",
        {"hint": f"the relay knows {', '.join(LEGACY_VERSIONS + MODERN_VERSIONS)}"},
    )
