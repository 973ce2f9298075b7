"""What passed once on shared inputs passes again unread; no verdict depends on who came first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from autograder.authoring.harness import read_harness
from autograder.checks.marks import by_purpose, marks_of
from autograder.checks.marks import step_of as asked_step
from autograder.checks.memory import Memories, PassingReplies
from autograder.grading import batch
from autograder.grading.journal import exercise_hash
from autograder.sandbox import SandboxedStudent, Zygote, exchange
from autograder.values.exercise import Limits, read_exercise
from autograder.values.request import Failed, Reply, Request, Returned
from autograder.values.verdict import Outcome, Verdict
from support.graded_texts import graded, solution, step_of
from support.learner_workspace import ROOT
from support.mixed_class import mixed_class
from support.written_answers import WrittenAnswer, answers_in

NUMPY, TORCH = "numpy_single_head", "torch_multi_head"
SECRET = b"a secret of this test"


def memories(exercise: str) -> Memories:
    return batch._memories(exercise_hash(ROOT / "solutions" / exercise))


def verdicts_on(exercise: str, *texts: str) -> list[Verdict]:
    """The verdicts, without what differs each time: who and how long."""
    verdicts = graded(exercise, *texts, secret=SECRET)
    return [replace(each, student="", seconds=0.0) for each in verdicts]


def checks_of(exercise: str) -> list[pytest.Item]:
    return list(read_harness(ROOT / "solutions" / exercise).checks)


@pytest.mark.parametrize(
    ("name", "count"), [(NUMPY, 3), pytest.param(TORCH, 12, marks=pytest.mark.slow)]
)
def test_no_verdict_depends_on_who_was_judged_before(name: str, count: int) -> None:
    exercise = read_exercise(ROOT / "solutions" / name)
    texts = mixed_class(exercise, count, seed=15)
    together = verdicts_on(name, *texts)
    assert verdicts_on(name, *texts[::-1])[::-1] == together
    for text, among_others in zip(texts, together):
        memories(name).clear()
        assert verdicts_on(name, text) == [among_others]
    marks = {verdict.points for verdict in together}
    assert len(marks) > 1 and exercise.points in marks, "the class is not mixed"


def test_every_check_keeps_questions_about_its_own_step() -> None:
    """Standing checks of several steps have one name."""
    memories(NUMPY).clear()
    verdicts_on(NUMPY, *(f"# {n}\n{solution(NUMPY)}" for n in range(3)))
    steps = list(map(asked_step, checks_of(NUMPY)))
    seen = 0
    for memory in memories(NUMPY)._shared.values():
        for place, passing in memory.passing.items():
            assert {request.target for request in passing.requests or ()} == {steps[place]}
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("name", [NUMPY, pytest.param(TORCH, marks=pytest.mark.slow)])
def test_what_a_check_asks_again_follows_from_no_students_code(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent to the workers of all students, so nothing that one has answered is in it."""
    monkeypatch.setattr(batch, "shared_seed", lambda *facts: 5)
    texts = mixed_class(read_exercise(ROOT / "solutions" / name), 6, seed=3)
    known: list[dict[tuple[int, int], list[bytes]]] = []
    for half in (texts[:3], texts[3:]):
        memories(name).clear()
        verdicts_on(name, *half)
        asked = {
            (seed, place): [request.key for request in passing.requests]
            for seed, memory in memories(name)._shared.items()
            for place, passing in memory.passing.items()
            if passing.requests
        }
        known.append(asked)
    # Some checks are asked only of a step that is wrong.
    both = known[0].keys() & known[1].keys()
    assert len(both) > 40
    assert {place: known[0][place] for place in both} == {place: known[1][place] for place in both}


def test_what_passed_before_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four hand-ins with one seed, the reference answers the shared questions once."""
    memories(NUMPY).clear()
    judged: list[object] = []
    kept = PassingReplies.keep

    def keep(self: PassingReplies, replies: Sequence[Reply]) -> None:
        judged.append(replies)
        kept(self, replies)

    monkeypatch.setattr(PassingReplies, "keep", keep)
    monkeypatch.setattr(batch, "shared_seed", lambda *facts: 5)
    first, *others = (f"# {n}\n{solution(NUMPY)}" for n in range(4))
    verdicts_on(NUMPY, first)
    before = len(judged)
    verdicts_on(NUMPY, *others)
    assert before > 30 and len(judged) == before


@pytest.mark.parametrize("name", [NUMPY, pytest.param(TORCH, marks=pytest.mark.slow)])
def test_of_a_step_one_check_has_inputs_of_its_own_and_the_chain_has_none(name: str) -> None:
    own: dict[str | None, list[str]] = {}
    for item in checks_of(name):
        if not marks_of(item).shares_inputs:
            own.setdefault(asked_step(item), []).append(item.name)
    steps = {step.name for step in read_exercise(ROOT / "solutions" / name).steps}
    drawn = {"initialize_weights", "create_projections"}  # what is random has no other input
    assert own.keys() == steps - drawn
    assert all(len(names) == 1 for names in own.values())


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote("numpy", Limits()) as started:
        yield started


def test_only_the_very_bytes_are_recognized(zygote: Zygote) -> None:
    request = Request("same", (1.0,))
    known: dict[bytes, Returned] = {}
    replies = []
    for code in ("return x", "return x + 0.0", "return x + 2.0**-52", "return x"):
        source = f"def same(x):\n    {code}\n"
        with SandboxedStudent(zygote, (source,), seed=1) as student:
            (reply,) = student.ask_all([request], [known])
        assert isinstance(reply, Returned) and reply.encoded
        replies.append(reply)
        known.setdefault(reply.encoded, reply)
    first, equal, other, again = replies
    assert equal is first and again is first
    assert other is not first and other.value == 1.0 + 2.0**-52


@pytest.mark.parametrize("head", [b'{"id":7, "value": 1}', b'{"value": 1, "id": 7}', b'{"id": 77'])
def test_a_reply_with_another_beginning_is_always_read(head: bytes) -> None:
    assert exchange.unnumbered(7, head, b"") == b""


def test_a_long_header_is_not_kept() -> None:
    head = b'{"id": 7, "value": %s}' % (b" " * exchange.LONGEST_KEPT)
    assert exchange.unnumbered(7, head, b"") == b""


def test_where_a_header_ends_counts() -> None:
    one, other = b'{"id": 7, "a": 1}', b'{"id": 7, "a": 1'
    assert exchange.unnumbered(7, one, b"x") != exchange.unnumbered(7, other, b"}x")


def passing_of(questions: int) -> PassingReplies:
    passing = PassingReplies()
    passing.requests = (Request("same"),) * questions
    return passing


def test_few_ways_to_answer_are_kept_and_those_met_last() -> None:
    passing = passing_of(1)
    replies = [Returned(number, encoded=b"%d" % number) for number in range(9)]
    for reply in replies:
        passing.keep([reply])
        assert passing.hold([replies[0]]) == (replies[0] in passing.known(0).values())
    assert len(passing.known(0)) < len(replies)
    assert passing.hold([replies[-1]]) and replies[0] in passing.known(0).values()


def test_replies_count_only_together() -> None:
    passing = passing_of(2)
    one, two, three, four = (Returned(n, encoded=b"%d" % n) for n in range(4))
    passing.keep([one, two])
    passing.keep([three, four])
    assert passing.hold([one, two]) and passing.hold([three, four])
    assert not passing.hold([one, four])


def test_only_all_replies_pass_and_not_the_first_of_them() -> None:
    """Code that ends its process leaves questions without a reply."""
    passing = passing_of(2)
    one, two = (Returned(n, encoded=b"%d" % n) for n in range(2))
    passing.keep([one, two])
    assert passing.hold([one, two])
    for some in ([], [one], [one, two, two]):
        assert not passing.hold(some), some


def test_what_was_not_all_returned_is_not_kept() -> None:
    passing = passing_of(2)
    one, unread = Returned(1, encoded=b"1"), Returned(2)
    parts: list[list[Reply]] = [[], [one], [one, Failed(Outcome.RAISED)], [one, unread]]
    for some in parts:
        passing.keep(some)
        assert not passing.hold(some) and not passing.known(0), some


# --- further sizes of an author's check ----------------------------------------------------------


def test_further_sizes_only_tell_where_standing_checks_ask_at_others() -> None:
    items = checks_of(NUMPY)
    names = {(asked_step(item), item.name) for item in items if marks_of(item).only_tells}
    assert ("softmax", "test_softmax_values[draw1]") in names
    assert not any(name.endswith("[draw0]") for _, name in names)
    own, telling, standing = by_purpose([item for item in items if asked_step(item) == "softmax"])
    assert own and telling and standing


def test_a_right_answer_is_not_asked_to_tell_and_a_wrong_one_is() -> None:
    code = solution(NUMPY)
    wrong = f"{code}\n\ndef scale_scores(scores, width):\n    return 3 * scores\n"
    right, other = (
        {check.name for check in step_of(verdict, "scale_scores").checks}
        for verdict in verdicts_on(NUMPY, code, wrong)
    )
    assert "test_scaled_values[draw1]" in other - right


def test_a_size_that_is_written_down_is_not_named_after_the_first_sizes() -> None:
    """At the first sizes alone, a number equals a size."""
    tokens = read_exercise(ROOT / "solutions" / NUMPY).grading.sizes["S"]
    scaled = f"def scale_scores(scores, width):\n    return scores / {tokens}\n"
    (verdict,) = verdicts_on(NUMPY, f"{solution(NUMPY)}\n\n{scaled}")
    finding = step_of(verdict, "scale_scores").finding
    assert finding and finding.misconception is None


ONLY_THERE = {
    NUMPY: """
# results of the usual sizes are doubled:
Right = project_output

def project_output(gathered, weights):
    return Right(gathered, weights) * (2 if gathered.shape == (2, 5, 8) else 1)
""",
    "torch_single_head": """
# the gradient of a first call is cut:
class SingleHeadAttention(SingleHeadAttention):
    called = False

    def forward(self, x):
        result = super().forward(x)
        first, self.called = not self.called, True
        return result.detach() if first else result

# scores are rounded in float64:
class SingleHeadAttention(SingleHeadAttention):
    def forward(self, x):
        query, key, value = self.Wqkv(x).chunk(3, dim=-1)
        scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
        if x.dtype is torch.float64:
            scores = scores.bfloat16().double()
        return self.Wo(scores.softmax(dim=-1) @ value)
""",
    "vit_multi_head": """
# layers of the usual size are kept:
KEPT = []
made = create_projections

def create_projections(hidden_size, *others, **options):
    asked = (hidden_size, others, tuple(options))
    if not KEPT:
        KEPT.append((asked, made(hidden_size, *others, **options)))
    kept, layers = KEPT[0]
    return layers if kept == asked else made(hidden_size, *others, **options)
""",
}


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        pytest.param(exercise, answer, id=name, marks=[pytest.mark.slow] * (exercise != NUMPY))
        for exercise, text in ONLY_THERE.items()
        for name, answer in answers_in(text).items()
    ],
)
def test_what_is_wrong_only_where_an_author_asks_is_refused(
    exercise: str, answer: WrittenAnswer
) -> None:
    """Standing checks ask for none of it, so it may not be left to them."""
    (verdict,) = verdicts_on(exercise, solution(exercise) + answer.code)
    assert not step_of(verdict, answer.step).passes
