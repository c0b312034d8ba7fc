"""Texts without the credentials that stand in them.

A credential is known by the name before it (``authToken: ..``, ``"x-api-key": ".."``), or by its
own shape (``Bearer ..``, ``https://user:..@host``, ``ghp_..``). A doubtful one is masked too: a
reader misses a masked word less than its owner does a published one.
"""

from __future__ import annotations

import re
from functools import lru_cache

MASK = "[redacted]"

_SECRET = re.compile(
    r"password|passwd|passphrase|passcode|secret|credential|authorization|cookie|token"
    r"|(?:api|access|private|signing|encryption|auth|ssh|session|shared|master|account)key"
    r"|sessionid|connectionstring|^auth$|^bearer$"
)
_SECRET_WORDS = frozenset({"pwd", "otp", "jwt"})
_NOT_SECRET = re.compile(
    r"(?:progress|page|cancel|cancellation|continuation|max|min|total|prompt|completion|input"
    r"|output|cached?|reasoning|num)tokens?|tokens?(?:count|limit|type|usage|used|budget|endpoint)"
    r"|tokeniz(?:er|ed?)"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NOT_WORD = re.compile(r"[^a-z0-9]")

# Which of these must be in a text in small letters, and what is a credential then.
_SHAPES = (
    (("bearer",), re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]+"), rf"\1{MASK}"),
    (("://",), re.compile(r"(://)[^/\s@\"']+@"), rf"\1{MASK}@"),
    (
        ("sig=", "signature=", "code="),
        re.compile(r"(?i)([?&](?:sig|signature|x-amz-signature|code)=)[^&\s\"']+"),
        rf"\1{MASK}",
    ),
    (("eyj",), re.compile(r"\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*"), MASK),
    (("sk-", "pk-", "rk-"), re.compile(r"\b[spr]k-[\w-]{16,}"), MASK),
    (
        ("gh", "github_pat_", "glpat-"),
        re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-)[\w-]{16,}"),
        MASK,
    ),
    (("xox",), re.compile(r"\bxox[abeoprs]-[\w-]{10,}"), MASK),
    (("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}"), MASK),
    (("aiza",), re.compile(r"\bAIza[\w-]{30,}"), MASK),
    (("npm_", "hf_", "pypi-"), re.compile(r"\b(?:npm_|hf_|pypi-)[\w-]{16,}"), MASK),
    (
        ("private key",),
        re.compile(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)"),
        MASK,
    ),
)

# A name, and what stands between it and the value. In a text within a JSON text the quotes are
# escaped, hence the backslashes. A comma does where both are quoted, as in a list of headers;
# white space does after a command line option.
_BEFORE_VALUES = ("=", ":", ",", "--")
_QUOTE = r"\\*[\"']"
_NAMED = re.compile(
    r"(?<![\w.$-])(?:(?P<option>--)|[.-]*+)(?P<name>[\w$][\w.$-]*+)"
    rf"(?:(?:{_QUOTE})?\s*+(?:=>|[:=])\s*+|{_QUOTE}\s*+,\s*+(?={_QUOTE})"
    r"|(?(option)[ ]++(?=[^-\s])|(?!)))"
    rf"(?P<quote>{_QUOTE})?"
)
_WORD_VALUE = re.compile(r"[^\s\"'&,;)}\]]*")
_LINE_VALUE = re.compile(r"[^\"'\r\n]*")
_WHOLE_LINE = re.compile(r"(?i)authorization|cookie")
_BRACKETED = re.compile(r'"(?:[^"\\]|\\.)*+"|(?P<open>[\[{])|(?P<close>[\]}])', re.DOTALL)
_SESSION = "mcp-session-id"
_SESSION_SHOWN = 6


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether what bears this name is a credential: ``apiKey``, ``X-Auth-Token``, ``db.pwd``."""
    plain = _NOT_SECRET.sub("", _NOT_WORD.sub("", name.lower()))
    if _SECRET.search(plain):
        return True
    return not _SECRET_WORDS.isdisjoint(word.lower() for word in _WORD.findall(name))


def redact(text: str) -> str:
    """Return ``text`` without credentials; session ids keep their first six characters."""
    small = text.lower()
    for signs, pattern, replacement in _SHAPES:
        if any(sign in small for sign in signs):
            text = pattern.sub(replacement, text)
    if not any(sign in small for sign in _BEFORE_VALUES):
        return text
    parts = []
    at = 0
    while named := _NAMED.search(text, at):
        begin = end = named.end()
        if is_secret(named["name"]) and not text.startswith(MASK, begin):
            end = _end_of_value(text, named)
        parts += [text[at:begin], _masked(named["name"], text[begin:end])]
        at = end
    return "".join((*parts, text[at:])) if parts else text


def _masked(name: str, value: str) -> str:
    if not value or name.lower() != _SESSION:
        return value and MASK
    # Enough of it to tell one session from another.
    return value if len(value) <= _SESSION_SHOWN else f"{value[:_SESSION_SHOWN]}…"


def _end_of_value(text: str, named: re.Match[str]) -> int:
    begin = named.end()
    if quote := named["quote"]:
        closing = re.compile(r"(?<!\\)" + re.escape(quote)).search(text, begin)
        return closing.start() if closing else len(text)
    if text[begin : begin + 1] in ("{", "["):
        return _end_of_brackets(text, begin)
    value = (_LINE_VALUE if _WHOLE_LINE.search(named["name"]) else _WORD_VALUE).match(text, begin)
    return value.end() if value else begin


def _end_of_brackets(text: str, begin: int) -> int:
    depth = 0
    for token in _BRACKETED.finditer(text, begin):
        depth += (token["open"] is not None) - (token["close"] is not None)
        if depth == 0:
            return token.end()
    return len(text)
