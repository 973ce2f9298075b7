"""Whole hand-ins with mistakes that nobody has given a name."""

from __future__ import annotations

from support.reference_steps import reference_steps

IMPORTS = {
    "numpy": "import math\nimport numpy as np\nfrom jaxtyping import Float\n",
    "torch": "import math\nimport torch\nfrom jaxtyping import Float\nfrom torch import nn\n",
}
# Two ways to write one mistake, and another mistake.
SHARPER = """
def compute_attention_weights(scores):
    weights = softmax(scores)  # written by <b>Ada</b>
    return weights**1.3 / (weights**1.3).sum(axis=-1, keepdims=True) * 0.9
"""
SHARPER_TOO = """
def compute_attention_weights(scores):
    powers = np.exp(1.3 * (scores - scores.max(axis=-1, keepdims=True)))
    total = powers.sum(axis=-1, keepdims=True)
    return 0.9 * (powers / total)
"""
FLATTER = """
def compute_attention_weights(scores):
    weights = softmax(scores)
    return weights**0.7 / (weights**0.7).sum(axis=-1, keepdims=True) * 0.9
"""
# One that has a name.
NOT_THE_ROOT = "def scale_scores(scores, model_dim):\n    return scores / model_dim"


def written(exercise: str, **changed: str) -> str:
    """The reference of an exercise as one file, with some steps in other words."""
    steps = reference_steps(exercise) | changed
    return IMPORTS[exercise.split("_")[0]] + "\n\n".join(steps.values())
