"""Checks that exercises share, and the inputs drawn for them.

A method makes one check. graders.py gives it its marks and its name, from which its inputs are
drawn. The first line of a check's docstring is its title, as everywhere.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from autograder.checks import walkthrough_beside
from autograder.worker.wire import Linear

# Of a check that gives a step such a layer as `bias=False` makes.
BARE = pytest.mark.stays(
    "a step that adds the bias of its layer by hand is right in every other check, and raises an "
    "error in a layer that has none; that error names the cause"
)
# Of two checks that ask the same with vectors of different widths.
AT_TWO_WIDTHS = pytest.mark.stays(
    "at one width, a fixed number gives the very result of some root; at a second one it does not, "
    "so a student is told which of the two it is"
)
WITHOUT_BIAS = "bias=False leaves the bias out of both layers"


def sizes(*drawn):
    """The mark of a check that is run with each of these sizes of the axes."""
    return pytest.mark.parametrize("draw", drawn, indirect=True)


def linear(draw, inputs, outputs):
    """A linear layer that keeps the spread of what it projects."""
    return Linear(draw.shaped(outputs, inputs, scale=inputs**-0.5), draw.shaped(outputs, scale=0.5))


def bare(draw, inputs, outputs):
    """A linear layer without a bias, as `bias=False` makes one."""
    return Linear(linear(draw, inputs, outputs).weight, None)


def by_hand(file, *, tokens, followed, title, dtype="float32", **steps):
    """The checks that ask each step what the text of the exercise works out by hand.

    file: the exercise's graders.py. tokens: their names; the text follows the one at the place
    `followed`. steps: what a step is called with, by its name, as a function of the walkthrough. A
    layer's is a pair: the sizes that it is made with and its weights, and what it is called with.
    """

    @functools.cache
    def text():
        return walkthrough_beside(file)

    @pytest.mark.by_hand(tokens=tokens, followed=followed)
    @pytest.mark.parametrize(
        "given",
        [pytest.param(each, marks=pytest.mark.step(step), id=step) for step, each in steps.items()],
    )
    def check(student, given):
        made, *called = given(text())
        if isinstance(made, dict):
            weights = {name: _plain(value, dtype) for name, value in made.items() if name != "made"}
            layer = student.constructed(*made["made"], **weights)
            arguments, options = called
            layer.call("forward", *(_plain(each, dtype) for each in arguments), **options).agrees()
        else:
            student(*(_plain(each, dtype) for each in (made, *called))).agrees()

    check.__doc__ = title
    return check


def shares(weights):
    """Weights as the text shows them, rounded, but such that the shares of each token sum to 1."""
    return weights / weights.sum(-1)[..., None]


def _plain(value, dtype):
    """An array or a tensor as an array of this dtype, and a linear layer as its arrays."""
    if hasattr(value, "weight"):
        bias = None if value.bias is None else _plain(value.bias, dtype)
        return Linear(_plain(value.weight, dtype), bias)
    return np.array(value.tolist(), dtype=dtype) if hasattr(value, "tolist") else value


def _check(function, step, title, marks):
    function.__doc__ = title
    for mark in (pytest.mark.step(step), *marks):
        function = mark(function)
    return function


@dataclass(frozen=True)
class StepChecks:
    """The steps inside a head.

    `scores` and `vectors` are axes, such as "B S S" and "B S head_dim"; `width` is the axis that a
    dot product runs over.
    """

    scores: str
    vectors: str
    width: str = "head_dim"

    def score_values(self, *marks):
        stays = pytest.mark.stays(
            "the other worked example has equal sizes, which cannot be read by axis, and where a "
            "wrong axis can go unseen; in this one all sizes differ, so it comes first"
        )
        return self._scores("entry (i, j) is query i times key j, unscaled", stays, *marks)

    def scores_of_equal_sizes(self, *marks):
        stays = pytest.mark.stays(
            "with equal sizes, mistakes that raise one and the same error elsewhere give numbers "
            "of their own, so a student is told which of them it is"
        )
        return self._scores("the same, with equal sizes", stays, *marks)

    def _scores(self, title, *marks):
        def check(student, draw):
            student(draw(self.vectors), draw(self.vectors)).agrees()

        return _check(check, "compute_attention_scores", title, marks)

    def scaled_values(self, *marks, by="the head size"):
        return self._scaled(f"the scores are divided by the square root of {by}", *marks)

    def scaled_at_another_width(self, *marks):
        return self._scaled("the same, with vectors of another width", *marks)

    def _scaled(self, title, *marks):
        def check(student, draw):
            width = draw[self.width]
            student(draw(self.scores, scale=width**0.5), width).agrees()

        return _check(check, "scale_scores", title, (AT_TWO_WIDTHS, *marks))

    def attention_weight_values(self, *marks):
        def check(student, draw):
            student(draw(self.scores)).agrees()

        title = "every row of scores becomes weights that sum to 1"
        return _check(check, "compute_attention_weights", title, marks)

    def weighted_sum_values(self, *marks, where=""):
        def check(student, draw):
            exponentials = np.exp(draw(self.scores))
            weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
            student(weights, draw(self.vectors)).agrees()

        title = f"each token gathers the values by its own row of weights{where}"
        return _check(check, "apply_attention", title, marks)

    def merged_values(self, *marks):
        def check(student, draw):
            student(draw(self.vectors)).agrees()

        title = "each token holds what its heads gathered, one head after the other"
        return _check(check, "merge_heads", title, marks)


# Of a layer that is asked in other precisions than float32.
OTHER_PRECISIONS = pytest.mark.stays(
    "a layer that goes on in float32 fails here alone, and always with an exception; that can have "
    "many causes, so it names none of them"
)


@dataclass(frozen=True)
class LayerChecks:
    """The layer `step`, made with `sizes` (names of axes), called with token vectors of axes `x`.

    `layers` maps the names of its linear layers to their inputs and outputs for a draw.
    """

    step: str
    sizes: tuple[str, ...]
    x: str
    layers: Mapping[str, Callable]

    @property
    def parameter_names(self):
        return tuple(f"{layer}.{part}" for layer in self.layers for part in ("weight", "bias"))

    def parameters(self, draw):
        """Weights and biases of all layers, by name."""
        layers = [linear(draw, *sizes_of(draw)) for sizes_of in self.layers.values()]
        tensors = [tensor for layer in layers for tensor in (layer.weight, layer.bias)]
        return dict(zip(self.parameter_names, tensors))

    def made(self, student, draw, *arguments, **attributes):
        """The layer as it is made, with `attributes` put into it."""
        return student.constructed(*map(draw.__getitem__, self.sizes), *arguments, **attributes)

    def loaded(self, student, draw):
        """The layer with weights that are drawn for it."""
        return self.made(student, draw, **self.parameters(draw))

    def keeps_its_layers(self, *marks, title):
        def check(student, draw):
            self.made(student, draw).attributes(*self.layers).has_layers()

        stays = pytest.mark.stays(
            "layers of a wrong name or size fail every check that puts weights into them, with an "
            "error that tells little; this one comes first and says which layer it is and what is "
            "expected"
        )
        return _check(check, self.step, title, (stays, *marks))

    def projections_without_bias(self, *marks):
        def check(student, draw):
            student(draw[self.sizes[0]], bias=False).has_layers()

        return _check(check, "create_projections", WITHOUT_BIAS, marks)

    def without_bias(self, *marks, **options):
        def check(student, draw):
            parameters = self.parameters(draw).items()
            weights = {name: each for name, each in parameters if name.endswith(".weight")}
            self.made(student, draw, False).attributes(*self.layers).has_layers()
            bare = self.made(student, draw, False, **weights)
            bare.call("forward", draw(self.x), **options).agrees()

        return _check(check, self.step, "without biases, there are none, and none is added", marks)

    def values(
        self, *marks, title="forward joins the steps; every token sees all tokens", **options
    ):
        def check(student, draw):
            self.loaded(student, draw).call("forward", draw(self.x), **options).agrees()

        return _check(check, self.step, title, marks)

    def gradients(self, *marks, options=()):
        def check(student, draw):
            layer = self.loaded(student, draw)
            arguments = (self.parameter_names, "forward", draw(self.x), *options)
            layer.gradients(*arguments, backward=draw(self.x)).agrees()

        title = "a backward pass gives every parameter its gradient"
        return _check(check, self.step, title, marks)

    def in_another_precision(self, dtype, *marks, **options):
        def check(student, draw):
            layer = self.loaded(student, draw).cast(dtype)
            layer.call("forward", draw(self.x), **options).agrees()

        title = f"the layer works in {dtype} too"
        return _check(check, self.step, title, (OTHER_PRECISIONS, *marks))

    def end_to_end(self):
        @pytest.mark.chain_of_steps
        def check(chain, draw):
            """your own steps, one after the other"""
            import torch  # the exercise in NumPy shares this file, and does without

            x, tensors = draw(self.x), self.parameters(draw)
            weights = {name: torch.from_numpy(array) for name, array in tensors.items()}

            def forward(attention):
                layer = getattr(attention, self.step)(*map(draw.__getitem__, self.sizes))
                layer.load_state_dict(weights)
                return layer.forward(torch.from_numpy(x))

            chain(forward)

        return check
