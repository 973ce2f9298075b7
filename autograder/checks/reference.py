"""The reference of an exercise and its known wrong implementations, loaded by path.

Both live in the trusted process only. They are never importable by name, so
that nothing outside can reach them by an import.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
import textwrap
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograder.checks.marks import file_error, written_twice
from autograder.checks.memory import Memories
from autograder.errors import KitError
from autograder.judging.compare import ResultSpec, whole_number
from autograder.judging.diagnosis import PAIR, Candidate, place_in
from autograder.judging.inprocess import InProcess
from autograder.values.exercise import (
    MANIFEST,
    SOLUTION,
    WALKTHROUGH,
    Exercise,
    read_exercise,
    signature_of,
)
from autograder.values.request import Reply, Request, Returned
from autograder.values.this_machine import fault_of
from autograder.values.verdict import Finding, Outcome
from autograder.worker.call import LayerCall

KEPT = ("distribution", "layers")  # how steps are compared whose results a layer makes once

# Counterfactual replay: what every known mistake replies to a check's own request.
#
# Each reply is computed once for a hand-in. Those to the inputs of functions that many hand-ins
# share are kept as long as these; those of layers and of pairs would be too many.


class Replay:
    """The known mistakes of a reference, one at a time and in pairs."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference

    def singles(self, request: Request) -> tuple[Candidate, ...]:
        """Return what every mistake that can show in `request` makes of it.

        The step's own mistakes come first. For a class, the reference follows, with one of its
        functions replaced by each known mistake of that function.
        """
        memories = self._reference.memories
        kept = (memories.now if request.method is None else memories.own).singles
        if request.key not in kept:
            known = self._reference.misconceptions
            own = [mistake for mistake in known if mistake.step == request.target]
            inside = [mistake for mistake in known if mistake.step != request.target]
            chosen = [*own, *inside] if request.method is not None else own
            kept[request.key] = tuple(self._replayed(request, each) for each in chosen)
        return kept[request.key]

    def pairs(
        self, request: Request, suspects: frozenset[str] | None = None
    ) -> tuple[Candidate, ...]:
        """Return what two mistakes in two functions together make of a class.

        There are thousands; with `suspects`, only those of these names are tried.
        """
        if suspects is not None:
            return tuple(self._paired(request, suspects))
        kept = self._reference.memories.own.pairs
        if request.key not in kept:
            kept[request.key] = tuple(self._paired(request, None))
        return kept[request.key]

    def again(self, request: Request, name: str) -> Candidate | None:
        """Return what the mistake, or the pair, of this name makes of `request`.

        None when it cannot show there.
        """
        known = self._reference.misconceptions
        mistakes = [mistake for mistake in known if mistake.name in name.split(PAIR)]
        if request.method is None:
            mistakes = [mistake for mistake in mistakes if mistake.step == request.target]
        return self._replayed(request, *mistakes) if mistakes else None

    def _paired(self, request: Request, suspects: frozenset[str] | None) -> Iterator[Candidate]:
        if request.method is None:
            return
        every = self._reference.misconceptions
        known = [mistake for mistake in every if mistake.step != request.target]
        for first, second in combinations(known, 2):
            suspect = suspects is None or _name(first, second) in suspects
            if first.step != second.step and suspect:
                yield self._replayed(request, first, second)

    def _replayed(self, request: Request, *mistakes: Misconception) -> Candidate:
        wrong = {mistake.step: mistake.wrong for mistake in mistakes}
        # A wrong layer of sizes that are 1 may hold no numbers, say; nobody needs to hear of it.
        with self._reference.replaced(wrong), warnings.catch_warnings(action="ignore"):
            reply = self._reference.ask(request)
        inside = mistakes[0].step if mistakes[0].step != request.target else ""
        return Candidate(_name(*mistakes), words_for(request, mistakes), reply, inside)


def suspects_after(
    finding: Finding | None, suspects: frozenset[str] | None
) -> frozenset[str] | None:
    """Return the pairs that may still explain another check of the step; None stands for all.

    So all of them are tried once in a step, and not again in each of its checks.
    """
    if finding is None or finding.outcome is not Outcome.WRONG_VALUES:
        return suspects
    names = frozenset(name for name, _ in finding.matches)
    explained_by_one = names and not any(PAIR in name for name in names)
    return suspects if explained_by_one else names


def _name(*mistakes: Misconception) -> str:
    return PAIR.join(mistake.name for mistake in mistakes)


def words_for(request: Request, mistakes: tuple[Misconception, ...]) -> str:
    """Return the words for one mistake or two; inside a class they name the step they are about."""
    first = mistakes[0]
    if first.step == request.target:
        return first.words
    method = request.method or "__init__"
    if len(mistakes) == 1:
        return f"{place_in(first.step, method)} {first.words}"
    facts = [mistake.words.partition("\n\n")[0] for mistake in mistakes]
    listed = " ".join(
        f"({number}) `{mistake.step}`: {fact[0].lower()}{fact[1:]}"
        for number, (mistake, fact) in enumerate(zip(mistakes, facts), start=1)
    )
    look = "Take them one at a time: correct the first, then check again."
    return f"Your `{method}` behaves as if two steps were wrong. {listed}\n\n{look}"


# The known wrong implementations of an exercise, read from `misconceptions.py`.
#
# They are looked up by name alone, in messages as well, so a name stands for one mistake in the
# whole exercise. Python itself would let the first of two vanish.

MISCONCEPTIONS = "misconceptions.py"


@dataclass(frozen=True)
class Misconception:
    """A named wrong implementation of one step, and the words for the student."""

    name: str
    step: str
    words: str
    wrong: Any


def read_misconceptions(exercise: Exercise, module: ModuleType) -> tuple[Misconception, ...]:
    """Return the mistakes in every public class of `misconceptions.py`; each class is a step.

    What a class inherits belongs to its step too. The class of a step that is left out is left out.
    Raises `KitError` when a class is no step, two mistakes have one name, or one has no words.
    """
    _refuse_written_twice(Path(str(module.__file__)))
    found: list[Misconception] = []
    steps = {step.name for step in exercise.steps}
    for step, mistakes in vars(module).items():
        left_out = step in exercise.grading.left_out
        if left_out or step.startswith("_") or not _belongs_here(mistakes, step in steps, module):
            continue
        if step not in steps or not inspect.isclass(mistakes):
            held = ", ".join(_own(mistakes)) if inspect.isclass(mistakes) else ""
            raise KitError(
                f"the misconception {held or step} is not in any step's class",
                place=str(module.__file__),
                cure="put it into a class that is named after its step; begin other names with _",
            )
        found += [
            Misconception(name, step, _words(exercise, name, wrong), wrong)
            for base in reversed(mistakes.__mro__[:-1])
            for name, wrong in _own(base).items()
        ]
    _refuse_one_name(found, str(module.__file__))
    return tuple(found)


def _belongs_here(mistakes: Any, is_step: bool, module: ModuleType) -> bool:
    """Whether a name of the file holds mistakes: a class of its own, or a shared one of a step."""
    if getattr(mistakes, "__module__", None) == module.__name__:
        return True
    # The right answer itself may be here under its own name, to be made wrong.
    return is_step and inspect.isclass(mistakes) and not mistakes.__module__.endswith("_solution")


def _own(mistakes: type) -> dict[str, Any]:
    return {name: wrong for name, wrong in vars(mistakes).items() if not name.startswith("__")}


def _refuse_one_name(found: list[Misconception], place: str) -> None:
    """Refuse a name in two steps, or in a class and in one that it inherits from."""
    steps: dict[str, str] = {}
    for known in found:
        if known.name in steps:
            other = steps[known.name]
            both = f"of {known.step}" if other == known.step else f"of {other} and of {known.step}"
            raise _two(known.name, both, place)
        steps[known.name] = known.step


def _refuse_written_twice(path: Path) -> None:
    """Refuse a name that is written twice in one class, or a class that is written twice."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bodies = {node.name: node.body for node in reversed(classes) if node.name[0] != "_"}
    for held, first, second in written_twice(tree.body):
        if held in bodies:
            raise _two(held, f"in the file, lines {first} and {second}", str(path))
    for name, body in bodies.items():
        for held, first, second in written_twice(body):
            if not held.startswith("_"):
                raise _two(held, f"in {name}, lines {first} and {second}", str(path))


def _two(name: str, where: str, place: str) -> KitError:
    return KitError(
        f"two misconceptions have the name {name}: {where}",
        place=place,
        cure="give each a name of its own, or remove one: only one of them would be known",
    )


def _words(exercise: Exercise, name: str, wrong: Any) -> str:
    """Return what a student reads: the docstring, with the exercise's own words for {names}."""
    place = str(exercise.folder / MISCONCEPTIONS)
    if not wrong.__doc__:
        cure = "write what the student is told"
        raise KitError(f"the misconception {name} has no docstring", place=place, cure=cure)
    known = exercise.words
    capitals = {key.capitalize(): word[:1].upper() + word[1:] for key, word in known.items()}
    words = {**capitals, **known}
    try:
        return inspect.cleandoc(wrong.__doc__).format(**words)
    except (KeyError, IndexError, ValueError) as error:
        raise KitError(
            f"the misconception {name} uses a word that is not defined: {error}",
            place=place,
            cure=f"define it under [words] in {MANIFEST}; for a plain brace, write it twice",
        ) from None


# What the results of a step are called, by the plain names that its `return` gives them.
#
# They are written into files for students. So only names are taken, never the text of an
# expression, which would be a part of the solution.

# A `return` inside one of these is not the step's own.
_OTHERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def result_names(function: Callable[..., Any], count: int) -> tuple[str, ...]:
    """Return the names of the `count` results of a function, from its last `return a, b, c`.

    A result that is not returned by a plain name of its own is "result 1", "result 2" and so on.
    """
    returned = _last_return(function)
    parts = returned.elts if isinstance(returned, ast.Tuple) else []
    if len(parts) != count:
        return tuple(f"result {number}" for number in range(1, count + 1))
    plain = [part.id if isinstance(part, ast.Name) else "" for part in parts]
    return tuple(
        name if name and plain.count(name) == 1 else f"result {number}"
        for number, name in enumerate(plain, start=1)
    )


def _last_return(function: Callable[..., Any]) -> ast.expr | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # made by other code, so it has no text of its own
        return None
    body = tree.body[0] if tree.body else None
    if not isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    returns = [node for statement in body.body for node in _own_returns(statement)]
    return max(returns, key=lambda node: node.lineno).value if returns else None


def _own_returns(node: ast.AST) -> Iterator[ast.Return]:
    if isinstance(node, ast.Return):
        yield node
    elif not isinstance(node, _OTHERS):
        for child in ast.iter_child_nodes(node):
            yield from _own_returns(child)


# Whole numbers that the reference makes with NumPy or PyTorch: `np.prod(shape)` is a number.
#
# It would arrive as an array of shape (), and a student's plain `756` would have to be one too.


def with_whole_numbers(reply: Reply) -> Reply:
    """Return a reply whose whole numbers are plain ones."""
    if not isinstance(reply, Returned):
        return reply
    value = reply.value
    several = isinstance(value, tuple)
    return replace(reply, value=tuple(map(whole_number, value)) if several else whole_number(value))


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
        kept = self.memories.now.expected
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

    def calls(self, request: Request, steps: tuple[str, ...] = ()) -> tuple[LayerCall, ...]:
        """Return the calls that its class makes of `steps`, or of all, to answer `request`.

        What a step draws anew each time is left out.
        """
        respondent = InProcess(self.module.__dict__, self.exercise.library)
        with np.errstate(all="ignore"):
            made = respondent.watch(request, steps or tuple(self.functions), {}).calls
        drawn = {step.name for step in self.exercise.steps if step.compare in KEPT}
        left = (None if call.step in drawn else call.result for call in made)
        return tuple(replace(call, line=0, file="", result=each) for call, each in zip(made, left))

    def watched(
        self,
        requests: Iterable[Request],
        note: Callable[[str, tuple[Any, ...], Mapping[str, Any]], None],
    ) -> None:
        """Answer `requests`; `note` sees every call of a step as it is made, also by a step."""

        def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def called(*arguments: Any, **keywords: Any) -> Any:
                note(name, arguments, keywords)
                return function(*arguments, **keywords)

            return called

        with self.replaced({name: noted(name, each) for name, each in self.functions.items()}):
            for request in requests:
                self.ask(request)

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

    @property
    def apart(self) -> Reference:
        """The same with a module of its own, which shows nothing of what is put into this one."""
        folder = self.exercise.folder.resolve()
        return replace(self, module=load_module(folder / SOLUTION, "respondent"))

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
            import torch

            torch.set_num_threads(1)  # small tensors spread over threads cost more than that gives
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
