"""The tools of the suite that go the whole way: our registry, dispatcher and envelope."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from service.errors import ToolExecutionError
from service.registry import Effect, Registry

registry: Registry[None] = Registry()


class Said(BaseModel):
    text: str


@registry.tool(Effect.READ)
def test_simple_text(context: None) -> Said:
    """Say something."""
    return Said(text="A simple text.")


@registry.tool(Effect.READ)
def test_error_handling(context: None) -> Said:
    """Fail."""
    raise ToolExecutionError("this tool always fails")


@registry.tool(Effect.READ)
def echo_header(
    context: None,
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
) -> Said:
    """Say what came in the argument that clients repeat in a header."""
    return Said(text=region)
