"""Envelopes within a byte budget: exact, in one pass, and honest about what was left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

Payload = dict[str, object]
Encode = Callable[[object], bytes]

DEFAULT_HINT = (
    "Ask for less: narrow the call, or page with limit and cursor where the tool has them."
)

_MAX_COMMAND_BYTES = 96
_MAX_STUB_HINT_BYTES = 190
_MAX_CODE_BYTES = 48


def to_json(value: object) -> bytes:
    """Compact UTF-8 JSON. ValueError: NaN, an infinity or half a surrogate pair."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def bound_payload(
    payload: Payload, max_bytes: int, *, hint: str = DEFAULT_HINT, encode: Encode = to_json
) -> Payload:
    """The envelope in at most ``max_bytes`` (>= 1024) of JSON; the very same object if it fits.

    Lists below ``data`` are cut at the end, siblings in proportion to their sizes. What was cut is
    told in ``data.truncation`` for the lists that survive. Where cutting lists is not enough,
    ``data`` becomes a stub with the hint. Diagnostics larger than half of the budget are
    shortened; code, message and hint of the first error always stay.
    """
    if len(encode(payload)) <= max_bytes:
        return payload
    bounded = dict(payload)
    bounded["command"] = _clip(str(payload.get("command", "")), _MAX_COMMAND_BYTES, encode)
    errors, warnings = _diagnostics(payload, max_bytes // 2, encode)
    notice = f"The answer was cut to {max_bytes} bytes; data.truncation tells what is missing."
    bounded["errors"], bounded["warnings"] = errors, [*warnings, notice]
    truncation: Payload = {"max_response_bytes": max_bytes, "hint": hint, "lists": []}
    bounded["data"] = {"truncated": True, "truncation": truncation}
    budget = max_bytes - len(encode(bounded)) - 1  # the comma after the data's own fields
    node = _measure(payload.get("data"), "data", max_bytes, encode)
    if isinstance(node, _Object) and node.floor <= budget + len("{}"):
        cuts: list[Payload] = []
        kept, _ = node.fit(budget + len("{}"), cuts)
        truncation["lists"] = cuts
        bounded["data"] = {**kept, "truncated": True, "truncation": truncation}
    else:
        truncation["hint"] = _clip(hint, _MAX_STUB_HINT_BYTES, encode)
    return bounded


@dataclass(slots=True)
class _Node:
    """A value and its JSON size; ``floor`` is what remains of it when its lists are empty."""

    value: object
    size: int
    floor: int

    def fit(self, budget: int, cuts: list[Payload]) -> tuple[object, int]:
        """A copy that takes at most ``budget >= floor`` bytes, and the bytes it takes.

        The bytes include the record that each cut list adds to ``cuts``.
        """
        return self.value, self.size


@dataclass(slots=True)
class _Object(_Node):
    children: dict[str, _Node] = field(default_factory=dict)

    def fit(self, budget: int, cuts: list[Payload]) -> tuple[dict[str, object], int]:
        slack = budget - self.floor
        wanted = self.size - self.floor
        kept: dict[str, object] = {}
        used = self.floor
        for key, child in self.children.items():
            wish = child.size - child.floor
            share = min(wish, slack * wish // wanted) if wanted > 0 else 0
            kept[key], taken = child.fit(child.floor + share, cuts)
            used += taken - child.floor
            slack -= taken - child.floor
            wanted -= wish
        return kept, used


@dataclass(slots=True)
class _List(_Node):
    items: list[object] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)  # from the front, as far as could be of use
    first: _Node | None = None
    path: str = ""
    record: int = 0

    def fit(self, budget: int, cuts: list[Payload]) -> tuple[object, int]:
        if self.size <= budget:
            return self.value, self.size
        used = self.record + len("[]")
        kept: list[object] = []
        for item, size in zip(self.items, self.sizes, strict=False):
            if used + size > budget:
                break
            kept.append(item)
            used += size
        cut = {"path": self.path, "total_items": len(self.items), "returned_items": len(kept)}
        cuts.append(cut)
        # One group with long lists in it is more use than an empty list.
        if not kept and self.first and self.first.floor <= budget - used:
            item, taken = self.first.fit(budget - used, cuts)
            kept.append(item)
            cut["returned_items"] = 1
            used += taken
        return kept, used


def _measure(value: object, path: str, limit: int, encode: Encode) -> _Node:
    """Sizes below ``value``. Only the first item of a list is looked into: others stay whole."""
    if isinstance(value, dict):
        children = {
            key: _measure(item, f"{path}.{key}", limit, encode) for key, item in value.items()
        }
        own = sum(len(encode(key)) + len(":,") for key in children) + len("{}") - bool(children)
        size = own + sum(child.size for child in children.values())
        floor = own + sum(child.floor for child in children.values())
        return _Object(value, size, floor, children)
    size = len(encode(value))
    if not isinstance(value, list) or not value:
        return _Node(value, size, size)
    most = {"path": path, "total_items": len(value), "returned_items": len(value)}
    record = len(encode(most)) + len(",")
    first = _measure(value[0], f"{path}[0]", limit, encode)
    sizes = [first.size + len(",")]
    total = sizes[0]
    for item in value[1:]:
        if total > limit:
            break
        sizes.append(len(encode(item)) + len(","))
        total += sizes[-1]
    floor = min(size, record + len("[]"))
    return _List(value, size, floor, value, sizes, first, path, record)


def _diagnostics(
    payload: Payload, allowance: int, encode: Encode
) -> tuple[list[object], list[object]]:
    """Errors and warnings within the allowance; errors first, whole warnings from the front."""
    errors = _as_list(payload.get("errors"))
    warnings = _as_list(payload.get("warnings"))
    if len(encode([errors, warnings])) <= allowance:
        return errors, warnings
    if len(encode(errors)) > allowance // 2:
        errors = [_shortened(errors[0], allowance // 4, encode)]
    left = allowance - len(encode(errors)) - len("999999 warnings left out.") - len('[[],""],')
    kept: list[object] = []
    for warning in warnings:
        left -= len(encode(warning)) + len(",")
        if left < 0:
            break
        kept.append(warning)
    if len(kept) < len(warnings):
        kept.append(f"{len(warnings) - len(kept)} warnings left out.")
    return errors, kept


def _shortened(error: object, max_bytes: int, encode: Encode) -> object:
    if not isinstance(error, dict):
        return {"code": "", "message": _clip(str(error), max_bytes, encode), "hint": ""}
    return {
        "code": _clip(str(error.get("code", "")), _MAX_CODE_BYTES, encode),
        "message": _clip(str(error.get("message", "")), max_bytes, encode),
        "hint": _clip(str(error.get("hint", "")), max_bytes, encode),
    }


def _clip(text: str, max_bytes: int, encode: Encode) -> str:
    """The text, or its beginning and an ellipsis, in at most ``max_bytes`` of JSON with quotes."""
    candidate = text[:max_bytes]  # a character takes at least one byte
    if len(text) <= max_bytes and len(encode(text)) <= max_bytes:
        return text
    left = max_bytes - len(encode("…"))
    for index, character in enumerate(candidate):
        left -= len(encode(character)) - len('""')
        if left < 0:
            return candidate[:index] + "…"
    return candidate + "…"


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
