"""An error in an exercise, as its author needs it: the exception, its file and its line."""

from __future__ import annotations

import ast
import inspect
import sysconfig
import traceback
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.checks.marks import marks_of
from autograder.errors import KitError
from autograder.judging.value_words import type_words
from autograder.values.exercise import GRADERS, SOLUTION, Exercise, at_its_origin
from autograder.values.request import Failed, Reply, Request
from autograder.values.symbols import not_your_fault, our_fault
from autograder.values.this_machine import fault_of
from autograder.values.verdict import Finding, Outcome

if TYPE_CHECKING:
    import pytest

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
