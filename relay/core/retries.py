"""When a request may be sent once more, and after how long: the rules, without the sending."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_RETRY_AFTER = 60.0
"""Seconds of ``Retry-After`` waited out at most; a longer wait is told to the client instead."""

MAX_REFUSALS = 2
"""How often a server may say 429 or 503 with ``Retry-After`` to one request before it is told."""

RECONNECT_SECONDS = (0.25, 0.5, 1.0, 2.0)
"""The pauses before a request that could not be sent at all is tried again."""

RESUME_SECONDS = 1.0
"""The pause before a stream is resumed if the server names none (2025-11-25, basic/transports)."""

MAX_RESUMPTIONS = 5
"""How often in a row a stream is taken up again without a single event from it."""

IDEMPOTENT = frozenset(
    {
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
    }
)
"""Methods that do no harm when they run twice."""

_REFUSALS = (429, 503)
_SECONDS = re.compile(r"\d{1,9}")


def retry_after(status: int, headers: Mapping[str, str]) -> float | None:
    """The seconds that a refusal asks to be waited, or None if it names no time.

    ``Retry-After`` is a number of seconds, or a date (RFC 9110, 10.2.3) which is read against the
    ``Date`` of the same response, so that the two clocks need not agree.
    """
    if status not in _REFUSALS:
        return None
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    then, now = _timestamp(text), _timestamp(headers.get("date", ""))
    return None if then is None or now is None else max(0.0, then - now)


def resume_after(retry: int | None, tries: int) -> float:
    """The pause before a stream is resumed. ``retry`` is the server's wish, in milliseconds."""
    first = RESUME_SECONDS if retry is None else retry / 1000
    return first if tries == 0 else max(first, RESUME_SECONDS) * 2.0 ** (tries - 1)


def _timestamp(text: str) -> float | None:
    from email.utils import parsedate_to_datetime  # many modules, for a rare header

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
