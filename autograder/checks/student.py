"""The fixture `student`: the code under check, called like a function.

`student(scores).agrees()` asks the student's step and the reference the same
question and fails the check, in words, when the answers differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from autograder.checks.answer import Answer
from autograder.checks.reference import Reference
from autograder.judging.diagnosis import failure
from autograder.judging.expectation import CheckFailed, Expectation
from autograder.model.request import Failed, Request, Respondent
from autograder.model.verdict import Outcome
from autograder.protocol.wire import Value

Recorder = Callable[[Request, Expectation], None]


@dataclass(frozen=True)
class Student:
    """One step of a submission, ready to be asked.

    Without `naming`, a difference is found but not traced to a known mistake. With `suspects`,
    only these pairs of mistakes are tried: another check of the step has ruled out the rest.
    Without `judging`, what a check expects is recorded, and nothing is compared.
    """

    step: str
    reference: Reference
    respondent: Respondent
    leaning_on: tuple[str, ...] = ()
    record: Recorder | None = None
    naming: bool = True
    suspects: frozenset[str] | None = None
    judging: bool = True

    def __call__(self, *arguments: Value, **keywords: Value) -> Answer:
        """Call the step's function."""
        return self.ask(Request(self.step, arguments, keywords))

    def constructed(self, *arguments: Value, **attributes: Value) -> Constructed:
        """Construct the step's class with `arguments`, and put `attributes` into it."""
        return Constructed(self, Request(self.step, arguments, method="", attributes=attributes))

    def ask(self, request: Request) -> Answer:
        """Put `request` to the student's code."""
        reply = self.respondent.ask(request, self.leaning_on)
        if isinstance(reply, Failed) and reply.outcome is Outcome.INFRASTRUCTURE:
            raise CheckFailed(failure(reply))
        return Answer(self, request, reply)


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

    def after(self, *methods: str) -> Constructed:
        """Call these methods of the instance first, for example `eval`."""
        return replace(self, request=replace(self.request, before=methods))

    def cast(self, dtype: str) -> Constructed:
        """Cast the instance and its inputs to a dtype of PyTorch, for example "bfloat16"."""
        return replace(self, request=replace(self.request, dtype=dtype))

    def called(self, times: int) -> Constructed:
        """Call the method `times` times; the last result is the answer."""
        return replace(self, request=replace(self.request, calls=times))
