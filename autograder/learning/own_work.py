"""Which of a learner's two files counts: of those with work in them, the one saved last.

That is the file a learner means who saves it and asks. In the folder of a release, which is handed
in, the file counts that will count in class (`autograder/submission/reading.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.errors import KitError
from autograder.model.exercise import Exercise
from autograder.model.shipped import handed_out
from autograder.model.symbols import HIDDEN
from autograder.submission.cells import find_in_piece
from autograder.submission.missing_step import worked_on
from autograder.submission.newer_python import needs_version, version_of
from autograder.submission.reading import Submission, read_submission

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
        return _with_remark(own[0].submission, _nothing_written(own))
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


def _nothing_written(own: list[OwnFile]) -> str:
    names = " or ".join(sorted(each.name for each in own))
    return f"Nothing is written yet. Work in one of the two files: {names}."


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
