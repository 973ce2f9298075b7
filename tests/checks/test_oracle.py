"""The reference answers for earlier steps that are wrong; its answers are of no use elsewhere.

Two hand-ins work together here. The first keeps what it is asked, asks the reference the same
while it is judged at later steps, and brings the answers home in the texts of its exceptions.
The second has nothing written: it gives back what the first has brought home.
"""

from __future__ import annotations

import re
from functools import wraps
from typing import Any

import numpy as np
import pytest

from autograder.checks.reference import Replay, read_reference
from autograder.checks.substitution import reference_answer
from autograder.judging.diagnosis import Candidate
from autograder.values.exercise import read_exercise
from autograder.values.request import Request
from autograder.values.verdict import Outcome, Verdict
from support.graded_texts import graded, solution
from support.learner_workspace import NAME, ROOT

FOLDER = ROOT / "solutions" / NAME
EXERCISE = read_exercise(FOLDER)
STEPS = tuple(step.name for step in EXERCISE.steps)
# What the second leaves to the answers of the first. Random weights cannot be brought home.
STOLEN = tuple(name for name in STEPS[:-1] if name != "initialize_weights")

# Fourteen bits to a character, from a block of letters that every message may hold.
SHARED = """
import hashlib
import numpy as np

FIRST = 0x4E00

def digest(arguments):
    known = [np.asarray(one, np.float64).round(9).tobytes() for one in arguments]
    return hashlib.sha256(b"".join(known)).digest()[:4]

def letters(data):
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 14)
    return "".join(chr(FIRST + int(bits[at : at + 14], 2)) for at in range(0, len(bits), 14))

def from_letters(text):
    bits = "".join(f"{ord(letter) - FIRST:014b}" for letter in text)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8))
"""

THIEF = (
    SHARED
    + """
STEPS = __steps__
KEPT, QUEUE, ASKED, TOLD = [], bytearray(), set(), set()

def record(answer, mark):
    array = np.asarray(answer, np.float32)
    return mark + bytes([array.ndim, *array.shape]) + array.tobytes()

def take(step, arguments):
    KEPT.append((step, arguments))
    for number, (kept, given) in enumerate(KEPT):
        there = globals()[kept]
        if kept == step or number in ASKED or there.__name__ != "answered_by_host":
            continue
        ASKED.add(number)
        mark = digest(given)
        if mark not in TOLD:
            TOLD.add(mark)
            QUEUE.extend(record(there(*given), mark))
    if all(globals()[name].__name__ != "answered_by_host" for name, _ in KEPT):
        raise ValueError("<>0|0")  # what is told now is not shown to anybody
    data = bytes(QUEUE[: __longest__ * 14 // 8])
    del QUEUE[: len(data)]
    raise ValueError("<" + letters(data) + ">" + str(len(data)) + "|" + str(len(ASKED)))

def stub(step):
    def taking(*arguments):
        take(step, arguments)
    return taking

globals().update({step: stub(step) for step in STEPS if step != "initialize_weights"})
"""
)

HEIR = (
    SHARED
    + """
STOLEN = __stolen__

def table():
    found, data = {}, b"".join(from_letters(text)[:size] for text, size in STOLEN)
    while len(data) > 8:
        mark, axes = data[:4], data[4]
        shape = tuple(data[5 : 5 + axes])
        size = 4 * int(np.prod(shape))
        numbers, data = data[5 + axes :][:size], data[5 + axes + size :]
        if len(numbers) == size:  # else the rest could not be brought home
            found[mark] = np.frombuffer(numbers, np.float32).reshape(shape)
    return found

TABLE = table()

def given(*arguments):
    answer = TABLE.get(digest(arguments))
    if answer is None:
        raise NotImplementedError
    return answer

def project_qkv(*arguments):
    return tuple(given(*arguments))

globals().update(dict.fromkeys(__names__, given))
"""
)


def filled(code: str, **values: object) -> str:
    """Return `code` with each `__name__` replaced by a value."""
    for name, value in values.items():
        code = code.replace(f"__{name}__", repr(value))
    return code


def verdict_on(code: str) -> Verdict:
    """What the real engine says of one hand-in."""
    (verdict,) = graded(NAME, code)
    assert not verdict.infrastructure
    return verdict


def thief() -> Verdict:
    return verdict_on(filled(THIEF, steps=STEPS, longest=180))


def quoted(verdict: Verdict) -> list[re.Match[str]]:
    """Return what stands between the marks of the thief's messages, and the numbers after it."""
    texts = [check.finding.fact for step in verdict.steps for check in step.checks if check.finding]
    found = [re.search(r"<([\u4e00-\u8dff]*)>(\d+)\|(\d+)", text) for text in texts]
    return [match for match in found if match]


def test_answers_that_one_hand_in_brings_home_are_of_no_use_to_another() -> None:
    told = quoted(thief())
    assert len(told) >= len(STOLEN), "the thief did not run"
    stolen = [(match[1], int(match[2])) for match in told]
    plain = [name for name in STOLEN if name != "project_qkv"]
    heir = verdict_on(filled(HEIR, stolen=stolen, names=plain))
    earned = [step.name for step in heir.steps if step.points]
    print(f"{sum(size for _, size in stolen)} bytes were brought home, for {earned}")
    assert earned == []


def test_a_step_cannot_ask_about_what_other_steps_were_asked() -> None:
    verdict = thief()
    told = quoted(verdict)
    assert len(told) >= len(STOLEN), "the thief did not run"
    assert {match[3] for match in told} == {"0"}, "inputs of another step were asked about"
    assert {step.outcome for step in verdict.steps} <= {Outcome.RAISED, Outcome.NOT_WRITTEN}


# A wrong step keeps what it is asked; the layer, which leans where that was, asks the reference.
KEEPS = """
import numpy as np

KEPT, TABLE = [], {}

def softmax(scores):
    KEPT.append(scores.copy())
    return TABLE.get(scores.tobytes(), scores)

RIGHT = SingleHeadAttention.forward

def forward(self, *arguments, **named):
    if softmax.__name__ == "answered_by_host":
        TABLE.update({kept.tobytes(): softmax(kept) for kept in KEPT})
        if len(TABLE) < __known__:
            raise ValueError("nobody was asked before")
    return RIGHT(self, *arguments, **named)

SingleHeadAttention.forward = forward
"""


def test_what_a_layer_asks_about_a_wrong_step_is_of_no_use_to_that_step() -> None:
    softmax, *_, layer = verdict_on(solution(NAME) + filled(KEEPS, known=5)).steps
    assert layer.passes and layer.leaning, "nothing was asked about"
    assert softmax.outcome is Outcome.WRONG_VALUES


SEES = """
import numpy as np
def softmax(scores):
    raise ValueError(f"{scores.ravel()[0]:.6f}")
"""


@pytest.mark.parametrize("second", [SEES, SEES + "# the same once more\n"])
def test_inputs_are_the_same_for_the_same_code_and_others_for_other_code(second: str) -> None:
    one, two = (verdict_on(code).steps[0].finding for code in (SEES, second))
    assert one and two
    assert (one.fact == two.fact) == (second == SEES)


def test_a_quoted_exception_is_short() -> None:
    verdict = verdict_on("def softmax(scores): raise ValueError(chr(55) * 100_000)")
    finding = verdict.steps[0].finding
    assert finding
    assert 0 < finding.message.count("7") <= 200


# --- what the answers cost ------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [np.float16, np.float32, np.float64])
def test_half_precision_is_computed_in_single_and_answered_in_half(asked: type) -> None:
    reference = read_reference(FOLDER)
    computed: list[np.dtype[Any]] = []
    step = reference.functions["compute_attention_scores"]

    @wraps(step)
    def watched(*arguments: np.ndarray) -> np.ndarray:
        computed.extend(argument.dtype for argument in arguments)
        scores: np.ndarray = step(*arguments)
        return scores

    generator = np.random.default_rng(7)
    queries, keys = generator.standard_normal((2, 1, 256, 64)).astype(asked)
    with reference.replaced({"compute_attention_scores": watched}):
        answer = reference_answer(reference, "compute_attention_scores", (queries, keys), {})
    assert isinstance(answer, np.ndarray) and answer.dtype == asked
    assert computed == [np.dtype(np.float32 if asked is np.float16 else asked)] * 2
    right = queries.astype(float) @ keys.astype(float).transpose(0, 2, 1)
    np.testing.assert_allclose(answer, right, rtol=1e-2, atol=1e-2)


def test_gradients_of_half_precision_are_computed_in_single_too() -> None:
    folder = FOLDER.parent / "torch_multi_head"
    generator = np.random.default_rng(7)
    scores, cotangent = (
        generator.standard_normal((2, 4, 5, 5)).astype(np.float16) for _ in range(2)
    )
    found = reference_answer(
        read_reference(folder), "compute_attention_weights", (scores,), {}, (cotangent,)
    )
    assert isinstance(found, tuple)
    (gradient,) = found
    assert isinstance(gradient, np.ndarray)
    assert (gradient.dtype, gradient.shape) == (np.float16, scores.shape)


# --- a class whose mistake nobody knows -----------------------------------------------------------

UNKNOWN = """
RIGHT = SingleHeadAttention

class SingleHeadAttention(RIGHT):
    def forward(self, x, causal=False):
        y = super().forward(x, causal)
        return 1.5 * y + 0.3 * (y > 0)
"""


@pytest.mark.slow
def test_pairs_of_mistakes_are_all_tried_once_in_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs differ from hand-in to hand-in, so thousands of replays are shared by nobody."""
    tried: list[frozenset[str] | None] = []
    pairs = Replay.pairs

    def counted(
        self: Replay, request: Request, suspects: frozenset[str] | None = None
    ) -> tuple[Candidate, ...]:
        tried.append(suspects)
        return pairs(self, request, suspects)

    monkeypatch.setattr(Replay, "pairs", counted)
    layer = verdict_on(solution(NAME) + UNKNOWN).steps[-1]
    assert layer.outcome is Outcome.WRONG_VALUES
    assert len(tried) > 3 and tried.count(None) == 1
