"""A small registry with every kind of tool, well- and ill-behaved, and a server made of it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Annotated, Literal

import anyio
from pydantic import BaseModel, Field

from service.dispatch import Dispatcher, Limits
from service.errors import NotFoundError
from service.model.caller import Caller
from service.registry import Effect, Positional, Reads, Registry, Result


@dataclass
class Bench:
    """What the sample tools touch: a door that tests open, and notes of what happened."""

    caller: Caller
    door: anyio.Event = field(default_factory=anyio.Event)
    latch: threading.Event = field(default_factory=threading.Event)
    entered: anyio.Event = field(default_factory=anyio.Event)
    notes: list[str] = field(default_factory=list)


class Echo(BaseModel):
    """What came in."""

    text: str
    count: int = 0
    ratio: float = 0.0
    thread: str = ""


class Rows(BaseModel):
    """Many rows."""

    rows: list[str]
    total: int


class MissingThingError(NotFoundError):
    """A thing that is not there."""

    code = "SAMPLE_MISSING"
    hint = "Name another thing."


registry: Registry[Bench] = Registry()


@registry.tool(Effect.READ)
def echo(
    context: Bench,
    text: Annotated[str, Positional(), Field(description="Any text.", max_length=200_000)],
    count: Annotated[int, Field(ge=1, description="How often.")] = 1,
    ratio: float = 0.5,
) -> Echo:
    """Give ``text`` back.

    Twice if asked.

    Errors: none.
    """
    return Echo(text=text * count, count=count, ratio=ratio, thread=threading.current_thread().name)


@registry.tool(Effect.READ, command="capture-info")
def capture_info(
    context: Bench, file: Annotated[str, Reads(), Field(description="A capture.")]
) -> Echo | Result:
    """Look at a capture."""
    context.notes.append(f"read {file}")
    if file == "missing":
        raise MissingThingError(f"there is no '{file}'", data={"file": file, "thing": object()})
    return Result(Echo(text=file), warnings=["only looked"])


@registry.tool(Effect.READ)
def stats(
    context: Bench,
    file: Annotated[str, Reads()],
    files: Annotated[list[str], Reads()] | None = None,
    pgn: int | None = None,
    top: Annotated[int, Field(ge=1)] = 10,
) -> Echo:
    """Count things."""
    return Echo(text=file, count=pgn or 0)


@registry.tool(Effect.TRANSMIT, title="Send frames")
def send(
    context: Bench,
    interface: Annotated[str, Positional()],
    ack_active: bool,
    dry_run: bool = True,
    extended: bool | None = None,
    source: Annotated[str, Reads()] = "memory",
) -> Echo:
    """Send nothing at all."""
    return Echo(text=interface)


@registry.tool(Effect.WRITE, command="dbc note")
def note(context: Bench, kind: Literal["short", "long"] = "short") -> Echo:
    """Write a note."""
    context.notes.append(kind)
    return Echo(text=kind)


@registry.tool(Effect.LISTEN)
async def wait_at_door(context: Bench) -> Echo:
    """Wait until the door opens."""
    context.entered.set()
    try:
        await context.door.wait()
    except asyncio.CancelledError:
        context.notes.append("cancelled")
        raise
    return Echo(text="through")


@registry.tool(Effect.READ)
def block_at_latch(context: Bench) -> Echo:
    """Block a thread until the latch is lifted."""
    context.latch.wait(10)
    return Echo(text="lifted")


@registry.tool(Effect.READ)
def fail(
    context: Bench, how: Literal["runtime", "exit", "cancelled", "wrong", "long"] = "runtime"
) -> Echo:
    """Fail in a thread."""
    match how:
        case "exit":
            raise SystemExit(3)
        case "cancelled":
            raise asyncio.CancelledError
        case "wrong":
            return Rows(rows=[], total=0)  # type: ignore[return-value]
        case "long":
            raise RuntimeError("x" * 100_000)
    raise RuntimeError("the sky fell")


@registry.tool(Effect.LISTEN)
async def fail_waiting(
    context: Bench, how: Literal["runtime", "exit", "cancelled", "timeout"] = "runtime"
) -> Echo:
    """Fail on the loop."""
    await anyio.lowlevel.checkpoint()
    match how:
        case "exit":
            raise SystemExit(3)
        case "cancelled":
            raise asyncio.CancelledError
        case "timeout":
            raise TimeoutError("tool's own")
    raise RuntimeError("the sky fell")


@registry.tool(Effect.READ)
def many(
    context: Bench,
    count: Annotated[int, Field(ge=0)] = 1000,
    limit: int = 0,
    cursor: str | None = None,
) -> Rows:
    """Give many rows."""
    return Rows(rows=[f"(1.0) can0 123#{row:016X}" for row in range(count)], total=count)


@registry.tool(Effect.READ)
def odd_values(context: Bench) -> Echo:
    """Give values that JSON cannot carry."""
    return Echo(text="half \ud800 pair", ratio=float("nan"))


def dispatcher(bench: Bench, limits: Limits | None = None) -> Dispatcher[Bench]:
    """A dispatcher whose calls all see the same bench, with the caller of the latest call."""

    def context_for(caller: Caller) -> Bench:
        bench.caller = caller
        return bench

    return Dispatcher(registry, context_for, limits)
