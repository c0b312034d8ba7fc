"""Every duty in docs/relay-obligations.md has a test that bears its number, and no other has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "relay-obligations.md"
ELSEWHERE = {
    38: "authorization flows are not part of the relay yet",
    40: "the relay listens on nothing; the service does",
}


def duties() -> set[int]:
    return {int(number) for number in re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)}


def shown() -> Iterator[int]:
    for folder in ("tests", "tests_integration"):
        for path in (ROOT / folder).rglob("test_*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("obligation"):
                    yield from (ast.literal_eval(argument) for argument in node.args)


def test_every_duty_of_the_relay_is_shown_by_a_test() -> None:
    assert duties() == set(range(1, 46))
    assert duties() - set(shown()) == set(ELSEWHERE)


def test_no_test_bears_the_number_of_a_duty_that_is_not_on_the_page() -> None:
    assert set(shown()) <= duties()
