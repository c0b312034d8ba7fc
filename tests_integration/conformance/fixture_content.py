"""What the suite reads: every kind of content, in tools, resources and prompts."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import wave
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

from tests_integration.conformance.fixture_rounds import asking_prompt
from tests_integration.conformance.fixture_tools import Call, Context, Tools, answer, text

TEXT_URI = "test://static-text"
BINARY_URI = "test://static-binary"
TEMPLATE = "test://template/{id}/data"


def _png() -> str:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    whole = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )
    return base64.b64encode(whole).decode()


def _wav() -> str:
    """A hundredth of a second of silence."""
    whole = io.BytesIO()
    with wave.open(whole, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(160))
    return base64.b64encode(whole.getvalue()).decode()


IMAGE = types.ImageContent(type="image", data=_png(), mime_type="image/png")
AUDIO = types.AudioContent(type="audio", data=_wav(), mime_type="audio/wav")


def embedded(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=resource)


def add_content_tools(tools: Tools) -> None:
    """Tools whose answers are fixed."""
    page = embedded("test://embedded-resource", "An embedded resource.")
    record = embedded("test://mixed-content-resource", '{"test":"data"}', "application/json")
    tools.add("test_image_content", "Give an image.", _giving(IMAGE))
    tools.add("test_audio_content", "Give a sound.", _giving(AUDIO))
    tools.add("test_embedded_resource", "Give a resource within the answer.", _giving(page))
    three = _giving(text("Three:"), IMAGE, record)
    tools.add("test_multiple_content_types", "Give three kinds.", three)


def _giving(*content: types.ContentBlock) -> Call:
    async def give(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return answer(*content)

    return give


# -- resources --


async def list_resources(
    context: Context, params: types.PaginatedRequestParams
) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=TEXT_URI, name="text", description="A text.", mime_type="text/plain"
            ),
            types.Resource(
                uri=BINARY_URI, name="image", description="A pixel.", mime_type="image/png"
            ),
        ]
    )


async def list_templates(
    context: Context, params: types.PaginatedRequestParams
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=TEMPLATE, name="data", description="A record.", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(
    context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = str(params.uri)
    contents: types.TextResourceContents | types.BlobResourceContents
    if uri == TEXT_URI:
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text="A fixed text.")
    elif uri == BINARY_URI:
        contents = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=IMAGE.data)
    elif match := re.fullmatch(r"test://template/([^/]+)/data", uri):
        record = json.dumps({"id": match[1], "templateTest": True})
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=record)
    else:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[contents])


# -- prompts --

Messages: TypeAlias = Callable[[Mapping[str, str]], list[types.ContentBlock]]

PROMPTS: Mapping[str, tuple[tuple[str, ...], Messages]] = {
    "test_simple_prompt": ((), lambda given: [text("A simple prompt.")]),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda given: [text(f"Prompt with arguments: {given['arg1']}, {given['arg2']}")],
    ),
    "test_prompt_with_embedded_resource": (
        ("resourceUri",),
        lambda given: [embedded(given["resourceUri"], "Embedded."), text("Look at it.")],
    ),
    "test_prompt_with_image": ((), lambda given: [IMAGE, text("Look at it.")]),
}
"""Name -> its arguments, all required, and what it says to them."""

ASKING_PROMPT = "test_input_required_result_prompt"


async def list_prompts(
    context: Context, params: types.PaginatedRequestParams
) -> types.ListPromptsResult:
    prompts = [
        types.Prompt(
            name=name,
            description=f"The prompt {name}.",
            arguments=[types.PromptArgument(name=each, required=True) for each in arguments],
        )
        for name, (arguments, _) in PROMPTS.items()
    ]
    asking = types.Prompt(name=ASKING_PROMPT, description="A prompt that asks first.")
    return types.ListPromptsResult(prompts=[*prompts, asking])


async def get_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    if params.name == ASKING_PROMPT:
        return await asking_prompt(context, params)
    if params.name not in PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    arguments, messages = PROMPTS[params.name]
    given = params.arguments or {}
    if missing := set(arguments) - set(given):
        raise MCPError(types.INVALID_PARAMS, f"Missing arguments: {', '.join(sorted(missing))}")
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=each) for each in messages(given)]
    )


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [word for word in ("test", "testing") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values)))


def add_content(server: Server[dict[str, Any]]) -> None:
    """Serve the resources, the prompts and the completion."""
    paged = types.PaginatedRequestParams
    server.add_request_handler("resources/list", paged, list_resources)
    server.add_request_handler("resources/templates/list", paged, list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)
    server.add_request_handler("prompts/list", paged, list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, complete)
