"""Columns are those of a terminal, whatever the script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.suite.reports.columns import fitted, padded, width

texts = st.text(
    st.sampled_from("ab 서ｱア é\u0301\u200d\ufe0f👩🔬🏽❤🇩🇪\u1100\u1161\u11a8"), max_size=12
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("plain", 5),
        ("서울", 4),
        ("東京", 4),
        ("ｱ", 1),
        ("\uff21", 2),
        ("é", 1),
        ("e\u0301", 1),
        ("\u1112\u1161\u11ab", 2),  # han, of three parts
        ("👩", 2),
        ("👩‍🔬", 2),
        ("👍🏽", 2),
        ("❤", 1),
        ("❤\ufe0f", 2),
        ("🇩🇪", 2),
        ("\u0301", 0),
        ("a\u200db", 2),
        ("", 0),
    ],
)
def test_a_text_takes_the_columns_that_a_terminal_gives_it(text: str, columns: int) -> None:
    assert width(text) == columns


def test_texts_of_all_scripts_are_padded_to_one_width() -> None:
    assert [padded("서울", 6), padded("Rom", 6)] == ["서울  ", "Rom   "]
    assert padded("longer", 3) == "longer"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("서울", "서울"), ("서울역", "서…"), ("abcde", "abc…"), ("👩‍🔬👩‍🔬👩‍🔬", "👩‍🔬…")],
)
def test_a_text_that_is_too_wide_is_cut_between_characters(text: str, shown: str) -> None:
    assert fitted(text, 4) == shown


@given(texts, st.integers(1, 20))
def test_a_fitted_text_is_never_wider_than_it_may_be(text: str, columns: int) -> None:
    assert width(fitted(text, columns)) <= columns
