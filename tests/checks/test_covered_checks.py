"""An author's checks that ask what standing checks ask at other sizes only tell of mistakes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.checks.marks import by_purpose, only_tells, step_of
from autograder.grading.batch import grade_batch
from autograder.model.exercise import MANIFEST, read_exercise
from autograder.model.verdict import StepVerdict
from autograder.submission.reading import Submission
from autograder.verification.trial import read_trial

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
NUMPY, TORCH = SOLUTIONS / "numpy_single_head", SOLUTIONS / "torch_multi_head"
LAYER = "MultiHeadAttention"
COVERED = {
    "own_draws": "test_layer_keeps_its_layers[draw1]",
    "size_1": "test_layer_values[draw1]",
    "gradients": "test_layer_gradients",
    "other_precision": "test_layer_in_other_precisions[float64]",
}


def telling(folder: Path, step: str) -> set[str]:
    """Return the names of the checks of a step that only tell."""
    checks = read_trial(folder).checks
    return {item.name for item in checks if step_of(item) == step and only_tells(item)}


def judged(folder: Path, step: str, added: str = "") -> StepVerdict:
    """Return the verdict on a step of the solution with other code behind it."""
    code = f"{(folder / 'solution.py').read_text(encoding='utf-8')}\n\n{added}"
    (verdict,) = grade_batch(
        folder, [Submission("ada", read_exercise(folder).name, (code,), folder)]
    )
    return next(each for each in verdict.steps if each.name == step)


def asked(step: StepVerdict) -> set[str]:
    return {check.name for check in step.checks}


def failing(step: StepVerdict) -> set[str]:
    return {check.name for check in step.checks if check.finding}


def test_further_sizes_other_layers_gradients_and_the_other_precision_are_covered() -> None:
    assert telling(TORCH, LAYER) == set(COVERED.values())


def test_half_precision_and_sizes_that_are_refused_are_not_covered() -> None:
    own, _, standing = by_purpose([i for i in read_trial(TORCH).checks if step_of(i) == LAYER])
    names = {item.name for item in own}
    assert "test_layer_in_other_precisions[bfloat16]" in names and standing
    assert "test_heads_divide_the_hidden_size[draw1]" in names
    assert not any(name.endswith("[draw0]") for name in COVERED.values())


def test_layers_that_are_asked_for_in_another_way_are_not_covered() -> None:
    """With `bias=True`, standing checks do not ask for them."""
    assert telling(TORCH, "create_projections") == set()


@pytest.mark.parametrize("switched_off", COVERED)
def test_what_standing_checks_are_not_to_ask_they_do_not_cover(
    switched_off: str, tmp_path: Path
) -> None:
    shutil.copytree(SOLUTIONS, tmp_path / "solutions")
    folder = tmp_path / "solutions" / TORCH.name
    with (folder / MANIFEST).open("a", encoding="utf-8") as file:
        file.write(f'\n[grading.without.{LAYER}]\n{switched_off} = "for this test"\n')
    left = set(COVERED) - {switched_off}
    # Results are asked for in the other precision at sizes that have a 1.
    left -= {"other_precision"} if switched_off == "size_1" else set()
    assert telling(folder, LAYER) == {COVERED[each] for each in left}
    assert telling(folder, f"Causal{LAYER}")


def test_a_right_step_is_not_asked_what_is_covered_and_a_wrong_one_is() -> None:
    wrong = "def scale_scores(scores, width):\n    return 3 * scores\n"
    right, other = judged(NUMPY, "scale_scores"), judged(NUMPY, "scale_scores", wrong)
    assert right.passes and not other.passes
    assert "test_scaled_values[draw1]" in asked(other) - asked(right)


def test_a_gradient_that_is_cut_is_told_by_the_authors_own_check() -> None:
    cut = (
        "class Cut(MultiHeadAttention):\n"
        "    def forward(self, x):\n"
        "        return super().forward(x) - self.Wo.bias + self.Wo.bias.detach()\n\n"
        f"{LAYER} = Cut\n"
    )
    right, wrong = judged(TORCH, LAYER), judged(TORCH, LAYER, cut)
    assert right.passes and COVERED["gradients"] not in asked(right)
    assert COVERED["gradients"] in failing(wrong)
    assert wrong.finding and "Wo.bias" in f"{wrong.finding.fact} {wrong.finding.look}"


def test_a_wrong_type_is_told_by_the_authors_own_check() -> None:
    single = (
        "class Single(MultiHeadAttention):\n"
        "    def forward(self, x):\n"
        "        result = super().forward(x)\n"
        "        return result.float() if x.dtype is torch.float64 else result\n\n"
        f"{LAYER} = Single\n"
    )
    wrong = judged(TORCH, LAYER, single)
    assert failing(wrong) == {COVERED["other_precision"]}
    assert wrong.finding and "float32" in wrong.finding.fact


def test_a_size_that_is_written_down_is_not_named_after_the_first_sizes() -> None:
    """At the first sizes alone, a number equals a size."""
    tokens = read_exercise(NUMPY).grading.sizes["S"]
    scaled = f"def scale_scores(scores, width):\n    return scores / {tokens}\n"
    step = judged(NUMPY, "scale_scores", scaled)
    assert step.finding and step.finding.misconception is None
