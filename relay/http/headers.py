"""The head of a request: which headers are sent, checked, as bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from relay.http.errors import InvalidHeaderError
from relay.http.interface import HttpRequest
from relay.http.target import Target

Headers = Sequence[tuple[str, str]]
HeaderSource = Headers | Callable[[], Headers]
"""Headers for every request; a function is called for each, so that a credential can be renewed."""

USER_AGENT = "canferry-relay"

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_FORBIDDEN = re.compile(r"[\x00\r\n]")  # RFC 9110, 5.5
_DEFAULTS = (("User-Agent", USER_AGENT), ("Accept-Encoding", "gzip"))

# What frames a message or belongs to one connection (RFC 9112, 6; RFC 9110, 7.6.1) follows from
# the request itself: a second opinion from outside could make server and client disagree on
# where a message ends.
_FRAMING = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def check_headers(headers: Iterable[tuple[str, str]]) -> None:
    """:raises InvalidHeaderError: for the first header that cannot be sent."""
    for name, value in headers:
        if not _TOKEN.fullmatch(name):
            raise InvalidHeaderError(
                f"{name!r} is not a header name: letters, digits and !#$%&'*+-.^_`|~ are allowed"
            )
        if _FORBIDDEN.search(value):
            raise InvalidHeaderError(
                f"the value of header {name} has a line end or NUL in it; remove it"
            )
        if name.lower() in _FRAMING:
            raise InvalidHeaderError(
                f"header {name} cannot be set: it frames the message and follows from the request"
            )


class RequestHeaders:
    """Puts together the headers of each request.

    A request's own headers come first and win: they belong to the protocol. Then the given ones,
    then the defaults (Host, User-Agent, Accept-Encoding), each unless its name is taken.
    """

    def __init__(self, given: HeaderSource) -> None:
        """:raises InvalidHeaderError: if the given headers cannot be sent as they are now."""
        self._source = given if callable(given) else lambda: given
        self._given: Headers | None = None
        self._added: list[tuple[str, str, str]] = []
        self._refresh()

    def render(self, target: Target, request: HttpRequest) -> bytes:
        """Return the head of a request (RFC 9112, 2-3), with the empty line at its end.

        :raises InvalidHeaderError: if a header cannot be sent.
        """
        self._refresh()
        check_headers(request.headers)
        taken = {name.lower() for name, _ in request.headers}
        lines = [f"{request.method} {target.path} HTTP/1.1"]
        if not self._names_host and "host" not in taken:
            lines.append(f"Host: {target.authority}")
        lines += [f"{name}: {value}" for name, value in request.headers]
        lines += [f"{name}: {value}" for key, name, value in self._added if key not in taken]
        if request.body or request.method in ("POST", "PUT", "PATCH"):  # RFC 9110, 8.6
            lines.append(f"Content-Length: {len(request.body)}")
        # Values are octets on the wire; what the environment had, goes out as it was.
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")

    def _refresh(self) -> None:
        given = self._source()
        if given is self._given:
            return
        check_headers(given)
        added = [(name.lower(), name, value.strip(" \t")) for name, value in given]
        names = {key for key, _, _ in added}
        added += [(name.lower(), name, value) for name, value in _DEFAULTS]
        self._names_host = "host" in names
        self._added = [
            field
            for position, field in enumerate(added)
            if position < len(given) or field[0] not in names
        ]
        self._given = given
