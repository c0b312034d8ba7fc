"""What a 2026-07-28 server says, in the words of the older revisions.

Pure functions from payload to payload: members that the older revisions do not know are removed,
everything else keeps its bytes (2026-07-28, changelog; server/discover; server/tools).
"""

from __future__ import annotations

import msgspec

from relay.core.errors import Code, Problem
from relay.core.messages import Fields, Message, fields_of, items_of, notification, text_of
from relay.core.versions import LEGACY_VERSIONS

_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
_TASKS = "io.modelcontextprotocol/tasks"
_MODERN_MEMBERS = ("resultType", "ttlMs", "cacheScope")

# A legacy client's subscriptions are not carried to a 2026-07-28 server: promise none.
_UNSUPPORTED = {
    "tools": ("listChanged",),
    "prompts": ("listChanged",),
    "resources": ("listChanged", "subscribe"),
}


def initialize_result(discovered: Fields, requested: str | None, server_name: str) -> Fields:
    """The InitializeResult that stands for a DiscoverResult.

    ``requested`` is the revision the client asked for; it gets that, or the newest legacy one.
    """
    version = requested if requested in LEGACY_VERSIONS else LEGACY_VERSIONS[-1]
    meta = fields_of(discovered.get("_meta")) or {}
    result: Fields = {
        "protocolVersion": _raw(version),
        "capabilities": _raw(_capabilities(fields_of(discovered.get("capabilities")), version)),
        "serverInfo": _raw(_server_info(fields_of(meta.get(_SERVER_INFO)), server_name)),
    }
    if text_of(discovered.get("instructions")) is not None:
        result["instructions"] = discovered["instructions"]
    return result


def result(method: str, value: msgspec.Raw | None) -> Fields | Problem:
    """A result as the older revisions have it, or why there is none."""
    fields = fields_of(value)
    if fields is None:
        return Problem(Code.INTERNAL_ERROR, f"the server's result for {method} is no object")
    kind = text_of(fields.get("resultType")) if "resultType" in fields else "complete"
    if kind == "input_required":
        return Problem(
            Code.INTERNAL_ERROR,
            f"the server wants input before it goes on with {method}"
            f" ({_wanted(fields)}), which this client was not said to give",
            {"resultType": kind, "hint": "use a client of protocol revision 2026-07-28"},
        )
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
    return fields


def server_notification(message: Message) -> bytes | None:
    """A notification as the older revisions have it, or None for one that they do not have."""
    if message.method in ("notifications/subscriptions/acknowledged", "notifications/tasks"):
        return None
    params = fields_of(message.params)
    if params is None or "_meta" not in params:
        return message.raw
    return notification(message.method, _without_meta(params, _SUBSCRIPTION_ID))


def _capabilities(offered: Fields | None, version: str) -> Fields:
    capabilities = dict(offered or {})
    for name, members in _UNSUPPORTED.items():
        if name in capabilities:
            kept = dict(fields_of(capabilities[name]) or {})
            kept.update((member, _raw(False)) for member in members)
            capabilities[name] = _raw(kept)
    if version == "2024-11-05":
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


def _wanted(fields: Fields) -> str:
    requests = fields_of(fields.get("inputRequests")) or {}
    methods = {text_of((fields_of(each) or {}).get("method")) or "?" for each in requests.values()}
    return ", ".join(sorted(method[:40] for method in methods)) or "a repetition"


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
