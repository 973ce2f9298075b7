"""The fixture `student`: the code under check, called like a function.

`student(scores).agrees()` asks the student's step and the reference the same
question and fails the check, in words, when the answers differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from autograder.checks.answer import Answer
from autograder.checks.conversation import Conversation
from autograder.checks.reference import Reference
from autograder.model.request import Request
from autograder.protocol.wire import Value


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

    def after(self, *methods: str) -> Constructed:
        """Call these methods of the instance first, for example `eval`."""
        return replace(self, request=replace(self.request, before=methods))

    def cast(self, dtype: str) -> Constructed:
        """Cast the instance and its inputs to a dtype of PyTorch, for example "bfloat16"."""
        return replace(self, request=replace(self.request, dtype=dtype))

    def called(self, times: int) -> Constructed:
        """Call the method `times` times; the last result is the answer."""
        return replace(self, request=replace(self.request, calls=times))
