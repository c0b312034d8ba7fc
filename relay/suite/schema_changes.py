"""What a change of a schema does to the values that are valid for it, and what it is called."""

from __future__ import annotations

from enum import Enum, StrEnum, auto

from msgspec import Struct

from relay.suite.document import Json
from relay.suite.walk import Path


class Effect(Enum):
    """What a change does, whoever sends the values: whom it hurts depends on that."""

    NARROWS = auto()
    WIDENS = auto()
    EXTENDS = auto()
    """There is more to say, and what was said stays as it was."""
    BREAKS = auto()
    """Neither side can rely on what it knew."""
    TELLS = auto()
    """The words differ, and the values do not."""


class SchemaCode(StrEnum):
    """How two schemas differ in one place."""

    FIELD_ADDED = "FIELD_ADDED"
    REQUIRED_FIELD_ADDED = "REQUIRED_FIELD_ADDED"
    FIELD_REMOVED = "FIELD_REMOVED"
    FIELD_REQUIRED = "FIELD_REQUIRED"
    FIELD_OPTIONAL = "FIELD_OPTIONAL"
    OTHER_FIELDS_REFUSED = "OTHER_FIELDS_REFUSED"
    OTHER_FIELDS_ALLOWED = "OTHER_FIELDS_ALLOWED"
    TYPE_NARROWED = "TYPE_NARROWED"
    TYPE_WIDENED = "TYPE_WIDENED"
    TYPE_CHANGED = "TYPE_CHANGED"
    VALUES_REMOVED = "VALUES_REMOVED"
    VALUES_ADDED = "VALUES_ADDED"
    LIMIT_TIGHTENED = "LIMIT_TIGHTENED"
    LIMIT_LOOSENED = "LIMIT_LOOSENED"
    ALTERNATIVE_REMOVED = "ALTERNATIVE_REMOVED"
    ALTERNATIVE_ADDED = "ALTERNATIVE_ADDED"
    CONDITION_ADDED = "CONDITION_ADDED"
    CONDITION_REMOVED = "CONDITION_REMOVED"
    DEFAULT_CHANGED = "DEFAULT_CHANGED"
    TEXT_CHANGED = "TEXT_CHANGED"
    NOT_ANALYSED = "NOT_ANALYSED"


class SchemaChange(Struct, frozen=True):
    """One difference; what is absent in one of the schemas is None there."""

    code: SchemaCode
    effect: Effect
    place: Path
    old: Json
    new: Json
    what: str
