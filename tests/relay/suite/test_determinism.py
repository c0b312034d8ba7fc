"""Two runs are held against each other: which cases differ, and where."""

from __future__ import annotations

from hypothesis import given

from relay.suite.determinism import MOST_PATHS, Difference, differences
from relay.suite.document import Json
from relay.suite.judgement import Answer, RpcError, RpcResult
from tests.relay.suite.examples import values


def between(one: Json, other: Json) -> tuple[str, ...]:
    found = differences({"c": RpcResult(one)}, {"c": RpcResult(other)})
    return found[0].paths if found else ()


@given(values, values)
def test_only_what_is_not_equal_differs(one: Json, other: Json) -> None:
    assert between(one, one) == ()
    assert bool(between(one, other)) == bool(between(other, one))


def test_the_innermost_places_are_named_in_order() -> None:
    one: Json = {"a": {"b": [1, 2, {"c": 3}]}, "d": 1, "e": True}
    other: Json = {"e": 1, "d": 1, "a": {"b": [1, 9, {"c": "3"}]}}
    assert between(one, other) == ("$.result.a.b[1]", "$.result.a.b[2].c", "$.result.e")


def test_what_is_only_in_one_of_them_is_named() -> None:
    assert between({"a": 1, "z": 1}, {"b": 1, "z": 1}) == ("$.result.a", "$.result.b")
    assert between([1], [1, 2, 3]) == ("$.result[1]", "$.result[2]")


def test_members_in_another_order_are_the_same() -> None:
    assert between({"a": 1, "b": 2}, {"b": 2, "a": 1}) == ()


def test_an_answer_of_another_kind_differs() -> None:
    first: dict[str, Answer] = {"a": RpcResult({}), "b": RpcResult({}), "c": RpcError(-1, "m")}
    second: dict[str, Answer] = {"a": RpcError(-1, "m"), "c": RpcError(-1, "n"), "d": RpcResult(1)}
    assert differences(first, second) == (
        Difference("a", ("$.error", "$.result"), 2),
        Difference("b", ("$",), 1),
        Difference("c", ("$.error.message",), 1),
        Difference("d", ("$",), 1),
    )


def test_the_listed_places_are_bounded_and_all_are_counted() -> None:
    [found] = differences({"c": RpcResult([1] * 500)}, {"c": RpcResult([2] * 500)})
    assert (len(found.paths), found.total) == (MOST_PATHS, 500)


def test_values_nested_deeply_are_held_against_each_other() -> None:
    one: Json = 1
    other: Json = 2
    for _ in range(20_000):
        one, other = [one], [other]
    [path] = between(one, other)
    assert path.count("[0]") == 20_000
