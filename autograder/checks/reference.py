"""The reference of an exercise and its known wrong implementations, loaded by path.

Both live in the trusted process only. They are never importable by name, so
that nothing outside can reach them by an import.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograder.compare import Form
from autograder.diagnosis import Candidate
from autograder.errors import KitError
from autograder.exercise import Exercise, read_exercise
from autograder.inprocess import InProcess, crossed
from autograder.request import Reply, Request, Returned
from autograder.signature import signature_of
from autograder.wire import Linear, Seed, Value
from autograder.worker.library import inward

LARGEST_ANSWER = 1 << 14
LARGEST_AXIS = 256


def misconception(step: str) -> Callable[[Any], Any]:
    """Mark a wrong implementation of `step`; its docstring is what the student reads."""

    def mark(wrong: Any) -> Any:
        wrong.misconception_of = step
        return wrong

    return mark


def solution_beside(file: str) -> ModuleType:
    """Return a reference module of its own, from the `solution.py` that lies beside `file`.

    Its functions stay the right ones while known mistakes are put into the reference.
    """
    return _load(Path(file).resolve().parent / "solution.py", "beside")


@cache
def _load(path: Path, purpose: str = "") -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise KitError(f"{path.name} is missing", place=str(path.parent), cure="write it")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Misconception:
    """A named wrong implementation of one step, and the words for the student."""

    name: str
    step: str
    words: str
    wrong: Any


@dataclass(frozen=True)
class Reference:
    """What is right (`module`) and what is known to be wrong, for one exercise."""

    exercise: Exercise
    module: ModuleType
    misconceptions: tuple[Misconception, ...]

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer a request as the reference does."""
        with np.errstate(all="ignore"):
            return InProcess(self.module.__dict__, self.exercise.library).ask(request)

    def form(self, target: str, method: str | None = None) -> Form:
        """Return what a step's result is made of, by the reference's own annotations.

        Its names are the reference's `return` names when several arrays are due.
        """
        called = getattr(self.module, target)
        if method:
            called = getattr(called, method)
        compare = self.exercise.step(target).compare
        noun = "tensor" if self.exercise.library == "torch" else "array"
        return _form(called, compare, noun)

    def candidates(self, request: Request) -> Iterator[Candidate]:
        """Give what every known mistake that can show in `request` makes of it.

        The step's own come first; for the class there follows the reference with
        one function replaced by each known mistake of it.
        """
        own_first = sorted(self.misconceptions, key=lambda known: known.step != request.target)
        for known in own_first:
            if known.step == request.target or request.method is not None:
                with self.replaced({known.step: known.wrong}):
                    reply = self.ask(request)
                yield Candidate(known.name, known.words, reply)

    @contextmanager
    def replaced(self, functions: Mapping[str, Any]) -> Iterator[ModuleType]:
        """Put other functions into the reference's module for a while."""
        kept = {name: getattr(self.module, name) for name in functions}
        self.module.__dict__.update(functions)
        try:
            yield self.module
        finally:
            self.module.__dict__.update(kept)

    def lean(
        self,
        step: str,
        arguments: tuple[Value, ...],
        keywords: Mapping[str, Value],
        cotangents: tuple[Value, ...] = (),
    ) -> Value | None:
        """Answer a call that a student's code makes of an earlier step; None refuses it.

        With `cotangents` (PyTorch only) the answer is the gradients of the tensors among the
        arguments, given those of the results.

        The arguments come from untrusted code, so only a call that fits the
        reference's signature is answered, axis by axis, and only a small one: the
        work and the memory it takes are bounded.
        """
        function = getattr(self.module, step)
        try:
            bound = inspect.signature(function).bind(*arguments, **keywords)
        except TypeError:
            return None
        if not _fits(bound.arguments, dict(signature_of(function).parameters)):
            return None
        if cotangents:
            return gradients(function, (*arguments, *keywords.values()), cotangents)
        reply = self.ask(Request(step, arguments, keywords))
        return reply.value if isinstance(reply, Returned) else None


def gradients(
    function: Callable[..., Any], arguments: tuple[Value, ...], cotangents: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Return the gradients of the tensors in `arguments`, a layer's weight and bias among them.

    Raises RuntimeError when the cotangents do not fit the results of the function.
    """
    import torch

    given = [inward(argument, "torch") for argument in arguments]
    leaves: list[torch.Tensor] = []
    for value in given:
        if isinstance(value, torch.nn.Linear):
            leaves += value.parameters()
        elif isinstance(value, torch.Tensor):
            leaves.append(value.requires_grad_())
    results = function(*given)
    outputs = results if isinstance(results, tuple) else (results,)
    due = [inward(cotangent, "torch") for cotangent in cotangents]
    found = torch.autograd.grad(outputs, leaves, due, materialize_grads=True)
    return tuple(crossed(gradient, "torch") for gradient in found)


def _fits(arguments: Mapping[str, Value], axes: Mapping[str, str | None]) -> bool:
    sizes: dict[str, int] = {}
    for name, value in arguments.items():
        letters = axes.get(name)
        if letters is None:
            if not _is_small(value):
                return False
            continue
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
            return False
        if value.ndim != len(letters.split()) or not 0 < value.size <= LARGEST_ANSWER:
            return False
        for letter, size in zip(letters.split(), value.shape):
            if size > LARGEST_AXIS or sizes.setdefault(letter, size) != size:
                return False
    return True


def _is_small(value: Value) -> bool:
    if isinstance(value, Linear):
        return all(size <= LARGEST_AXIS for size in value.weight.shape)
    small = type(value) is int and 0 <= value <= LARGEST_AXIS
    return small or type(value) is bool or isinstance(value, Seed)


@cache
def _form(called: Callable[..., Any], compare: str, noun: str) -> Form:
    axes = signature_of(called).returns
    names = return_names(called) if len(axes) > 1 else ("result",)
    return Form(names, axes, compare, noun)


def return_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names in the last `return a, b, c` of a function."""
    lines = [line.strip() for line in inspect.getsource(function).splitlines()]
    last = next(line for line in reversed(lines) if line.startswith("return "))
    return tuple(name.strip() for name in last.removeprefix("return ").split(","))


def read_reference(folder: Path) -> Reference:
    """Load an exercise with its reference and its misconceptions.

    Raises `KitError` when a file is missing or a misconception names no step.
    """
    exercise = read_exercise(folder)
    folder = folder.resolve()
    module = _load(folder / "solution.py")
    return Reference(exercise, module, _misconceptions(exercise, _load(folder / "misconceptions.py")))


def _misconceptions(exercise: Exercise, module: ModuleType) -> tuple[Misconception, ...]:
    found = []
    for name, wrong in vars(module).items():
        step = getattr(wrong, "misconception_of", None)
        if step is None:
            continue
        if step not in [known.name for known in exercise.steps] or not wrong.__doc__:
            raise KitError(
                f"the misconception {name} has no docstring or names no step ({step!r})",
                place=str(module.__file__),
                cure="write what the student is told, and a step of exercise.toml",
            )
        found.append(Misconception(name, step, inspect.cleandoc(wrong.__doc__), wrong))
    return tuple(found)
