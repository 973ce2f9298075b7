"""The graders of an exercise: every known mistake is caught, and a fault of ours is no zero.

The respondents run in this process, so that a whole class of mistakes takes seconds;
the sandbox has its own tests.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.checks.reference import Misconception, read_reference
from autograder.checks.submission_judge import JudgedSteps
from autograder.errors import KitError
from autograder.judging.examples import read_examples
from autograder.values.verdict import Outcome, StepVerdict
from support.judged_steps import judged
from support.toy_exercise import GRADERS, MISTAKES, RIGHT, toy

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "solutions" / "numpy_single_head"
REFERENCE = read_reference(FOLDER)
MISCONCEPTIONS = REFERENCE.misconceptions
NAMES = tuple(step.name for step in REFERENCE.exercise.steps)


def submission(**changes: Any) -> Mapping[str, Any]:
    """A copy of the reference in which some names are other functions: its steps call them too."""
    spec = importlib.util.spec_from_file_location("submission", FOLDER / "solution.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module).update(changes)
    return vars(module)


def wrong(name: str) -> Any:
    return next(known.wrong for known in MISCONCEPTIONS if known.name == name)


def step(verdict: JudgedSteps, name: str) -> StepVerdict:
    return next(step for step in verdict.steps if step.name == name)


# --- the mistakes of the NumPy exercise ---------------------------------------------------------


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(True, id="one of each step"),
        pytest.param(False, id="others", marks=pytest.mark.slow),
    ],
)
def mistaken(request: pytest.FixtureRequest) -> list[tuple[Misconception, JudgedSteps]]:
    """What the checks say of each known mistake alone: all the other steps are the reference's."""
    first = {known.step: known for known in reversed(MISCONCEPTIONS)}.values()
    part = [known for known in MISCONCEPTIONS if (known in first) == request.param]
    right = vars(REFERENCE.module)
    verdicts = judged(REFERENCE, *({**right, known.step: known.wrong} for known in part))
    return list(zip(part, verdicts, strict=True))


def test_every_step_has_known_mistakes() -> None:
    assert {known.step for known in MISCONCEPTIONS} == set(NAMES)


def test_a_known_mistake_is_caught_and_named_and_costs_its_own_step_only(
    mistaken: list[tuple[Misconception, JudgedSteps]],
) -> None:
    for known, judged_steps in mistaken:
        verdict = step(judged_steps, known.step)
        assert verdict.outcome in (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.RAISED), known
        assert verdict.points == 0, known
        assert verdict.finding and verdict.finding.misconception == known.name, known
        fact = " ".join(known.words.split("\n\n")[0].split())
        assert verdict.finding.fact == fact and verdict.finding.look, known
        others = [step for step in judged_steps.steps if step.name != known.step]
        assert {step.outcome for step in others} == {Outcome.PASSED}, known


def test_one_submissions_verdict_does_not_depend_on_the_one_before() -> None:
    bad, good = {"softmax": wrong("softmax_over_the_queries")}, submission()
    forth = judged(REFERENCE, bad, good)
    back = judged(REFERENCE, good, bad)
    assert [verdict.steps for verdict in forth] == [verdict.steps for verdict in reversed(back)]


# --- the chain ----------------------------------------------------------------------------------


def hides_where_the_mask_is_one(scaled_scores: Any, causal_mask: Any) -> Any:
    return np.where(causal_mask == 1, -1e9, scaled_scores)


def adds_the_mask(scaled_scores: Any, causal_mask: Any) -> Any:
    return scaled_scores + causal_mask


TOGETHER: dict[str, dict[str, Any]] = {
    "inverted": {
        "create_causal_mask": wrong("mask_inverted"),
        "apply_mask": hides_where_the_mask_is_one,
    },
    "additive": {"create_causal_mask": wrong("additive_mask"), "apply_mask": adds_the_mask},
    "infinite": {
        "create_causal_mask": wrong("additive_mask_of_infinity"),
        "apply_mask": adds_the_mask,
    },
    "scaled before": {
        "compute_attention_scores": wrong("scores_scaled_already"),
        "scale_scores": wrong("scores_not_scaled"),
    },
}
BREAKS = {
    "keys_used_for_values": Outcome.WRONG_VALUES,
    "all_axes_reversed": Outcome.RAISED,
    "keys_times_queries": Outcome.WRONG_VALUES,
    "scores_not_scaled": Outcome.WRONG_VALUES,
    "upper_triangle": Outcome.WRONG_VALUES,
    "mask_inverted": Outcome.WRONG_VALUES,  # one of two steps that would deviate together
    "forbidden_scores_set_to_zero": Outcome.WRONG_VALUES,
    "scores_returned_as_weights": Outcome.WRONG_VALUES,
    "values_averaged": Outcome.WRONG_VALUES,
    "output_weights_transposed": Outcome.WRONG_VALUES,
}
AT = {known.name: known.step for known in MISCONCEPTIONS}


@pytest.fixture(scope="module")
def ended() -> dict[str, JudgedSteps]:
    """Hand-ins whose chains end in every way, by their names, judged together."""
    whole = submission()
    namespaces = {
        "whole": whole,
        "empty": {},
        "without the mask": {name: each for name, each in whole.items() if name != "apply_mask"},
        "two are wrong": submission(
            scale_scores=wrong("scores_not_scaled"), project_output=wrong("output_not_projected")
        ),
        **{name: submission(**{AT[name]: wrong(name)}) for name in BREAKS},
        **{name: submission(**together) for name, together in TOGETHER.items()},
    }
    return dict(zip(namespaces, judged(REFERENCE, *namespaces.values()), strict=True))


def test_the_reference_gets_every_point(ended: dict[str, JudgedSteps]) -> None:
    verdict = ended["whole"]
    assert [step.points for step in verdict.steps] == [
        step.points for step in REFERENCE.exercise.steps
    ]
    assert verdict.chain.outcome is Outcome.PASSED and verdict.chain.breaks_at is None


def test_an_empty_submission_gets_none(ended: dict[str, JudgedSteps]) -> None:
    verdict = ended["empty"]
    assert {step.outcome for step in verdict.steps} == {Outcome.NOT_WRITTEN}
    assert sum(step.points for step in verdict.steps) == 0
    assert verdict.chain.outcome is Outcome.NOT_WRITTEN


def test_a_chain_breaks_at_the_step_that_is_wrong(ended: dict[str, JudgedSteps]) -> None:
    for name, outcome in BREAKS.items():
        chain = ended[name].chain
        assert (chain.outcome, chain.breaks_at) == (outcome, AT[name]), name
        assert chain.finding and f"`{AT[name]}`" in chain.finding.fact, name


def test_of_two_wrong_steps_the_chain_breaks_at_the_first(ended: dict[str, JudgedSteps]) -> None:
    verdict = ended["two are wrong"]
    assert verdict.chain.breaks_at == "scale_scores"
    lost = {step.name for step in verdict.steps if step.points == 0}
    assert lost == {"scale_scores", "project_output", "SingleHeadAttention"}


def test_a_step_that_is_missing_breaks_the_chain_there(ended: dict[str, JudgedSteps]) -> None:
    chain = ended["without the mask"].chain
    assert chain.outcome is Outcome.NOT_WRITTEN
    assert chain.breaks_at == "apply_mask"


def test_steps_that_deviate_together_and_give_the_right_result_pass_end_to_end(
    ended: dict[str, JudgedSteps],
) -> None:
    for name, together in TOGETHER.items():
        chain = ended[name].chain
        assert chain.outcome is Outcome.PASSED and chain.finding is None, name
        lost = {step.name for step in ended[name].steps if step.outcome is not Outcome.PASSED}
        assert lost == set(together), name


# --- a toy exercise, to spoil -------------------------------------------------------------------


def test_a_toy_is_judged_like_any_exercise(tmp_path: Path) -> None:
    wrong_double = {**RIGHT, "double": lambda x: 3 * x}
    right, tripled = judged(toy(tmp_path), RIGHT, wrong_double)
    assert [step.points for step in right.steps] == [2, 3]
    assert [step.points for step in tripled.steps] == [0, 3]
    finding = tripled.steps[0].finding
    assert finding and finding.misconception == "tripled"


def test_exercises_judged_in_one_process_keep_their_own_checks(tmp_path: Path) -> None:
    """Their grader files all have one name."""
    first, second = tmp_path / "first", tmp_path / "second"
    names = []
    for folder, other in ((first, "test_double"), (second, "test_twice"), (first, "test_double")):
        folder.mkdir(exist_ok=True)
        (verdict,) = judged(toy(folder, GRADERS.replace("test_double", other)), RIGHT)
        names.append(verdict.steps[0].checks[0].name)
    assert names == ["test_double", "test_twice", "test_double"]


@pytest.mark.parametrize(
    ("graders", "fact", "line"),
    [
        (GRADERS.split('\n\n@pytest.mark.step("halve")')[0], "the step halve has no check", 0),
        (GRADERS + "\n\ndef test_more(student): ...\n", "the check test_more names no step", 0),
        (GRADERS.replace('step("halve")', 'step("half")'), "the check test_halve names no step", 0),
        ("", "the step double has no check", 0),
        (
            GRADERS + "def broken(:\n",
            "cannot be collected: SyntaxError: invalid syntax",
            GRADERS.count("\n") + 1,
        ),
        (
            GRADERS.replace("import pytest", "import pytest, no_such"),
            "No module named 'no_such'",
            1,
        ),
        (GRADERS.replace('mark.step("halve")', 'mark.setp("halve")'), "'setp' not found", 0),
    ],
    ids=["no check", "no step", "no such step", "empty", "syntax", "import", "mark"],
)
def test_a_grader_file_that_does_not_fit_is_told_in_fact_place_and_cure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], graders: str, fact: str, line: int
) -> None:
    with pytest.raises(KitError) as caught:
        judged(toy(tmp_path, graders), RIGHT)
    error = caught.value
    assert fact in error.fact
    place = str(tmp_path / "graders.py")
    assert error.place == (f"{place}:{line}" if line else place) and error.cure
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    "fault",
    [
        "1 / 0",
        "assert 1 == 2",
        "raise KeyError('x')",
        "student(draw('Q'))",
        "student(draw('B D'), 1).agrees()",
        "import pytest; pytest.fail('no')",
    ],
)
def test_a_grader_that_raises_is_a_fault_of_ours_and_no_zero(tmp_path: Path, fault: str) -> None:
    graders = GRADERS.replace('    student(draw("B D")).agrees()', f"    {fault}", 1)
    (verdict,) = judged(toy(tmp_path, graders), {"double": lambda x, *more: 2 * x, **RIGHT})
    broken, whole = verdict.steps
    assert broken.outcome is Outcome.INFRASTRUCTURE
    assert broken.finding and "no fault of yours" in broken.finding.fact
    assert broken.finding.details and "test_double" in broken.finding.details[0]
    assert whole.outcome is Outcome.PASSED and whole.points == 3


def test_a_fixture_that_raises_is_a_fault_of_ours(tmp_path: Path) -> None:
    graders = GRADERS.replace("(student, draw):", "(student, draw, more):", 1) + (
        "\n\n@pytest.fixture\ndef more():\n    raise OSError('no disk')\n"
    )
    (verdict,) = judged(toy(tmp_path, graders), RIGHT)
    assert verdict.steps[0].outcome is Outcome.INFRASTRUCTURE
    finding = verdict.steps[0].finding
    assert finding and "no disk" in finding.details[0]


def test_a_fault_of_one_round_is_gone_in_the_next(tmp_path: Path) -> None:
    graders = GRADERS + "\n\ncounted = []\n"
    graders = graders.replace(
        "    student(",
        "    if student.conversation.judging:  # and not when a question is only read off\n"
        "        counted.append(1)\n        1 / (len(counted) - 1)\n    student(",
        1,
    )
    first, second = judged(toy(tmp_path, graders), RIGHT, RIGHT)
    assert first.steps[0].outcome is Outcome.INFRASTRUCTURE
    assert second.steps[0].outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "mistakes",
    [
        MISTAKES.replace("class double", "class treble"),
        MISTAKES.replace('        """You triple."""\n', ""),
        MISTAKES.replace("You triple.", "You {triple}."),
        "def tripled(x):\n    return 3 * x\n",
    ],
    ids=["no such step", "no words", "a word that is not said", "outside of a step"],
)
def test_a_misconception_without_step_or_words_is_told(tmp_path: Path, mistakes: str) -> None:
    with pytest.raises(KitError) as caught:
        toy(tmp_path, mistakes=mistakes)
    assert "tripled" in caught.value.fact and caught.value.place.endswith("misconceptions.py")


def test_after_a_first_end_that_is_final_no_more_checks_are_run(tmp_path: Path) -> None:
    again = GRADERS.replace("test_double(", "test_double_again(").split(
        '@pytest.mark.step("halve")'
    )
    graders = GRADERS + "\n\n" + again[0].split("import pytest")[1]
    twice, missing = judged(toy(tmp_path, graders), RIGHT, {"halve": RIGHT["halve"]})
    assert [check.name for check in twice.steps[0].checks][:2] == [
        "test_double",
        "test_double_again",
    ]
    assert len(missing.steps[0].checks) == 1
    assert missing.steps[0].outcome is Outcome.NOT_WRITTEN


def test_a_check_that_fails_leaves_the_next_one_of_its_step_as_it_is(tmp_path: Path) -> None:
    ones = "\n\n@pytest.mark.step('double')\ndef test_zero(student, draw):\n"
    graders = GRADERS + ones + "    student(0 * draw('B D')).agrees()\n"
    (verdict,) = judged(toy(tmp_path, graders), {**RIGHT, "double": lambda x: 3 * x})
    assert [check.outcome for check in verdict.steps[0].checks] == [
        Outcome.WRONG_VALUES,
        Outcome.PASSED,
    ]
    assert verdict.steps[0].points == 0


@pytest.mark.parametrize("name", ["torch_single_head", "torch_multi_head", "vit_multi_head"])
def test_a_precision_that_the_prose_of_a_step_speaks_of_is_asked_there(name: str) -> None:
    text = (ROOT / "solutions" / name / "solution.py").read_text(encoding="utf-8")
    examples = read_examples(ROOT / "assignments" / name)
    for section in re.split(r"^# ## ", text, flags=re.MULTILINE):
        named = set(re.findall(r"\bb?float(?:16|64)\b", section))
        steps = re.findall(r"^(?:def|class) (\w+)", section, re.MULTILINE)
        asked = {each.request.dtype for each in examples if each.step in steps}
        assert named <= asked, (steps, named - asked)
