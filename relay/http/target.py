"""Where requests go: a URL taken apart once, checked, and ready for the wire."""

from __future__ import annotations

from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct

from relay.core.events import Failure
from relay.http.errors import HttpError, InvalidUrlError

MAX_REDIRECTS = 3

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PATH_SAFE = "/%:@!$&'()*+,;=~"  # RFC 3986, 3.3; "%" because the URL is encoded already


class Target(Struct, frozen=True):
    """One http or https URL. ``path`` is the request target in origin form, with its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def tls(self) -> bool:
        return self.scheme == "https"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def server_name(self) -> str:
        """The host without an IPv6 zone, which means nothing to the server (RFC 6874, 1)."""
        return self.host.partition("%")[0]

    @property
    def authority(self) -> str:
        """The value of ``Host`` (RFC 9110, 7.2): the port only where it is not the default."""
        host = f"[{self.server_name}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def address(self) -> str:
        """Host and port as people write them, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def of_request(self, reference: str) -> Target:
        """The target of a request for ``reference``, a URI reference; this one if it is empty.

        :raises HttpError: ``PROTOCOL``, if it leads to another origin or nowhere.
        """
        if not reference:
            return self
        there = self._resolved(reference)
        if there is None or there.origin != self.origin:
            raise HttpError(
                Failure.PROTOCOL,
                f"a request is meant for {_shown(reference)!r}, which is not on"
                f" {self.scheme}://{self.authority}; nothing is sent there",
                may_have_executed=False,
            )
        return there

    def redirected(self, location: str) -> Target | None:
        """The target of a redirect that may be followed; ``None`` for all others.

        Credentials go along, so only to the same origin, or from http to https of the same host.
        """
        there = self._resolved(location)
        if there is None or there.origin == self.origin:
            return there
        upgraded = self.scheme == "http" and there.tls and there.host == self.host
        return there if upgraded else None

    def _resolved(self, reference: str) -> Target | None:
        try:
            return parse_target(urljoin(f"{self.scheme}://{self.address}{self.path}", reference))
        except (InvalidUrlError, ValueError):
            return None


def parse_target(url: str) -> Target:
    """Take a URL apart. :raises InvalidUrlError: if no request can be sent to it."""
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").replace("%25", "%")
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except ValueError as error:  # UnicodeError is one
        raise InvalidUrlError(f"{_without_userinfo(url)!r} is not a URL: {error}") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise InvalidUrlError(
            f"{_without_userinfo(url)!r} is neither http:// nor https://; give the full URL"
        )
    if "@" in parts.netloc:
        raise InvalidUrlError(
            "the URL has a user name or password in it, and URLs end up in logs;"
            " remove them and send an Authorization header instead"
        )
    if not host or port == 0 or any(character <= " " or character == "\x7f" for character in url):
        raise InvalidUrlError(f"{url!r} names no server that can be reached")
    path = quote(parts.path or "/", safe=_PATH_SAFE)
    if parts.query:
        path += "?" + quote(parts.query, safe=_PATH_SAFE + "?")
    return Target(parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme], path)


def _shown(reference: str) -> str:
    """What of a reference may stand in an error: a query often holds a session id."""
    return _without_userinfo(reference).partition("?")[0]


def _without_userinfo(url: str) -> str:
    return url.rpartition("@")[2]
