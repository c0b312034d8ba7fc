"""What the user decided: flags over ``CANFERRY_RELAY_*`` variables over defaults, in one value.

This is the only place that reads the environment. Every option is one row of :data:`OPTIONS`,
from which come its flag, its variable, its line in ``--help`` and its check.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import FileIO
from urllib.parse import SplitResult, urlsplit

import msgspec

ERAS = ("auto", "legacy", "modern")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")
URL_EXAMPLE = "give a URL such as https://rig.example/mcp"
BEARER_VARIABLE = "MCP_BEARER_TOKEN"

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SIZE = re.compile(r"(\d+)\s*(|[kmg])(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class UsageError(Exception):
    """An option cannot be used; the text names it, its value and the remedy."""

    def __init__(self, option: str, problem: str, remedy: str) -> None:
        super().__init__(f"{option}: {problem}; {remedy}")
        self.option = option
        self.problem = problem
        self.remedy = remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a run needs. Times are seconds (None: no limit), sizes bytes (0: no limit)."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    protocol_era: str = "auto"
    timeout_connect: float | None = 10.0
    timeout_head: float | None = 60.0
    timeout_read: float | None = 300.0
    max_message_size: int = 100 << 20
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


@dataclass(frozen=True, slots=True)
class Option:
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


def _seconds(text: str) -> float | None:
    seconds = float(text)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError
    return seconds or None


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
        "protocol_era",
        "what the server speaks: legacy is MCP 2025-11-25 and older, modern 2026-07-28;"
        " auto finds out (default auto)",
        choices=ERAS,
    ),
    Option(
        "timeout_connect", "seconds to reach the server (default 10; 0: no limit)", _seconds, "S"
    ),
    Option(
        "timeout_head",
        "seconds from a request to the head of its response (default 60; 0: no limit);"
        " some servers hold the head back for 15 s of a long call",
        _seconds,
        "S",
    ),
    Option(
        "timeout_read",
        "seconds of silence allowed within a response (default 300; 0: no limit)",
        _seconds,
        "S",
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
    _seconds: "give seconds such as 30 or 0.5, or 0 for no limit",
    _size: "give bytes, or a number with K, M or G such as 64M",
    parse_switch: "give true or false",
}


def resolve(
    url: str, given: Mapping[str, object], headers: Sequence[str], environ: Mapping[str, str]
) -> Settings:
    """Combine what was given, and check what does not belong to HTTP itself.

    ``given`` holds the flags that were used by option name, as text (``insecure`` as a bool), and
    ``bearer_env``, the name of the variable with the bearer token. ``headers`` are
    ``Name: value`` with ``${VARIABLE}`` in the value.

    :raises UsageError: for the first thing that cannot be used.
    """
    parts = _split(url)
    values = _values(given, environ)
    if values.get("key") and not values.get("cert"):
        raise UsageError("--key", "there is no certificate to go with it", "add --cert FILE")
    sent = [_header(text, environ) for text in headers]
    sent += _bearer(given.get("bearer_env"), sent, environ)
    warnings = _warnings(parts, sent, insecure=bool(values.get("insecure")))
    return msgspec.convert(
        {**values, "url": url, "headers": sent, "warnings": warnings}, type=Settings
    )


def _values(given: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for option in OPTIONS:
        value = given.get(option.name)
        if isinstance(value, str):
            values[option.name] = _parsed(option, option.flag, value)
        elif value:
            values[option.name] = value
        elif text := environ.get(option.variable):
            values[option.name] = _parsed(option, option.variable, text)
    return values


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
        return urlsplit(url)
    except ValueError as error:
        raise UsageError("URL", f"{url!r} cannot be read ({error})", URL_EXAMPLE) from None


def _header(text: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Split ``Name: value`` and fill in variables; what is filled in never gets into an error."""
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError("--header", f"{text!r} is not a header", "write it as 'Name: value'")

    def filled(match: re.Match[str]) -> str:
        if match[1] not in environ:
            raise UsageError("--header", f"{name} needs the variable {match[1]}", f"set {match[1]}")
        return environ[match[1]]

    return name.strip(), _REFERENCE.sub(filled, value).strip()


def _bearer(
    variable: object, sent: Sequence[tuple[str, str]], environ: Mapping[str, str]
) -> list[tuple[str, str]]:
    by_hand = any(name.lower() == "authorization" for name, _ in sent)
    if variable is None and (by_hand or not environ.get(BEARER_VARIABLE)):
        return []
    if by_hand:
        raise UsageError(
            "--bearer-env", "there is an Authorization header from -H too", "use one of them"
        )
    name = str(variable or BEARER_VARIABLE)
    token = environ.get(name, "").strip()
    if not token:
        raise UsageError("--bearer-env", f"the variable {name} is empty", f"set {name}")
    if not re.fullmatch(r"[!-~]+", token):
        raise UsageError(
            "--bearer-env", f"the value of {name} is no token", "it must be visible ASCII"
        )
    return [("Authorization", f"Bearer {token}")]


def _warnings(
    parts: SplitResult, sent: Sequence[tuple[str, str]], *, insecure: bool
) -> tuple[str, ...]:
    warnings = []
    if insecure and parts.scheme == "https":
        warnings.append(
            "--insecure: the server's certificate is not verified; anyone on the way can read and"
            " change what is sent (use --cacert for a private authority)"
        )
    credentials = any(name.lower() in ("authorization", "cookie") for name, _ in sent)
    if credentials and parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        warnings.append(f"credentials go to {parts.hostname} unencrypted; use https:// or a tunnel")
    return tuple(warnings)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
