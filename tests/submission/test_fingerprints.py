"""Fingerprints of code: what a disguise does not change, and what it costs nobody to hand in."""

from __future__ import annotations

import pytest

from autograder.submission.syntax_tree import MOST_PER_STEP, fingerprints

STEPS = ("softmax", "scale")
PLAIN = """\
import numpy as np


def softmax(scores):
    shifted = scores - scores.max(axis=-1, keepdims=True)
    powers = np.exp(shifted)
    return powers / powers.sum(axis=-1, keepdims=True)


def scale(scores, size):
    return np.einsum("bij,b->bij", scores, size ** -0.5)
"""


def of(text: str) -> dict[str, frozenset[int]]:
    return fingerprints([text], STEPS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shifted", "a_b_c"),
        ("(scores):", "(scores: Float) -> Float:"),
        ("    powers = np", "    # mine\n    'mine'\n    powers = np"),
        ("import numpy as np", "import numpy as own"),
        ("bij,b->bij", "xyz, x -> xyz"),
        ("scores - scores", "(scores  -\n  scores"),
    ],
)
def test_names_comments_types_and_formatting_change_nothing(old: str, new: str) -> None:
    disguised = PLAIN.replace(old, new)
    if "own" in new:
        disguised = disguised.replace("np.", "own.")
    if "\n  scores" in new:
        disguised = disguised.replace("keepdims=True)\n    powers", "keepdims=True))\n    powers")
    assert disguised != PLAIN and of(disguised) == of(PLAIN)


def test_another_order_of_the_steps_changes_nothing() -> None:
    head, first, second = PLAIN.split("\n\n\n")
    assert of(f"{head}\n\n\n{second}\n\n\n{first}\n") == of(PLAIN)


def test_another_way_to_compute_is_another_fingerprint() -> None:
    other = of(PLAIN.replace("powers.sum(axis=-1, keepdims=True)", "np.add.reduce(powers, -1)"))
    assert other["softmax"] != of(PLAIN)["softmax"] and other["scale"] == of(PLAIN)["scale"]


def test_a_function_that_is_no_step_counts_as_other_code() -> None:
    helper = "def helper(a, b):\n    return a @ b.swapaxes(-1, -2) / b.shape[-1] ** 0.5\n"
    assert set(of(helper)) == {""} and of(helper)[""]


@pytest.mark.parametrize(
    "text",
    [
        "def softmax(x:\n",
        "def softmax(x):\n    return " + "+".join(["x"] * 30_000),
        "def softmax(x):\n    return " + "-" * 5_000 + "x",
    ],
    ids=["no Python", "very long", "very deep"],
)
def test_what_nobody_writes_by_hand_has_none(text: str) -> None:
    assert not any(of(text).values())


def test_no_step_has_more_than_the_most() -> None:
    lines = "".join(f"    x = x * {n} + x.sum({n}) - x.min({n * n})\n" for n in range(200))
    assert len(of(f"def softmax(x):\n{lines}    return x\n")["softmax"]) == MOST_PER_STEP


def test_a_number_of_thousands_of_digits_is_a_token_like_any_other() -> None:
    text = "def softmax(x):\n    return x.sum(0) + 0x{} + x.min(-1)\n"
    assert of(text.format("f" * 6000))["softmax"] == of(text.format("f" * 7000))["softmax"] != set()
