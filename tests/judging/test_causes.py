"""What makes an answer wrong is told by its cause: in real exercises, by their own checks."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from autograder.checks.grader_run import run_graders
from autograder.checks.plugin import GradingPlugin
from autograder.checks.reference import Reference, read_reference
from autograder.judging.inprocess import InProcess

ROOT = Path(__file__).resolve().parents[2]
NUMPY, TORCH, VIT = "numpy_single_head", "torch_single_head", "vit_multi_head"


@dataclass(frozen=True)
class Slip:
    """A mistake added below right code: the step, and what is said of it (a regular expression)."""

    step: str
    says: str
    code: str


def layer(line: str, class_name: str = "SingleHeadAttention") -> str:
    """A layer whose forward ends in `line`, where `right` stands for the right one."""
    return f"""
class Mine({class_name}):
    def forward(self, x):
        right = super().forward
        {line}

{class_name} = Mine
"""


LAYER = "SingleHeadAttention"
WRONG = {
    TORCH: {
        "only after eval()": Slip(
            LAYER,
            r"After `eval\(\)`, the layer gives other numbers",
            layer("return right(x) * (1 if self.training else 2)"),
        ),
        "a dropout": Slip(
            LAYER,
            "A dropout does that",
            layer("return nn.functional.dropout(right(x), 0.5, self.training)"),
        ),
        "noise": Slip(
            LAYER,
            "Asked twice with the same inputs and weights",
            layer("return right(x) + torch.randn(1)"),
        ),
        "only with one sequence": Slip(
            LAYER,
            "Where an axis has a single entry, as here",
            layer("return right(x) if len(x) > 1 else self.Wo(right(x)[..., : x.shape[-1] // 4])"),
        ),
        "the first call is kept": Slip(
            LAYER,
            "called again with other inputs, it does not",
            layer(
                "self.shift = getattr(self, 'shift', 0); y = right(x) + self.shift; "
                "self.shift = 1; return y"
            ),
        ),
        "the input is overwritten": Slip(
            LAYER,
            "It overwrites argument number 1, .* The result is not as expected either",
            layer("x.data.add_(1e-2); return right(x)"),
        ),
        "a hook": Slip(
            LAYER,
            "Going forward, your layer is right",
            layer("y = right(x); y.register_hook(lambda gradient: 2 * gradient); return y"),
        ),
        "every second weight detached": Slip(
            LAYER,
            r"Going forward, your layer is right, .* \d+ of \d+ numbers are 0",
            layer(
                "q, k, v = project_qkv(x, self.Wqkv); h = v.shape[-1] // 2; "
                "v = torch.cat([v[..., :h].detach(), v[..., h:]], -1); "
                "return self.Wo(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v)"
            ),
        ),
        "weights that repeat": Slip(
            "create_projections",
            "its 108 numbers take only 2 values",
            "def create_projections(hidden_size, bias=True):\n"
            "    d = hidden_size // 4\n"
            "    layers = nn.Linear(hidden_size, 3 * d, bias), nn.Linear(d, hidden_size, bias)\n"
            "    nn.init.eye_(layers[0].weight)\n"
            "    return layers\n",
        ),
    },
    NUMPY: {
        "two of four arrays are one": Slip(
            "initialize_weights",
            "`query_weights` and `key_weights` are not .*: they hold the same numbers",
            "def initialize_weights(embedding_dimension, rng):\n"
            "    drawn = [rng.normal(0, 0.02, (embedding_dimension,) * 2) for _ in range(3)]\n"
            "    return drawn[0], *drawn\n",
        ),
        "a number as small as 1e-9": Slip(
            "apply_mask",
            "nearly 0, so each of them still gets a share",
            "def apply_mask(scaled_scores, causal_mask):\n"
            "    return np.where(causal_mask == 0, -1e-9, scaled_scores)\n",
        ),
        "infinity without a minus": Slip(
            "apply_mask",
            "Forbidden ones hold plus infinity",
            "def apply_mask(scaled_scores, causal_mask):\n"
            "    return np.where(causal_mask == 0, np.inf, scaled_scores)\n",
        ),
        "a product of shapes that do not fit": Slip(
            "apply_attention",
            "`\\*` multiplies number by number",
            "def apply_attention(attention_weights, values):\n"
            "    return attention_weights * values\n",
        ),
        "a quotient rounded down": Slip(
            "scale_scores",
            "what is expected, rounded down to whole numbers",
            "def scale_scores(attention_scores, embedding_dimension):\n"
            "    return attention_scores // np.sqrt(embedding_dimension)\n",
        ),
    },
    VIT: {
        "two of four layers are one": Slip(
            "create_projections",
            "the same weights as another one: `q_linear`, `k_linear`",
            "def create_projections(hidden_dim):\n"
            "    layers = [nn.Linear(hidden_dim, hidden_dim) for _ in range(3)]\n"
            "    return layers[0], *layers\n",
        ),
    },
}
CASES = [(exercise, case) for exercise, slips in WRONG.items() for case in slips]


@pytest.fixture(scope="module")
def told() -> dict[tuple[str, str], dict[str, str]]:
    """What is said of every step that is not right, for each case."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for exercise in WRONG:
        reference = read_reference(ROOT / "solutions" / exercise)

        def judge(
            plugin: GradingPlugin, exercise: str = exercise, reference: Reference = reference
        ) -> None:
            for case, slip in WRONG[exercise].items():
                names = dict(vars(reference.module))
                file = f"<{case}>"
                linecache.cache[file] = (len(slip.code), None, slip.code.splitlines(True), file)
                exec(compile(slip.code, file, "exec"), names)
                steps = plugin.judged_by(InProcess(names, reference.exercise.library)).steps
                found[exercise, case] = {
                    step.name: step.finding.message for step in steps if step.finding
                }

        with np.errstate(all="ignore"):
            run_graders(GradingPlugin(reference, judge))
    return found


@pytest.mark.parametrize(("exercise", "case"), CASES)
def test_the_cause_is_told(
    told: dict[tuple[str, str], dict[str, str]], exercise: str, case: str
) -> None:
    slip = WRONG[exercise][case]
    assert re.search(slip.says, told[exercise, case][slip.step]), told[exercise, case][slip.step]
