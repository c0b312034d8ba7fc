"""A walk visits in order and at any depth; a path is written as reports have it."""

from __future__ import annotations

import pytest

from relay.suite.fields import is_blank
from relay.suite.walk import Path, Walk, run


def test_a_walk_goes_on_where_it_was_after_what_is_inside() -> None:
    seen: list[str] = []

    def visit(name: str, inner: list[str]) -> Walk:
        seen.append(f"<{name}>")
        for one in inner:
            yield visit(one, [])
        seen.append(f"</{name}>")

    run(visit("a", ["b", "c"]))
    assert "".join(seen) == "<a><b></b><c></c></a>"


def test_a_path_is_written_from_its_root() -> None:
    path = Path() / "cases" / 0 / "a.b" / ""
    assert str(path) == "$.cases[0].a.b."
    assert path.inside() == "cases[0].a.b."
    assert path.steps() == ["cases", 0, "a.b", ""]


@pytest.mark.parametrize(
    ("path", "text"), [(Path(), "$"), (Path() / 0, "[0]"), (Path() / "a", "a")]
)
def test_a_path_without_its_root_names_the_root_alone(path: Path, text: str) -> None:
    assert path.inside() == text


@pytest.mark.parametrize("text", ["", " \t\n\v\f\r", "\u00a0\u1680\u2003\u2028\u3000\ufeff"])
def test_white_space_of_ecmascript_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["\x1c", "\x1f", "\x85", "\u200b", "\u180e", " a"])
def test_anything_else_is_not_blank(text: str) -> None:
    assert not is_blank(text)
