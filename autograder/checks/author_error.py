"""An error in an exercise, as its author needs it: the exception, its file and its line."""

from __future__ import annotations

import inspect
import sysconfig
import traceback
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.checks.marks import properties_of, step_of
from autograder.errors import KitError
from autograder.model.exercise import GRADERS, SOLUTION, Exercise
from autograder.model.machine_fault import fault_of
from autograder.model.origin import at_its_origin
from autograder.model.request import Failed, Request

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
    if properties := properties_of(check):
        which = "this need not hold" if len(properties) == 1 else "some of these need not hold"
        lines = ", ".join(f'{name} = "the reason"' for name in properties)
        head = f"[grading.without.{step_of(check)}]"
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
