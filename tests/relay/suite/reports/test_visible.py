"""Text of a stranger cannot move a cursor, hide, or give a command."""

from __future__ import annotations

import json
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.suite.canonical import compact
from relay.suite.reports.visible import escaped_in_json, visible, visible_lines
from tests.relay.suite.examples import values

HARMFUL = "\x00\x07\x1b\x7f\x9b\u2028\u2029\u202e\u2066\u200f\ufeff\ud800\uffff\U000e0041"
anything = st.text(st.characters(exclude_categories=[]) | st.sampled_from(HARMFUL))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "a\\u001b[2Jb"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("\ud83d", "\\ud83d"),
        ("\U000e0041", "\\u{e0041}"),
        ("서울 é 👩‍🔬", "서울 é 👩‍🔬"),
        ("a\nb", "a\\u000ab"),
        ("::error::x", "\\u003a:error::x"),
        ("  ::error::x", "  \\u003a:error::x"),
        ("a ##[error]b", "a ##\\u005berror]b"),
        ("std::string", "std::string"),
    ],
)
def test_what_shows_nothing_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_text_is_shown_line_by_line() -> None:
    assert visible_lines("a\r\nb\rc\n\td\x1b\n\n") == ["a", "b", "c", "    d\\u001b"]


@given(anything)
def test_no_text_keeps_what_a_terminal_would_act_on(text: str) -> None:
    assert not set(visible(text)) & {chr(code) for code in (*range(32), *range(127, 160))}
    assert not set(visible(text)) & set(HARMFUL)
    visible(text).encode()


@given(anything)
def test_any_text_can_stand_in_xml(text: str) -> None:
    assert ElementTree.fromstring(f"<a>{escape(visible(text))}</a>").text in (visible(text), None)


@given(values | anything)
def test_json_means_the_same_when_nothing_in_it_hides(value: object) -> None:
    text = escaped_in_json(compact(value))
    assert json.loads(text) == json.loads(compact(value))
    assert not set(text) & set(HARMFUL)
