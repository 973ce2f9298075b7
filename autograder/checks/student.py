"""The fixture `student`, called like a function: what a check asks, and what it expects.

`student(scores).agrees()` asks the student's step and the reference the same
question and fails the check, in words, when the answers differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import takewhile

import numpy as np
import pytest

from autograder.checks.marks import reference_failed, title_of
from autograder.checks.memory import PassingReplies
from autograder.checks.reference import Reference, Replay
from autograder.judging.asking import CheckAnswer, asked_further, unsteady
from autograder.judging.compare import ResultSpec
from autograder.judging.conditions import (
    MOST_ENTRIES,
    conditions_of,
    gradient_words,
    influence_words,
    influences,
)
from autograder.judging.diagnosis import Candidate, failure
from autograder.judging.distribution import Distributed
from autograder.judging.examples import AnswerForm, AnswerPair, PairMistake
from autograder.judging.expectation import (
    Agrees,
    CheckFailed,
    Expectation,
    Refused,
    judge,
    with_attributes,
)
from autograder.judging.layers import LinearLayers
from autograder.values.exercise import signature_of
from autograder.values.request import (
    Failed,
    KnownReplies,
    PipelinedRespondent,
    Reply,
    Request,
    Respondent,
    Returned,
)
from autograder.values.verdict import ChainVerdict, CheckVerdict, Finding, Outcome
from autograder.worker.wire import Linear, Value

# What one run of a check asks of a student's code, and what it expects of the answers.
#
# A check only says both. It is judged when it has said everything, in the order of its lines. So
# all that a step is asked can be sent at once, and an answer that nobody looks at is not
# computed.

Judgement = Callable[[], None]


@dataclass(frozen=True)
class CheckQuestion:
    """What a check asks, and what it expects; `expected` is called when that is first needed."""

    request: Request
    expected: Callable[[], Expectation]

    @cached_property
    def expectation(self) -> Expectation:
        """What the check expects of the answer."""
        return self.expected()


@dataclass(eq=False)
class Conversation:
    """The questions of one run of a check to `respondent`, and the judgements on the answers.

    Without `judging`, what is expected is only noted. If `eager`, every line of the check is
    judged before the next one is run. `passing` are replies that passed the check before. `given`
    are replies that are there already. `suspects` are the pairs of mistakes that other checks of
    the step have left (None: all).
    """

    respondent: Respondent
    leaning_on: tuple[str, ...] = ()
    judging: bool = True
    eager: bool = False
    passing: PassingReplies | None = None
    given: Sequence[Reply] = ()
    suspects: frozenset[str] | None = None
    # What is expected, in the order of the check's lines, and what of it was looked at so far.
    expected: list[CheckQuestion] = field(default_factory=list)
    judged: list[tuple[CheckQuestion, Reply]] = field(default_factory=list)
    compared: list[AnswerPair] = field(default_factory=list)  # what was looked at side by side
    requests: list[Request] = field(default_factory=list)  # all that were put
    exchanged: list[tuple[Request, Reply]] = field(default_factory=list)  # as replies came
    _replies: dict[int, Reply] = field(default_factory=dict)
    _judgements: deque[Judgement] = field(default_factory=deque)

    def put(self, request: Request) -> int:
        """Note a question; return its number."""
        number = len(self.requests)
        self.requests.append(request)
        for reply in self.given[number : number + 1]:
            self.receive(number, reply)
        return number

    def ask_now(self, request: Request) -> int:
        """Ask a question at once, and no other; return its number."""
        number = self.put(request)
        self._ask(number)
        return number

    def reply(self, number: int) -> Reply:
        """Return the reply to a question, which is asked now if it was not before.

        Raises `CheckFailed` when it is a fault of ours.
        """
        if number not in self._replies:
            ask_together([self])
        if number not in self._replies:
            self._ask(number)
        reply = self._replies[number]
        if isinstance(reply, Failed) and reply.outcome is Outcome.INFRASTRUCTURE:
            raise CheckFailed(failure(reply))
        return reply

    def expect(self, question: CheckQuestion, judgement: Judgement) -> None:
        """Note what is expected, and how it is judged."""
        self.expected.append(question)
        self.look(judgement)

    def look(self, judgement: Judgement) -> None:
        """Note a judgement to be made after those before it."""
        if self.judging:
            self._judgements.append(judgement)
        if self.eager:
            self.settle()

    def settle(self) -> None:
        """Make the judgements that were noted; the first that raises ends it."""
        while self._judgements:
            judgement = self._judgements.popleft()
            try:
                judgement()
            except BaseException:
                self._judgements.clear()
                raise

    def open(self) -> list[int]:
        """Return the numbers of the questions that were not asked yet."""
        return [number for number in range(len(self.requests)) if number not in self._replies]

    def known(self, number: int) -> KnownReplies | None:
        """Return the replies to a question that need not be read again; None to keep none."""
        return self.passing.known(number) if self.passing else None

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies to the first questions, up to one that was not asked."""
        numbers = range(len(self.requests))
        asked = takewhile(self._replies.__contains__, numbers)
        return tuple(self._replies[number] for number in asked)

    def receive(self, number: int, reply: Reply) -> None:
        """Take the reply to a question."""
        self._replies[number] = reply
        self.exchanged.append((self.requests[number], reply))

    def _ask(self, number: int) -> None:
        self.receive(number, self.respondent.ask(self.requests[number], self.leaning_on))


def ask_together(conversations: Iterable[Conversation]) -> None:
    """Ask all open questions of conversations with one respondent at once, where it can do that.

    What stays open, as after code that has ended its process, is asked when it is needed.
    """
    asked = [(each, number) for each in conversations for number in each.open()]
    if not asked:
        return
    first = asked[0][0]
    if not isinstance(first.respondent, PipelinedRespondent):
        return
    requests = [each.requests[number] for each, number in asked]
    known = [each.known(number) for each, number in asked]
    replies = first.respondent.ask_all(requests, known, first.leaning_on)
    for (conversation, number), reply in zip(asked, replies):
        conversation.receive(number, reply)


# One run of a check: on what terms, and what it has shown so far.


@dataclass(frozen=True)
class CheckTerms:
    """On what terms a check is run: who answers, and what is done with the answers.

    The reference answers for the steps in `leaning_on`. `naming` says whether a difference is
    traced to a known mistake; if it is a function, that is called when it is first needed.
    """

    respondent: Respondent
    leaning_on: tuple[str, ...] = ()
    naming: bool | Callable[[], bool] = True

    @cached_property
    def names(self) -> bool:
        """Whether a difference is traced to a known mistake."""
        return self.naming if isinstance(self.naming, bool) else self.naming()

    @cached_property
    def together(self) -> bool:
        """Whether questions can be asked together."""
        return isinstance(self.respondent, PipelinedRespondent)


@dataclass
class RunningCheck:
    """What one run of a check has shown so far."""

    item: pytest.Item
    terms: CheckTerms
    conversation: Conversation
    finding: Finding | None = None
    chain: ChainVerdict | None = None
    errors: list[BaseException] = field(default_factory=list)
    called: bool = True  # False while only what it asked before is asked again
    judged: bool = False

    @property
    def verdict(self) -> CheckVerdict:
        """How the check ended."""
        return CheckVerdict.of(self.item.name, title_of(self.item), self.finding)

    @property
    def seen(self) -> CheckAnswer:
        """What the check has seen, for what is told of all checks of its step together."""
        replies = [reply for _, reply in self.conversation.judged]
        return self.item.name, self.finding, replies[-1] if replies else None

    def caught(self, error: BaseException) -> None:
        """Keep what the check raised."""
        if isinstance(error, CheckFailed):
            self.finding = error.finding
        else:
            self.errors.append(error)


# Which known mistakes give two answers that are amiss as a student's two answers are.


@dataclass(frozen=True)
class KnownPairs:
    """The known mistakes in the student's place, in a conversation about answers of one form."""

    replay: Replay
    conversation: Conversation
    form: AnswerForm

    def mistakes(self, pair: AnswerPair) -> Iterator[PairMistake]:
        """Give the mistakes of which the two answers of `pair` are amiss, and nothing before."""
        request = self.conversation.requests[pair.first]
        for known in self.replay.singles(request):
            amiss = self._amiss(known.name, pair)
            if amiss and self._passes(known, pair):
                yield PairMistake(known.name, known.words, known.step, amiss)

    def _amiss(self, name: str, pair: AnswerPair) -> tuple[str, ...] | None:
        """Return the arrays in which two answers of a mistake are amiss; None for other forms."""
        requests = [self.conversation.requests[number] for number in (pair.first, pair.second)]
        # Each is asked anew: equal questions may get other numbers.
        known = [self.replay.again(request, name) for request in requests]
        answers = [(request, each.reply) for request, each in zip(requests, known) if each]
        return self.form.amiss(pair, *answers) if len(answers) == len(requests) else None

    def _passes(self, known: Candidate, pair: AnswerPair) -> bool:
        """Say whether a mistake passes what the student's code has passed in this check."""
        request = self.conversation.requests[pair.first]
        expected = [question.expectation for question, _ in self.conversation.judged]
        if any(judge(each, request, known.reply, (), False) for each in expected):
            return False
        before = takewhile(lambda each: each is not pair, self.conversation.compared)
        return not any(self._amiss(known.name, each) for each in before)


# What a student's code gave to one question of a check, and the ways to look at it.


@dataclass(frozen=True)
class Answer:
    """What the student's code gave, and the ways a check may look at it.

    What a check looks at is judged after its last line, or before the next `reply` is read.
    """

    student: Student
    request: Request
    number: int  # of the question

    @property
    def reply(self) -> Reply:
        """What the code gave. Raises `CheckFailed` when an earlier line of the check fails."""
        self.student.conversation.settle()
        return self._reply

    def agrees(self) -> None:
        """Fail unless the result is the reference's, and nothing else has changed.

        After a backward pass, the gradients are the reference's too.
        """
        self._expect(self._agreement)

    def agrees_if_in_time(self) -> None:
        """As `agrees`, but code that takes too long for so large a question is not wrong."""
        self._expect(lambda: replace(self._agreement(), may_be_slow=True))

    def is_distributed(self, *, mean: float, deviation: float) -> None:
        """Fail unless every array is a normal draw of its own, shaped as the reference's."""
        self._expect(lambda: Distributed(self._expected(), self._form(), mean, deviation))

    def has_layers(self) -> None:
        """Fail unless the linear layers are shaped as the reference's."""
        self._expect(lambda: LinearLayers(self._expected(), self._form()))

    def is_refused(self, fact: str, *kinds: str) -> None:
        """Fail, with `fact`, unless the code raises an exception of one of these types."""
        self._expect(lambda: Refused(kinds, fact, ResultSpec(("result",), (None,))))

    def differs_from(self, other: Answer, fact: str, look: str = "") -> None:
        """Fail, with `fact` and where to `look`, when an array holds the same numbers in both."""
        self._compared(other, AnswerPair(self.number, other.number, False, fact, look))

    def repeats(self, other: Answer, fact: str, look: str = "") -> None:
        """Fail, with `fact` and where to `look`, unless both answers hold the same numbers."""
        self._compared(other, AnswerPair(self.number, other.number, True, fact, look))

    def _compared(self, other: Answer, pair: AnswerPair) -> None:
        def judged() -> None:
            self.student.conversation.compared.append(pair)
            answers = (self.request, self._reply), (other.request, other._reply)
            form = AnswerForm(self._expected(), self._form())
            if finding := form.judge(pair, self._mistakes(pair, form), *answers):
                raise CheckFailed(finding)

        self.student.conversation.look(judged)

    def _mistakes(self, pair: AnswerPair, form: AnswerForm) -> Iterator[PairMistake]:
        if self.student.naming():
            conversation = self.student.conversation
            yield from KnownPairs(self.student.reference.replay, conversation, form).mistakes(pair)

    @property
    def _reply(self) -> Reply:
        return self.student.conversation.reply(self.number)

    def _agreement(self) -> Agrees:
        gradients = self._gradients()
        return Agrees(
            self._expected(),
            self._form(),
            tuple(gradients.values()),
            tuple(gradients),
            self._reference.observations,
        )

    def _expect(self, expected: Callable[[], Expectation]) -> None:
        question = CheckQuestion(self.request, expected)
        self.student.conversation.expect(question, partial(self._judge, question))

    def _judge(self, question: CheckQuestion) -> None:
        reply, expectation = self._reply, question.expectation
        self.student.conversation.judged.append((question, reply))
        finding = self._judged(self.request, expectation, reply)
        if not finding:
            return
        finding = asked_further(finding, question, reply, self._answered, self._asked_again)
        unnamed = finding.outcome is Outcome.WRONG_VALUES and not finding.misconception
        if self.student.naming() and unnamed and isinstance(expectation, Agrees):
            told = unsteady(finding, question, reply, self._answered)
            finding = told or self._beside(finding, expectation)
        raise CheckFailed(finding)

    def _beside(self, finding: Finding, expectation: Agrees) -> Finding:
        """Return an unnamed finding with what the reference tells about it."""
        if self._reads_gradients:
            forward = self._asked(replace(self.request, read=(), backward=None))
            values = Agrees(forward._expected(), forward._form())
            if judge(values, forward.request, forward._reply, (), describe=False) is None:
                finding = gradient_words(finding, with_attributes(self.request, self._reply))
        # There are thousands of pairs. Under conditions, or on large arrays, only those are tried
        # that a check before this one has left.
        plain = not conditions_of(self.request) and not expectation.may_be_slow
        if plain or self.student.conversation.suspects:
            pairs = self._known(self.request, pairs=True)
            named = judge(expectation, self.request, self._reply, pairs)
            finding = named if named and named.misconception else finding
            if not finding.misconception and not finding.cause:
                finding = self._with_influences(finding)
        return finding

    def _with_influences(self, finding: Finding) -> Finding:
        """Return the finding on a method with entries of its input that have a wrong influence."""
        request, reference = self.request, self.student.reference
        x = request.method_arguments[0] if request.method and request.method_arguments else None
        form = self._form()
        if request.read or not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            return finding
        called = getattr(getattr(reference.module, request.target), request.method or "")
        parameter, letters = next(iter(signature_of(called).parameters), ("", None))
        if not letters or [letters] != list(form.axes) or max(x.shape) > MOST_ENTRIES:
            return finding
        for axis, letter in enumerate(letters.split()[:-1]):
            right = influences(reference.ask, request, axis)
            own = influences(self._answered, request, axis)
            if right is not None and own is not None and (own != right).any():
                words = f"axis {axis} ({letter})"
                return influence_words(finding, own, right, parameter, words)
        return finding

    @property
    def _reads_gradients(self) -> bool:
        names = self._names
        return bool(names) and all(name.endswith(".grad") for name in names)

    def _asked_again(self, request: Request, expectation: Expectation) -> Finding | None:
        """Return the finding on another question, asked of the same code."""
        return self._judged(request, expectation, self._asked(request)._reply)

    def _asked(self, request: Request) -> Answer:
        """Ask another question of the same code, at once."""
        return Answer(self.student, request, self.student.conversation.ask_now(request))

    def _answered(self, request: Request) -> Reply:
        return self._asked(request)._reply

    def _judged(self, request: Request, expectation: Expectation, reply: Reply) -> Finding | None:
        found = judge(expectation, request, reply, (), describe=False)
        if found is None or not self.student.naming():
            return found
        return judge(expectation, request, reply, self._known(request))

    def _known(self, request: Request, pairs: bool = False) -> Iterator[Candidate]:
        # A generator, since replaying takes long.
        replay = self.student.reference.replay
        suspects = self.student.conversation.suspects
        yield from replay.pairs(request, suspects) if pairs else replay.singles(request)

    @cached_property
    def _reference(self) -> Returned:
        asked = self.request.alone  # whatever is asked of the student's code
        reply = self.student.reference.expected(asked)
        if isinstance(reply, Failed):
            raise reference_failed(self.student.reference.exercise, asked, reply)
        return reply

    def _gradients(self) -> dict[str, Value]:
        """The gradients that are expected, by the names of what they arrive at."""
        request = self.request
        if request.backward is None or request.read:
            return {}
        called = getattr(self.student.reference.module, request.target)
        called = getattr(called, request.method) if request.method else called
        given = request.call_arguments
        parameters = [name for name, _ in signature_of(called).parameters]
        names = [
            name
            for parameter, value in zip(parameters, given)
            for name in _receiving(parameter, value)
        ]
        return dict(zip((*names, *request.attributes), self._reference.gradients))

    def _expected(self) -> Value:
        reply = self._reference
        if self.request.read:
            values = tuple(reply.attributes[name] for name in self._names)
            return values[0] if len(values) == 1 else values
        return reply.value

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for name in self.request.read if name != "*")

    def _form(self) -> ResultSpec:
        request = self.request
        if request.read:
            return ResultSpec(self._names, (None,) * len(self._names), precision=request.dtype)
        return self.student.reference.form(request.target, request.method, request.dtype)


def _receiving(parameter: str, value: Value) -> tuple[str, ...]:
    """Return the names of what receives a gradient in one argument."""
    if isinstance(value, Linear):
        parts = ("weight",) if value.bias is None else ("weight", "bias")
        return tuple(f"{parameter}.{part}" for part in parts)
    floating = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return (parameter,) if floating else ()


@dataclass(frozen=True)
class Student:
    """One step of a submission, ready to be asked.

    `naming` says whether a difference is traced to a known mistake, or only found.
    """

    step: str
    reference: Reference
    conversation: Conversation
    naming: Callable[[], bool] = lambda: True

    def __call__(self, *arguments: Value, **keywords: Value) -> Answer:
        """Call the step's function."""
        return self.ask(Request(self.step, arguments, keywords))

    def constructed(self, *arguments: Value, **attributes: Value) -> Constructed:
        """Construct the step's class with `arguments`, and put `attributes` into it."""
        return Constructed(self, Request(self.step, arguments, method="", attributes=attributes))

    def ask(self, request: Request) -> Answer:
        """Put `request` to the student's code."""
        return Answer(self, request, self.conversation.put(request))


@dataclass(frozen=True)
class Constructed:
    """An instance of the student's class; each use constructs a new one."""

    student: Student
    request: Request

    def call(self, method: str, *arguments: Value, **keywords: Value) -> Answer:
        """Call a method."""
        request = replace(
            self.request, method=method, method_arguments=arguments, keywords=keywords
        )
        return self.student.ask(request)

    def attributes(self, *names: str) -> Answer:
        """Read attributes; they are the answer, in this order."""
        return self.student.ask(replace(self.request, read=(*names, "*")))

    def gradients(
        self, names: tuple[str, ...], method: str, *arguments: Value, backward: Value
    ) -> Answer:
        """Call a method, and propagate the gradient `backward` back from its result.

        The answer is the gradients of the parameters `names`, in this order.
        """
        return self.student.ask(
            replace(
                self.request,
                method=method,
                method_arguments=arguments,
                backward=backward,
                read=tuple(f"{name}.grad" for name in names),
            )
        )

    def cast(self, dtype: str) -> Constructed:
        """Cast the instance and its inputs to a dtype of PyTorch, for example "bfloat16"."""
        return replace(self, request=replace(self.request, dtype=dtype))
