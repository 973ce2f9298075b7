"""What leaning code asks the reference is computed once, kept within a bound, and told apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from autograder.checks import given_answers
from autograder.checks.given_answers import GivenAnswers, key_of
from autograder.checks.reference import Reference, read_reference
from autograder.checks.substitution import reference_answer
from autograder.model.request import Reply, Request
from autograder.protocol.wire import Linear, Seed, Value

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
SCORES = np.random.default_rng(3).standard_normal((2, 4, 4))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the reference is asked to compute."""
    targets: list[str] = []
    ask = Reference.ask

    def counted(self: Reference, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        targets.append(request.target)
        return ask(self, request, leaning_on)

    monkeypatch.setattr(Reference, "ask", counted)
    return targets


def test_a_question_that_was_answered_is_not_computed_again(computed: list[str]) -> None:
    reference = read_reference(SOLUTIONS / "numpy_single_head")
    first = reference_answer(reference, "softmax", (SCORES,), {})
    again = reference_answer(reference, "softmax", (SCORES.copy(),), {})
    assert computed == ["softmax"]
    np.testing.assert_array_equal(first, again)
    other = reference_answer(reference, "softmax", (2 * SCORES,), {})
    assert len(computed) == 2 and other is not None
    reference.forget()
    reference_answer(reference, "softmax", (SCORES,), {})
    assert len(computed) == 3


def test_a_refusal_is_kept_too() -> None:
    reference = read_reference(SOLUTIONS / "numpy_single_head")
    assert reference_answer(reference, "softmax", (SCORES[0], 1), {}) is None
    assert len(reference.memories.given) == 1
    assert reference_answer(reference, "softmax", (SCORES[0], 1), {}) is None


def test_layers_are_drawn_anew_at_each_call(computed: list[str]) -> None:
    reference = read_reference(SOLUTIONS / "torch_multi_head")
    first, second = (reference_answer(reference, "create_projections", (8,), {}) for _ in range(2))
    assert computed == ["create_projections"] * 2
    assert first and second and not np.array_equal(first[0].weight, second[0].weight)
    assert not len(reference.memories.given)


CALLS: list[tuple[str, tuple[Value, ...], Mapping[str, Value], tuple[Value, ...]]] = [
    ("softmax", (SCORES,), {}, ()),
    ("scale", (SCORES,), {}, ()),
    ("softmax", (), {"scores": SCORES}, ()),
    ("softmax", (SCORES,), {}, (SCORES,)),
    ("softmax", (SCORES, None), {}, ()),
    ("softmax", ((SCORES,),), {}, ()),
    ("softmax", (SCORES.reshape(4, 2, 4),), {}, ()),
    ("softmax", (SCORES.view(np.int64),), {}, ()),
    ("softmax", (1,), {}, ()),
    ("softmax", (1.0,), {}, ()),
    ("softmax", (True,), {}, ()),
    ("softmax", ("1",), {}, ()),
    ("softmax", (Seed(1),), {}, ()),
    ("softmax", (np.ones(()),), {}, ()),
    ("softmax", (Linear(SCORES[0], None),), {}, ()),
    ("softmax", (Linear(SCORES[0], None, trainable=False),), {}, ()),
    ("softmax", (Linear(SCORES[0], SCORES[0, 0]),), {}, ()),
]


def test_no_two_calls_have_one_key() -> None:
    assert len({key_of(*call) for call in CALLS}) == len(CALLS)


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_answers, "MOST_KEPT", 3)
    kept = GivenAnswers()
    for name in (b"a", b"b", b"c"):
        kept.keep(name, SCORES)
    assert kept.again(b"a") is SCORES  # so it is not the next to go
    kept.keep(b"d", None)
    assert [name for name in (b"a", b"b", b"c", b"d") if name in kept] == [b"a", b"c", b"d"]
    assert kept.again(b"d") is None


def test_the_bytes_of_what_is_kept_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_answers, "MOST_BYTES", 10_000)
    monkeypatch.setattr(given_answers, "LARGEST_KEPT", 5_000)
    kept = GivenAnswers()
    kept.keep(b"too large", np.zeros(1_000))
    assert not len(kept)
    for number in range(20):
        kept.keep(b"%d" % number, (np.zeros(200), Linear(np.zeros((10, 10)), np.zeros(10))))
    assert len(kept) == 3 and b"19" in kept
    kept.clear()
    assert not len(kept)
    kept.keep(b"again", np.zeros(200))
    assert len(kept) == 1
