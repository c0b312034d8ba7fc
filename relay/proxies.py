"""Which proxy, if any, stands between the relay and a server: the option, then the environment.

The variables are those of curl and of most programs: ``http_proxy``, ``https_proxy``,
``all_proxy`` and ``no_proxy``, in lower case first. What the desktop or the system has configured
elsewhere is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, unquote, urlsplit

from relay.usage import UsageError

NO_PROXY = "none"
"""The value of ``--proxy`` that goes without one, whatever the environment says."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_WITH_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*):(\d+)")


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. ``url`` holds no credentials; ``source`` is the option or variable."""

    url: str
    source: str
    credentials: tuple[str, str] | None = field(default=None, repr=False)
    asked_for: bool = True
    """Somebody told the relay to use it; false: it is what the environment has for everybody."""

    @property
    def detour(self) -> str:
        """How to go round it, for the text of an error."""
        remedy = "to go round the proxy use --proxy none"
        return remedy if self.asked_for else f"{remedy}, or name the server in NO_PROXY"


def proxy_for(
    server: SplitResult, given: tuple[str, str] | None, environ: Mapping[str, str]
) -> Proxy | None:
    """Choose the proxy for the URL of a server.

    What is ``given`` (its text, and the option or variable it came from) is used for every server.
    A proxy of the environment is not used for a server on this machine, nor for one in
    ``NO_PROXY``.

    :raises UsageError: if the proxy that is chosen cannot be used.
    """
    if given is not None:
        proxy = None if given[0].lower() == NO_PROXY else _proxy(*given)
    else:
        proxy = _of_environment(server, environ)
    if proxy is not None and ":" in (server.hostname or ""):
        # httpcore 1.0 puts the address into CONNECT without the brackets it needs.
        problem = "the proxy cannot be used with a server given as IPv6 address"
        raise UsageError(proxy.source, problem, f"use the server's name; {proxy.detour}")
    return proxy


def is_loopback(host: str) -> bool:
    """Whether a host, as it stands in a URL, is this machine, whatever the name service says."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        name = host.lower().removesuffix(".")
        return name == "localhost" or name.endswith(".localhost")  # RFC 6761, 6.3


def _of_environment(server: SplitResult, environ: Mapping[str, str]) -> Proxy | None:
    found = next(_variables(server.scheme, environ), None)
    host = server.hostname or ""
    if found is None or is_loopback(host):
        return None
    port = server.port or _DEFAULT_PORTS.get(server.scheme, 0)
    exempt = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if any(_covers(entry, host, port) for entry in re.split(r"[\s,]+", exempt.lower()) if entry):
        return None
    return replace(_proxy(*found), asked_for=False)


def _variables(scheme: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for variable in (f"{scheme}_proxy", "all_proxy"):
        for name in (variable, variable.upper()):
            if name == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
                continue  # under CGI it is the header "Proxy" of a stranger's request
            if text := environ.get(name, "").strip():
                yield text, name


def _proxy(text: str, source: str) -> Proxy:
    """Take a proxy's URL apart; its text is in no error, because it may hold a password."""
    example = "give a URL such as http://proxy.example:3128, or use --proxy none"
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port or _DEFAULT_PORTS["http"]
    except ValueError:
        raise UsageError(source, "the proxy is not a URL", example) from None
    if parts.scheme != "http":
        raise UsageError(
            source,
            f"a proxy with {parts.scheme}:// is not supported",
            "name an HTTP proxy (http://, also for https servers), make a tunnel to the server"
            " (ssh -L), or use --proxy none",
        )
    if not host or parts.path.strip("/") or parts.query or re.search(r"[^!-~]", host):
        raise UsageError(source, "the proxy's URL is not host and port", example)
    credentials = None
    if parts.username is not None:
        credentials = unquote(parts.username), unquote(parts.password or "")
    shown = f"[{host}]" if ":" in host else host
    return Proxy(f"http://{shown}:{port}", source, credentials)


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of ``NO_PROXY`` names a host: a domain with its subdomains, an address or a
    network, each with an optional port; ``*`` names all.
    """
    if match := _WITH_PORT.fullmatch(entry):
        entry = match[1]
        if int(match[2]) != port:
            return False
    if entry == "*":
        return True
    entry, host = entry.strip("[]"), host.lower().removesuffix(".")
    try:
        address = ip_address(host)
    except ValueError:
        domain = entry.removeprefix("*").strip(".")
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))
    try:
        return address in ip_network(entry, strict=False)
    except ValueError:
        return False
