"""JSON Schemas as MCP clients and models want them: short, strict and true."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

Schema = dict[str, Any]


class _Untitled(GenerateJsonSchema):
    """Titles that only repeat the field's name cost tokens and say nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class _ArgumentsSchema(_Untitled):
    """An optional argument is left out rather than sent as null, so null is not published."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        published = super().default_schema(schema)
        if published.get("default", 0) is None:
            del published["default"]
        return published


class _DataSchema(_Untitled):
    """What is true of every answer: NaN became null, lists may have been shortened."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return {"type": ["number", "null"]}

    def list_schema(self, schema: core_schema.ListSchema) -> JsonSchemaValue:
        published = super().list_schema(schema)
        published.pop("minItems", None)
        return published

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        return {"type": "array"}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        published = super().default_schema(schema)
        published.pop("default", None)
        return published


def arguments_schema(model: type[BaseModel]) -> Schema:
    """The ``inputSchema`` of a tool."""
    schema = model.model_json_schema(schema_generator=_ArgumentsSchema)
    schema.setdefault("properties", {})
    return _without_model_noise(schema)


def envelope_schema(model: type[BaseModel]) -> Schema:
    """The ``outputSchema``: an envelope around the data, also when failed, cut or a stub.

    Data fields are not required, since a stub has none of them; what a failed call echoes in
    ``data`` is free, so the model's types bind only where ``ok`` is true.
    """
    data = model.model_json_schema(mode="serialization", schema_generator=_DataSchema)
    definitions = data.pop("$defs", {})
    data.pop("required", None)
    data.pop("additionalProperties", None)
    schema: Schema = {
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "command": {"type": "string"},
            "data": {"type": "object"},
            "warnings": {"type": "array", "items": {"type": "string"}},
            "errors": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["ok", "command", "data", "warnings", "errors"],
        "if": {"properties": {"ok": {"const": True}}},
        "then": {"properties": {"data": data}},
    }
    if definitions:
        schema["$defs"] = definitions
    _without_model_noise(data)
    return _without_model_noise(schema)


def _without_model_noise(schema: Schema) -> Schema:
    """Class names and class docstrings are for readers of the code, not of the wire."""
    for model in (schema, *schema.get("$defs", {}).values()):
        model.pop("title", None)
        model.pop("description", None)
    return schema
