"""The worked examples of a draw see whether it comes from the generator that is passed in.

One answer looks like another; only two of them side by side tell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.checks.reference import read_reference
from autograder.judging.asking import ask_examples
from autograder.judging.examples import mistake_words_of, read_examples
from autograder.judging.inprocess import InProcess
from autograder.values.verdict import Finding
from support.learner_workspace import ROOT

SAME = "Your weights stay the same when `rng` has another seed: they do not come from it."
OTHERS = "Your weights change although `rng` has the same seed: they do not come from it alone."
ONE_OTHER = "Two calls with the same seed in `rng` give different numbers. That is seen in `{}`."
STREAM = "Two calls with one and the same generator give the same numbers."
LAYERS = "Two calls make layers with the same numbers."
SEED = "After your code has run, PyTorch draws the same random numbers every time."
START = (
    "def initialize_weights(embedding_dimension, rng):\n    shape = (embedding_dimension,) * 2\n"
)
FOUR = "    return tuple({generator}.normal(0, 0.02, shape) for _ in range(4))\n"

WRONG = {
    "NumPy's own generator": (START + FOUR.format(generator="np.random"), OTHERS),
    "a new generator": (START + FOUR.format(generator="np.random.default_rng()"), OTHERS),
    "a fixed seed": (
        f"{START}    rng = np.random.default_rng(0)\n" + FOUR.format(generator="rng"),
        SAME,
    ),
    "a global seed": (
        f"{START}    np.random.seed(0)\n" + FOUR.format(generator="np.random"),
        SAME,
    ),
    "a copy": (
        f"{START}    import copy\n    rng = copy.deepcopy(rng)\n" + FOUR.format(generator="rng"),
        STREAM,
    ),
    "one matrix of four": (
        f"{START}    *others, _ = (rng.normal(0, 0.02, shape) for _ in range(4))\n"
        "    return (*others, np.random.normal(0, 0.02, shape))\n",
        ONE_OTHER.format("output_weights"),
    ),
}
RIGHT = {
    "normal": START + FOUR.format(generator="rng"),
    "one draw": f"{START}    return tuple(0.02 * rng.standard_normal((4, *shape)))\n",
    "another order": (
        f"{START}    o, v, k, q = (0.02 * rng.standard_normal(shape) for _ in range(4))\n"
        "    return q, k, v, o\n"
    ),
    "a generator for each": (
        f"{START}    return [each.normal(0, 0.02, shape) for each in rng.spawn(4)]\n"
    ),
}
CLASS = """\
class {name}(Reference):
    def __init__(self, *arguments):
        {lines}
"""
CLASSES = {
    "a fixed seed": (
        "numpy_single_head",
        "super().__init__(arguments[0], np.random.default_rng(0))",
        SAME,
    ),
    "a new generator": (
        "numpy_single_head",
        "super().__init__(arguments[0], np.random.default_rng())",
        OTHERS,
    ),
    "nothing": ("numpy_single_head", "super().__init__(*arguments)", ""),
    "a torch seed": (
        "torch_multi_head",
        "torch.manual_seed(0)\n        super().__init__(*arguments)",
        SEED,
    ),
    "a torch seed, taken back": (
        "torch_multi_head",
        "with torch.random.fork_rng(devices=[]):\n"
        "            torch.manual_seed(0)\n"
        "            super().__init__(*arguments)",
        LAYERS,
    ),
    "nothing in torch": ("torch_multi_head", "super().__init__(*arguments)", ""),
}


def told(exercise: str, step: str, code: str) -> Finding | None:
    """What the worked examples of a step say about code of it, the others being right."""
    reference = read_reference(ROOT / "solutions" / exercise)
    names: dict[str, Any] = {**vars(reference.module), "Reference": vars(reference.module)[step]}
    exec(code, names)
    respondent = InProcess(names, reference.exercise.library)
    examples = read_examples(ROOT / "assignments" / exercise)
    np.random.seed(5)  # the global generator, which some of the code draws from
    return ask_examples(reference.exercise.step(step), examples, respondent).verdict.finding


@pytest.mark.parametrize("code, fact", WRONG.values(), ids=WRONG)
def test_weights_that_do_not_come_from_the_generator_are_told(code: str, fact: str) -> None:
    finding = told("numpy_single_head", "initialize_weights", code)
    assert finding and finding.fact == fact and finding.look.endswith("?")


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_every_way_to_draw_from_the_generator_passes(code: str) -> None:
    assert told("numpy_single_head", "initialize_weights", code) is None


@pytest.mark.parametrize("exercise, lines, fact", CLASSES.values(), ids=CLASSES)
def test_a_layer_is_held_to_the_same(exercise: str, lines: str, fact: str) -> None:
    step = "SingleHeadAttention" if exercise == "numpy_single_head" else "MultiHeadAttention"
    finding = told(exercise, step, CLASS.format(name=step, lines=lines))
    # What a known mistake is about is told in a layer, too.
    of_step = (
        "The fault is in `initialize_weights`, or in the part of `__init__` that does its work. "
    )
    assert (finding.fact.removeprefix(of_step) if finding else "") == fact


def test_mistakes_that_only_two_answers_show_have_words_and_a_step() -> None:
    examples = read_examples(ROOT / "assignments" / "numpy_single_head")
    assert mistake_words_of(examples)["numbers_of_a_fixed_seed"].startswith(SAME)
    layer = [each for each in examples if each.step == "SingleHeadAttention" and each.pairs]
    steps = {each.name: each.step for example in layer for each in example.known}
    assert steps["numbers_of_a_fixed_seed"] == "initialize_weights"
