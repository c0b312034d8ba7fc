"""What a 2026-07-28 server says, in the words of the older revisions.

Pure functions from payload to payload: members that the older revisions do not know are removed,
everything else keeps its bytes (2026-07-28, changelog; server/discover; server/tools).
"""

from __future__ import annotations

import msgspec

from relay.core.errors import Code, Problem
from relay.core.messages import Fields, Message, fields_of, items_of, notification, text_of

_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
_TASKS = "io.modelcontextprotocol/tasks"
_MODERN_MEMBERS = ("resultType", "ttlMs", "cacheScope")

_NOT_FOR_CLIENTS = frozenset(
    {
        "notifications/subscriptions/acknowledged",
        "notifications/tasks",
        "notifications/cancelled",  # would be about one of the relay's own questions
    }
)
_BLOCK_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
_NEWEST_BLOCK = max(_BLOCK_SINCE.values())


def initialize_result(discovered: Fields, revision: str, server_name: str) -> Fields:
    """The InitializeResult of ``revision`` that stands for a DiscoverResult.

    ``server_name`` is used for a server that does not tell its name.
    """
    meta = fields_of(discovered.get("_meta")) or {}
    result: Fields = {
        "protocolVersion": _raw(revision),
        "capabilities": _raw(_capabilities(fields_of(discovered.get("capabilities")), revision)),
        "serverInfo": _raw(_server_info(fields_of(meta.get(_SERVER_INFO)), server_name)),
    }
    if text_of(discovered.get("instructions")) is not None:
        result["instructions"] = discovered["instructions"]
    return result


def wants_input(fields: Fields) -> bool:
    """Whether a result is none yet: the server has questions first."""
    return text_of(fields.get("resultType")) == "input_required"


def result(method: str, fields: Fields, revision: str) -> Fields | Problem:
    """A result as ``revision`` has it, or why there is none."""
    kind = text_of(fields["resultType"]) if "resultType" in fields else "complete"
    if kind != "complete":
        shown = "no name" if kind is None else repr(kind[:40])
        return Problem(
            Code.INTERNAL_ERROR,
            f"the server's result for {method} has the unknown resultType {shown}",
            {"resultType": kind, "hint": "use a client of protocol revision 2026-07-28"},
        )
    for member in _MODERN_MEMBERS:
        fields.pop(member, None)
    _without_meta(fields, _SERVER_INFO)
    if method == "tools/list":
        fields["tools"] = _raw([_tool(tool) for tool in items_of(fields.get("tools"))])
    elif method == "tools/call":
        _structured_content(fields)
    if revision < _NEWEST_BLOCK:
        _content(method, fields, revision)
    return fields


def server_notification(message: Message) -> bytes | None:
    """A notification as the older revisions have it, or None for one that they do not have."""
    if message.method in _NOT_FOR_CLIENTS:
        return None
    params = fields_of(message.params)
    if params is None or "_meta" not in params:
        return message.raw
    return notification(message.method, _without_meta(params, _SUBSCRIPTION_ID))


def _capabilities(offered: Fields | None, revision: str) -> Fields:
    capabilities = dict(offered or {})
    capabilities.pop("tasks", None)
    if revision == "2024-11-05":
        capabilities.pop("completions", None)
    extensions = fields_of(capabilities.get("extensions"))
    if extensions is not None:
        extensions.pop(_TASKS, None)
        capabilities["extensions"] = _raw(extensions)
    return capabilities


def _server_info(told: Fields | None, server_name: str) -> Fields:
    """Both members must exist; servers may leave either out or empty."""
    info = dict(told or {})
    if not text_of(info.get("name")):
        info["name"] = _raw(server_name)
    if text_of(info.get("version")) is None:
        info["version"] = _raw("")
    return info


def _tool(tool: msgspec.Raw) -> object:
    """An output schema had to describe an object before 2026-07-28."""
    fields = fields_of(tool)
    if fields is None or "outputSchema" not in fields:
        return tool
    if text_of((fields_of(fields["outputSchema"]) or {}).get("type")) == "object":
        return tool
    del fields["outputSchema"]
    return fields


def _structured_content(fields: Fields) -> None:
    """Structured content had to be an object: anything else moves to a text block."""
    content = fields.get("structuredContent")
    if content is None or bytes(content).startswith(b"{"):
        return
    del fields["structuredContent"]
    blocks: list[object] = [*items_of(fields.get("content"))]
    types = [
        text_of((fields_of(block) or {}).get("type")) for block in items_of(fields.get("content"))
    ]
    if "text" not in types:
        blocks.append({"type": "text", "text": bytes(content).decode()})
    fields["content"] = _raw(blocks)


def _content(method: str, fields: Fields, revision: str) -> None:
    """Put text in place of the blocks that came after ``revision``."""
    if method == "tools/call" and "content" in fields:
        fields["content"] = _raw([_block(each, revision) for each in items_of(fields["content"])])
    elif method == "prompts/get":
        fields["messages"] = _raw(
            [_prompt_message(each, revision) for each in items_of(fields.get("messages"))]
        )


def _prompt_message(message: msgspec.Raw, revision: str) -> object:
    fields = fields_of(message)
    if fields is None or "content" not in fields:
        return message
    return {**fields, "content": _block(fields["content"], revision)}


def _block(block: msgspec.Raw, revision: str) -> object:
    fields = fields_of(block) or {}
    kind = text_of(fields.get("type")) or ""
    if revision >= _BLOCK_SINCE.get(kind, ""):
        return block
    if kind == "audio":
        return _text(f"[audio, {text_of(fields.get('mimeType')) or 'of no named type'}]")
    named = [text_of(fields.get(member)) for member in ("name", "description", "uri")]
    return _text(" - ".join(each for each in named if each))


def _text(text: str) -> object:
    return {"type": "text", "text": text}


def _without_meta(fields: Fields, key: str) -> Fields:
    """Remove one key of ``_meta``, and ``_meta`` with the last one."""
    meta = fields_of(fields.get("_meta"))
    if meta is not None and meta.pop(key, None) is not None:
        if meta:
            fields["_meta"] = _raw(meta)
        else:
            del fields["_meta"]
    return fields


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
