"""The reference of an exercise and its known wrong implementations, loaded by path.

Both live in the trusted process only. They are never importable by name, so
that nothing outside can reach them by an import.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograder.checks.author_error import file_error
from autograder.checks.known_mistake import (
    MISCONCEPTIONS,
    Misconception,
    read_misconceptions,
)
from autograder.checks.memory import Memories
from autograder.checks.replay import Replay
from autograder.checks.result_names import result_names
from autograder.checks.whole_number import with_whole_numbers
from autograder.errors import KitError
from autograder.judging.compare import ResultSpec
from autograder.judging.inprocess import InProcess
from autograder.model.exercise import SOLUTION, WALKTHROUGH, Exercise, read_exercise
from autograder.model.machine_fault import fault_of
from autograder.model.request import Reply, Request
from autograder.model.signature import signature_of


def solution_beside(file: str) -> ModuleType:
    """Return a separate copy of the reference module, from the `solution.py` beside `file`.

    Its functions stay right while known mistakes are put into the reference.
    """
    return load_module(Path(file).resolve().parent / SOLUTION, "beside")


def shared_beside(file: str, path: str) -> ModuleType:
    """Return the module at `path`, such as "_attention/checks.py", beside the exercise of `file`.

    Raises `KitError` when it is missing there, or in no folder that exercises share: what such
    folders hold is hashed with the exercise, copied with it and looked through for leaks.
    """
    exercise = Path(file).resolve().parent
    shared = exercise.parent / path
    if not _is_in_a_shared_folder(shared, exercise.parent):
        raise KitError(
            f"{path} is in no folder that exercises share",
            place=str(exercise.parent),
            cure="name a file in a folder beside the exercises that begins with one underscore, "
            'such as "_attention/checks.py", and in it put no link in the place of a folder',
        )
    if not shared.is_file():
        raise KitError(
            f"{path} is missing, which {exercise.name} shares with other exercises",
            place=str(exercise.parent),
            cure=f"copy the folder {Path(path).parent} there, along with the exercise",
        )
    return load_module(shared)


def walkthrough_beside(file: str) -> ModuleType:
    """Return the numbers of the text, from the `walkthrough.py` beside `file`."""
    return load_module(Path(file).resolve().parent / WALKTHROUGH)


def _is_in_a_shared_folder(path: Path, beside: Path) -> bool:
    """Whether `shared_folders` leads to `path`, without a link below it to another folder."""
    if not path.is_relative_to(beside) or ".." in path.parts:
        return False
    folder, *below = [each for each in reversed(path.parents) if beside in each.parents] or [beside]
    named = folder.name.startswith("_") and not folder.name.startswith("__")
    return folder != beside and named and not any(each.is_symlink() for each in below)


@cache
def load_module(path: Path, purpose: str = "") -> ModuleType:
    """Load a file as a module that no import finds; one module for each purpose.

    Raises `KitError` when the file is missing or raises an exception, and ImportError when it
    needs what is not installed.
    """
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise KitError(f"{path.name} is missing", place=str(path.parent), cure="write it")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KitError:
        raise
    except Exception as error:
        if isinstance(error, ImportError) and fault_of(error):
            raise  # about this machine
        raise file_error(path, error) from error
    return module


@dataclass(frozen=True)
class Reference:
    """What is right (`module`) and what is known to be wrong, for one exercise."""

    exercise: Exercise
    module: ModuleType
    misconceptions: tuple[Misconception, ...]
    memories: Memories = field(default_factory=Memories, compare=False, repr=False)

    def expected(self, request: Request) -> Reply:
        """Return the reference's answer to a check's own request, computed once.

        A check asks the same again for the same inputs, so this is kept as long as they are used.
        Requests that come from a student's code go through `ask`, which keeps nothing.
        """
        kept = self.memories.now.expected if request.is_drawn else self.memories.undrawn
        if request.key not in kept:
            kept[request.key] = with_whole_numbers(self.ask(request))
        return kept[request.key]

    def forget(self) -> None:
        """Forget every answer that was kept."""
        self.memories.clear()

    def drawn(self, identity: Hashable, draw: Callable[[], Any]) -> Any:
        """Return what `draw` draws, once for each `identity`; kept as answers are."""
        kept = self.memories.now.drawn
        if identity not in kept:
            kept[identity] = draw()
        return kept[identity]

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer a request as the reference does."""
        with np.errstate(all="ignore"):
            return InProcess(self.module.__dict__, self.exercise.library).ask(request)

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """The names of the steps that are classes, in order."""
        names = (step.name for step in self.exercise.steps)
        return tuple(name for name in names if isinstance(getattr(self.module, name, None), type))

    def functions_before(self, name: str) -> tuple[str, ...]:
        """Return the steps before `name` that it can lean on: no class crosses from one process
        to another, so nobody answers for a layer.
        """
        return tuple(step for step in self.exercise.before(name) if step not in self.layers)

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The steps that are functions, by name, as they stand in the module now."""
        names, layers = (step.name for step in self.exercise.steps), self.layers
        return {name: getattr(self.module, name) for name in names if name not in layers}

    def form(self, target: str, method: str | None = None, precision: str = "") -> ResultSpec:
        """Return what a step's result is made of, by the reference's own annotations.

        `precision` is the type that its inputs are cast to. Its names are the reference's `return`
        names when several arrays are expected. Raises `KitError` when nothing is returned.
        """
        called = getattr(self.module, target)
        if method:
            called = getattr(called, method)
        compare = self.exercise.step(target).compare
        noun = "tensor" if self.exercise.library == "torch" else "array"
        form = _form(called, compare, noun, precision)
        if not form.axes:
            raise KitError(
                f"{called.__qualname__} is annotated as returning nothing, so there is nothing to "
                "compare",
                place=str(self.exercise.folder / SOLUTION),
                cure="let it return its result, and write the annotation of that",
            )
        return form

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
def _form(called: Callable[..., Any], compare: str, noun: str, precision: str) -> ResultSpec:
    axes = signature_of(called).returns
    names = result_names(called, len(axes)) if len(axes) > 1 else ("result",)
    return ResultSpec(names, axes, compare, noun, precision)


def read_reference(folder: Path) -> Reference:
    """Load an exercise with its reference and its misconceptions.

    Raises `KitError` when a file is missing, a misconception names no step, a package that the
    exercise needs cannot be imported, or Python leaves out docstrings or assertions.
    """
    _refuse_stripped_code()
    exercise = read_exercise(folder)
    folder = folder.resolve()
    try:
        if exercise.library == "torch":
            _one_thread()
        module = load_module(folder / SOLUTION)
        known = load_module(folder / MISCONCEPTIONS)
    except ImportError as error:
        if fault := fault_of(error):
            raise fault from error
        raise
    return Reference(exercise, module, read_misconceptions(exercise, known))


def _refuse_stripped_code() -> None:
    """Raise `KitError` where Python strips what checks may rely on, or what students are told."""
    if sys.flags.optimize:
        docstrings = ", and docstrings, which are what students are told" * (sys.flags.optimize > 1)
        raise KitError(
            f"Python runs without assertions here, which checks may rely on{docstrings}",
            place=f"the variable PYTHONOPTIMIZE, or the option -{'O' * sys.flags.optimize}",
            cure="unset PYTHONOPTIMIZE, leave that option out, and run the same command again",
        )


def _one_thread() -> None:
    """Keep PyTorch from spreading small tensors over threads, which costs more than it gives."""
    import torch

    torch.set_num_threads(1)
