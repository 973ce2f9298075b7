"""The published schema of verdict files: every verdict fits it, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autograder.reports.grades_csv import schema_text
from autograder.values.verdict import Finding, LayerVerdict, Outcome
from support.verdicts import verdict

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "docs" / "verdict.schema.json"
NAMED = Finding(
    Outcome.WRONG_VALUES,
    "a fact",
    "right",
    "look",
    "a_name",
    ("detail",),
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
