"""Colours and the live line are for a terminal that can show them, or for who asks for them."""

from __future__ import annotations

import io

import pytest

from relay.suite.outcome import CaseStatus
from relay.suite.reports.style import Colour, Style, Wish, style_for


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding)

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "wish", "colour"),
    [
        ({}, "auto", True),
        ({"NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": ""}, "auto", True),
        ({"NO_COLOR": "1"}, "always", True),
        ({"TERM": "dumb"}, "auto", False),
        ({}, "never", False),
    ],
)
def test_a_terminal_has_colours_unless_somebody_minds(
    environ: dict[str, str], wish: Wish, colour: bool
) -> None:
    assert style_for(Terminal(), environ, wish).colour is colour


def test_a_file_has_colours_only_if_they_are_asked_for() -> None:
    assert style_for(io.StringIO(), {}) == Style()
    assert style_for(io.StringIO(), {}, "always") == Style(colour=True)


def test_a_line_is_rewritten_on_a_terminal_alone() -> None:
    assert style_for(Terminal(), {"NO_COLOR": "1"}).live
    assert not style_for(Terminal(), {"TERM": "dumb"}).live
    assert not style_for(io.StringIO(), {}, "always").live


def test_marks_are_plain_where_the_encoding_has_no_others() -> None:
    assert style_for(Terminal("cp1252"), {}, "never").mark(CaseStatus.FAILED) == "x"
    assert style_for(Terminal("utf-8"), {}, "never").mark(CaseStatus.FAILED) == "✗"


def test_nothing_has_no_colour() -> None:
    style = Style(colour=True)
    assert style.painted("", Colour.RED) == ""
    assert style.painted("a", Colour.BOLD, Colour.RED) == "\x1b[1;31ma\x1b[0m"
