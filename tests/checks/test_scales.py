"""The sizes of the worked examples tell any two scales apart that a learner may take.

A known mistake is named where it gives the very result that came back. Where the sizes make two
scales equal, one of them would be called by the name of the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest

from autograder.judging.conditions import STANDING
from autograder.judging.examples import Example, read_examples
from autograder.judging.expectation import Agrees
from support.learner_workspace import ROOT

# The step, what the width is, and where the sizes of the scale come from.
LAYERS = {
    "numpy_single_head": "SingleHeadAttention",
    "torch_single_head": "SingleHeadAttention",
    "torch_multi_head": "MultiHeadAttention",
    "vit_multi_head": "MultiHeadSelfAttention",
    "stretch_steps": "CrossAttention",
}
STEPS = {
    "numpy_single_head": "scale_scores",
    "torch_single_head": "scale_scores",
    "torch_multi_head": "scale_scores",
    "vit_multi_head": "compute_scaled_scores",
}
# Sizes of which no two have anything in common: rules that agree here are one and the same.
GENERIC = {"B": 101, "tokens": 103, "hidden": 107 * 109 * 4, "heads": 109, "read": 113}


def sizes_of_layer(exercise: str, example: Example) -> dict[str, int]:
    """The sizes by name; `width` is how many numbers a dot product runs over."""
    hidden, *others = (each for each in example.request.arguments if type(each) is int)
    batch, tokens, _ = example.request.method_arguments[0].shape
    sizes = {"B": batch, "tokens": tokens, "hidden": hidden}
    if exercise in ("torch_multi_head", "vit_multi_head"):
        return sizes | {"heads": others[0], "width": hidden // others[0]}
    if exercise == "stretch_steps":
        read = example.request.method_arguments[1]
        return sizes | {"read": read.shape[1], "width": hidden}
    return sizes | {"width": hidden // 4 if exercise == "torch_single_head" else hidden}


def sizes_of_step(exercise: str, example: Example) -> dict[str, int]:
    first, second = example.request.arguments
    width = second if type(second) is int else second.shape[-1]
    sizes = {"B": first.shape[0], "tokens": first.shape[-2], "width": width}
    return sizes | ({"heads": first.shape[1]} if first.ndim == 4 else {})


def divisors(sizes: Mapping[str, int]) -> dict[str, float]:
    """What somebody may divide the scores by, by what it is called."""
    width = sizes["width"]
    hidden = sizes.get("hidden", width * sizes.get("heads", 4))
    roots: dict[str, float] = {
        "the width": width,
        "the width taken three times": 3 * width,
        "the root of the width": math.sqrt(width),
        "the hidden size": hidden,
        "a quarter of the hidden size": hidden // 4,
        "three times the hidden size": 3 * hidden,
    }
    roots |= {name: sizes[name] for name in ("B", "tokens", "heads", "read") if name in sizes}
    found = {f"the root of {name}": math.sqrt(number) for name, number in roots.items()}
    found |= {f"{name} itself": float(roots[name]) for name in roots if "width" in name}
    return found | {
        "the width's root, rounded down": math.isqrt(width),
        "half of the width": width / 2,
        "nothing": 1.0,
        "2": 2.0,
        "8": 8.0,
    }


def confused(exercise: str, all_sizes: list[dict[str, int]]) -> list[tuple[str, str]]:
    """The pairs of different rules that no sizes tell apart."""
    generic = {name: size for name, size in GENERIC.items() if name in all_sizes[0]}
    parts = {"torch_multi_head": 109, "vit_multi_head": 109, "torch_single_head": 4}
    apart = divisors({**generic, "width": GENERIC["hidden"] // parts.get(exercise, 1)})
    numbers = [divisors(each) for each in all_sizes]
    return [
        (one, other)
        for one, other in combinations(apart, 2)
        if not math.isclose(apart[one], apart[other])
        and all(math.isclose(each[one], each[other], rel_tol=1e-3) for each in numbers)
    ]


def own_examples(exercise: str, step: str, method: str | None) -> list[Example]:
    examples = read_examples(ROOT / "assignments" / exercise)
    return [
        each
        for each in examples
        if (each.step, each.request.method) == (step, method)
        and not each.check.startswith(STANDING)
    ]


@pytest.mark.parametrize("exercise", LAYERS)
def test_the_examples_of_a_layer_tell_any_two_scales_apart(exercise: str) -> None:
    examples = own_examples(exercise, LAYERS[exercise], "forward")
    assert confused(exercise, [sizes_of_layer(exercise, each) for each in examples]) == []


@pytest.mark.parametrize("exercise", STEPS)
def test_the_examples_of_the_scaling_step_tell_any_two_scales_apart(exercise: str) -> None:
    examples = own_examples(exercise, STEPS[exercise], None)
    assert confused(exercise, [sizes_of_step(exercise, each) for each in examples]) == []


def test_sizes_that_make_two_scales_equal_are_seen() -> None:
    quarter = ("the root of a quarter of the hidden size", "the root of heads")
    one = {"B": 3, "tokens": 5, "hidden": 8, "heads": 2, "width": 4}
    assert quarter in confused("torch_multi_head", [one])
    assert quarter not in confused("torch_multi_head", [one, {**one, "hidden": 12, "width": 6}])


# With equal sizes, a wrong axis gives numbers of its own and no error: that is what these show.
# A mistake has a name only where its numbers are seen, so some checks need them.
EQUAL_ON_PURPOSE = (
    *("test_scores_of_equal_sizes", "test_scaled_score_values", "test_hidden_values"),
    *("test_softmax_is_stable_row_by_row", "test_weighted_sum_values"),
    "test_projection_without_bias",
)


def sizes_in(example: Example) -> dict[str, int]:
    """The size of every axis that a result of the example has, by its letter, and their number."""
    expectation = example.expectation
    assert isinstance(expectation, Agrees)
    results = expectation.expected if isinstance(expectation.expected, tuple) else ()
    named = zip(expectation.form.axes, results or (expectation.expected,))
    sizes = {
        letter: size
        for axes, array in named
        if axes and isinstance(array, np.ndarray)
        for letter, size in zip(axes.split(), array.shape)
    }
    return sizes | ({"results": len(results)} if results and sizes else {})


@pytest.mark.parametrize("exercise", sorted(LAYERS))
def test_no_axis_of_an_example_is_as_long_as_another_or_as_there_are_results(exercise: str) -> None:
    """Otherwise one of them could be taken for the other, and the shape would not tell."""
    found = [
        (each.step, each.check, sizes_in(each))
        for each in read_examples(ROOT / "assignments" / exercise)
        if not each.check.startswith(STANDING)
        and isinstance(each.expectation, Agrees)
        and each.check not in EQUAL_ON_PURPOSE
        and not each.expectation.form.tokens  # another example of the step fails with it
    ]
    alike = [each for each in found if len(set(each[2].values())) < len(each[2])]
    assert found and alike == []
