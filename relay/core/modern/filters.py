"""What a ``subscriptions/listen`` asks for, as one value.

2026-07-28, basic/utilities/subscriptions: the filter of a stream never changes, and its server
acknowledges the part of it that it will tell of.
"""

from __future__ import annotations

import msgspec

from relay.core.messages import Fields, Message, fields_of, items_of, notification, text_of

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
TOOLS_CHANGED = "notifications/tools/list_changed"

Hint = tuple[str, str]
"""What has changed: the method of the notification and, for one resource, its URI."""

_LISTS = {
    "tools": ("toolsListChanged", TOOLS_CHANGED),
    "prompts": ("promptsListChanged", "notifications/prompts/list_changed"),
    "resources": ("resourcesListChanged", "notifications/resources/list_changed"),
}
_FETCHES = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resources",
}
_URIS = "resourceSubscriptions"
_TRUE = msgspec.Raw(b"true")
_AFTER_A_RESOURCE = ("/", "?", "#", ":")


class Filter(msgspec.Struct, frozen=True):
    """Lists by their capability (``tools``, ``prompts``, ``resources``) and resources by URI."""

    lists: frozenset[str] = frozenset()
    uris: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.lists or self.uris)

    def __and__(self, other: Filter) -> Filter:
        return Filter(self.lists & other.lists, self.uris & other.uris)

    def __sub__(self, other: Filter) -> Filter:
        return Filter(self.lists - other.lists, self.uris - other.uris)

    def params(self) -> Fields:
        """The params of the ``subscriptions/listen`` that asks for this."""
        members: dict[str, object] = {_LISTS[name][0]: True for name in sorted(self.lists)}
        if self.uris:
            members[_URIS] = sorted(self.uris)
        return {"notifications": _raw(members)}

    def covers(self, hint: Hint) -> bool:
        """Whether this asks to be told so; a resource may lie inside one that is asked for."""
        method, uri = hint
        if method == UPDATED:
            return uri in self.uris or any(_is_inside(uri, outer) for outer in self.uris)
        return any(_LISTS[name][1] == method for name in self.lists)

    def notifications(self) -> list[bytes]:
        """One line for each thing asked for, saying that it has changed."""
        lists = [notification(_LISTS[name][1], {}) for name in sorted(self.lists)]
        return lists + [notification(UPDATED, {"uri": _raw(uri)}) for uri in sorted(self.uris)]


def offered_lists(capabilities: Fields) -> frozenset[str]:
    """The lists of whose changes a server says that it tells."""
    return frozenset(
        name
        for name in _LISTS
        if (fields_of(capabilities.get(name)) or {}).get("listChanged") == _TRUE
    )


def acknowledged(message: Message) -> Filter:
    """What an acknowledgement names."""
    named = fields_of((fields_of(message.params) or {}).get("notifications")) or {}
    uris = [text_of(item) for item in items_of(named.get(_URIS))]
    return Filter(
        frozenset(name for name, (member, _) in _LISTS.items() if named.get(member) == _TRUE),
        frozenset(uri for uri in uris if uri is not None),
    )


def hint_of(message: Message) -> Hint | None:
    """What a notification says to have changed; None for an update that names no resource."""
    if message.method != UPDATED:
        return message.method, ""
    uri = text_of((fields_of(message.params) or {}).get("uri"))
    return None if uri is None else (UPDATED, uri)


def fetched_by(request: Message) -> Hint | None:
    """What a request fetches, as the hint upon which a client would; None if it fetches nothing."""
    if request.method in _FETCHES:
        return _LISTS[_FETCHES[request.method]][1], ""
    uri = text_of((fields_of(request.params) or {}).get("uri"))
    return None if request.method != "resources/read" or uri is None else (UPDATED, uri)


def _is_inside(uri: str, outer: str) -> bool:
    """Whether ``uri`` names a part of ``outer``; one that merely begins alike is another one."""
    rest = uri.removeprefix(outer)
    return len(rest) < len(uri) and (outer.endswith("/") or rest.startswith(_AFTER_A_RESOURCE))


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
