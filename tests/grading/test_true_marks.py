"""Marks that are true: what no size of a usual question shows is lost, and by its own step alone.

Real code in real sandboxes, one batch for each exercise.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.grading.batch import grade_batch
from autograder.grading.journal import GradingRun
from autograder.submission.reading import Submission
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Verdict

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
LAYER = "SingleHeadAttention"


def mask(lines: str) -> str:
    return f"def create_causal_mask(sequence_length):\n    {lines}\n"


# What is written below the reference, and the steps that lose their points.
WRONG = {
    **{
        f"mask_of_{size}": (
            mask(f"return np.tril(np.ones(({size}, {size})))[:sequence_length, :sequence_length]"),
            "create_causal_mask",
        )
        for size in (16, 24, 32, 128, 256, 1024)
    },
    "eight_sequences": (
        """
def apply_attention(attention_weights, values):
    result = np.zeros_like(values)
    for b in range(min(len(values), 8)):
        result[b] = attention_weights[b] @ values[b]
    return result
""",
        "apply_attention",
    ),
    "largest_root": (
        "def scale_scores(attention_scores, D):\n"
        "    return attention_scores / min(math.sqrt(D), 16)\n",
        "scale_scores",
    ),
    "sixty_four_tokens": (
        f"""
class {LAYER}({LAYER}):
    def forward(self, x, causal=False):
        result = np.zeros_like(x)
        result[:, :64] = super().forward(x[:, :64], causal)
        return result
""",
        LAYER,
    ),
    "spread_of_0.021": (
        "def initialize_weights(D, rng):\n"
        "    return tuple(0.021 * rng.standard_normal((D, D)) for _ in range(4))\n",
        "initialize_weights",
    ),
    "mask_of_-10_000": (
        "def apply_mask(scaled_scores, causal_mask):\n"
        "    return np.where(causal_mask == 0, -1e4, scaled_scores)\n",
        "apply_mask",
    ),
    "first_score_taken_off": (
        "def softmax(scores):\n"
        "    powers = np.exp(scores - scores[..., :1])\n"
        "    return powers / powers.sum(axis=-1, keepdims=True)\n",
        "softmax",
    ),
}
# A right answer that takes one number at a time.
LOOPS = Path(__file__).resolve().parents[1] / "sample_class" / "numpy_single_head"
LOOPS /= "correct_loops.py"


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    folder = SOLUTIONS / "numpy_single_head"
    solution = (folder / "solution.py").read_text(encoding="utf-8")
    codes = {name: code for name, (code, _) in WRONG.items()}
    codes[LOOPS.stem] = LOOPS.read_text(encoding="utf-8")
    texts = {name: f"{solution}\n\nimport math\n\n{code}" for name, code in codes.items()}
    name = read_exercise(folder).name
    handed_in = [Submission(case, name, (text,), folder) for case, text in texts.items()]
    graded = grade_batch(folder, handed_in, GradingRun(secret=b"of this test"))
    return {verdict.student: verdict for verdict in graded}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_at_one_size_costs_the_step_that_does_it(
    verdicts: dict[str, Verdict], case: str
) -> None:
    wrong = [step.name for step in verdicts[case].steps if not step.passes]
    assert wrong == [WRONG[case][1]], [step.finding for step in verdicts[case].steps]


def test_a_right_answer_may_be_slow(verdicts: dict[str, Verdict]) -> None:
    slow = verdicts[LOOPS.stem]
    assert slow.points == slow.max_points, slow.steps


@pytest.mark.slow  # PyTorch imports for seconds what this layer uses
def test_a_layer_that_uses_what_pytorch_imports_late_keeps_its_points() -> None:
    folder = SOLUTIONS / "torch_single_head"
    solution = (folder / "solution.py").read_text(encoding="utf-8")
    code = """
from torch.utils.checkpoint import checkpoint

class SingleHeadAttention(SingleHeadAttention):
    def forward(self, x):
        return checkpoint(super().forward, x, use_reentrant=False)
"""
    name = read_exercise(folder).name
    handed_in = Submission("late", name, (f"{solution}\n\n{code}",), folder)
    (verdict,) = grade_batch(folder, [handed_in], GradingRun(secret=b"of this test"))
    assert verdict.points == verdict.max_points, verdict.steps
