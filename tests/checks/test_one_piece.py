"""A layer without the step functions: what it earns, what it is told, and what is found in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from autograder.checks.one_piece import probes, stages_of, trail_of
from autograder.checks.reference import Reference, read_reference
from autograder.judging.inprocess import InProcess
from autograder.reports.class_summary import chain_sentence
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.values.exercise import Limits, read_exercise
from autograder.values.request import Request, Returned, Sighting
from autograder.values.verdict import Outcome, StepVerdict, Verdict
from autograder.worker.wire import Seed
from checks.layers_in_one_piece import MULTI, NUMPY, RIGHT, SINGLE, VIT, WRONG, OnePiece
from support.graded_texts import graded, solution, step_of
from support.judged_steps import judged, judged_by
from support.learner_workspace import ROOT
from support.toy_exercise import GRADERS, SOLUTION, toy

ALL = (NUMPY, SINGLE, MULTI, VIT)
SLOW = pytest.mark.slow
# PyTorch takes longer, and one exercise shows how it works.
PARTS = [NUMPY, *(pytest.param(name, marks=SLOW) for name in ALL[1:])]
# Of what can be wrong, one mistake each: of a number, an axis, an order and the mask.
FEW = (
    *("divided by three", "softmax over the queries", "keys times queries"),
    "the mask leaves out the token itself",
)
QUICK = [piece for piece in RIGHT if piece.exercise == NUMPY]
Graded = list[tuple[OnePiece, Verdict]]


def graded_pieces(pieces: list[OnePiece], layer_earns_steps: bool = True) -> Graded:
    texts = [each.source for each in pieces]
    verdicts = graded(pieces[0].exercise, *texts, layer_earns_steps=layer_earns_steps)
    return list(zip(pieces, verdicts))


@cache
def wrong_layers(exercise: str, few: bool) -> Graded:
    return graded_pieces([each for each in of(exercise, WRONG) if (each.name in FEW) == few])


def told_of(name: str) -> tuple[OnePiece, Verdict]:
    """One of the wrong layers and its verdict."""
    (piece,) = [each for each in WRONG if each.name == name]
    graded_with_it = wrong_layers(piece.exercise, name in FEW)
    return next(each for each in graded_with_it if each[0] == piece)


def of(exercise: str, pieces: tuple[OnePiece, ...]) -> list[OnePiece]:
    return [piece for piece in pieces if piece.exercise == exercise]


def layer_step(verdict: Verdict) -> StepVerdict:
    layer = verdict.chain.layer
    assert layer
    return step_of(verdict, layer.name)


# --- right layers -------------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", PARTS)
def test_a_right_layer_earns_every_step_and_is_told_so_first(exercise: str) -> None:
    facts = read_exercise(ROOT / "solutions" / exercise)
    for piece, verdict in graded_pieces(of(exercise, RIGHT)):
        assert verdict.points == verdict.max_points, piece.name
        layer = verdict.chain.layer
        assert layer and layer.is_right, piece.name
        earned = {step.name for step in verdict.steps if step.by_layer}
        unwritten = {s.name for s in verdict.steps if s.max_points and not s.passes}
        assert earned == unwritten and layer.name not in earned
        assert chain_sentence(facts, verdict).startswith("Your layer is complete and right")
        assert Verdict.from_json(verdict.to_json()) == verdict


def test_a_course_may_let_steps_earn_their_points_alone() -> None:
    (verdict,) = graded(NUMPY, of(NUMPY, RIGHT)[0].source, layer_earns_steps=False)
    assert not any(step.by_layer for step in verdict.steps)
    assert verdict.points == layer_step(verdict).max_points
    sentence = chain_sentence(read_exercise(ROOT / "solutions" / NUMPY), verdict)
    assert sentence.startswith("Your layer is complete and right") and "step 1" in sentence


def test_a_step_that_is_written_and_wrong_earns_nothing_from_the_layer() -> None:
    right = of(NUMPY, RIGHT)[0].source
    wrong = "\n\ndef scale_scores(attention_scores, embedding_dimension):\n    return 2 * x\n"
    (verdict,) = graded(NUMPY, right + wrong)
    scaled = step_of(verdict, "scale_scores")
    assert scaled.points == 0 and not scaled.by_layer
    assert verdict.points == verdict.max_points - scaled.max_points


LAYER_SOLUTION = f"""\
{SOLUTION}

class Layer:
    def forward(self, x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
        return double(x) + 1
"""
LAYER_GRADERS = f"""\
{GRADERS}

@pytest.mark.step("Layer")
def test_layer(student, draw):
    student.constructed().call("forward", draw("B D")).agrees()


@pytest.mark.chain_of_steps
def test_chain(chain, draw):
    x = draw("B D")
    chain(lambda module: module.Layer().forward(x))
"""
LAYER = """
[[steps]]
name = "Layer"
title = "The layer"
points = 4
minutes = 1
hints = []
"""


@pytest.fixture
def two_steps(tmp_path: Path) -> Reference:
    """An exercise whose layer needs only the first of its two steps."""
    return toy(tmp_path, LAYER_GRADERS, LAYER_SOLUTION, more_steps=LAYER)


class Whole:
    def forward(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x + x + 1)


class WithoutConstant:
    def forward(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x + x)


class BrokenTrace(InProcess):
    """Answers as the code does; but what the code computes on the way cannot be seen."""

    def trace(self, request: Request) -> tuple[Sighting, ...]:
        raise ZeroDivisionError(f"nothing of {request.target} is seen")


def test_a_step_that_the_layer_never_needs_is_not_earned_by_it(two_steps: Reference) -> None:
    (verdict,) = judged(two_steps, {"Layer": Whole})
    assert [step.points for step in verdict.steps] == [2, 0, 4]
    assert [step.by_layer for step in verdict.steps] == [True, False, False]


def test_a_layer_that_is_wrong_earns_nothing_for_others(two_steps: Reference) -> None:
    (verdict,) = judged(two_steps, {"Layer": WithoutConstant})
    assert [step.points for step in verdict.steps] == [0, 0, 0]


def test_a_layer_that_needs_the_references_steps_earns_nothing_for_others(
    two_steps: Reference,
) -> None:
    class Calls:
        def forward(self, x: np.ndarray) -> np.ndarray:
            raise NotImplementedError("double is not written yet")

    (verdict,) = judged(two_steps, {"Layer": Calls})
    assert not any(step.by_layer for step in verdict.steps)


def test_a_fault_of_ours_inside_a_layer_is_seen_and_costs_nobody_anything(
    two_steps: Reference,
) -> None:
    (sound,) = judged(two_steps, {"Layer": WithoutConstant})
    broken = BrokenTrace({"Layer": WithoutConstant})
    (verdict,) = judged_by(two_steps, (broken, None))
    assert (verdict.steps, verdict.chain) == (sound.steps, sound.chain)
    assert sound.remarks == ()
    (remark,) = verdict.remarks
    assert "through no fault of yours" in remark
    assert "`ZeroDivisionError: nothing of Layer is seen, in test_one_piece.py:" in remark


def test_weights_that_a_layer_does_not_use_are_told_and_no_array_is_taken_for_a_stage() -> None:
    forward = "shares = F.softmax(x @ x.mT, dim=-1)\nreturn self.Wo((shares @ x)[..., ::4])\n"
    (verdict,) = graded(SINGLE, OnePiece("without Wqkv", SINGLE, forward).source)
    assert "The result of your layer does not change when `self.Wqkv.weight` does." in told(verdict)


def test_a_fault_of_ours_inside_a_layer_is_remarked_in_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("autograder.checks.one_piece.trail_of", None)
    (piece,) = (each for each in WRONG if each.name == "divided by three")
    (verdict,) = graded(NUMPY, piece.source)
    assert not verdict.infrastructure
    step = layer_step(verdict)
    assert step.outcome is Outcome.WRONG_VALUES and step.finding
    assert "TypeError" in verdict.remarks[-1] and "TypeError" not in step.finding.message


# --- wrong layers -------------------------------------------------------------------------------


@pytest.fixture(
    params=[
        pytest.param((NUMPY, True), id="few"),
        *(pytest.param((name, False), id=name, marks=SLOW) for name in ALL),
    ]
)
def wrong(request: pytest.FixtureRequest) -> Graded:
    return wrong_layers(*request.param)


def told(verdict: Verdict) -> str:
    finding = layer_step(verdict).finding
    assert finding
    return finding.message


def test_a_wrong_layer_gets_no_points_for_itself_nor_for_the_step_that_is_wrong(
    wrong: Graded,
) -> None:
    for piece, verdict in wrong:
        step = layer_step(verdict)
        assert step.finding and step.finding.outcome is step.outcome, piece.name
        assert step.outcome is not Outcome.PASSED, piece.name
        assert step.points == 0, piece.name
        earned = {each.name for each in verdict.steps if each.points}
        # Where it is wrong can be read in several ways: one of them costs its points.
        assert not earned.issuperset(piece.steps), piece.name
        assert Verdict.from_json(verdict.to_json()) == verdict


def test_a_layer_with_one_known_mistake_earns_the_steps_without_it() -> None:
    piece, verdict = told_of("softmax over the queries")
    earned = {step.name for step in verdict.steps if step.by_layer}
    assert {"project_qkv", "scale_scores", "project_output"} <= earned
    assert verdict.points == sum(s.max_points for s in verdict.steps if s.name in earned)
    (alone,) = graded(NUMPY, piece.source, layer_earns_steps=False)
    assert alone.points == 0


def test_a_mistake_belongs_to_the_step_whose_work_the_layer_does_wrong() -> None:
    """Only where the step is written and right is it the layer that gives it the wrong number."""
    (piece,) = (each for each in WRONG if each.name == "divided by the whole hidden size")
    divided, called = "q @ k.mT / x.shape[-1] ** 0.5", "scale_scores(q @ k.mT, x.shape[-1])"
    assert divided in piece.source
    step = "\n\ndef scale_scores(scores, head_dim):\n    return scores / math.sqrt(head_dim)\n"
    calls = piece.source.replace(divided, called) + step
    for verdict, written in zip(graded(SINGLE, piece.source, calls), (set(), {"scale_scores"})):
        earned = {each.name for each in verdict.steps if each.points}
        every = {each.name for each in verdict.steps}
        assert earned == every - {"scale_scores", "SingleHeadAttention"} | written


def test_a_layer_whose_mistake_nobody_can_name_earns_nothing() -> None:
    _, verdict = told_of("divided by three")
    assert verdict.points == 0 and not any(step.by_layer for step in verdict.steps)


def test_a_layer_that_only_refuses_nothing_earns_all_its_steps() -> None:
    right = of(MULTI, RIGHT)[0]
    line = "        assert hidden_size % num_heads == 0\n"
    assert line in right.source
    (verdict,) = graded(MULTI, right.source.replace(line, ""))
    layer = layer_step(verdict)
    assert layer.points == 0 and layer.finding and "share the hidden size" in layer.finding.fact
    assert verdict.points == verdict.max_points - layer.max_points


def test_what_is_said_is_about_the_step_that_is_wrong(wrong: Graded) -> None:
    for piece, verdict in wrong:
        titles = {step.name: step.title for step in verdict.steps}
        finding = layer_step(verdict).finding
        assert finding
        said = finding.fact + finding.look
        # Results that changed places are told by their names, and chance by what it does.
        other = "changed places" in said or "Asked twice" in said
        names = [name for name in piece.steps if f"`{name}`" in said or titles[name] in said]
        # A mistake that the list of the layer itself knows is told by its own sentence, and an
        # exception by its line.
        raised = finding.outcome is Outcome.RAISED
        assert names or other or raised or finding.misconception, (piece.name, said)


def test_no_wrong_part_is_called_right(wrong: Graded) -> None:
    for piece, verdict in wrong:
        titles = {step.name: step.title for step in verdict.steps}
        finding = layer_step(verdict).finding
        assert finding
        if len(piece.steps) == 1:
            assert f"“{titles[piece.steps[0]]}”" not in finding.right, (piece.name, finding.right)


def test_the_line_where_the_wrong_stage_begins_is_told() -> None:
    piece, verdict = told_of("divided by three")
    assert layer_step(verdict).outcome is Outcome.WRONG_VALUES
    line = piece.source.splitlines().index("        s = q @ k.transpose(0, 2, 1) / 3.0") + 1
    assert f"“Scaling” is not as expected (line {line})" in told(verdict)


@pytest.mark.slow
def test_a_step_that_is_written_is_not_asked_for() -> None:
    old = "project_output(attention_output, self.output_weights)"
    (verdict,) = graded(NUMPY, solution(NUMPY, (old, old.replace(")", " + 0.1)"))))
    assert "calls `project_output`: as `output_weights` it gets other numbers" in told(verdict)
    assert "as a function of its own" not in told(verdict)


def test_a_mistake_that_fits_two_steps_is_said_to_fit_both() -> None:
    _, verdict = told_of("keys times queries")
    assert "`project_qkv`" in told(verdict)
    assert (
        "A mistake in the work of `compute_attention_scores` would give the same result."
        in told(verdict)
    )


@pytest.mark.slow
def test_results_that_change_places_are_told_by_their_names() -> None:
    _, verdict = told_of("keys and values change places")
    assert "as keys it uses the values and as values it uses the keys" in told(verdict)


# --- what is seen on the way --------------------------------------------------------------------


@pytest.fixture(scope="module")
def numpy_zygote() -> Iterator[Zygote]:
    # An endless loop uses up the time for a call.
    with Zygote("numpy", Limits(seconds_per_call=0.5)) as zygote:
        yield zygote


@pytest.fixture(scope="module")
def torch_zygote() -> Iterator[Zygote]:
    with Zygote("torch", read_exercise(ROOT / "solutions" / MULTI).limits) as zygote:
        yield zygote


def plain_request(reference: Reference) -> Request:
    """A call of the layer as it is made, with weights of its own and all sizes different."""
    layer = next(
        step.name
        for step in reference.exercise.steps
        if isinstance(getattr(reference.module, step.name), type)
    )
    draw = np.random.default_rng(5).standard_normal
    numpy = reference.exercise.library == "numpy"
    width: int = 7 if numpy else {SINGLE: 28}.get(reference.exercise.name, 42)
    heads: tuple[int, ...] = (6,) if width == 42 else ()
    x = draw((2, 5, width)).astype(reference.exercise.dtype)
    if numpy:
        names = ("query_weights", "key_weights", "value_weights", "output_weights")
        weights = {name: draw((width, width)) / width**0.5 for name in names}
    else:
        made = getattr(reference.module, layer)(width, *heads)
        weights = {
            name: draw(tuple(each.shape)).astype("float32") / width**0.5
            for name, each in made.named_parameters()
        }
    arguments = (width, Seed(1)) if numpy else (width, *heads)
    return Request(layer, arguments, method="forward", method_arguments=(x,), attributes=weights)


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(each, id=f"{each.exercise}: {each.name}", marks=() if each in QUICK else SLOW)
        for each in RIGHT
    ],
)
def test_nothing_is_claimed_against_a_right_layer(
    piece: OnePiece, request: pytest.FixtureRequest
) -> None:
    library = "numpy" if piece.exercise == NUMPY else "torch"
    zygote = request.getfixturevalue(f"{library}_zygote")
    reference = read_reference(ROOT / "solutions" / piece.exercise)
    asked = plain_request(reference)
    stages = stages_of(reference, asked)
    with SandboxedStudent(zygote, (piece.source,), seed=1) as student:
        reply, seen = student.ask(asked), student.trace(asked)
    assert isinstance(reply, Returned) and seen
    trail = trail_of(stages, seen, reply.value, asked)
    assert trail.wrong is None
    assert trail.right[-1] == len(stages) - 1


def test_code_that_cannot_be_followed_shows_nothing(numpy_zygote: Zygote) -> None:
    request = plain_request(read_reference(ROOT / "solutions" / NUMPY))
    for source in ("x = 1\n", "def f(:\n", "class SingleHeadAttention:\n    x = 1\n"):
        with SandboxedStudent(numpy_zygote, (source,), seed=1) as student:
            assert student.trace(request) == ()


def test_a_worker_that_never_ends_shows_nothing(numpy_zygote: Zygote) -> None:
    source = of(NUMPY, RIGHT)[0].source.replace("q, k, v =", "while True: pass\n        q, k, v =")
    request = plain_request(read_reference(ROOT / "solutions" / NUMPY))
    with SandboxedStudent(numpy_zygote, (source,), seed=1) as student:
        assert student.trace(request) == ()


def test_the_draws_with_the_most_different_sizes_are_asked() -> None:
    reference = read_reference(ROOT / "solutions" / NUMPY)
    odd = plain_request(reference)
    x = odd.method_arguments[0]
    square = replace(odd, method_arguments=(np.concatenate([x, x[:, :2]], axis=1),))
    other = replace(odd, method_arguments=(x[:, :3],))
    chosen, _ = probes(reference, [square, odd, odd, other, replace(odd, calls=2)])
    assert [request.key for request in chosen] == [odd.key, other.key]
