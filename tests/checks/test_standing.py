"""Standing properties: what is wrong in a way that no author's check looks at is seen all the same.

Each answer passes the checks of the author. It is put in the place of the reference's step, and
asked in process.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.harness import Harness, read_harness
from autograder.judging.conditions import STANDING

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"

# The step, its code, and words of the finding.
NUMPY = {
    "product_of_the_first_weights": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def forward(self, x, causal=False):
                self.first = getattr(self, "first", self.query_weights)
                self.query_weights, own = self.first, self.query_weights
                result = super().forward(x, causal)
                self.query_weights = own
                return result
        """,
        "",
    ),
    "weights_scaled_at_every_call": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def forward(self, x, causal=False):
                result = super().forward(x, causal)
                self.value_weights = self.value_weights * 0.9
                return result
        """,
        "",
    ),
    "the_same_tokens_again": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def forward(self, x, causal=False):
                if getattr(self, "x", None) is not x:
                    self.x, self.result = x, super().forward(x, causal)
                return self.result
        """,
        "",
    ),
    "mask_of_the_first_call": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def forward(self, x, causal=False):
                self.size = getattr(self, "size", x.shape[1])
                if x.shape[1] > self.size:
                    raise ValueError("operands could not be broadcast together")
                return super().forward(x, causal)
        """,
        "called again",
    ),
    "causal_by_name_only": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def forward(self, x, *, causal=False):
                return super().forward(x, causal)
        """,
        "positional",
    ),
    "a_softmax_that_overflows": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def forward(self, x, causal=False):
                queries, keys, values = project_qkv(
                    x, self.query_weights, self.key_weights, self.value_weights
                )
                scores = scale_scores(compute_attention_scores(queries, keys), x.shape[-1])
                if causal:
                    scores = apply_mask(scores, create_causal_mask(x.shape[1]))
                exponentials = np.exp(scores)
                weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
                return project_output(apply_attention(weights, values), self.output_weights)
        """,
        "",
    ),
    "a_score_of_0_is_hidden": (
        "apply_mask",
        """
        def apply_mask(scores, mask):
            masked = scores * mask
            return np.where(masked == 0, -1e9, masked)
        """,
        "",
    ),
    "one_array_for_every_result": (
        "softmax",
        """
        def softmax(scores, kept={}):
            result = kept.setdefault((scores.shape, scores.dtype), np.empty_like(scores))
            result[...] = Reference(scores)
            return result
        """,
        "",
    ),
    "a_score_of_0_has_no_share": (
        "softmax",
        """
        def softmax(scores):
            return Reference(np.where(scores == 0, -np.inf, scores))
        """,
        "some shares are 0",
    ),
    "a_copy_of_the_generator": (
        "initialize_weights",
        """
        def initialize_weights(embedding_dimension, rng):
            import copy
            return Reference(embedding_dimension, copy.deepcopy(rng))
        """,
        "draw from a copy of `rng`",
    ),
    "a_seed_for_all_code": (
        "initialize_weights",
        """
        def initialize_weights(embedding_dimension, rng):
            np.random.seed(0)
            return Reference(embedding_dimension, rng)
        """,
        "`np.random` gives the same random numbers every time",
    ),
    "a_seed_in_the_constructor": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def __init__(self, embedding_dimension, rng):
                np.random.seed(42)
                super().__init__(embedding_dimension, rng)
        """,
        "Which line sets a seed? (`np.random.seed`)",
    ),
    "a_seed_of_python": (
        "softmax",
        """
        def softmax(scores):
            import random
            random.seed(1)
            return Reference(scores)
        """,
        "Python's `random` gives the same random numbers every time",
    ),
    "one_matrix_from_elsewhere": (
        "initialize_weights",
        """
        def initialize_weights(embedding_dimension, rng):
            *others, output = Reference(embedding_dimension, rng)
            return (*others, np.random.normal(0, 0.02, output.shape))
        """,
        "That is seen in `output_weights`.",
    ),
    "a_layer_with_a_seed_of_its_own": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def __init__(self, embedding_dimension, rng):
                super().__init__(embedding_dimension, np.random.default_rng(0))
        """,
        "stay the same when `rng` has another seed",
    ),
    "perpendicular_rows": (
        "initialize_weights",
        """
        def initialize_weights(embedding_dimension, rng):
            draws = Reference(embedding_dimension, rng)
            size = 0.02 * embedding_dimension**0.5
            return tuple(np.linalg.qr(each)[0] * size for each in draws)
        """,
        "perpendicular",
    ),
    "the_very_mean": (
        "initialize_weights",
        """
        def initialize_weights(embedding_dimension, rng):
            return tuple(each - each.mean() for each in Reference(embedding_dimension, rng))
        """,
        "exactly",
    ),
    "keeps_causal": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def forward(self, x, causal=False):
                self.causal = getattr(self, "causal", False) or causal
                return super().forward(x, self.causal)
        """,
        "",
    ),
    "weights_on_the_class": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def __init__(self, embedding_dimension, rng):
                super().__init__(embedding_dimension, rng)
                for name in list(vars(self)):
                    setattr(SingleHeadAttention, name, vars(self).pop(name))
        """,
        "What does one call share with another",
    ),
    "one_kept_result": (
        "SingleHeadAttention",
        """
        class SingleHeadAttention(Reference):
            def forward(self, x, causal=False):
                result = super().forward(x, causal)
                if getattr(self, "kept", result[:0]).shape != result.shape:
                    self.kept = np.empty_like(result)
                self.kept[...] = result
                return self.kept
        """,
        "",
    ),
    "half_a_draw": (
        "initialize_weights",
        """
        def initialize_weights(embedding_dimension, rng):
            *others, values, output = Reference(embedding_dimension, rng)
            output[len(output) // 2 :] = values[: len(output) // 2]
            return (*others, values, output)
        """,
        "share many numbers",
    ),
    "one_matrix_kept": (
        "initialize_weights",
        """
        def initialize_weights(embedding_dimension, rng, kept={}):
            *others, output = Reference(embedding_dimension, rng)
            return (*others, kept.setdefault(embedding_dimension, output))
        """,
        "",
    ),
    "mask_of_eight_tokens": (
        "create_causal_mask",
        """
        def create_causal_mask(sequence_length):
            mask = Reference(sequence_length)
            mask[8:] = 1
            return mask
        """,
        "",
    ),
    "low_scores_are_masked": (
        "softmax",
        """
        def softmax(scores):
            return Reference(np.where(scores < -1000, -1e9, scores))
        """,
        "",
    ),
    "minus_infinity_has_a_share": (
        "softmax",
        """
        def softmax(scores):
            return Reference(np.maximum(scores, scores.max(axis=-1, keepdims=True) - 8))
        """,
        "",
    ),
}
TORCH = {
    "tokens_kept_in_evaluation": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def forward(self, x):
                if self.training:
                    return super().forward(x)
                self.shape = getattr(self, "shape", None)
                if self.shape != x.shape:
                    self.shape, self.result = x.shape, super().forward(x)
                return self.result
        """,
        "",
    ),
    "no_gradients_in_evaluation": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def forward(self, x):
                with torch.set_grad_enabled(self.training and torch.is_grad_enabled()):
                    return super().forward(x)
        """,
        "",
    ),
    "frozen_by_evaluation": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def eval(self):
                self.requires_grad_(False)
                return super().eval()
        """,
        "",
    ),
    "evaluation_by_itself": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def forward(self, x):
                self.eval()
                return super().forward(x)
        """,
        "switches between training and evaluation by itself",
    ),
    "gradients_for_its_input": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def forward(self, x):
                return super().forward(x.requires_grad_())
        """,
        "record gradients for a tensor that it is given",
    ),
    "gradients_for_the_scores": (
        "scale_scores",
        """
        def scale_scores(attention_scores, head_dim):
            attention_scores.requires_grad = True
            return Reference(attention_scores, head_dim)
        """,
        "record gradients for a tensor that it is given",
    ),
    "a_score_of_0_is_hidden": (
        "CausalMultiHeadAttention",
        """
        class CausalMultiHeadAttention(Reference):
            def forward(self, x, causal=False):
                if not causal:
                    return super().forward(x)
                queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
                scores = scale_scores(compute_attention_scores(queries, keys), keys.shape[-1])
                visible = torch.ones(x.shape[1], x.shape[1]).tril()
                scores = scores.masked_fill(scores * visible == 0, -torch.inf)
                weights = compute_attention_weights(scores)
                return project_output(merge_heads(apply_attention(weights, values)), self.Wo)
        """,
        "also visible ones of 0",
    ),
    "a_seed_in_forward": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def forward(self, x):
                torch.manual_seed(0)
                return super().forward(x)
        """,
        "PyTorch draws the same random numbers every time",
    ),
    "a_bias_is_always_there": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def forward(self, x):
                return super().forward(x) + 0 * self.Wo.bias
        """,
        "NoneType",
    ),
    "head_size_on_the_class": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def __init__(self, hidden_size, num_heads, bias=True):
                super().__init__(hidden_size, num_heads, bias)
                MultiHeadAttention.head_dim = hidden_size // num_heads

            def forward(self, x):
                return super().forward(x) * (self.head_dim * self.num_heads == x.shape[-1])
        """,
        "",
    ),
    "heads_on_the_class": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def __init__(self, hidden_size, num_heads, bias=True):
                super().__init__(hidden_size, num_heads, bias)
                del self.num_heads
                MultiHeadAttention.num_heads = num_heads
        """,
        "",
    ),
    "layers_in_a_list": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def __init__(self, hidden_size, num_heads, bias=True):
                super().__init__(hidden_size, num_heads, bias)
                self.kept = [self._modules.pop("Wqkv")]

            Wqkv = property(lambda self: self.kept[0])
        """,
        "leaves out weights",
    ),
    "parameters_of_its_own": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def parameters(self, recurse=True):
                return iter([self.Wo.weight])
        """,
        "leaves out weights",
    ),
    "a_parameter_more": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def __init__(self, hidden_size, num_heads, bias=True):
                super().__init__(hidden_size, num_heads, bias)
                self.temperature = nn.Parameter(torch.ones(()))

            def forward(self, x):
                return self.temperature * super().forward(x)
        """,
        "parameters beside the expected ones",
    ),
    "another_answer_without_gradients": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def forward(self, x):
                return super().forward(x) * (1 if torch.is_grad_enabled() else 2)
        """,
        "records no gradients",
    ),
    "rows_of_the_other_layer": (
        "MultiHeadAttention",
        """
        class MultiHeadAttention(Reference):
            def __init__(self, hidden_size, num_heads, bias=True):
                super().__init__(hidden_size, num_heads, bias)
                with torch.no_grad():
                    self.Wqkv.weight[:hidden_size] = self.Wo.weight
        """,
        "not separate draws",
    ),
    "a_layer_that_does_more": (
        "create_projections",
        """
        class Doubled(nn.Linear):
            def forward(self, x):
                return 2 * super().forward(x)

        def create_projections(hidden_size, bias=True):
            first, second = Reference(hidden_size, bias)
            doubled = Doubled(hidden_size, hidden_size, bias)
            return first, doubled
        """,
        "does more than",
    ),
    "a_hook": (
        "create_projections",
        """
        def create_projections(hidden_size, bias=True):
            first, second = Reference(hidden_size, bias)
            second.register_forward_hook(lambda layer, given, result: result.relu())
            return first, second
        """,
        "does more than",
    ),
    "one_maximum_for_all_rows": (
        "compute_attention_weights",
        """
        def compute_attention_weights(scaled_scores):
            exponentials = torch.exp(scaled_scores - scaled_scores.max())
            return exponentials / exponentials.sum(dim=-1, keepdim=True)
        """,
        "",
    ),
    "no_maximum_below_zero": (
        "compute_attention_weights",
        """
        def compute_attention_weights(scaled_scores):
            largest = scaled_scores.amax(dim=-1, keepdim=True).clamp(min=0)
            exponentials = torch.exp(scaled_scores - largest)
            return exponentials / exponentials.sum(dim=-1, keepdim=True)
        """,
        "",
    ),
    "four_heads_at_most": (
        "split_heads",
        """
        def split_heads(qkv, num_heads):
            parts = Reference(qkv, num_heads)
            return tuple(part * (torch.arange(num_heads) < 5)[:, None, None] for part in parts)
        """,
        "",
    ),
}
STRETCH = {
    "padding_seen_far_to_the_right": (
        "hide_padding",
        """
        def hide_padding(scaled_scores, padding_mask):
            far = torch.arange(padding_mask.shape[1]) > 7
            return Reference(scaled_scores, padding_mask | far)
        """,
        "",
    ),
    "eight_places_at_most": (
        "create_padding_mask",
        """
        def create_padding_mask(lengths, num_tokens):
            return Reference(lengths.clamp(max=8), num_tokens)
        """,
        "",
    ),
    "lengths_of_the_first_call": (
        "CrossAttention",
        """
        class CrossAttention(Reference):
            def forward(self, x, context, lengths=None):
                if lengths is not None:
                    self.lengths = getattr(self, "lengths", lengths)
                    if len(self.lengths) == len(lengths):
                        lengths = self.lengths
                return super().forward(x, context, lengths)
        """,
        "called again",
    ),
    "a_context_that_learns_nothing": (
        "project_two_sequences",
        """
        def project_two_sequences(x, context, Wq, Wkv):
            return Reference(x, context.detach(), Wq, Wkv)
        """,
        "gradient",
    ),
}
EXERCISES = {"numpy_single_head": NUMPY, "torch_multi_head": TORCH, "stretch_steps": STRETCH}
SLOW = {"stretch_steps": (pytest.mark.slow,)}  # built like the others, of other parts
CASES = [
    pytest.param(exercise, *case, id=f"{exercise}-{name}", marks=SLOW.get(exercise, ()))
    for exercise, cases in EXERCISES.items()
    for name, case in cases.items()
]


@cache
def harness_of(exercise: str) -> Harness:
    return read_harness(SOLUTIONS / exercise)


def answer(harness: Harness, step: str, code: str) -> Any:
    """The step that the code makes; in it, `Reference` is the reference's own."""
    lines = code.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    space = {**vars(harness.module), "Reference": vars(harness.module)[step]}
    exec("\n".join(line[indent:] for line in lines), space)
    return space[step]


@pytest.mark.parametrize("exercise, step, code, words", CASES)
def test_what_only_a_standing_property_sees_is_told(
    exercise: str, step: str, code: str, words: str
) -> None:
    harness = harness_of(exercise)
    with harness.replaced({step: answer(harness, step, code)}):
        seen = harness.run_step(step)
    findings = [result.finding for result in seen.values() if result.finding]
    assert findings
    assert any(words in finding.message for finding in findings), findings[0].message


def test_a_step_that_draws_for_nothing_and_sets_no_seed_is_right() -> None:
    harness = harness_of("numpy_single_head")
    code = """
    def softmax(scores):
        np.random.normal(size=3)
        return Reference(scores)
    """
    with harness.replaced({"softmax": answer(harness, "softmax", code)}):
        seen = harness.run_step("softmax")
    assert not any(result.finding for result in seen.values())


@pytest.mark.parametrize(
    "exercise", [pytest.param(name, marks=SLOW.get(name, ())) for name in EXERCISES]
)
def test_the_same_step_built_on_the_reference_without_a_fault_passes(exercise: str) -> None:
    harness = harness_of(exercise)
    for step in {case[0] for case in EXERCISES[exercise].values()}:
        kept = vars(harness.module)[step]
        again = type(step, (kept,), {}) if isinstance(kept, type) else partial(kept)
        with harness.replaced({step: again}):
            seen = harness.run_step(step)
        assert any(check.name.startswith(STANDING) for check in seen), step
        assert not any(result.finding for result in seen.values()), step
