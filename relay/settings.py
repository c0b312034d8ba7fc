"""What the user decided: flags over ``CANFERRY_RELAY_*`` variables over defaults, in one value.

This is the only place that reads the environment. Every option is one row of :data:`OPTIONS`,
from which come its flag, its variable, its line in ``--help`` and its check.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from io import FileIO
from typing import Any
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from relay.given_headers import GivenHeader, SecretFile, bearer, parse_header
from relay.proxies import Proxy, is_loopback, proxy_for
from relay.usage import UsageError

ERAS = ("auto", "legacy", "modern")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")
URL_EXAMPLE = "give a URL such as https://rig.example/mcp"
TRANSPORTS = ("auto", "streamable-http", "sse")

_SIZE = re.compile(r"(\d+)\s*(|[kmg])(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Settings(Struct, frozen=True, kw_only=True):
    """Everything a run needs. Times are seconds (None: no limit), sizes bytes (0: no limit)."""

    url: str
    headers: tuple[GivenHeader, ...] = ()
    bearer_file: str | None = None
    proxy: Proxy | None = None
    protocol_era: str = "auto"
    transport: str = "auto"
    timeout_connect: float | None = 10.0
    timeout_head: float | None = 60.0
    timeout_read: float | None = 300.0
    timeout_total: float | None = 3600.0
    drain_timeout: float = 5.0
    max_message_size: int = 100 << 20
    merge_pages: bool = False
    cacert: str | None = None
    cert: str | None = None
    key: str | None = None
    insecure: bool = False
    trace: str | None = None
    log_level: str = "info"
    log_file: str | None = None
    log_format: str = "text"
    warnings: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """Host and, if given, port of the server."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


class Option(Struct, frozen=True):
    """One option: how it is given, what it means, and how its text becomes a value."""

    name: str
    help: str
    parse: Callable[[str], object] = str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "CANFERRY_RELAY_" + self.name.upper()


def _duration(text: str) -> float:
    seconds = float(text)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError
    return seconds


def _limit(text: str) -> float | None:
    return _duration(text) or None


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError
    return int(match[1]) * _UNITS[match[2].lower()]


def parse_switch(text: str) -> bool:
    values = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    return values[text.strip().lower()]


def _readable(text: str) -> str:
    FileIO(text).close()
    return text


OPTIONS = (
    Option(
        "bearer_file",
        "send the token in FILE as bearer; read again when the server answers 401",
        str,
        "FILE",
    ),
    Option(
        "proxy",
        "reach the server through this HTTP proxy, http://[user:password@]host:port; none:"
        " through no proxy (default: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, minus NO_PROXY)",
        str,
        "URL",
    ),
    Option(
        "protocol_era",
        "what the server speaks: legacy is MCP 2025-11-25 and older, modern 2026-07-28;"
        " auto finds out (default auto)",
        choices=ERAS,
    ),
    Option(
        "transport",
        "what carries a legacy session: sse is HTTP+SSE of 2024-11-05; auto finds out"
        " (default auto)",
        choices=TRANSPORTS,
    ),
    Option("timeout_connect", "seconds to reach the server (default 10; 0: no limit)", _limit, "S"),
    Option(
        "timeout_head",
        "seconds from a request to the head of its response (default 60; 0: no limit);"
        " some servers hold the head back for 15 s of a long call",
        _limit,
        "S",
    ),
    Option(
        "timeout_read",
        "seconds of silence allowed within a response (default 300; 0: no limit)",
        _limit,
        "S",
    ),
    Option(
        "timeout_total",
        "seconds for one request of the client from its start to its answer (default 3600;"
        " 0: no limit)",
        _limit,
        "S",
    ),
    Option(
        "drain_timeout",
        "seconds that requests in flight get when the client has closed stdin (default 5)",
        _duration,
        "S",
    ),
    Option(
        "merge_pages",
        "answer a list request with all pages of the server in one",
        parse_switch,
    ),
    Option(
        "max_message_size",
        "largest single message in either direction, in bytes or as 64M, 1G (default 100M;"
        " 0: no limit)",
        _size,
        "N",
    ),
    Option("cacert", "trust the certificate authorities in this PEM file", _readable, "FILE"),
    Option("cert", "client certificate (PEM; may hold the key too)", _readable, "FILE"),
    Option("key", "private key of --cert (PEM)", _readable, "FILE"),
    Option("insecure", "do not verify the server's certificate (dangerous)", parse_switch),
    Option("trace", "write every event and command to FILE (mode 0600)", str, "FILE"),
    Option("log_level", "least severe log line shown (default info)", choices=LOG_LEVELS),
    Option("log_file", "append the log to FILE as well", str, "FILE"),
    Option("log_format", "form of the log lines (default text)", choices=LOG_FORMATS),
)

_REMEDIES: Mapping[Callable[[str], object], str] = {
    _limit: "give seconds such as 30 or 0.5, or 0 for no limit",
    _duration: "give seconds such as 5, or 0 for not at all",
    _size: "give bytes, or a number with K, M or G such as 64M",
    parse_switch: "give true or false",
}


def resolve(
    url: str, given: Mapping[str, Any], headers: Sequence[str], environ: Mapping[str, str]
) -> Settings:
    """Combine what was given, and check what does not belong to HTTP itself.

    ``given`` holds the flags that were used by option name, as text (switches as a bool), and
    ``bearer_env``, the name of the variable with the bearer token. ``headers`` are
    ``Name: value`` with ``${VARIABLE}`` and ``${file:PATH}`` in the value.

    :raises UsageError: for the first thing that cannot be used.
    """
    parts = _split(url)
    values, sources = _values(given, environ)
    if values.get("transport") == "sse" and values.get("protocol_era") == "modern":
        raise UsageError(
            "--transport", "HTTP+SSE carries no modern session", "drop --protocol-era modern"
        )
    if values.get("key") and not values.get("cert"):
        raise UsageError("--key", "there is no certificate to go with it", "add --cert FILE")
    sent = [parse_header(text, environ) for text in headers]
    file = None
    if path := values.get("bearer_file"):
        file = SecretFile(path, sources["bearer_file"], token=True)
    sent += bearer(given.get("bearer_env"), file, sent, environ)
    proxy = (values["proxy"], sources["proxy"]) if "proxy" in values else None
    values["proxy"] = proxy_for(parts, proxy, environ)
    return Settings(
        url=url,
        headers=tuple(sent),
        warnings=_warnings(parts, sent, insecure=bool(values.get("insecure"))),
        **values,
    )


def _values(
    given: Mapping[str, Any], environ: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values by option name, and the flag or variable that each came from."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for option in OPTIONS:
        value, source = given.get(option.name), option.flag
        if value is None or value is False:
            value, source = environ.get(option.variable) or None, option.variable
        if value is None:
            continue
        values[option.name] = _parsed(option, source, value) if isinstance(value, str) else value
        sources[option.name] = source
    return values, sources


def _parsed(option: Option, source: str, text: str) -> object:
    if option.choices and text not in option.choices:
        raise UsageError(source, f"unknown value {text!r}", f"use {', '.join(option.choices)}")
    try:
        return option.parse(text)
    except OSError as error:
        raise UsageError(
            source, f"cannot read {text!r} ({error.strerror})", "check the path"
        ) from None
    except (ValueError, KeyError):
        raise UsageError(source, f"bad value {text!r}", _REMEDIES[option.parse]) from None


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        shown = url.rpartition("@")[2]
        raise UsageError("URL", f"{shown!r} is not a URL ({error})", URL_EXAMPLE) from None
    return parts


def _warnings(
    parts: SplitResult, sent: Sequence[GivenHeader], *, insecure: bool
) -> tuple[str, ...]:
    warnings = []
    if insecure and parts.scheme == "https":
        warnings.append(
            "--insecure: the server's certificate is not verified; anyone on the way can read and"
            " change what is sent (use --cacert for a private authority)"
        )
    credentials = any(header.name.lower() in ("authorization", "cookie") for header in sent)
    if credentials and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        warnings.append(f"credentials go to {parts.hostname} unencrypted; use https:// or a tunnel")
    warnings += [
        f"{file.option}: every user of this machine can read {file.path!r}; chmod o-r it"
        for header in sent
        for file in header.files
        if file.exposed
    ]
    return tuple(warnings)
