"""Questions to code in the sandbox, and what kind of reply has to come."""

from __future__ import annotations

from autograder.sandbox import SandboxedStudent, Zygote
from autograder.values.request import Failed, Reply, Request, Returned
from autograder.worker.wire import Value


def ask(zygote: Zygote, code: str, *arguments: Value, name: str = "f") -> Reply:
    """Ask a new submission, which is this code, once."""
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        return student.ask(Request(name, arguments))


def failed(reply: Reply) -> Failed:
    assert isinstance(reply, Failed), reply
    return reply


def returned(reply: Reply) -> Returned:
    assert isinstance(reply, Returned), reply
    return reply


def value_of(zygote: Zygote, code: str, *arguments: Value) -> Value:
    """What a new submission gives back, asked once."""
    return returned(ask(zygote, code, *arguments)).value


def raised_by(zygote: Zygote, code: str, *arguments: Value) -> str:
    """The type of exception that a new submission ends in, asked once."""
    exception = failed(ask(zygote, code, *arguments)).exception
    assert exception
    return exception.type_name
