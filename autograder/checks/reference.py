"""The reference of an exercise and its known wrong implementations, loaded by path.

Both live in the trusted process only. They are never importable by name, so
that nothing outside can reach them by an import.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograder.checks.replay import Replay
from autograder.compare import Form
from autograder.errors import KitError
from autograder.exercise import Exercise, read_exercise
from autograder.inprocess import InProcess
from autograder.machine_fault import fault_of
from autograder.request import Reply, Request
from autograder.signature import signature_of


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
    return load_module(Path(file).resolve().parent / "solution.py", "beside")


@cache
def load_module(path: Path, purpose: str = "") -> ModuleType:
    """Load a file as a module that no import finds; one module for each purpose.

    Raises `KitError` when the file is missing.
    """
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
    _expected: dict[bytes, Reply] = field(default_factory=dict, compare=False, repr=False)

    def expected(self, request: Request) -> Reply:
        """Return the reference's answer to a check's own request, computed once.

        A check asks the same again for the same inputs, so this is kept until `forget`; what a
        student's code brings about is asked with `ask` and is not.
        """
        if request.key not in self._expected:
            self._expected[request.key] = self.ask(request)
        return self._expected[request.key]

    def forget(self) -> None:
        """Forget every answer that was kept: the checks are given other inputs from now on."""
        self._expected.clear()
        self.replay.forget()

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

    @cached_property
    def replay(self) -> Replay:
        """What the known mistakes give for a request."""
        return Replay(self)

    @contextmanager
    def replaced(self, functions: Mapping[str, Any]) -> Iterator[ModuleType]:
        """Put other functions into the reference's module for a while."""
        kept = {name: getattr(self.module, name) for name in functions}
        self.module.__dict__.update(functions)
        try:
            yield self.module
        finally:
            self.module.__dict__.update(kept)


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

    Raises `KitError` when a file is missing, a misconception names no step, or a package that the
    exercise needs cannot be imported.
    """
    exercise = read_exercise(folder)
    folder = folder.resolve()
    try:
        if exercise.library == "torch":
            _one_thread()
        module = load_module(folder / "solution.py")
        known = load_module(folder / "misconceptions.py")
    except ImportError as error:
        if fault := fault_of(error):
            raise fault from error
        raise
    return Reference(exercise, module, _misconceptions(exercise, known))


def _one_thread() -> None:
    """Keep PyTorch from spreading small tensors over threads, which costs more than it gives."""
    import torch

    torch.set_num_threads(1)


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
