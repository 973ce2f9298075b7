"""What students are told, kept as text that a person can read: tests/golden/messages.md.

Run this file as a program to write the text anew; the difference is then there to be read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.authoring.harness import read_harness
from autograder.grading.batch import grade_batch
from autograder.submission.reading import Submission
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Verdict

pytestmark = pytest.mark.slow  # every message there is

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "messages.md"
EXERCISES = (
    "numpy_single_head",
    "torch_single_head",
    "torch_multi_head",
    "vit_multi_head",
    "stretch_steps",
)
NUMPY = "import numpy as np\n"
TORCH = "import math\nimport torch\nfrom torch import Tensor, nn\n"

# What a student might write that is in no catalogue: a name for it, exercise, step, code.
CASES = {
    "not written": ("numpy_single_head", "softmax", "def softmax(scores):\n    raise NotImplementedError"),
    "no such function": ("numpy_single_head", "softmax", "def soft_max(scores):\n    return scores"),
    "nothing returned": ("numpy_single_head", "softmax", "def softmax(scores):\n    np.exp(scores)"),
    "a list returned": ("numpy_single_head", "softmax", "def softmax(scores):\n    return scores.tolist()"),
    "one number returned": ("numpy_single_head", "softmax", "def softmax(scores):\n    return 1.0"),
    "text returned": ("numpy_single_head", "softmax", "def softmax(scores):\n    return 'done'"),
    "whole numbers": ("numpy_single_head", "scale_scores", "def scale_scores(attention_scores, embedding_dimension):\n    return (attention_scores / embedding_dimension ** 0.5).astype(int)"),
    "two results of three": ("numpy_single_head", "project_qkv", "def project_qkv(x, query_weights, key_weights, value_weights):\n    return x @ query_weights, x @ key_weights"),
    "one result of three": ("numpy_single_head", "project_qkv", "def project_qkv(x, query_weights, key_weights, value_weights):\n    return x @ query_weights"),
    "a wrong shape": ("numpy_single_head", "compute_attention_scores", "def compute_attention_scores(queries, keys):\n    return (queries * keys).sum(axis=-1)"),
    "a constant factor": ("numpy_single_head", "project_output", "def project_output(attention_output, output_weights):\n    return 3 * attention_output @ output_weights"),
    "swapped axes": ("numpy_single_head", "project_output", "def project_output(attention_output, output_weights):\n    return (attention_output @ output_weights).swapaxes(0, 1)"),
    "a transposed result": ("numpy_single_head", "compute_attention_weights", "def compute_attention_weights(scores):\n    powers = np.exp(scores - scores.max(-1, keepdims=True))\n    return (powers / powers.sum(-1, keepdims=True)).swapaxes(-2, -1)"),
    "some rows right": ("numpy_single_head", "apply_attention", "def apply_attention(attention_weights, values):\n    output = attention_weights @ values\n    output[:, 1:] += 1\n    return output"),
    "one batch right": ("numpy_single_head", "apply_attention", "def apply_attention(attention_weights, values):\n    output = attention_weights @ values\n    return output[[0] * len(output)]"),
    "numbers that are not finite": ("numpy_single_head", "scale_scores", "def scale_scores(attention_scores, embedding_dimension):\n    return attention_scores / 0.0"),
    "an operand that does not fit": ("numpy_single_head", "apply_attention", "def apply_attention(attention_weights, values):\n    return attention_weights @ values.swapaxes(-2, -1)"),
    "a wrong signature": ("numpy_single_head", "apply_mask", "def apply_mask(scaled_scores):\n    return scaled_scores"),
    "a name that is not defined": ("numpy_single_head", "softmax", "def softmax(scores):\n    return np.exp(score)"),
    "a syntax error": ("numpy_single_head", "softmax", "def softmax(scores)\n    return scores"),
    "a loop without end": ("numpy_single_head", "softmax", "def softmax(scores):\n    while True:\n        pass"),
    "a process that ends": ("numpy_single_head", "softmax", "def softmax(scores):\n    __import__('os')._exit(0)"),
    "too much memory": ("numpy_single_head", "softmax", "def softmax(scores):\n    return np.ones((1 << 20, 1 << 14))"),
    "too much output": ("numpy_single_head", "softmax", "def softmax(scores):\n    while True:\n        print('x' * 100_000)"),
    "a fixed seed": ("numpy_single_head", "initialize_weights", "def initialize_weights(embedding_dimension, rng):\n    rng = np.random.default_rng(0)\n    return [0.02 * rng.standard_normal((embedding_dimension,) * 2) for _ in range(4)]"),
    "another spread": ("numpy_single_head", "initialize_weights", "def initialize_weights(embedding_dimension, rng):\n    return [0.05 * rng.standard_normal((embedding_dimension,) * 2) for _ in range(4)]"),
    "an attribute that is missing": ("numpy_single_head", "SingleHeadAttention", "class SingleHeadAttention:\n    def __init__(self, embedding_dimension, rng):\n        self.W_q = rng.normal(0, 0.02, (embedding_dimension,) * 2)"),
    "two mistakes in one forward": ("numpy_single_head", "SingleHeadAttention", """\
class SingleHeadAttention:
    def __init__(self, embedding_dimension, rng):
        for name in ("query", "key", "value", "output"):
            setattr(self, name + "_weights", rng.normal(0, 0.02, (embedding_dimension,) * 2))

    def forward(self, x, causal=False):
        q, k, v = x @ self.query_weights, x @ self.key_weights, x @ self.value_weights
        scores = q @ k.swapaxes(-2, -1)
        if causal:
            scores = np.where(np.tril(np.ones(scores.shape[1:])) == 1, scores, -1e9)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ v
"""),
    "one mistake in a forward without steps": ("numpy_single_head", "SingleHeadAttention", """\
class SingleHeadAttention:
    def __init__(self, embedding_dimension, rng):
        for name in ("query", "key", "value", "output"):
            setattr(self, name + "_weights", rng.normal(0, 0.02, (embedding_dimension,) * 2))

    def forward(self, x, causal=False):
        q, k, v = x @ self.query_weights, x @ self.key_weights, x @ self.value_weights
        scores = q @ k.swapaxes(-2, -1)
        if causal:
            scores = np.where(np.tril(np.ones(scores.shape[1:])) == 1, scores, -1e9)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ v @ self.output_weights
"""),
    "an array where a tensor is expected": ("torch_single_head", "scale_scores", "def scale_scores(attention_scores, head_dim):\n    return attention_scores.numpy() / head_dim ** 0.5"),
    "a module that is not imported": ("torch_single_head", "scale_scores", "del math\ndef scale_scores(attention_scores, head_dim):\n    return attention_scores / math.sqrt(head_dim)"),
    "a layer with another name": ("torch_single_head", "SingleHeadAttention", "class SingleHeadAttention(nn.Module):\n    def __init__(self, hidden_size, bias=True):\n        super().__init__()\n        self.qkv = nn.Linear(hidden_size, hidden_size // 4 * 3, bias)\n        self.Wo = nn.Linear(hidden_size // 4, hidden_size, bias)"),
    "a layer the other way round": ("torch_single_head", "SingleHeadAttention", "class SingleHeadAttention(nn.Module):\n    def __init__(self, hidden_size, bias=True):\n        super().__init__()\n        self.Wqkv = nn.Linear(hidden_size, hidden_size // 4 * 3, bias)\n        self.Wo = nn.Linear(hidden_size, hidden_size // 4, bias)"),
    "no call of super().__init__()": ("torch_single_head", "SingleHeadAttention", "class SingleHeadAttention(nn.Module):\n    def __init__(self, hidden_size, bias=True):\n        self.Wqkv = nn.Linear(hidden_size, hidden_size // 4 * 3, bias)"),
    "numbers dropped": ("torch_single_head", "apply_attention", "def apply_attention(attention_weights, values):\n    return nn.functional.dropout(attention_weights @ values, 0.5)"),
}  # fmt: skip


def transcript() -> str:
    """Every message, in Markdown: one per case, then one per step of every exercise."""
    parts = ["# What students are told\n", "## Code that is in no catalogue\n", *_uncatalogued()]
    for name in EXERCISES:
        parts += [f"## Known mistakes: {name}\n", *_known(name)]
    return "\n".join(parts)


def _uncatalogued() -> Iterator[str]:
    verdicts: dict[str, Verdict] = {}
    for exercise in dict.fromkeys(exercise for exercise, _, _ in CASES.values()):
        folder = ROOT / "solutions" / exercise
        imports = TORCH if read_exercise(folder).library == "torch" else NUMPY
        submissions = [
            Submission(name, exercise, (imports, code), Path(f"{name}.py"))
            for name, (of, _, code) in CASES.items()
            if of == exercise
        ]
        verdicts |= {verdict.student: verdict for verdict in grade_batch(folder, submissions)}
    for name, (_, step, code) in CASES.items():
        judged = next(each for each in verdicts[name].steps if each.name == step)
        assert judged.finding, f"{name} is not found to be wrong"
        yield f"### {name}\n\n```python\n{code.strip()}\n```\n\n{judged.finding.message}\n"


def _known(name: str) -> Iterator[str]:
    """The first known mistake of every step."""
    harness = read_harness(ROOT / "solutions" / name)
    told = set()
    for known in harness.reference.misconceptions:
        if known.step in told:
            continue
        told.add(known.step)
        with harness.replaced({known.step: known.wrong}):
            seen = [one.finding for one in harness.run_step(known.step).values() if one.finding]
        yield f"### {known.step}: {known.name.replace('_', ' ')}\n\n{seen[0].message}\n"


@pytest.fixture(scope="module")
def written() -> str:
    return transcript()


def test_every_message_is_as_it_was_when_a_person_read_it(written: str) -> None:
    golden = GOLDEN.read_text(encoding="utf-8")
    changed = "\n".join(
        difflib.unified_diff(golden.splitlines(), written.splitlines(), lineterm="", n=1)
    )
    assert not changed, (
        f"read the difference, then run python {Path(__file__).relative_to(ROOT)}:\n{changed}"
    )


def test_there_are_at_least_fifty_messages_and_none_shouts(written: str) -> None:
    messages = [part for part in written.split("\n### ")[1:]]
    assert len(messages) >= 50
    assert not [message for message in messages if "!" in message.split("```")[-1]]


if __name__ == "__main__":
    GOLDEN.write_text(transcript(), encoding="utf-8")
