"""Text of a stranger, made harmless: whatever moves a cursor or hides is shown as an escape."""

from __future__ import annotations

import re

# C0, DEL, C1, soft hyphen, what has no width, line separators, bidirectional controls, surrogates,
# invisible tags and what XML 1.0 cannot hold. The joiners U+200C and U+200D stay: words and emoji
# are made with them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
# What makes a line a command to GitHub Actions: a server must not give any.
_COMMAND = re.compile(r"^(\s*):(?=:)|(##)\[")
_LINE_END = re.compile(r"\r\n?|\n")
_TAB = "    "


def visible(text: str) -> str:
    """The text on one line, each character that shows nothing as ``\\uXXXX``."""
    if not text.isprintable():
        text = _HIDDEN.sub(_escape, text)
    return _COMMAND.sub(_break, text)


def visible_lines(text: str) -> list[str]:
    """The lines of a text, without the blank ones at its end; a tabulator is white space."""
    return [visible(line.replace("\t", _TAB)) for line in _LINE_END.split(text.rstrip())]


def _break(found: re.Match[str]) -> str:
    return found[0][:-1] + _escape_code(ord(found[0][-1]))


def _escape(found: re.Match[str]) -> str:
    return _escape_code(ord(found[0]))


def _escape_code(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\u{{{code:x}}}"


def escaped_in_json(text: str) -> str:
    """JSON text that means the same and hides nothing: these characters stand in strings only."""
    return text if text.isprintable() else _HIDDEN.sub(_escape_in_json, text)


def _escape_in_json(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
