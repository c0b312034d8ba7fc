"""The head of a request: which headers are sent, checked, as bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from relay.core.events import Failure
from relay.http.errors import HttpError, InvalidHeaderError
from relay.http.interface import HttpRequest
from relay.http.target import Target

Headers = Sequence[tuple[str, str]]

USER_AGENT = "canferry-relay"

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_FORBIDDEN = re.compile(r"[\x00\r\n]")  # RFC 9110, 5.5
_HEADS = 64  # kept as they were rendered
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


def encoded(text: str) -> bytes:
    """Values are octets on the wire; what the environment had, goes out as it was."""
    return text.encode("utf-8", "surrogateescape")


class RequestHeaders:
    """Puts together the headers of each request.

    A request's own headers come first and win: they belong to the protocol. Then the given ones,
    then the defaults (Host, User-Agent, Accept-Encoding), each unless its name is taken.
    """

    def __init__(self, given: Headers) -> None:
        """:raises InvalidHeaderError: if the given headers cannot be sent."""
        check_headers(given)
        added = [(name.lower(), name, value.strip(" \t")) for name, value in given]
        names = {key for key, _, _ in added}
        added += [
            (name.lower(), name, value) for name, value in _DEFAULTS if name.lower() not in names
        ]
        self._names_host = "host" in names
        self._added = added
        # A session sends few different heads, again and again.
        self._head = lru_cache(_HEADS)(self._render)

    def of_request(self, target: Target, request: HttpRequest) -> list[tuple[str, str]]:
        """Return all headers of a request.

        :raises HttpError: ``PROTOCOL``, if a header cannot be sent.
        """
        headers = self._fields(target, request.headers)
        if _states_length(request):
            headers.append(("Content-Length", str(len(request.body))))
        return headers

    def render(self, target: Target, request: HttpRequest) -> bytes:
        """Return the head of a request (RFC 9112, 2-3), with the empty line at its end.

        :raises HttpError: ``PROTOCOL``, if a header cannot be sent.
        """
        head = self._head(target, request.method, request.headers)
        if _states_length(request):
            return b"%bContent-Length: %d\r\n\r\n" % (head, len(request.body))
        return head + b"\r\n"

    def _fields(self, target: Target, own: Headers) -> list[tuple[str, str]]:
        try:
            check_headers(own)
        except InvalidHeaderError as error:
            raise HttpError(Failure.PROTOCOL, str(error), may_have_executed=False) from error
        taken = {name.lower() for name, _ in own}
        headers = [] if self._names_host or "host" in taken else [("Host", target.authority)]
        headers += own
        headers += [(name, value) for key, name, value in self._added if key not in taken]
        return headers

    def _render(self, target: Target, method: str, own: Headers) -> bytes:
        lines = [f"{method} {target.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self._fields(target, own)]
        return encoded("\r\n".join([*lines, ""]))


def _states_length(request: HttpRequest) -> bool:
    return bool(request.body) or request.method in ("POST", "PUT", "PATCH")  # RFC 9110, 8.6
