"""Where a learner works: the folder that `attn start` made, or one with a released exercise.

As git does with a repository, it is looked for in the working directory and the folders above,
so commands do not need to be told where it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from autograder.authoring.regions import BEGIN, END
from autograder.authoring.rungs import FILE as RUNGS
from autograder.authoring.rungs import Rungs, read_rungs
from autograder.authoring.stub import for_oneself
from autograder.errors import KitError
from autograder.submission.cells import DefinitionSpan, find_definitions, find_in_piece
from autograder.submission.missing_step import worked_on
from autograder.submission.newer_python import needs_version, version_of
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import (
    EARLIER_EXAMPLES,
    MANIFEST,
    SOLUTION,
    Exercise,
    Step,
    did_you_mean,
    find_exercise,
    generated,
    near_name,
    read_exercise,
)
from autograder.values.symbols import HIDDEN
from autograder.values.this_machine import ANSWERS, PACKAGE, handed_out, shipped

# Which of a learner's two files counts: of those with work in them, the one saved last.
#
# That is the file a learner means who saves it and asks. In the folder of a release, which is
# handed in, the file counts that will count in class (`autograder/submission/reading.py`).

LEARNER = "you"
# What is said of a file that is handed in, and what is said of it where nobody hands in.
AT_HOME = (
    ("and hand it in again", "and check again"),
    ("hand it in again", "check again"),
    ("Hand it in again", "Check again"),
    (" when you hand in", ""),
    (" before you hand in", ""),
    ("You handed in", "There are"),
    ("hand in the one that counts", "keep the one that counts"),
    ("hand in the file itself", "put the file itself there"),
    ("hand in ", "use "),
)
IN_A_COURSE = "In a course, hidden graders ask the same questions with other inputs."
MARK = ".attn"  # the folder of a workspace in which the progress is kept
WORK = (".ipynb", ".py")  # what a learner writes in


@dataclass(frozen=True)
class OwnFile:
    """One of the two files of an exercise, read: how many steps hold work, when it was saved.

    saved: nanoseconds since 1970.
    """

    submission: Submission
    steps: int
    saved: int

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.submission.path.name


def read_work(exercise: Exercise, file: Path | None = None) -> Submission:
    """Read `file`, or the one that counts in an exercise's folder; raise `KitError`."""
    if file is None and not any(_own_paths(exercise)) and not _others(exercise):
        fact = f"there is neither {exercise.name}.ipynb nor {exercise.name}.py here"
        cure = f"`attn reset {exercise.name}` puts a fresh file there"
        raise KitError(fact, place=str(exercise.folder), cure=cure)
    submission = read_submission(file, exercise, LEARNER) if file else _counting(exercise)
    if not _is_handed_in(exercise):
        submission = _at_home(submission)
    if submission.rejected:
        cure = f"`attn reset {exercise.name}` puts a fresh file there and keeps a copy of yours"
        raise KitError(submission.rejected.fact, place=str(exercise.folder), cure=cure)
    newer = tuple(_newer_than_graded(submission, exercise.graded_with))
    return replace(submission, remarks=(*submission.remarks, *newer))


def _newer_than_graded(submission: Submission, graded_with: str) -> Iterator[str]:
    """Give a line if the version that grades cannot read the file, whichever is in use here."""
    graded = version_of(graded_with)
    for cell in submission.cells if graded else ():
        needed = needs_version(cell)
        if needed and graded and needed > graded:
            names = [f"`{each.name}`" for each in find_in_piece(cell)]
            where = f"What is written around {names[0]}" if names else "What stands above the steps"
            version = ".".join(map(str, needed))
            yield (
                f"{where} needs Python {version}, and your work is graded with Python "
                f"{graded_with}, which cannot read it. Look for a quote, a backslash or a # inside "
                "the braces of an f-string, for [ ] behind the name of a function or class, and "
                "for a line that begins with `type`."
            )
            return


def which_counts(exercise: Exercise) -> str:
    """Return which of the two files counts and why, "" unless both hold work."""
    begun = [each for each in _own_files(exercise) if each.steps]
    return _counting(exercise).remarks[0] if len(begun) == len(WORK) else ""


def beyond_the_checks(exercise: Exercise) -> str:
    """Return what is asked beyond the worked examples, once those of every step pass."""
    return beyond_a_step(exercise) or IN_A_COURSE


def beyond_a_step(exercise: Exercise) -> str:
    """Return the same for one step: "" for who learns alone, where nobody asks it."""
    return HIDDEN if _is_handed_in(exercise) else ""


def work_file(exercise: Exercise) -> Path:
    """Return the file that a check would read, or the script's path if there is no file."""
    path = _counting(exercise).path
    return path if path.is_file() else exercise.folder / f"{exercise.name}.py"


def has_say(exercise: Exercise, file: Path) -> bool:
    """Whether a step that fails in `file` fails: it counts, or neither file has work in it."""
    begun = any(each.steps for each in _own_files(exercise))
    return not begun or _counting(exercise).path.resolve() == file.resolve()


def _counting(exercise: Exercise) -> Submission:
    handed_in = read_submission(exercise.folder, exercise, LEARNER)
    own = sorted(_own_files(exercise), key=lambda each: (each.saved, each.steps), reverse=True)
    worked = [each for each in own if each.steps]
    if handed_in.path.stem != exercise.name or len(own) < 2:
        return handed_in
    if len(worked) == 1:
        (only,) = worked
        at_hand = _is_handed_in(exercise) or only.submission.path == handed_in.path
        return handed_in if at_hand else only.submission
    if not worked:
        names = " or ".join(sorted(each.name for each in own))
        remark = f"Nothing is written yet. Work in one of the two files: {names}."
        return _with_remark(own[0].submission, remark)
    if _is_handed_in(exercise):
        counts = next(each for each in worked if each.submission.path == handed_in.path)
        return _with_remark(counts.submission, _counts_in_class(counts, worked, exercise))
    return _with_remark(worked[0].submission, _saved_last(*worked))


def _is_handed_in(exercise: Exercise) -> bool:
    """Whether this is the folder of a release, and not in a workspace of the learner's own."""
    return not (exercise.folder.parent / MARK).is_dir()


def _at_home(submission: Submission) -> Submission:
    """Return a submission in whose words nobody hands in."""
    rejected = submission.rejected
    return replace(
        submission,
        remarks=tuple(map(home_words, submission.remarks)),
        rejected=rejected and replace(rejected, fact=home_words(rejected.fact)),
        not_run=tuple((name, home_words(words)) for name, words in submission.not_run),
    )


def home_words(text: str) -> str:
    """Return words in which nobody hands in."""
    for handed_in, at_home in AT_HOME:
        text = text.replace(handed_in, at_home)
    return text


def _own_paths(exercise: Exercise) -> Iterator[Path]:
    paths = (exercise.folder / f"{exercise.name}{suffix}" for suffix in WORK)
    return (path for path in paths if path.is_file())


def _others(exercise: Exercise) -> list[Path]:
    return [path for suffix in WORK for path in exercise.folder.glob(f"*{suffix}")]


def _own_files(exercise: Exercise) -> Iterator[OwnFile]:
    """Read those of the two files that can be read."""
    given = handed_out(exercise)
    for path in _own_paths(exercise):
        submission = read_submission(path, exercise, LEARNER)
        if not submission.rejected:
            unread = {name for name, _ in submission.not_run}
            steps = len(worked_on(submission.cells, exercise, given) | unread)
            yield OwnFile(submission, steps, path.stat().st_mtime_ns)


def _with_remark(submission: Submission, remark: str) -> Submission:
    return replace(submission, remarks=(remark, *submission.remarks))


def _saved_last(counts: OwnFile, other: OwnFile) -> str:
    by_itself = "JupyterLab saves an open notebook by itself, so close it first."
    return (
        f"{counts.name} counts, because it was saved last: {_written_in(counts)}. In {other.name}, "
        f"{_written_in(other)}. To go on there, save it again."
        f"{f' {by_itself}' * (counts.submission.path.suffix == '.ipynb')}"
    )


def _counts_in_class(counts: OwnFile, begun: list[OwnFile], exercise: Exercise) -> str:
    other = next(each for each in begun if each is not counts)
    return (
        f"{counts.name} counts, here and when you hand in: {_written_in(counts)}. In {other.name}, "
        f"{_written_in(other)}. To go on there, put the stubs back into {counts.name}: "
        f"attn reset {counts.name}"
    )


def _written_in(own: OwnFile) -> str:
    return "1 step is written" if own.steps == 1 else f"{own.steps} steps are written"


MOST_NAMED = 3
START = "name the folder of an exercise with --in, or make a workspace: attn start my-attention"


@dataclass(frozen=True)
class Task:
    """What a command is about: an exercise, and one of its steps or (None) all of them.

    file: the learner's file, if it was named; None for the one that counts.
    """

    exercise: Exercise
    step: Step | None = None
    file: Path | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The step, or all steps of the exercise."""
        return (self.step,) if self.step else self.exercise.steps


@dataclass(frozen=True)
class Workspace:
    """A folder with exercises, by difficulty; `here` is the exercise of the current folder.

    Optional exercises come last.
    """

    root: Path
    exercises: tuple[Exercise, ...]
    here: Exercise | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the exercises."""
        return tuple(exercise.name for exercise in self.exercises)

    def exercise(self, name: str) -> Exercise:
        """Return an exercise by name; raise `KitError` when it is not here."""
        for exercise in self.exercises:
            if exercise.name == name:
                return exercise
        cure = f"{did_you_mean(name, self.names)}use one of: {', '.join(self.names)}"
        raise self._wrong(f"there is no exercise {name!r} in this workspace", cure)

    def _wrong(self, fact: str, cure: str) -> KitError:
        return KitError(fact, place=str(self.root), cure=cure)

    def task(self, words: str | None, current: Exercise) -> Task:
        """Parse EXERCISE, EXERCISE.STEP, STEP or a file; without words, the task is `current`.

        STEP is a name, or a number from 1. A step alone belongs to `current`, or else to the only
        exercise that has it. Raises `KitError` for an unknown or ambiguous name.
        """
        if not words:
            return Task(current)
        path = Path(words)
        if path.suffix in WORK:
            return self._file_task(path)
        if len(path.parts) > 1 or words.endswith("/"):
            words = path.name  # a shell completes the name of a folder
        first, _, rest = words.partition(".")
        if first in self.names:
            exercise = self.exercise(first)
            return Task(exercise, step_called(exercise, rest) if rest else None)
        having = [each for each in self.exercises if words in (step.name for step in each.steps)]
        if not having and not words.isdecimal():
            self._refuse(words, current)
        if current in having or not having:
            return Task(current, step_called(current, words))
        if len(having) > 1:
            which = ", ".join(f"{each.name}.{words}" for each in having)
            raise self._wrong(
                f"{len(having)} exercises have a step {words!r}", f"say which: {which}"
            )
        return Task(having[0], having[0].step(words))

    def _refuse(self, words: str, current: Exercise) -> None:
        """Raise `KitError` for a name that is meant for another exercise, or for an exercise."""
        own = [step.name for step in current.steps]
        if near_name(words, own):
            return
        others = [each for each in self.exercises if each is not current]
        longer = {step.name: f"{each.name}.{step.name}" for each in others for step in each.steps}
        longer |= {name: name for name in self.names}
        if name := near_name(words, longer):
            cure = f"did you mean {longer[name]}? Otherwise look at attn list"
            raise self._wrong(f"there is no step and no exercise {words!r}", cure)

    def _file_task(self, path: Path) -> Task:
        """Return the task of a file of this workspace, named with or without its folder."""
        exercise = self.exercise(path.stem)
        file = exercise.folder / path.name
        if len(path.parts) > 1 and path.resolve() != file.resolve():
            raise self._wrong(f"{path} is not a file of this workspace", f"its own is {file}")
        if not file.is_file():
            raise KitError(
                f"there is no {path.name}",
                place=str(exercise.folder),
                cure=f"`attn start {self.root}` puts it there, and leaves your work as it is",
            )
        return Task(exercise, file=file)


def step_called(exercise: Exercise, words: str) -> Step:
    """Return the step of this name or number (from 1); raise `KitError` when there is none."""
    if not (words.isascii() and words.isdecimal()):
        return exercise.step(words)
    by_number = {str(number): step for number, step in enumerate(exercise.steps, 1)}
    if words in by_number:
        return by_number[words]
    raise KitError(
        f"there is no step {words} in {exercise.name}",
        place=str(exercise.folder / MANIFEST),
        cure=f"use a number from 1 to {len(exercise.steps)}; attn list shows them",
    )


def find_workspace(start: Path) -> Workspace:
    """Find the workspace around `start`; raise `KitError` when there is none."""
    if not start.is_dir():
        raise KitError("there is no such folder", place=str(start), cure="check its spelling")
    folder = start.resolve()
    if any(folder.glob(f"*/{MANIFEST}")):
        return workspace_at(folder)
    for place in (folder, *folder.parents):
        if (place / MANIFEST).is_file():
            here = read_exercise(place)
            if (place.parent / MARK).is_dir():
                return workspace_at(place.parent, here)
            return Workspace(place, (here,), here)
        if is_workspace(place):
            return workspace_at(place)
    below = workspaces_below(folder)
    raise KitError(
        f"this is not a workspace: there is no {MANIFEST} here or above",
        place=str(start),
        cure=" or ".join(f"cd {shlex.quote(name)}" for name in below) or START,
    )


def workspaces_below(folder: Path) -> tuple[str, ...]:
    """Return the names of the folders directly in `folder` that are workspaces, the first few."""
    with suppress(OSError):  # a folder that may not be read
        found = (path.name for path in sorted(folder.iterdir()) if is_workspace(path))
        return tuple(islice(found, MOST_NAMED))
    return ()


def is_workspace(folder: Path) -> bool:
    """Whether this folder has exercises in it, and a record of the work in them."""
    return (folder / MARK).is_dir() and any(folder.glob(f"*/{MANIFEST}"))


def workspace_at(root: Path, here: Exercise | None = None) -> Workspace:
    """Return the workspace in `root`, with the exercises directly below it."""
    found = [read_exercise(path.parent) for path in root.glob(f"*/{MANIFEST}")]
    found.sort(key=lambda exercise: (exercise.optional, exercise.difficulty, exercise.name))
    return Workspace(root, tuple(found), here)


# Makes a workspace from the public files of exercises; a learner's work is never overwritten.
#
# The files come with the package: inside it in an installation, beside it in the repository.

README = "README.md"


@dataclass(frozen=True)
class CreatedWorkspace:
    """A workspace, with the work that `attn start` kept and the files that it updated."""

    workspace: Workspace
    kept: tuple[Path, ...]
    updated: tuple[Path, ...]


def create_workspace(root: Path, names: Sequence[str]) -> CreatedWorkspace:
    """Make `root` a workspace with these exercises (all by default); leave work as it is.

    Raises `KitError` for an unknown exercise, or when `root` is a file or inside a workspace.
    """
    source = shipped()
    _refuse_inside_another(root)
    if root.exists() and not root.is_dir():
        raise KitError(
            "a file of that name already exists", place=str(root), cure="name a new folder"
        )
    chosen = names or sorted(path.parent.name for path in source.glob(f"*/{MANIFEST}"))
    exercises = [find_exercise(name, source) for name in chosen]
    done: dict[str, list[Path]] = {"made": [], "kept": [], "updated": [], "same": []}
    for exercise in exercises:
        target = root / exercise.name
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(path for path in exercise.folder.iterdir() if path.is_file()):
            done[_lay(file, target / file.name)].append(target / file.name)
        (target / EARLIER_EXAMPLES).unlink(missing_ok=True)
    return CreatedWorkspace(
        workspace_at(root.resolve()), tuple(done["kept"]), tuple(done["updated"])
    )


def _refuse_inside_another(root: Path) -> None:
    around = next(filter(is_workspace, root.resolve().parents), None)
    if around:
        raise KitError(
            "this folder is inside a workspace, and another one in there would know nothing of "
            "the work in it",
            place=str(root.resolve()),
            cure=f"go on in {around}; `attn start {shlex.quote(str(around))}` brings its "
            "exercises up to date. For a second workspace, name a folder outside",
        )


def _lay(file: Path, path: Path) -> str:
    """Copy a file to `path`, except over work; return "made", "same", "kept" or "updated"."""
    content = file.read_bytes()
    if file.name == README:
        content = for_oneself(content.decode("utf-8")).encode("utf-8")
    if not path.exists():
        path.write_bytes(content)
        return "made"
    if path.read_bytes() == content:
        return "same"
    if path.suffix in WORK:
        return "kept"
    path.write_bytes(content)
    return "updated"


# What is known of the solution of a step, if the solutions are here.
#
# A learner who studies alone has them: beside the exercises in the repository, or in a wheel that
# was released with answers. A course's own release comes without them, and the learner is told
# so. The lines to sort and the gap to fill hold lines of the solution, so they are where it is.

WITHOUT = "This workspace came without solutions"


def solution_folder(workspace: Workspace, exercise: Exercise) -> Path | None:
    """Return the folder with the solution of an exercise, or None if there is none here.

    The folder `solutions/` is looked for in the workspace, beside it, and beside the kit's package,
    which may also have answers in it.
    """
    places = (workspace.root, workspace.root.parent, PACKAGE.parent)
    folders = [*(place / "solutions" / exercise.name for place in places), ANSWERS / exercise.name]
    return next((folder for folder in folders if (folder / SOLUTION).is_file()), None)


def reference_code(workspace: Workspace, exercise: Exercise, step: Step) -> str | None:
    """Return the reference's code for a step, or None if there are no solutions here.

    Raises `KitError` when the solution does not have the step.
    """
    folder = solution_folder(workspace, exercise)
    if folder is None:
        return None
    lines, span = _found(folder / SOLUTION, step.name)
    return "\n".join(
        line for line in lines[span.first - 1 : span.last] if line.strip() not in (BEGIN, END)
    )


def code_before(folder: Path, step: str) -> str:
    """Return the code of the solution in `folder` above a step, which the step may call."""
    lines, span = _found(folder / SOLUTION, step)
    return "\n".join(lines[: span.first - 1])


def step_rungs(workspace: Workspace, exercise: Exercise, step: Step) -> Rungs | None:
    """Return the lines to sort of a step, or None if there are none here.

    Raises `KitError` when they cannot be read.
    """
    folder = solution_folder(workspace, exercise)
    if folder is None or not (rungs := generated(folder, RUNGS)).is_file():
        return None
    return read_rungs(rungs).get(step.name)


def _found(file: Path, name: str) -> tuple[list[str], DefinitionSpan]:
    text = file.read_text(encoding="utf-8")
    found = [each for each in find_definitions(text) if each.name == name]
    if not found:
        raise KitError(
            f"the solution has no {name}", place=str(file), cure="run `attn verify` to see why"
        )
    return text.split("\n"), found[-1]
