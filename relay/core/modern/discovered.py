"""What ``server/discover`` told of a modern server."""

from __future__ import annotations

import msgspec

from relay.core.messages import Fields


class Discovered(msgspec.Struct, frozen=True):
    """The revision to speak with the server, and its DiscoverResult."""

    version: str
    result: Fields
