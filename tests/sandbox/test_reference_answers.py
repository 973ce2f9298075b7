"""What leaning code asks the reference is answered, or refused, one question after the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from autograder.checks.reference import read_reference
from autograder.checks.substitution import reference_answer
from autograder.sandbox import exchange
from autograder.sandbox.exchange import AnswerOfReference, answered_question
from autograder.worker import wire
from autograder.worker.wire import Value

ROOT = Path(__file__).resolve().parents[2]
SCORES = np.random.default_rng(3).standard_normal((2, 4, 4))
Asked = list[tuple[str, tuple[Value, ...]]]


@pytest.fixture
def asked() -> Asked:
    """What the reference is asked to compute."""
    return []


@pytest.fixture
def answers(asked: Asked) -> AnswerOfReference:
    """Answers with twice the argument, and with None to what has none."""

    def answer(
        step: str, given: tuple[Value, ...], named: Mapping[str, Value], _: tuple[Value, ...]
    ) -> Value | None:
        asked.append((step, given))
        return 2 * given[0] if given else None

    return answer


def question(number: int, step: str, *arguments: Value) -> tuple[bytes, bytes]:
    parts: list[bytes] = []
    facts = [wire.encode(each, parts) for each in arguments]
    header = {"ask": number, "step": step, "arguments": facts, "keywords": {}, "cotangents": []}
    return wire.to_json(header), b"".join(parts)


def answered(
    answers: AnswerOfReference, number: int, step: str, *arguments: Value
) -> tuple[dict[str, object], Value]:
    frame = answered_question(
        answers, number, *question(number, step, *arguments), ("softmax", "draw")
    )
    head, size = wire.read_prefix(frame[: wire.PREFIX.size])
    facts = frame[wire.PREFIX.size :][:head]
    header, payload = wire.read_frame(facts, frame[wire.PREFIX.size + head :])
    assert len(payload) == size
    value = wire.decode(header.pop("value"), payload) if header["ok"] else None
    payload.end()
    return header, value


def test_a_question_is_answered_under_its_number(answers: AnswerOfReference) -> None:
    header, value = answered(answers, 3, "softmax", SCORES.copy())
    assert header == {"answer": 3, "ok": True}
    np.testing.assert_array_equal(value, 2 * SCORES)


def test_what_has_no_answer_is_refused(answers: AnswerOfReference) -> None:
    assert answered(answers, 1, "softmax") == ({"answer": 1, "ok": False}, None)


@pytest.mark.parametrize("error", [MemoryError(), ValueError("it does not fit")])
def test_what_raises_is_refused_this_time_only(error: Exception) -> None:
    raised = [error]

    def answer(*_: object) -> Value:
        if raised:
            raise raised.pop()
        return 7

    assert answered(answer, 1, "softmax", SCORES) == ({"answer": 1, "ok": False}, None)
    assert answered(answer, 2, "softmax", SCORES) == ({"answer": 2, "ok": True}, 7)


def test_an_answer_is_given_only_to_who_leans_on_the_step(answers: AnswerOfReference) -> None:
    answered(answers, 1, "softmax", SCORES)
    with pytest.raises(wire.WireError, match="no step that may be asked about"):
        answered_question(answers, 2, *question(2, "softmax", SCORES), ("draw",))


@pytest.mark.parametrize("number", [1, 3])
def test_a_question_out_of_turn_is_a_breach(answers: AnswerOfReference, number: int) -> None:
    with pytest.raises(wire.WireError, match="out of turn"):
        answered_question(answers, 2, *question(number, "softmax", SCORES), ("softmax",))


def test_a_question_that_is_too_large_is_refused_before_it_is_read(
    answers: AnswerOfReference, asked: Asked
) -> None:
    head, payload = question(1, "softmax", np.zeros(exchange._LARGEST_QUESTION // 8))
    answered_question(answers, 1, head, payload, ("softmax",))
    assert len(asked) == 1
    _, value = answered(answers, 2, "softmax", np.zeros(len(payload) // 8 + 1))
    assert value is None and len(asked) == 1


def test_layers_are_drawn_anew_at_each_call() -> None:
    reference = read_reference(ROOT / "solutions" / "torch_multi_head")
    first, second = (reference_answer(reference, "create_projections", (8,), {}) for _ in range(2))
    assert first and second and not np.array_equal(first[0].weight, second[0].weight)


GRADIENTS = """
import sys
import numpy as np
from pathlib import Path
from autograder.checks.reference import read_reference
from autograder.checks.substitution import reference_answer
reference = read_reference(Path(sys.argv[1]))
scores = np.ones((1, 2, 3, 3), np.float32)
found = reference_answer(reference, "scale_scores", (scores, 4), {}, (2 * scores,))
assert (found[0] == 1).all(), found
assert "sympy" not in sys.modules
"""


@pytest.mark.slow
def test_gradients_are_given_without_importing_sympy() -> None:
    """That takes a third of a second in every grader process."""
    place = ROOT / "solutions" / "torch_multi_head"
    subprocess.run([sys.executable, "-c", GRADIENTS, str(place)], check=True, cwd=ROOT)


def test_gradients_of_another_shape_are_refused() -> None:
    reference = read_reference(ROOT / "solutions" / "torch_multi_head")
    scores = np.ones((1, 2, 3, 3), np.float32)
    wrong = np.ones((1, 1, 3, 3), np.float32)
    assert reference_answer(reference, "scale_scores", (scores, 4), {}, (scores,)) is not None
    with pytest.raises(ValueError, match="shapes of the results"):
        reference_answer(reference, "scale_scores", (scores, 4), {}, (wrong,))
