"""The published schema of verdict files: every verdict fits it, and nothing else does."""

from __future__ import annotations

import dataclasses
import enum
import json
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from jsonschema import Draft202012Validator

from autograder.values.verdict import (
    ADDED,
    FORMAT_VERSION,
    LEFT_OUT,
    Finding,
    LayerVerdict,
    Outcome,
    Verdict,
)
from support.verdicts import verdict

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "docs" / "verdict.schema.json"
NAMED = Finding(
    *(Outcome.WRONG_VALUES, "a fact", "right", "look", "a_name", ("detail",)),
    matches=(("a_name", "words"),),
)


def problems(facts: Any) -> list[str]:
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return [error.message for error in Draft202012Validator(schema).iter_errors(facts)]


def written() -> dict[str, Any]:
    one = verdict("ada", softmax=NAMED, scale_scores=Finding(Outcome.RAISED, "raises"))
    layer = LayerVerdict("SingleHeadAttention", Outcome.PASSED)
    chain = replace(one.chain, outcome=Outcome.WRONG_VALUES, breaks_at="softmax", layer=layer)
    facts = json.loads(replace(one, chain=chain, remarks=("a remark",)).to_json())
    assert isinstance(facts, dict)
    return facts


def test_the_published_schema_is_the_one_that_the_classes_give() -> None:
    """To write it anew, write `schema_text()` into the file; see when its version changes."""
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()


def test_a_verdict_fits() -> None:
    assert problems(written()) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda facts: facts.pop("points"),
        lambda facts: facts.update(version=2),
        lambda facts: facts.update(mark=3),
        lambda facts: facts.update(points="22"),
        lambda facts: facts["steps"][0].pop("answer"),
        lambda facts: facts["steps"][0].update(outcome="fine"),
        lambda facts: facts["steps"][0]["checks"][0]["finding"].update(evidence=None),
        lambda facts: facts["chain"].update(layer="right"),
    ],
    ids=range(8),
)
def test_what_is_missing_unknown_or_of_another_type_does_not(
    spoil: Callable[[dict[str, Any]], object],
) -> None:
    facts = written()
    spoil(facts)
    assert problems(facts) != []


# --- the schema, made from the classes that are written into a verdict file --------------------
#
# Its version changes when a program that reads verdict files would have to change.

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
