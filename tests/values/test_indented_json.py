"""Verdicts are written as Python's own JSON writer writes them, without what is left out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

import pytest

from autograder.values.value_file import indented_json


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Part:
    name: str
    value: object
    hidden: str = "not written"


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    left: Part | None
    color: Color = Color.RED


VALUES: list[object] = [
    None,
    True,
    False,
    0,
    -3,
    10**30,
    1.0,
    0.1 + 0.2,
    1e-300,
    float("inf"),
    "",
    'a "quote", a \\ and \n \t \x00 \x7f',
    "é ✓ \u2028 \ud800 🙂",
    (),
    [],
    {},
    (1, (2, ()), [3]),
    {"a": {"b": ()}, "c": [None]},
    Color.RED,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_written_as_by_json_dumps(value: object) -> None:
    whole = Whole((Part("first", value), Part("second", (value, value))), Part("left", None))

    def kept(items: list[tuple[str, object]]) -> dict[str, object]:
        return {name: each for name, each in items if name != "hidden"}

    expected = json.dumps(asdict(whole, dict_factory=kept), indent=2, ensure_ascii=False)
    assert indented_json(whole, ("hidden",)) == expected


def test_what_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError):
        indented_json(Part("a", object()))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_the_indentation_may_be_another(value: object) -> None:
    facts = {"ada": [{"value": value}], "ben": []}
    assert indented_json(facts, indent=1) == json.dumps(facts, indent=1, ensure_ascii=False)
