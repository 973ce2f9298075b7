"""What is believed of what comes back, and how an exercise travels."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.cluster.cluster_pool import is_answer
from autograder.cluster.remote_grader import pack, receive, unpack
from autograder.errors import KitError
from autograder.grading.grader_pool import Cause, Loss
from autograder.grading.journal import exercise_hash
from autograder.submission.reading import Submission
from autograder.values.verdict import Finding, Outcome, Verdict
from support.verdicts import EXERCISE, verdict


@pytest.fixture
def judged() -> tuple[Submission, Verdict]:
    """A hand-in, and a verdict on it in which the first step is wrong."""
    handed_in = Submission("ada", EXERCISE.name, ("x = 1",), Path("ada.py"))
    made = verdict("ada", softmax=Finding(Outcome.RAISED, "x"))
    hashes = (handed_in.code_hash, exercise_hash(EXERCISE.folder))
    return handed_in, replace(made, code_hash=hashes[0], exercise_hash=hashes[1])


def believed(judged: tuple[Submission, Verdict], returned: object, allowed: bool = False) -> bool:
    digest = exercise_hash(EXERCISE.folder)
    return is_answer(returned, judged[0], EXERCISE, digest, allowed)


def test_a_verdict_on_what_was_asked_is_believed(judged: tuple[Submission, Verdict]) -> None:
    assert believed(judged, judged[1])
    assert believed(judged, Loss(Cause.TIME, "60 seconds"))


@pytest.mark.parametrize(
    "change",
    [
        {"student": "somebody_else"},
        {"exercise": "torch_single_head"},
        {"code_hash": "0" * 64},
        {"exercise_hash": "0" * 64},
        {"protection": "process"},
        {"steps": ()},
        {"seconds": -1.0},
    ],
)
def test_a_verdict_on_anything_else_is_not_believed(
    judged: tuple[Submission, Verdict], change: dict[str, object]
) -> None:
    assert not believed(judged, replace(judged[1], **change))  # type: ignore[arg-type]


def test_more_points_than_the_checks_give_are_not_believed(
    judged: tuple[Submission, Verdict],
) -> None:
    steps = tuple(replace(step, points=step.max_points) for step in judged[1].steps)
    assert steps != judged[1].steps
    assert not believed(judged, replace(judged[1], steps=steps))


@pytest.mark.parametrize("returned", [None, "22/22", {"points": 22}, Loss("time", "")])  # type: ignore[arg-type]
def test_what_is_no_verdict_is_not_believed(
    judged: tuple[Submission, Verdict], returned: object
) -> None:
    assert not believed(judged, returned)


def test_a_machine_without_protection_is_believed_only_where_that_is_allowed(
    judged: tuple[Submission, Verdict],
) -> None:
    assert believed(judged, replace(judged[1], protection="process"), allowed=True)


# --- the exercise on its way ---------------------------------------------------------------------


def test_an_exercise_arrives_with_what_it_shares_and_the_same_hash(tmp_path: Path) -> None:
    sent = pack(EXERCISE.folder)
    there = unpack(sent.name, sent.archive, sent.exercise_hash, sent.versions, tmp_path)
    assert there.name == EXERCISE.name and (tmp_path / "_attention").is_dir()
    assert exercise_hash(there) == sent.exercise_hash
    assert not list(tmp_path.rglob("__pycache__"))


def test_an_exercise_that_is_not_what_was_sent_is_refused(tmp_path: Path) -> None:
    sent = pack(EXERCISE.folder)
    with pytest.raises(KitError, match="did not arrive"):
        unpack(sent.name, sent.archive, "0" * 64, sent.versions, tmp_path)


@pytest.mark.parametrize("name", ["attention-kit", "its source", "numpy"])
def test_another_kit_and_other_libraries_are_refused_by_name(tmp_path: Path, name: str) -> None:
    sent = pack(EXERCISE.folder)
    versions = sent.versions | {name: "0.0.1"}
    with pytest.raises(KitError, match=rf"{name} \S+ instead of 0\.0\.1"):
        unpack(sent.name, sent.archive, sent.exercise_hash, versions, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_may_start_no_process_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(multiprocessing, "current_process", lambda: SimpleNamespace(daemon=True))
    with pytest.raises(KitError, match="daemon") as caught:
        receive("run", "name", b"", "", {}, False)
    assert "DASK_DISTRIBUTED__WORKER__DAEMON=False" in caught.value.cure
