"""Write the generated pages of ``docs/`` from the registry and the error tree.

Run as ``python -m scripts.generate_docs``; ``make check`` fails while a page is stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.conformance_page import conformance_page
from scripts.markdown import NOTICE, table
from service.errors import CanferryError
from service.registry import Effect, Tool
from service.tools import registry

DOCS = Path(__file__).parents[1] / "docs"
EFFECTS = {
    Effect.READ: "reads files and settings",
    Effect.LISTEN: "listens to a live bus",
    Effect.RECORD: "listens to a live bus, can leave a file behind",
    Effect.WRITE: "leaves a file behind",
    Effect.TRANSMIT: "can transmit",
}


def error_classes(base: type[CanferryError] = CanferryError) -> list[type[CanferryError]]:
    """Every error with a code, in tree order."""
    found = [base] if "code" in vars(base) else []
    return found + [error for child in base.__subclasses__() for error in error_classes(child)]


def type_text(schema: dict[str, Any]) -> str:
    """A schema in a few words: ``integer 1..20``, ``string or null``, ``list of string``."""
    if "anyOf" in schema:
        return " or ".join(type_text(option) for option in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return "list of " + type_text(schema.get("items", {}))
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    bounds = (
        ""
        if low is None and high is None
        else f" {low if low is not None else ''}..{high if high is not None else ''}"
    )
    return str(schema.get("type", "any")) + bounds


def tool_section(tool: Tool[Any]) -> Iterator[str]:
    yield f"## `{tool.name}`"
    yield ""
    yield f"{tool.description.strip()}"
    yield ""
    yield f"Command: `canferry-service {tool.command}`. Effect: {EFFECTS[tool.effect]}."
    yield ""
    schema = tool.input_schema
    required = set(schema.get("required", []))
    rows = [
        [
            f"`{name}`" + (" (required)" if name in required else ""),
            type_text(field),
            "" if name in required or field.get("default") is None else f"`{field['default']}`",
            str(field.get("description", "")),
        ]
        for name, field in schema.get("properties", {}).items()
    ]
    if rows:
        yield from table(["parameter", "type", "default", "meaning"], rows)
    else:
        yield "No parameters."
    yield ""


def tools_page() -> str:
    tools = list(registry)
    lines = ["# Tools", "", NOTICE, ""]
    lines += [
        "Every tool answers with the envelope `{ok, command, data, warnings, errors}` as one JSON",
        "text and as structured content. `isError` mirrors `ok`. Unknown arguments are refused by",
        "name. What can go wrong: [errors](errors.md).",
        "",
    ]
    summary = [
        [f"[`{tool.name}`](#{tool.name})", EFFECTS[tool.effect], tool.description.split("\n")[0]]
        for tool in tools
    ]
    lines += [*table(["tool", "effect", "what it does"], summary), ""]
    for tool in tools:
        lines += tool_section(tool)
    return "\n".join(lines).rstrip() + "\n"


def errors_page() -> str:
    lines = ["# Error codes", "", NOTICE, ""]
    lines += [
        "A failed call has `ok: false` and one entry in `errors`: `code` is stable, `message` says",
        "what happened with the value, `hint` names the next step, often more precisely than here.",
        "",
    ]
    rows = [
        [f"`{error.code}`", " ".join((error.__doc__ or "").split()), error.hint]
        for error in error_classes()
    ]
    lines += table(["code", "when", "next step"], sorted(rows))
    return "\n".join(lines).rstrip() + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "tools.md": tools_page,
    "errors.md": errors_page,
    "conformance.md": conformance_page,
}


def main() -> None:
    DOCS.mkdir(exist_ok=True)
    for name, render in PAGES.items():
        (DOCS / name).write_text(render(), encoding="utf-8")
        print(f"wrote docs/{name}")


if __name__ == "__main__":
    main()
