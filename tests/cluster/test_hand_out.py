"""What is handed out again, how often, and what is believed of what comes back."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.cluster.cluster_run import MOST_TRIES, HandOut, is_answer
from autograder.cluster.remote_grader import pack, receive, unpack
from autograder.errors import KitError
from autograder.grading.digest import exercise_hash
from autograder.grading.grader_pool import Cause, Loss
from autograder.submission.reading import Submission
from autograder.values.verdict import Finding, Outcome, Verdict
from support.verdicts import EXERCISE, verdict


def test_every_hand_in_is_handed_out_once_in_batches() -> None:
    out = HandOut(5, 2)
    assert [out.next("worker") for _ in range(4)] == [[0, 1], [2, 3], [4], []]
    assert not out.over
    assert [out.settle(place) for place in range(5)] == [True] * 5
    assert out.over


def test_what_a_dead_worker_had_is_handed_out_again_one_by_one_and_after_the_rest() -> None:
    out = HandOut(4, 2)
    assert out.retry(out.next("dead")) == []
    assert [out.next("alive") for _ in range(3)] == [[2, 3], [0], [1]]


def test_a_batch_that_nobody_worked_on_costs_no_try() -> None:
    out = HandOut(2, 2)
    for _ in range(MOST_TRIES + 1):
        out.give_back(out.next("worker"))
    assert out.next("another") == [0, 1]


def test_a_hand_in_that_ends_every_worker_is_given_up_and_the_others_are_not() -> None:
    out = HandOut(2, 2)
    given_up: list[int] = []
    handed: list[list[int]] = []
    while places := out.next(f"worker {len(handed)}"):
        handed.append(places)
        assert len(handed) < 3 * MOST_TRIES
        if 1 in places:
            given_up += out.retry(places)
        else:
            out.settle(*places)
    assert given_up == [1] and not out.over
    assert out.settle(1) and out.over
    assert sum(1 in places for places in handed) == MOST_TRIES


def test_a_hand_in_that_was_judged_twice_counts_once() -> None:
    out = HandOut(1, 1)
    places = out.next("worker")
    out.retry(places)
    assert out.settle(0) and not out.settle(0)
    assert out.retry([0]) == [] and out.over


# --- what comes back -----------------------------------------------------------------------------


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


def test_other_libraries_are_refused_by_name(tmp_path: Path) -> None:
    sent = pack(EXERCISE.folder)
    versions = sent.versions | {"numpy": "1.0"}
    with pytest.raises(KitError, match=r"numpy \S+ instead of 1\.0"):
        unpack(sent.name, sent.archive, sent.exercise_hash, versions, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_may_start_no_process_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(multiprocessing, "current_process", lambda: SimpleNamespace(daemon=True))
    with pytest.raises(KitError, match="daemon") as caught:
        receive("run", "name", b"", "", {}, False)
    assert "DASK_DISTRIBUTED__WORKER__DAEMON=False" in caught.value.cure
