"""The JSON Schema of a verdict file, made from the classes that are written into it.

`docs/verdict.schema.json` is this schema, published; a test compares them. Its version changes when
a program that reads verdict files would have to change.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import types
from typing import Any, get_args, get_origin, get_type_hints

from autograder.model.verdict import ADDED, FORMAT_VERSION, LEFT_OUT, Outcome, Verdict

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def verdict_schema() -> dict[str, Any]:
    """Return the schema, of the draft 2020-12."""
    definitions: dict[str, Any] = {}
    whole = _object(Verdict, definitions)
    numbers = {"type": "number", "minimum": 0}
    own = {"version": {"const": FORMAT_VERSION}, "points": numbers, "max_points": numbers}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The verdict on one submission",
        "description": "What `attn grade` writes to verdicts/STUDENT.json. Text is a student's "
        "as it was handed in: clean it before you show it.",
        **whole,
        "properties": {**own, **whole["properties"]},
        "required": [*own, *whole["required"]],
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(verdict_schema(), indent=2) + "\n"


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind) if field.name not in LEFT_OUT]
    return {
        "type": "object",
        "properties": {name: _schema(hints[name], definitions) for name in names},
        "required": [name for name in names if name not in ADDED],
        "additionalProperties": False,
    }


def _schema(declared: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if get_origin(declared) is types.UnionType:
        return {"anyOf": [_schema(each, definitions) for each in get_args(declared)]}
    if get_origin(declared) is tuple:
        return _sequence(get_args(declared), definitions)
    if declared in _PLAIN:
        return {"type": _PLAIN[declared]}
    if issubclass(declared, enum.StrEnum):
        # What is only said at home is in no verdict file.
        return {"enum": [each.value for each in declared if each is not Outcome.WAITS]}
    if declared.__name__ not in definitions:
        definitions[declared.__name__] = {}  # it may hold itself
        definitions[declared.__name__] = _object(declared, definitions)
    return {"$ref": f"#/$defs/{declared.__name__}"}


def _sequence(kinds: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if kinds[-1] is Ellipsis:
        return {"type": "array", "items": _schema(kinds[0], definitions)}
    items = [_schema(each, definitions) for each in kinds]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
