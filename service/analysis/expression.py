"""Filter expressions as values: the grammar and its parser.

    expression = and { ("||" | "or") and }
    and        = not { ("&&" | "and") not }
    not        = ("!" | "not") not | "(" expression ")" | atom
    atom       = "all" | "standard" | "extended" | "fd" | "brs" | "esi"
               | "rtr" | "err" | "tx" | "rx"
               | number-field [ "&" NUMBER ] ( COMPARISON NUMBER | "in" NUMBER ".." NUMBER )
               | "channel" ("==" | "!=") ( NAME | STRING )
               | "data" "~=" HEXPAIRS
    number-field = "id" | "pgn" | "sa" | "dlc" | "time" | "data" "[" NUMBER "]"
    COMPARISON = "==" | "!=" | "<" | "<=" | ">" | ">="

Words are case-insensitive and blanks optional. A NUMBER is decimal, ``0x``, ``0o`` or ``0b``; one
that is none of these and all hex digits is read as hex (``id==1A0`` is ``0x1A0``, ``id==100`` is
decimal). ``time`` takes decimal fractions. ``dlc`` is the payload length in bytes. ``data~=`` finds
bytes in sequence anywhere in the payload.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from service.errors import InvalidFilterExpressionError

MAX_LENGTH = 1000
MAX_DEPTH = 30
FLAGS = ("all", "standard", "extended", "fd", "brs", "esi", "rtr", "err", "tx", "rx")
NUMBER_FIELDS = {"id": 0x1FFFFFFF, "pgn": 0x3FFFF, "sa": 0xFF, "dlc": 64}
"""Each with its highest value; a comparison with more could never be what was meant."""
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_ALIASES = {"remote": "rtr", "error": "err"}
_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<word>\d+\.\d+|[A-Za-z0-9_]+)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|~=|\.\.|[&<>!()\[\]-])"
    r"|(?P<end>$))"
)


@dataclass(frozen=True, slots=True)
class Flag:
    """A property that a frame has or not; one of FLAGS."""

    name: str


@dataclass(frozen=True, slots=True)
class Compare:
    """``field [& mask] comparison value``; ``index`` is the byte's for the field ``data``."""

    field: str
    comparison: str
    value: float
    mask: int | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Between:
    """``field [& mask] in low..high``, both included."""

    field: str
    low: float
    high: float
    mask: int | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class OnChannel:
    """``channel == name``."""

    name: str


@dataclass(frozen=True, slots=True)
class Contains:
    """``data~=needle``."""

    needle: bytes


@dataclass(frozen=True, slots=True)
class Not:
    """Everything that the part does not match."""

    part: Expression


@dataclass(frozen=True, slots=True)
class Both:
    """What every part matches."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """What any part matches."""

    parts: tuple[Expression, ...]


Expression: TypeAlias = Flag | Compare | Between | OnChannel | Contains | Not | Both | Either


def parse(text: str) -> Expression:
    """The expression of a text.

    Errors: InvalidFilterExpressionError, whose message points at the place.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidFilterExpressionError(
            f"the expression has {len(text)} characters; {MAX_LENGTH} are allowed"
        )
    return _Parser(text).parse()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


class _Parser:
    """Recursive descent, one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._scan()
        self._next = 0
        self._depth = 0

    def parse(self) -> Expression:
        expression = self._either()
        if self._token.kind != "end":
            raise self._error("expected '&&', '||' or the end")
        return expression

    def _scan(self) -> list[_Token]:
        tokens: list[_Token] = []
        position = 0
        while not tokens or tokens[-1].kind != "end":
            match = _TOKEN.match(self._text, position)
            if match is None or match.lastgroup is None:
                blanks = len(self._text[position:]) - len(self._text[position:].lstrip())
                raise self._error_at(position + blanks, "unexpected character")
            kind = match.lastgroup
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            position = match.end()
        return tokens

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _accept(self, *texts: str) -> bool:
        if self._token.kind != "text" and self._token.text.lower() in texts:
            self._take()
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._error(f"expected '{text}'")

    def _either(self) -> Expression:
        parts = [self._both()]
        while self._accept("||", "or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Expression:
        parts = [self._negation()]
        while self._accept("&&", "and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _negation(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"nested more than {MAX_DEPTH} deep")
        try:
            if self._accept("!", "not"):
                return Not(self._negation())
            if self._accept("("):
                inner = self._either()
                self._expect(")")
                return inner
            return self._atom()
        finally:
            self._depth -= 1

    def _atom(self) -> Expression:
        token = self._token
        name = token.text.lower()
        name = _ALIASES.get(name, name)
        if token.kind != "word":
            raise self._error("expected a condition")
        self._take()
        if name in FLAGS:
            return Flag(name)
        if name == "channel":
            return self._channel()
        if name == "data":
            return self._data()
        if name in NUMBER_FIELDS or name == "time":
            return self._condition(name)
        raise self._error_at(token.position, f"unknown condition '{token.text}'")

    def _channel(self) -> Expression:
        negated = self._accept("!=")
        if not negated:
            self._expect("==")
        if self._token.kind not in ("word", "text"):
            raise self._error("expected a channel name")
        token = self._take()
        on_channel = OnChannel(token.text[1:-1] if token.kind == "text" else token.text)
        return Not(on_channel) if negated else on_channel

    def _data(self) -> Expression:
        if self._accept("~="):
            token = self._token
            if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})+", token.text):
                raise self._error("expected pairs of hex digits")
            self._take()
            return Contains(bytes.fromhex(token.text))
        if not self._accept("["):
            raise self._error("expected '~=' or '['")
        index = int(self._number(63))
        self._expect("]")
        return self._condition("data", index)

    def _condition(self, field: str, index: int | None = None) -> Expression:
        highest = 0xFF if field == "data" else NUMBER_FIELDS.get(field)
        mask = None
        if field != "time" and self._accept("&"):
            mask = int(self._number(highest))
        if self._accept("in"):
            low = self._number(highest)
            self._expect("..")
            position = self._token.position
            high = self._number(highest)
            if high < low:
                raise self._error_at(position, "the range ends before it starts")
            return Between(field, low, high, mask, index)
        comparison = self._token.text
        if not self._accept(*COMPARISONS):
            raise self._error("expected '==', '!=', '<', '<=', '>', '>=' or 'in'")
        return Compare(field, comparison, self._number(highest), mask, index)

    def _number(self, highest: int | None) -> float:
        """An integer up to ``highest``, or any decimal number when that is None."""
        position = self._token.position
        sign = -1 if highest is None and self._accept("-") else 1
        if self._token.kind != "word":
            raise self._error("expected a number")
        value = _read_number(self._take().text, fractions=highest is None)
        if value is None:
            raise self._error_at(position, "expected a number")
        if highest is not None and value > highest:
            raise self._error_at(position, f"the highest value here is {highest} ({highest:#x})")
        return sign * value

    def _error(self, problem: str) -> InvalidFilterExpressionError:
        return self._error_at(self._token.position, problem)

    def _error_at(self, position: int, problem: str) -> InvalidFilterExpressionError:
        return InvalidFilterExpressionError(
            f"{problem} at position {position + 1}:\n{self._text}\n{' ' * position}^",
            data={"expression": self._text, "position": position + 1},
        )


def _read_number(text: str, *, fractions: bool) -> float | None:
    if fractions:
        return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None
    for base in (0, 16):
        try:
            return int(text, base)
        except ValueError:
            continue
    return None
