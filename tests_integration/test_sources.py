"""What no test or helper of this folder may contain: a sleep, or a wait without a bound."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests_integration.manifest import requirement

FOLDER = Path(__file__).parent
SERVERS = {*(FOLDER / "peers").glob("*.py"), *(FOLDER / "conformance").glob("fixture_*.py")}
SOURCES = sorted(set(FOLDER.rglob("*.py")) - SERVERS)
ENDLESS = {"wait", "join", "acquire", "communicate"}
"""Methods that wait for ever unless they are told how long."""

BOUNDED_BY_NAME = {"run", "check_call", "check_output", "urlopen", "HTTPConnection"}
"""Calls into these libraries that wait for ever without a ``timeout``."""

LIBRARIES = {"subprocess", "urllib.request", "http.client"}


def calls(source: str) -> Iterator[tuple[str, ast.Call, bool]]:
    """Every call by its last name, and whether it is awaited: who awaits, is bounded from above."""
    tree = ast.parse(source)
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            yield name, node, id(node) in awaited


def sleeps(source: str) -> list[int]:
    """Lines that sleep."""
    return [call.lineno for name, call, _ in calls(source) if name == "sleep"]


def endless_waits(source: str) -> list[int]:
    """Lines that wait without a bound, in a thread of their own or in a test's."""
    return [
        call.lineno
        for name, call, awaited in calls(source)
        if not awaited and _is_endless(name, call)
    ]


def _is_endless(name: str, call: ast.Call) -> bool:
    if name in ENDLESS:
        return not call.args and not call.keywords
    if name in BOUNDED_BY_NAME and isinstance(call.func, ast.Attribute):
        from_library = ast.unparse(call.func.value) in LIBRARIES
        return from_library and "timeout" not in {keyword.arg for keyword in call.keywords}
    return False


def unbounded_tests(source: str) -> list[str]:
    """Asynchronous tests that await outside of ``fail_after``."""
    tree = ast.parse(source)
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not any(name == "fail_after" for name, _, _ in calls(ast.unparse(node)))
    ]


@requirement("harness.no-sleeps", "harness.waits-bounded")
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_source_neither_sleeps_nor_waits_for_ever(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert sleeps(source) == []
    assert endless_waits(source) == []
    assert unbounded_tests(source) == []


@requirement("harness.no-sleeps")
@pytest.mark.parametrize(
    "line", ["time.sleep(1)", "await anyio.sleep(0)", "sleep(0.1)", "await asyncio.sleep(delay)"]
)
def test_a_sleep_is_found(line: str) -> None:
    assert sleeps(f"async def test_it():\n    {line}\n") == [2]


@requirement("harness.waits-bounded")
@pytest.mark.parametrize(
    "line",
    [
        "child.wait()",
        "thread.join()",
        "lock.acquire()",
        "child.communicate()",
        "subprocess.run(command)",
        "subprocess.check_output(command, text=True)",
        "http.client.HTTPConnection(host)",
        "urllib.request.urlopen(url)",
    ],
)
def test_a_wait_without_a_bound_is_found(line: str) -> None:
    assert endless_waits(f"def test_it():\n    {line}\n") == [2]


@requirement("harness.waits-bounded")
@pytest.mark.parametrize(
    "line",
    [
        "child.wait(5)",
        "child.wait(timeout=5)",
        "text = ', '.join(words)",
        "await event.wait()",
        "subprocess.run(command, timeout=5)",
    ],
)
def test_a_wait_with_a_bound_is_let_alone(line: str) -> None:
    assert endless_waits(f"async def test_it():\n    {line}\n") == []


@requirement("harness.waits-bounded")
def test_an_asynchronous_test_without_a_limit_is_found() -> None:
    source = """
async def test_forgetful():
    await call()

async def test_careful():
    with anyio.fail_after(30):
        await call()
"""
    assert unbounded_tests(source) == ["test_forgetful"]
