"""A class of all kinds, graded by the real engine: everybody gets what they should, nobody more.

Each made-up student is a file in tests/sample_class; the facts at its head say what to
expect. The class is graded once, and of each kind somebody once more without the hostile.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.authoring.leak import refuse_leaks, secrets_of
from autograder.errors import KitError
from autograder.grading.batch import grade_batch
from autograder.grading.classroom import _equal, judge_class
from autograder.grading.grader_pool import GraderPool
from autograder.grading.journal import DEFAULT_RUN, JOURNAL, Journal, input_seed
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.verdict import Outcome, StepVerdict, Verdict
from demo.sample_class import SampleStudent
from support.copied_exercise import copy_exercise
from support.handed_in import handed_in
from support.released_course import NAME, sample_class
from support.verdicts import found_in
from support.written_exercise import changed

SAMPLE_CLASS = sample_class()
TWINS = ("mistake_not_scaled", "hostile_exit")
SHOWN_IN_THE_RESULT = {
    *("mistake_not_scaled", "mistake_softmax_over_queries", "mistake_keys_reversed"),
    *("mistake_mask_of_zero", "mistake_softmax_overflows", "mistake_weights_too_large"),
}
KINDS = {"correct", "class only", "mistake", "broken", "half", "untouched", "hostile"}
# Starting pytest, asking the right steps, sending: seconds beside what the student's code uses.
OVERHEAD = 5.0

# Text that is legal in a file and breaks programs that read it.
ODD = {
    "odd_surrogate": "word = '\ud800'\n",
    "odd_null": "word = 'a\0b'\n",
    "odd_message": "raise ValueError('<script>\\x1b[2J\\u202e' + 'x' * 100_000)\n",
}


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    found = [classmate for classmate in SAMPLE_CLASS if classmate.facts["kind"] in kinds]
    return pytest.mark.parametrize("classmate", found, ids=lambda classmate: classmate.name)


@pytest.fixture(scope="module")
def exercise(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """The exercise with less time for a call, since an endless loop uses it up."""
    folder = copy_exercise(NAME, tmp_path_factory.mktemp("solutions"))
    limit = ("exercise.toml", "seconds_per_call = 2.0", "seconds_per_call = 0.7")
    return read_exercise(changed(folder, limit))


@pytest.fixture(scope="module")
def submissions(
    exercise: Exercise, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Submission, ...]:
    folder = tmp_path_factory.mktemp("class")
    read = {each.student: each for each in handed_in(folder, exercise=exercise)}
    twins = [replace(read[student], student=f"twin_of_{student}") for student in TWINS]
    reference = read["reference"]
    odd = [
        replace(reference, student=name, cells=(*reference.cells, text))
        for name, text in ODD.items()
    ]
    (folder / "rejected.ipynb").write_text("no JSON", encoding="utf-8")
    rejected = read_submission(folder / "rejected.ipynb", exercise, "rejected")
    return (*read.values(), *twins, *odd, rejected)


@pytest.fixture(scope="module")
def verdicts(exercise: Exercise, submissions: tuple[Submission, ...]) -> dict[str, Verdict]:
    with GraderPool(1) as pool:
        graded = list(judge_class(exercise, submissions, pool, DEFAULT_RUN))
    told = sorted(verdict.student for verdict in graded)
    assert told == sorted(submission.student for submission in submissions)
    return {verdict.student: verdict for verdict in graded}


@pytest.fixture(scope="module")
def without_the_hostile(
    exercise: Exercise, submissions: tuple[Submission, ...]
) -> dict[str, Verdict]:
    """Of every other kind the first, graded in another process."""
    first = {one.facts["kind"]: one.name for one in reversed(SAMPLE_CLASS)}
    harmless = {name for kind, name in first.items() if kind != "hostile"}
    graded = grade_batch(exercise.folder, [one for one in submissions if one.student in harmless])
    assert len(graded) == len(KINDS) - 1
    return {verdict.student: verdict for verdict in graded}


def lost(verdict: Verdict) -> dict[str, StepVerdict]:
    """The steps without their points, by name."""
    return {step.name: step for step in verdict.steps if step.points != step.max_points}


def marks(verdict: Verdict) -> object:
    """All of a verdict that may not depend on who else is in the class."""
    return replace(verdict, seconds=0.0)


# --- what each kind gets ------------------------------------------------------------------------


def test_the_class_is_of_all_kinds() -> None:
    assert {classmate.facts["kind"] for classmate in SAMPLE_CLASS} == KINDS
    names = {classmate.name for classmate in SAMPLE_CLASS}
    assert {"hostile_thief", "hostile_endless_loop", *TWINS, *SHOWN_IN_THE_RESULT} <= names


@of_kind("correct")
def test_what_is_right_gets_full_marks(
    classmate: SampleStudent, verdicts: dict[str, Verdict]
) -> None:
    verdict = verdicts[classmate.name]
    assert lost(verdict) == {} and verdict.points == verdict.max_points > 0
    assert {step.outcome for step in verdict.steps} == {Outcome.PASSED}
    assert verdict.chain.outcome is Outcome.PASSED
    assert verdict.remarks == ()


@of_kind("untouched")
def test_what_is_untouched_gets_nothing(
    classmate: SampleStudent, verdicts: dict[str, Verdict]
) -> None:
    verdict = verdicts[classmate.name]
    assert verdict.points == 0
    assert {step.outcome for step in verdict.steps} == {Outcome.NOT_WRITTEN}
    assert verdict.chain.outcome is Outcome.NOT_WRITTEN
    assert all(step.finding and "not written yet" in step.finding.fact for step in verdict.steps)


@of_kind("mistake")
def test_a_mistake_loses_its_step_only_and_is_told_by_name(
    classmate: SampleStudent, verdicts: dict[str, Verdict]
) -> None:
    steps = lost(verdicts[classmate.name])
    assert set(steps) == {classmate.facts["loses"]}
    finding = steps[classmate.facts["loses"]].finding
    assert finding and finding.misconception == classmate.facts.get("named")


@of_kind("mistake")
def test_a_chain_breaks_at_a_mistake_that_shows_in_the_result(
    classmate: SampleStudent, verdicts: dict[str, Verdict]
) -> None:
    chain = verdicts[classmate.name].chain
    broken = chain.outcome is not Outcome.PASSED
    assert broken or classmate.name not in SHOWN_IN_THE_RESULT
    assert chain.breaks_at == (classmate.facts["loses"] if broken else None)
    assert bool(chain.finding) == broken


def test_later_steps_that_call_a_wrong_one_are_right_with_the_references(
    verdicts: dict[str, Verdict],
) -> None:
    verdict = verdicts["mistake_softmax_over_queries"]
    leaning = {step.name for step in verdict.steps if step.leaning}
    assert leaning == {"compute_attention_weights", "SingleHeadAttention"}
    assert not any(step.leaning for step in verdicts["reference"].steps)


def test_a_syntax_error_costs_only_the_step_it_stands_in(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["broken_syntax"]
    steps = lost(verdict)
    assert set(steps) == {"project_qkv"}
    assert steps["project_qkv"].outcome is Outcome.RAISED
    finding = steps["project_qkv"].finding
    assert finding and "SyntaxError" in finding.fact and "keys = (x @ key_weights" in finding.fact
    assert any("SyntaxError" in remark for remark in verdict.remarks)
    assert verdict.chain.breaks_at == "project_qkv"


def test_what_is_half_finished_gets_its_half(verdicts: dict[str, Verdict]) -> None:
    (half,) = [classmate for classmate in SAMPLE_CLASS if classmate.facts["kind"] == "half"]
    verdict = verdicts[half.name]
    kept = half.facts["keeps"].split()
    assert [step.name for step in verdict.steps if step.points] == kept
    assert {step.outcome for step in lost(verdict).values()} == {Outcome.NOT_WRITTEN}
    assert verdict.chain.breaks_at == verdict.steps[len(kept)].name


def test_a_class_that_needs_no_functions_earns_the_points_of_its_steps(
    verdicts: dict[str, Verdict],
) -> None:
    verdict = verdicts["correct_compact_class"]
    assert [step.name for step in verdict.steps if step.passes] == ["SingleHeadAttention"]
    assert all(step.by_layer for step in verdict.steps[:-1])
    assert verdict.points == verdict.max_points


# --- the hostile --------------------------------------------------------------------------------


@of_kind("hostile")
def test_the_hostile_end_as_they_must(
    classmate: SampleStudent, verdicts: dict[str, Verdict]
) -> None:
    steps = lost(verdicts[classmate.name])
    assert {step.outcome.value for step in steps.values()} == {classmate.facts["outcome"]}
    everything = {step.name for step in verdicts[classmate.name].steps}
    assert set(steps) == ({classmate.facts["loses"]} if "loses" in classmate.facts else everything)


def test_the_thief_gets_nothing_and_nothing_of_the_solution_gets_out(
    exercise: Exercise, verdicts: dict[str, Verdict]
) -> None:
    verdict = verdicts["hostile_thief"]
    assert verdict.points == 0
    text = verdict.to_json()
    assert "FileNotFoundError" in text or "PermissionError" in text
    secrets = secrets_of(exercise)
    refuse_leaks(secrets, {"verdict.json": text})
    stolen = text.replace(
        "raises", "return exponentials / exponentials.sum(axis=-1, keepdims=True)"
    )
    with pytest.raises(KitError):
        refuse_leaks(secrets, {"verdict.json": stolen})


def test_the_thief_prints_and_raises_nothing_of_the_solution(
    exercise: Exercise, submissions: tuple[Submission, ...]
) -> None:
    thief = next(each for each in submissions if each.student == "hostile_thief")
    prints = (
        "import sys, traceback\n"
        "for name in ('softmax', 'SingleHeadAttention'):\n"
        "    for stream in (sys.stdout, sys.stderr):\n"
        "        try:\n"
        "            print(stolen(name), file=stream)\n"
        "        except Exception:\n"
        "            print('tried', traceback.format_exc(), file=stream)\n"
    )
    with Zygote(exercise.library, exercise.limits, secrets=(exercise.folder,)) as zygote:
        cells = (*thief.cells, prints)
        with SandboxedStudent(zygote, cells, seed=0) as student:
            assert student.load_failures == (None,) * len(cells)
            output = student.output
    assert output.count("tried") == 4
    refuse_leaks(secrets_of(exercise), {"output.txt": output})


def test_the_endless_loop_ends_within_its_limit(
    exercise: Exercise, verdicts: dict[str, Verdict]
) -> None:
    verdict = verdicts["hostile_endless_loop"]
    limits = exercise.limits
    assert limits.seconds_per_call <= verdict.seconds
    assert verdict.seconds <= limits.seconds_per_submission + OVERHEAD
    assert verdict.chain.outcome is Outcome.TIMED_OUT


def test_everyone_elses_marks_are_the_same_with_the_hostile_and_without(
    verdicts: dict[str, Verdict], without_the_hostile: dict[str, Verdict]
) -> None:
    for name, verdict in without_the_hostile.items():
        assert marks(verdict) == marks(verdicts[name]), name


# --- everybody ----------------------------------------------------------------------------------


@pytest.mark.parametrize("student", TWINS)
def test_equal_submissions_get_equal_verdicts_under_their_own_names(
    student: str, verdicts: dict[str, Verdict]
) -> None:
    one, two = verdicts[student], verdicts[f"twin_of_{student}"]
    assert two.student == f"twin_of_{student}"
    assert replace(two, student=student) == one
    assert two.code_hash == one.code_hash != verdicts["reference"].code_hash


@pytest.mark.parametrize("student", ODD)
def test_odd_text_in_a_cell_of_its_own_costs_nothing(
    student: str, verdicts: dict[str, Verdict]
) -> None:
    verdict = verdicts[student]
    assert verdict.points == verdict.max_points
    text = verdict.to_json()
    assert len(text.encode("utf-8")) < 200_000
    assert not any(sign in text for sign in "\0\x1b\u202e\ud800")
    assert Verdict.from_json(text) == verdict


def test_no_verdict_is_a_fault_of_ours_and_each_says_how_it_came_about(
    exercise: Exercise, verdicts: dict[str, Verdict]
) -> None:
    for name, verdict in verdicts.items():
        assert not verdict.infrastructure, name
        if name != "rejected":
            assert verdict.protection in ("full", "landlock", "namespaces")
        drawn = 0 if name == "rejected" else input_seed(b"", exercise, verdict.code_hash)
        assert verdict.seed == drawn
        assert [step.name for step in verdict.steps] == [step.name for step in exercise.steps]
        assert verdict.max_points == exercise.points
        assert Verdict.from_json(verdict.to_json()) == verdict


def test_every_verdict_that_the_kit_gives_is_kept_and_used_again(
    exercise: Exercise, verdicts: dict[str, Verdict], tmp_path: Path
) -> None:
    journal = Journal(tmp_path / JOURNAL)
    assert journal.prepare() is None
    for name, verdict in verdicts.items():
        key = f"{NAME}:{verdict.code_hash}:{verdict.exercise_hash}:{name}"
        journal.keep(key, verdict)
        kept = found_in(journal, key, name, exercise)
        assert kept == (None if name == "rejected" else verdict), name


def test_a_submission_that_was_rejected_is_not_run_and_says_why(
    verdicts: dict[str, Verdict],
) -> None:
    verdict = verdicts["rejected"]
    assert verdict.points == 0 and verdict.protection == "not run"
    assert {step.outcome for step in verdict.steps} == {Outcome.REJECTED}
    assert verdict.steps[0].finding and "not valid JSON" in verdict.steps[0].finding.fact


def test_equal_code_has_one_verdict_where_the_remarks_on_its_files_are_equal_too() -> None:
    ada = Submission("ada", NAME, ("x = 1",), Path("ada.py"))
    carl = replace(ada, student="carl", path=Path("carl.py"))
    bea = replace(ada, student="bea", remarks=("final.py was read; there is no bea.py.",))
    assert _equal([ada, bea, carl]) == {0: ["ada", "carl"], 1: ["bea"]}
