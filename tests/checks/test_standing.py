"""Standing properties: what is wrong in a way that no author's check looks at is seen all the same.

Each answer passes the checks of the author. It is put in the place of the reference's step, and
asked in process.
"""

from __future__ import annotations

from functools import partial

import pytest

from autograder.judging.conditions import STANDING
from support.written_answers import WrittenAnswer, answers_in, harness_of, hidden_findings

NUMPY = """
# product of the first weights:
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        self.first = getattr(self, "first", self.query_weights)
        self.query_weights, own = self.first, self.query_weights
        result = super().forward(x, causal)
        self.query_weights = own
        return result

# weights scaled at every call:
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        result = super().forward(x, causal)
        self.value_weights = self.value_weights * 0.9
        return result

# the same tokens again:
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        if getattr(self, "x", None) is not x:
            self.x, self.result = x, super().forward(x, causal)
        return self.result

# mask of the first call: called again
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        self.size = getattr(self, "size", x.shape[1])
        if x.shape[1] > self.size:
            raise ValueError("operands could not be broadcast together")
        return super().forward(x, causal)

# causal by name only: positional
class SingleHeadAttention(Reference):
    def forward(self, x, *, causal=False):
        return super().forward(x, causal)

# a softmax that overflows:
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

# a score of 0 is hidden:
def apply_mask(scores, mask):
    masked = scores * mask
    return np.where(masked == 0, -1e9, masked)

# one array for every result:
def softmax(scores, kept={}):
    result = kept.setdefault((scores.shape, scores.dtype), np.empty_like(scores))
    result[...] = Reference(scores)
    return result

# a score of 0 has no share: some shares are 0
def softmax(scores):
    return Reference(np.where(scores == 0, -np.inf, scores))

# a copy of the generator: draw from a copy of `rng`
def initialize_weights(embedding_dimension, rng):
    import copy
    return Reference(embedding_dimension, copy.deepcopy(rng))

# a seed for all code: `np.random` gives the same random numbers every time
def initialize_weights(embedding_dimension, rng):
    np.random.seed(0)
    return Reference(embedding_dimension, rng)

# a seed in the constructor: Which line sets a seed? (`np.random.seed`)
class SingleHeadAttention(Reference):
    def __init__(self, embedding_dimension, rng):
        np.random.seed(42)
        super().__init__(embedding_dimension, rng)

# a seed of python: Python's `random` gives the same random numbers every time
def softmax(scores):
    import random
    random.seed(1)
    return Reference(scores)

# one matrix from elsewhere: That is seen in `output_weights`.
def initialize_weights(embedding_dimension, rng):
    *others, output = Reference(embedding_dimension, rng)
    return (*others, np.random.normal(0, 0.02, output.shape))

# a layer with a seed of its own: stay the same when `rng` has another seed
class SingleHeadAttention(Reference):
    def __init__(self, embedding_dimension, rng):
        super().__init__(embedding_dimension, np.random.default_rng(0))

# perpendicular rows: perpendicular
def initialize_weights(embedding_dimension, rng):
    draws = Reference(embedding_dimension, rng)
    size = 0.02 * embedding_dimension**0.5
    return tuple(np.linalg.qr(each)[0] * size for each in draws)

# the very mean: exactly
def initialize_weights(embedding_dimension, rng):
    return tuple(each - each.mean() for each in Reference(embedding_dimension, rng))

# keeps causal:
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        self.causal = getattr(self, "causal", False) or causal
        return super().forward(x, self.causal)

# weights on the class: What does one call share with another
class SingleHeadAttention(Reference):
    def __init__(self, embedding_dimension, rng):
        super().__init__(embedding_dimension, rng)
        for name in list(vars(self)):
            setattr(SingleHeadAttention, name, vars(self).pop(name))

# one kept result:
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        result = super().forward(x, causal)
        if getattr(self, "kept", result[:0]).shape != result.shape:
            self.kept = np.empty_like(result)
        self.kept[...] = result
        return self.kept

# half a draw: share many numbers
def initialize_weights(embedding_dimension, rng):
    *others, values, output = Reference(embedding_dimension, rng)
    output[len(output) // 2 :] = values[: len(output) // 2]
    return (*others, values, output)

# one matrix kept:
def initialize_weights(embedding_dimension, rng, kept={}):
    *others, output = Reference(embedding_dimension, rng)
    return (*others, kept.setdefault(embedding_dimension, output))

# mask of eight tokens:
def create_causal_mask(sequence_length):
    mask = Reference(sequence_length)
    mask[8:] = 1
    return mask

# low scores are masked:
def softmax(scores):
    return Reference(np.where(scores < -1000, -1e9, scores))

# minus infinity has a share:
def softmax(scores):
    return Reference(np.maximum(scores, scores.max(axis=-1, keepdims=True) - 8))
"""
TORCH = """
# tokens kept in evaluation:
class MultiHeadAttention(Reference):
    def forward(self, x):
        if self.training:
            return super().forward(x)
        self.shape = getattr(self, "shape", None)
        if self.shape != x.shape:
            self.shape, self.result = x.shape, super().forward(x)
        return self.result

# no gradients in evaluation:
class MultiHeadAttention(Reference):
    def forward(self, x):
        with torch.set_grad_enabled(self.training and torch.is_grad_enabled()):
            return super().forward(x)

# frozen by evaluation:
class MultiHeadAttention(Reference):
    def eval(self):
        self.requires_grad_(False)
        return super().eval()

# evaluation by itself: switches between training and evaluation by itself
class MultiHeadAttention(Reference):
    def forward(self, x):
        self.eval()
        return super().forward(x)

# gradients for its input: record gradients for a tensor that it is given
class MultiHeadAttention(Reference):
    def forward(self, x):
        return super().forward(x.requires_grad_())

# gradients for the scores: record gradients for a tensor that it is given
def scale_scores(attention_scores, head_dim):
    attention_scores.requires_grad = True
    return Reference(attention_scores, head_dim)

# a score of 0 is hidden: also visible ones of 0
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

# a seed in forward: PyTorch draws the same random numbers every time
class MultiHeadAttention(Reference):
    def forward(self, x):
        torch.manual_seed(0)
        return super().forward(x)

# a bias is always there: NoneType
class MultiHeadAttention(Reference):
    def forward(self, x):
        return super().forward(x) + 0 * self.Wo.bias

# head size on the class:
class MultiHeadAttention(Reference):
    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__(hidden_size, num_heads, bias)
        MultiHeadAttention.head_dim = hidden_size // num_heads

    def forward(self, x):
        return super().forward(x) * (self.head_dim * self.num_heads == x.shape[-1])

# heads on the class:
class MultiHeadAttention(Reference):
    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__(hidden_size, num_heads, bias)
        del self.num_heads
        MultiHeadAttention.num_heads = num_heads

# layers in a list: leaves out weights
class MultiHeadAttention(Reference):
    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__(hidden_size, num_heads, bias)
        self.kept = [self._modules.pop("Wqkv")]

    Wqkv = property(lambda self: self.kept[0])

# parameters of its own: leaves out weights
class MultiHeadAttention(Reference):
    def parameters(self, recurse=True):
        return iter([self.Wo.weight])

# a parameter more: parameters beside the expected ones
class MultiHeadAttention(Reference):
    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__(hidden_size, num_heads, bias)
        self.temperature = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.temperature * super().forward(x)

# another answer without gradients: records no gradients
class MultiHeadAttention(Reference):
    def forward(self, x):
        return super().forward(x) * (1 if torch.is_grad_enabled() else 2)

# rows of the other layer: not separate draws
class MultiHeadAttention(Reference):
    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__(hidden_size, num_heads, bias)
        with torch.no_grad():
            self.Wqkv.weight[:hidden_size] = self.Wo.weight

# a layer that does more: does more than
class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)

def create_projections(hidden_size, bias=True):
    first, second = Reference(hidden_size, bias)
    doubled = Doubled(hidden_size, hidden_size, bias)
    return first, doubled

# a hook: does more than
def create_projections(hidden_size, bias=True):
    first, second = Reference(hidden_size, bias)
    second.register_forward_hook(lambda layer, given, result: result.relu())
    return first, second

# one maximum for all rows:
def compute_attention_weights(scaled_scores):
    exponentials = torch.exp(scaled_scores - scaled_scores.max())
    return exponentials / exponentials.sum(dim=-1, keepdim=True)

# no maximum below zero:
def compute_attention_weights(scaled_scores):
    largest = scaled_scores.amax(dim=-1, keepdim=True).clamp(min=0)
    exponentials = torch.exp(scaled_scores - largest)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)

# four heads at most:
def split_heads(qkv, num_heads):
    parts = Reference(qkv, num_heads)
    return tuple(part * (torch.arange(num_heads) < 5)[:, None, None] for part in parts)
"""
STRETCH = """
# padding seen far to the right:
def hide_padding(scaled_scores, padding_mask):
    far = torch.arange(padding_mask.shape[1]) > 7
    return Reference(scaled_scores, padding_mask | far)

# eight places at most:
def create_padding_mask(lengths, num_tokens):
    return Reference(lengths.clamp(max=8), num_tokens)

# lengths of the first call: called again
class CrossAttention(Reference):
    def forward(self, x, context, lengths=None):
        if lengths is not None:
            self.lengths = getattr(self, "lengths", lengths)
            if len(self.lengths) == len(lengths):
                lengths = self.lengths
        return super().forward(x, context, lengths)

# a context that learns nothing: gradient
def project_two_sequences(x, context, Wq, Wkv):
    return Reference(x, context.detach(), Wq, Wkv)
"""
EXERCISES = {
    "numpy_single_head": answers_in(NUMPY),
    "torch_multi_head": answers_in(TORCH),
    "stretch_steps": answers_in(STRETCH),
}
SLOW = {"stretch_steps": (pytest.mark.slow,)}  # built like the others, of other parts
CASES = [
    pytest.param(exercise, answer, id=f"{exercise}: {name}", marks=SLOW.get(exercise, ()))
    for exercise, answers in EXERCISES.items()
    for name, answer in answers.items()
]
RIGHT = """
# draws for nothing and sets no seed:
def softmax(scores):
    np.random.normal(size=3)
    return Reference(scores)
"""


@pytest.mark.parametrize("exercise, answer", CASES)
def test_what_only_a_standing_property_sees_is_told(exercise: str, answer: WrittenAnswer) -> None:
    found = hidden_findings(exercise, answer)
    assert found
    assert any(answer.says in finding.message for finding in found), found[0].message


def test_a_step_that_draws_for_nothing_and_sets_no_seed_is_right() -> None:
    (answer,) = answers_in(RIGHT).values()
    assert hidden_findings("numpy_single_head", answer) == []


@pytest.mark.parametrize(
    "exercise", [pytest.param(name, marks=SLOW.get(name, ())) for name in EXERCISES]
)
def test_the_same_step_built_on_the_reference_without_a_fault_passes(exercise: str) -> None:
    harness = harness_of(exercise)
    for step in {answer.step for answer in EXERCISES[exercise].values()}:
        kept = vars(harness.module)[step]
        again = type(step, (kept,), {}) if isinstance(kept, type) else partial(kept)
        with harness.replaced({step: again}):
            seen = harness.run_step(step)
        assert any(check.name.startswith(STANDING) for check in seen), step
        assert not any(result.finding for result in seen.values()), step
