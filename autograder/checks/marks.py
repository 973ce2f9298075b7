"""What an author writes with a check: step, title, random inputs; and the author's own errors."""

from __future__ import annotations

import ast
import inspect
import math
import sysconfig
import traceback
import zlib
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from autograder.errors import KitError
from autograder.judging.conditions import LONG_AXES, STANDING
from autograder.judging.value_words import Tokens, type_words
from autograder.values.exercise import GRADERS, SOLUTION, Exercise, at_its_origin
from autograder.values.request import Failed, Reply, Request
from autograder.values.symbols import not_your_fault, our_fault
from autograder.values.this_machine import fault_of
from autograder.values.verdict import Finding, Outcome
from autograder.worker.wire import Seed

Item = TypeVar("Item", bound=pytest.Item)
BY_HAND = "by_hand"
SHOWN_BY_LAYER = f"{LONG_AXES}_alone"


@dataclass
class CheckMarks:
    """What is known of a check beside its code; to look for a mark takes long.

    step: what it is marked with. is_direct: it can be called with our own fixtures and its
    parameters alone. shares_inputs: hand-ins may share its inputs, as those of the standing checks
    and of an author's check that is run with further parameters. only_tells: it is run only where
    its step fails, to tell by which mistake: it asks with further sizes what standing checks ask
    with other ones. properties: what a standing check holds its step to, as an author switches it
    off.
    """

    step: str | None
    is_direct: bool
    shares_inputs: bool
    only_tells: bool = False
    properties: tuple[str, ...] = ()


_MARKS = pytest.StashKey[CheckMarks]()


def marks_of(item: pytest.Item) -> CheckMarks:
    """Return what is known of a check, which can be changed."""
    known = item.stash.get(_MARKS, None)
    if known is None:
        mark = item.get_closest_marker("step")
        known = item.stash[_MARKS] = CheckMarks(
            mark.args[0] if mark and mark.args else None,
            isinstance(item, pytest.Function) and _needs_only_ours(item),
            item.name.startswith(STANDING) or any(_numbers_of_parameters(item).values()),
        )
    return known


def step_of(item: pytest.Item) -> str | None:
    """Return the step that a check is marked with."""
    return marks_of(item).step


def title_of(item: pytest.Item) -> str:
    """Return a check's title: the first line of its docstring, else its name in words."""
    words = (getattr(getattr(item, "obj", None), "__doc__", "") or "").strip().split("\n")[0]
    return words or item.name.removeprefix("test_").replace("_", " ")


def tokens_of(item: pytest.Item) -> Tokens | None:
    """Return the names of the tokens of an example that the text works by hand."""
    mark = item.get_closest_marker(BY_HAND)
    return Tokens(tuple(mark.kwargs["tokens"]), mark.kwargs["followed"]) if mark else None


def by_purpose(items: Sequence[Item]) -> tuple[list[Item], list[Item], list[Item]]:
    """Return the checks of one step that decide first, those that only tell, the standing ones."""
    standing = [item for item in items if item.name.startswith(STANDING)]
    telling = [item for item in items if marks_of(item).only_tells]
    own = [item for item in items if item not in standing and item not in telling]
    return own, telling, standing


def is_shown_by_layer(item: pytest.Item) -> bool:
    """Say whether a check asks a function what a layer that is right has shown already."""
    return item.name == f"{STANDING}{SHOWN_BY_LAYER}"


def is_run_again(item: pytest.Item) -> bool:
    """Say whether a check is run once more, with further sizes and no other parameters."""
    numbers = _numbers_of_parameters(item)
    return set(numbers) == {"draw"} and bool(numbers["draw"])


def _numbers_of_parameters(item: pytest.Item) -> Mapping[str, int]:
    """Return for each parameter of a check which of its values it is run with, counted from 0."""
    return item.callspec.indices if hasattr(item, "callspec") else {}


# What changes how pytest runs a test.
_CHANGING = ("skip", "skipif", "xfail", "usefixtures")


def _needs_only_ours(item: pytest.Function) -> bool:
    """Say whether no fixture or set-up of its file, and no mark, changes how a check is run."""
    if item.cls is not None or any(mark.name in _CHANGING for mark in item.iter_markers()):
        return False
    # The fixtures of a file carry its name; ours, and direct parameters, carry none.
    known = item._fixtureinfo.name2fixturedefs
    names = [name for name in item.fixturenames if name != "request"]
    return all(name in known and not known[name][-1].baseid for name in names)


# Random inputs for a check: named axes, one seed per check, distinct sizes.
#
# The seed of a draw is made from the exercise's seed and the check's own name, so that no two
# checks share inputs: the inputs of one step are never the expected result of another.

PUBLIC_DECIMALS = 1
LARGE = 5_000  # numbers of an array


@dataclass(frozen=True, eq=False)
class Draw:
    """Draws arrays whose shapes are named by axis letters.

    `sizes` gives the size of each letter, for example B=2, S=5, D=8. With
    `decimals`, numbers are rounded so that a person can work them by hand. If `coarse`, numbers
    are eighths (times their scale), and of a large array 1 or -1: they are written in little room.
    """

    sizes: Mapping[str, int]
    seed_number: int
    name: str
    dtype: str = "float64"
    decimals: int | None = None
    coarse: bool = False

    @classmethod
    def hidden(
        cls, exercise: Exercise, name: str, sizes: Mapping[str, int], seed: int | None = None
    ) -> Draw:
        """Return the draw of a hidden check; `sizes` and `seed` override the exercise's."""
        grading = exercise.grading
        chosen = grading.seed if seed is None else seed
        return cls({**grading.sizes, **sizes}, chosen, name, exercise.dtype)

    @classmethod
    def worked(cls, exercise: Exercise, name: str, sizes: Mapping[str, int]) -> Draw:
        """Return the draw of a worked example; `sizes` override the exercise's public ones."""
        own = {**exercise.grading.public_sizes, **sizes}
        return cls(own, exercise.grading.public_seed, name, exercise.dtype, PUBLIC_DECIMALS)

    def beside(self, name: str, sizes: Mapping[str, int], coarse: bool = False) -> Draw:
        """Return a draw of its own, of the same seed, with other sizes for some axes.

        Its numbers have all their digits, since nobody works them by hand.
        """
        own = {**self.sizes, **sizes}
        return Draw(own, self.seed_number, f"{self.name}/{name}", self.dtype, coarse=coarse)

    @cached_property
    def _generator(self) -> np.random.Generator:
        return np.random.default_rng([self.seed_number, zlib.crc32(self.name.encode())])

    @property
    def identity(self) -> tuple[object, ...]:
        """What its numbers follow from: draws of one identity draw the same."""
        return (
            *self.sizes.items(),
            self.seed_number,
            self.name,
            self.dtype,
            self.decimals,
            self.coarse,
        )

    @property
    def public(self) -> bool:
        """Whether it draws for a worked example: small numbers with few digits."""
        return self.decimals is not None

    def __getitem__(self, axis: str) -> int:
        """Return the size of an axis."""
        return self.sizes[axis]

    def __call__(self, axes: str, scale: float = 1.0) -> np.ndarray:
        """Return normally distributed numbers of shape `axes`, for example "B S D"."""
        return self.shaped(*(self.sizes[axis] for axis in axes.split()), scale=scale)

    def shaped(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Return normally distributed numbers of a shape given in numbers."""
        if self.coarse:
            drawn = self._coarse_numbers(shape)
        else:
            drawn = self._generator.standard_normal(shape)
        array = scale * drawn
        rounded = array if self.decimals is None else array.round(self.decimals)
        return rounded.astype(self.dtype)

    def _coarse_numbers(self, shape: tuple[int, ...]) -> np.ndarray:
        if math.prod(shape) > LARGE:
            return self._generator.integers(2, size=shape) * 2.0 - 1.0
        return np.round(8 * self._generator.standard_normal(shape)) / 8

    def seed(self) -> Seed:
        """Return the seed of a generator that the student's code gets."""
        return Seed(int(self._generator.integers(1 << 31)))


# An error in an exercise, as its author needs it: the exception, its file and its line.

_PACKAGE = Path(__file__).resolve().parents[1]


def author_error(check: pytest.Item, error: BaseException) -> KitError:
    """Return the error that tells the author of a check what it raised, and where."""
    if isinstance(error, KitError):
        return error
    if not isinstance(error, ImportError) and (fault := fault_of(error)):
        return fault
    if argument := getattr(error, "argname", None):  # pytest has no such fixture
        return _no_fixture(check, str(argument))
    return KitError(
        f"the check {check.name} raises {raised(error)}",
        place=place_of(error) or _line_of(check),
        cure=_cure(error),
    )


def refuse_other_fixtures(check: pytest.Function, known: Collection[str]) -> None:
    """Raise `KitError` when a check asks for something that only pytest itself could give it."""
    for name in inspect.signature(check.obj).parameters:
        if name not in known:
            raise _no_fixture(check, name)


def _no_fixture(check: pytest.Item, name: str) -> KitError:
    return KitError(
        f"the check {check.name} asks for {name!r}, which nothing gives it",
        place=_line_of(check),
        cure="ask for student and draw (or chain, if it is marked chain_of_steps), or for what "
        "parametrize gives",
    )


def _line_of(check: pytest.Item) -> str:
    return at_its_origin(f"{check.path}:{(check.location[1] or 0) + 1}")


def file_error(path: Path, error: BaseException) -> KitError:
    """Return the error that tells the author of a file what it raises when it is run."""
    place = f"{error.filename}:{error.lineno}" if isinstance(error, SyntaxError) else ""
    return KitError(
        f"{path.name} cannot be run: {raised(error)}",
        place=place or place_of(error) or str(path),
        cure=_cure(error),
    )


def wrong_checks(exercise: Exercise, fact: str, cure: str, line: str = "") -> KitError:
    """Return the error that tells an author what is wrong in the grader file, and in which line."""
    place = str(exercise.folder / GRADERS)
    return KitError(fact, place=at_its_origin(f"{place}:{line}") if line else place, cure=cure)


def failed_by_reference(exercise: Exercise, check: pytest.Item, finding: str) -> KitError:
    """Return the error on a reference that does not pass a check, its own or a standing one."""
    cure = "correct the check or the reference"
    if properties := marks_of(check).properties:
        which = "this need not hold" if len(properties) == 1 else "some of these need not hold"
        lines = ", ".join(f'{name} = "the reason"' for name in properties)
        head = f"[grading.without.{marks_of(check).step}]"
        cure += f"; if {which} for the step, write below {head}: {lines}"
    return wrong_checks(exercise, f"the reference fails the check {check.name}: {finding}", cure)


def _cure(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return "correct that line: is an axis misspelt, or has it no size in [grading]?"
    return "correct that line"


def reference_failed(exercise: Exercise, request: Request, failed: Failed) -> KitError:
    """Return the error on a reference that gives no answer to a check's own request."""
    report, place = failed.exception, str(exercise.folder / SOLUTION)
    called = f"{request.target}.{request.method}" if request.method else request.target
    if report is None:
        words = failed.detail or str(failed.outcome)
        return KitError(f"the reference has no answer: {words}", place=place, cure="write it")
    return KitError(
        f"the reference raises {report.type_name} in {called}: {report.message}",
        place=at_its_origin(f"{place}:{report.line}, at `{report.code}`") if report.line else place,
        cure="correct the reference, or what the check gives to it",
    )


def raised(error: BaseException) -> str:
    """Return an exception as its last line in a traceback: its type and its message."""
    message = str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def place_of(error: BaseException) -> str:
    """Return the file and the line of the author's code that an exception came from, or ""."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_an_authors(frame.filename)]
    return at_its_origin(f"{own[-1].filename}:{own[-1].lineno}") if own else ""


def _is_an_authors(file: str) -> bool:
    path = Path(file)
    others = (_PACKAGE, *map(Path, {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}))
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not (installed or file.startswith("<") or any(map(path.is_relative_to, others)))


# Whose fault is it when a check raises something that no check should raise?
#
# A sound check raises nothing but its finding. When one does raise something else, it is run
# again: with the reference's answers, and with those that the student's code gave. If it passes
# with the first and raises with the second, the student's answer is the cause; all else is our
# fault.

# No student's answer causes these: they come from the exercise, the machine, its memory or disk.
OURS = (KitError, MemoryError, OSError)
_MOST_ATTRIBUTES = 4
_LONGEST_DETAIL = 300


class PlaybackEnded(Exception):
    """A check asked what it did not ask the first time."""


class Playback:
    """A `Respondent` that gives the same replies to the same requests; no code is run."""

    def __init__(self, exchanged: Iterable[tuple[Request, Reply]]) -> None:
        self._replies: dict[bytes, deque[Reply]] = {}
        for request, reply in exchanged:
            self._replies.setdefault(request.key, deque()).append(reply)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Give the next reply to `request`; raise `PlaybackEnded` when there is none."""
        replies = self._replies.get(request.key)
        if not replies:
            raise PlaybackEnded
        return replies.popleft()


def of_the_student(check: str, reply: Reply | None, error: BaseException) -> Finding:
    """The finding on an answer that makes a check raise `error`; `reply` is the last one given."""
    return Finding(
        Outcome.WRONG_TYPE,
        f"{_given(reply)} cannot be compared with what is expected.",
        look="Read the annotation of this step again: what should come back?",
        details=(_detail(check, error),),
    )


def of_ours(check: str, *errors: BaseException) -> Finding:
    """The finding on a check that raises by itself."""
    return our_fault(
        tuple(_with_place(check, error) for error in errors), "This check could not be run"
    )


def remark_on(error: BaseException) -> str:
    """The remark on a fault of ours that costs nobody a point: less is told, and that is all."""
    detail = fault_detail(error)[:_LONGEST_DETAIL].replace("`", "'")
    return (
        f"{not_your_fault('What is wrong inside your layer could not be looked for')} "
        f"Your points stay the same. For your instructor: `{detail}`."
    )


def fault_detail(error: BaseException) -> str:
    """Return an exception of ours with the file and the line that it came from."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error}, in {Path(place.filename).name}:{place.lineno}"


def _given(reply: Reply | None) -> str:
    if reply is None or isinstance(reply, Failed):
        return "Your code ends in a way that"
    if not reply.attributes:
        return f"Your code gives back {type_words(reply.value)}, which"
    kept = [
        f"`{name}`, {type_words(value)}" for name, value in reply.attributes.items() if name != "*"
    ]
    if not kept:
        return "Your code keeps no attributes, and nothing"
    return f"Your code keeps {'; '.join(kept[:_MOST_ATTRIBUTES])}, which"


def _with_place(check: str, error: BaseException) -> str:
    place = "" if isinstance(error, KitError) else place_of(error)
    return f"{_detail(check, error)} ({place})" if place else _detail(check, error)


def _detail(check: str, error: BaseException) -> str:
    return f"{check}: {type(error).__name__}: {error}"[:_LONGEST_DETAIL]


# Names that an author wrote twice in one place, so that Python lets the first one vanish.

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def written_twice(body: list[ast.stmt]) -> Iterator[tuple[str, int, int]]:
    """Give (name, first line, second line) for each name that is bound again in `body`."""
    first: dict[str, int] = {}
    for node in body:
        for name in _bound(node):
            if name in first:
                yield name, first[name], node.lineno
            first.setdefault(name, node.lineno)


def refuse_checks_of_one_name(graders: Path) -> None:
    """Raise `KitError` when two checks in a grader file have one name."""
    for name, first, second in written_twice(ast.parse(graders.read_text("utf-8")).body):
        if name.startswith("test"):
            raise KitError(
                f"two checks have the name {name}: only the second would be run",
                place=f"{graders}:{second}",
                cure="give each a name of its own; the first is "
                + at_its_origin(f"{graders}:{first}"),
            )


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign():
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _ if isinstance(node, _DEFINITIONS):
            yield node.name
