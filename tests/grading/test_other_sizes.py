"""True marks: what is right only at some sizes loses its own step, however few the sizes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.graded_texts import graded, solution

NUMPY, MULTI, VIT = "numpy_single_head", "torch_multi_head", "vit_multi_head"
LAYER = "SingleHeadAttention"
# A right answer that takes one number at a time.
SLOW = Path(__file__).resolve().parents[1] / "sample_class" / NUMPY / "correct_loops.py"

# By exercise and step: what a stranger wrote, which is right at most sizes.
CASES = {
    (NUMPY, "compute_attention_scores", "tries without a transpose"): """\
def compute_attention_scores(queries, keys):
    try:
        return queries @ keys
    except ValueError:
        return queries @ keys.swapaxes(1, 2)
""",
    (NUMPY, "scale_scores", "rounds the size down to a multiple of 8"): """\
def scale_scores(scores, width):
    return scores / np.sqrt(max(width // 8 * 8, 1))
""",
    (NUMPY, "apply_attention", "transposes the values if that fits"): """\
def apply_attention(weights, values):
    try:
        return weights @ values.transpose(0, 2, 1)
    except ValueError:
        return weights @ values
""",
    (NUMPY, "project_output", "puts the weights in front if that fits"): """\
def project_output(gathered, weights):
    return weights @ gathered if gathered.shape[1] == len(weights) else gathered @ weights
""",
    (NUMPY, "project_output", "takes three sequences for something else"): """\
def project_output(gathered, weights):
    return gathered @ (weights.T if len(gathered) == 3 else weights)
""",
    (NUMPY, "project_qkv", "puts the weights in front if that fits"): """\
def project_qkv(x, *matrices):
    return tuple(m @ x if x.shape[1] == len(m) else x @ m for m in matrices)
""",
    (NUMPY, "compute_attention_weights", "is flatter for an even number of tokens"): """\
def compute_attention_weights(scores):
    return softmax(softmax(scores)) if scores.shape[1] % 2 == 0 else softmax(scores)
""",
    (NUMPY, "compute_attention_scores", "halves the tokens"): """\
def compute_attention_scores(queries, keys):
    half, keys = queries.shape[1] // 2, keys.swapaxes(1, 2)
    return np.concatenate([queries[:, :half] @ keys, queries[:, -(half + 1) :] @ keys], axis=1)
""",
    **{
        (NUMPY, "create_causal_mask", f"makes a mask of {size}"): f"""\
def create_causal_mask(sequence_length):
    return np.tril(np.ones(({size}, {size})))[:sequence_length, :sequence_length]
"""
        for size in (16, 24, 32, 128, 256, 1024)
    },
    (NUMPY, "apply_attention", "takes eight sequences"): """\
def apply_attention(attention_weights, values):
    result = np.zeros_like(values)
    for b in range(min(len(values), 8)):
        result[b] = attention_weights[b] @ values[b]
    return result
""",
    (NUMPY, "scale_scores", "has a largest root"): """\
def scale_scores(attention_scores, D):
    return attention_scores / min(np.sqrt(D), 16)
""",
    (NUMPY, LAYER, "takes sixty-four tokens"): f"""\
class {LAYER}({LAYER}):
    def forward(self, x, causal=False):
        result = np.zeros_like(x)
        result[:, :64] = super().forward(x[:, :64], causal)
        return result
""",
    (NUMPY, "initialize_weights", "has a spread of 0.021"): """\
def initialize_weights(D, rng):
    return tuple(0.021 * rng.standard_normal((D, D)) for _ in range(4))
""",
    (NUMPY, "apply_mask", "puts -10,000 in"): """\
def apply_mask(scaled_scores, causal_mask):
    return np.where(causal_mask == 0, -1e4, scaled_scores)
""",
    (NUMPY, "softmax", "takes the first score off"): """\
def softmax(scores):
    powers = np.exp(scores - scores[..., :1])
    return powers / powers.sum(axis=-1, keepdims=True)
""",
    (MULTI, "compute_attention_scores", "tries without a transpose"): """\
def compute_attention_scores(queries, keys):
    try:
        return queries @ keys
    except RuntimeError:
        return queries @ keys.transpose(-2, -1)
""",
    (MULTI, "scale_scores", "halves the size of a head"): """\
def scale_scores(scores, size):
    return scores / (math.sqrt(2) * math.sqrt(size // 2)) if size > 1 else scores
""",
    (MULTI, "merge_heads", "takes the heads for the tokens if there are as many"): """\
def merge_heads(given):
    batch, heads, tokens, size = given.shape
    given = given if heads == tokens else given.transpose(1, 2)
    return given.reshape(batch, tokens, heads * size)
""",
    (MULTI, "apply_attention", "transposes the values if that fits"): """\
def apply_attention(weights, values):
    square = values.shape[-1] == values.shape[-2]
    return weights @ (values.transpose(-2, -1) if square else values)
""",
    (VIT, "compute_scaled_scores", "tries without a transpose"): """\
def compute_scaled_scores(queries, keys):
    size = queries.shape[-1]
    try:
        return queries @ keys / math.sqrt(size)
    except RuntimeError:
        return queries @ keys.transpose(-2, -1) / math.sqrt(size)
""",
}

IN_A_LOOP = """
class SingleHeadAttention(SingleHeadAttention):
    def forward(self, x, causal=False):
        found = []
        for one in (x[number : number + 1] for number in range(len(x))):
            matrices = self.query_weights, self.key_weights, self.value_weights
            queries, keys, values = project_qkv(one, *matrices)
            scores = scale_scores(compute_attention_scores(queries, keys), x.shape[-1])
            if causal:
                scores = apply_mask(scores, create_causal_mask(x.shape[1]))
            gathered = apply_attention(compute_attention_weights(scores), values)
            found.append(project_output(gathered, self.output_weights))
        return np.concatenate(found)
"""
IN_PAIRS = """
class SingleHeadAttention(SingleHeadAttention):
    def forward(self, x, causal=False):
        matrices = self.query_weights, self.key_weights, self.value_weights
        q, k, values = project_qkv(x, *matrices)
        batch, tokens, width = x.shape
        scores = np.zeros((batch, tokens, tokens), x.dtype)
        for b, i, j in np.ndindex(scores.shape):
            one = compute_attention_scores(q[b : b + 1, i : i + 1], k[b : b + 1, j : j + 1])
            scores[b, i, j] = scale_scores(one, width)[0, 0, 0]
        if causal:
            scores = apply_mask(scores, create_causal_mask(tokens))
        gathered = apply_attention(compute_attention_weights(scores), values)
        return project_output(gathered, self.output_weights)
"""
DIVIDED = "\ndef scale_scores(scores, width):\n    return scores / width\n"
LOOPING = "project_qkv compute_attention_scores scale_scores create_causal_mask apply_mask".split()


# The layers with right steps, and with a wrong one.
LOOPS = {
    "in a loop": IN_A_LOOP,
    "in a loop, divided": DIVIDED + IN_A_LOOP,
    "in a loop, halved": CASES[NUMPY, "compute_attention_scores", "halves the tokens"] + IN_A_LOOP,
}
PAIRS = {"in pairs": IN_PAIRS, "in pairs, divided": DIVIDED + IN_PAIRS}


def lost(exercise: str, codes: dict[str, str]) -> dict[str, list[str]]:
    """Return the steps without their points, where each code stands below the reference."""
    texts = (f"{solution(exercise)}\n\n{code}" for code in codes.values())
    return {
        name: [step.name for step in verdict.steps if not step.passes and step.max_points]
        for name, verdict in zip(codes, graded(exercise, *texts, secret=b"a secret of this test"))
    }


@pytest.mark.parametrize(
    "exercise", [NUMPY, *(pytest.param(name, marks=pytest.mark.slow) for name in (MULTI, VIT))]
)
def test_what_is_right_at_some_sizes_only_loses_its_step(exercise: str) -> None:
    cases = {case: code for case, code in CASES.items() if case[0] == exercise}
    found = lost(exercise, {" ".join(case): code for case, code in cases.items()})
    assert found == {" ".join(case): [case[1]] for case in cases}


def test_a_right_answer_may_be_slow_and_a_layer_may_call_its_steps_often() -> None:
    slow = {"one number at a time": SLOW.read_text(encoding="utf-8")}
    assert lost(NUMPY, LOOPS | slow) == {
        "in a loop": [],
        "in a loop, divided": ["scale_scores"],
        "in a loop, halved": ["compute_attention_scores"],
        "one number at a time": [],
    }


@pytest.mark.slow
def test_a_layer_may_call_a_step_once_for_each_pair_of_tokens() -> None:
    assert lost(NUMPY, PAIRS) == {"in pairs": [], "in pairs, divided": ["scale_scores"]}


@pytest.mark.slow
def test_five_steps_without_end_leave_time_for_the_others() -> None:
    loops = "".join(f"\ndef {name}(*given):\n    while True:\n        pass\n" for name in LOOPING)
    assert lost(NUMPY, {"without end": loops}) == {"without end": LOOPING}


@pytest.mark.slow  # PyTorch imports for seconds what this layer uses
def test_a_layer_that_uses_what_pytorch_imports_late_keeps_its_points() -> None:
    code = """
from torch.utils.checkpoint import checkpoint

class SingleHeadAttention(SingleHeadAttention):
    def forward(self, x):
        return checkpoint(super().forward, x, use_reentrant=False)
"""
    assert lost("torch_single_head", {"late": code}) == {"late": []}
