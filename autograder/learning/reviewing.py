"""`attn review`: steps that passed come back after 1, 7 and 30 days, blank and on other inputs."""

from __future__ import annotations

import ast
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.learning.checking import Checking
from autograder.learning.process import Child
from autograder.learning.progress import REVIEW_DAYS, LearnerSession, Say, open_session, reviewed
from autograder.learning.results import StepRun
from autograder.learning.screen import Indented, command, finding_pieces, show, sign
from autograder.learning.workspace import MARK, WITHOUT, Task, Workspace, read_work, solution_folder
from autograder.submission.cells import find_definitions, percent_cells, source
from autograder.submission.file_text import with_plain_lines
from autograder.values.exercise import EXAMPLES, GRADERS, Exercise, Step
from autograder.values.files import replace_file, write_whole
from autograder.values.this_machine import original
from autograder.values.verdict import Outcome

# The file in which a step is written again for a review; the learner's own work is not touched.
#
# It holds the stub of one step. What the step calls is the learner's own work.

FOLDER = "review"


@dataclass(frozen=True)
class ReviewFile:
    """Where a step of a workspace is reviewed."""

    workspace: Workspace
    exercise: Exercise
    step: Step

    @property
    def path(self) -> Path:
        """The file that the learner writes."""
        return self.workspace.root / FOLDER / self.exercise.name / f"{self.step.name}.py"

    @property
    def _name(self) -> str:
        return f"{self.exercise.name}.{self.step.name}"

    def make(self, today: date) -> None:
        """Write the stub; a file that is there is kept as a copy. Raises `KitError`."""
        self.put_away(today)
        write_whole(self.path, self._stub(today))

    def put_away(self, today: date) -> Path | None:
        """Move the file to the kept copies, if there is one; return its new place."""
        if not self.path.is_file():
            return None
        kept = _free_place(self.workspace.root, f"review-{self._name}-{today}.py")
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            self.path.rename(kept)
        except OSError as error:
            raise KitError(
                f"the file of the last review cannot be put away: {error.strerror}",
                place=str(self.path),
                cure="move it away yourself, and try again",
            ) from error
        return kept

    def text(self) -> str:
        """Return what the learner has written; raise `KitError` if it cannot be read."""
        try:
            return self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise KitError(
                f"the file of the review cannot be read: {error}",
                place=str(self.path),
                cure=f"delete it, and `attn review {self.step.name}` makes it again",
            ) from None

    def cells(self, own: Sequence[str]) -> tuple[str, ...]:
        """Return the learner's own cells without this step, and the review below them."""
        return (*(_without(cell, self.step.name) for cell in own), self.text())

    def examples(self, today: date) -> Path | None:
        """Return the folder with worked examples on other inputs, drawn for this day.

        None where the solutions or the graders are not at hand. Raises `KitError` when they cannot
        be drawn.
        """
        solution = solution_folder(self.workspace, self.exercise)
        if solution is None or not (solution / GRADERS).is_file():
            return None
        folder = self.workspace.root / MARK / FOLDER / self._name / today.isoformat()
        if not (folder / EXAMPLES).is_file():
            from autograder.checks.plugin import record_other_examples

            drawn = record_other_examples(solution, self.step.name, today.toordinal())
            write_whole(folder / EXAMPLES, drawn)
        return folder

    def _stub(self, today: date) -> str:
        stub = original(self.exercise, f"{self.exercise.name}.py").read_text(encoding="utf-8")
        (span,) = (each for each in find_definitions(stub) if each.name == self.step.name)
        imports = [
            ast.unparse(node)
            for node in ast.parse(stub).body
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        definition = stub.split("\n")[span.first - 1 : span.last]
        head = (
            f"# Review of {self.step.name}, {today}: write it again, from memory.\n"
            "# Your own work stays as it is; the other steps are taken from there.\n"
            f"# Then type: attn review {self._name}\n"
        )
        return "\n".join([head, *imports, "", "", *definition, ""])


def _without(cell: str, name: str) -> str:
    """Return a cell in which the definitions of `name` are blank, so that line numbers stay."""
    lines = cell.split("\n")
    for span in find_definitions(cell):
        if span.name == name:
            lines[span.first - 1 : span.last] = [""] * (span.last - span.first + 1)
    return "\n".join(lines)


HOW_OFTEN = "A step that passes comes back after {}, {} and {} days.".format(*REVIEW_DAYS)


def due_today(session: LearnerSession, today: date) -> tuple[tuple[Exercise, Step], ...]:
    """Return the steps of the workspace whose review has come."""
    return tuple(
        (exercise, step)
        for exercise in session.workspace.exercises
        for step in session.progress.to_review(exercise, today)
    )


def review_words(session: LearnerSession, today: date) -> str:
    """Return a sentence about what is to be reviewed, "" for nothing."""
    due = due_today(session, today)
    count = "1 step is" if len(due) == 1 else f"{len(due)} steps are"
    return f"{count} to be reviewed today: {', '.join(step.name for _, step in due)}." * bool(due)


def review_command(session: LearnerSession, today: date) -> Indented:
    """Return the command that brings back what is to be reviewed."""
    what = "it" if len(due_today(session, today)) == 1 else "them"
    return command("attn review", f"brings {what} back, blank")


def list_reviews(folder: Path, today: date, console: Console, say: Say) -> None:
    """Make the files of the steps whose review has come, and say where they are."""
    session = open_session(folder, say)
    due = due_today(session, today)
    if not due:
        console.print(Text(_nothing(session)))
        return
    console.print(Text("Write these steps again, from memory:"))
    for exercise, step in due:
        session, file = _begun(session, exercise, step, today)
        console.print(command(_shown(file.path), step.title))
    console.print(Text("Your own work stays as it is. When one is written:"))
    exercise, step = due[0]
    why = "checks it" if len(due) == 1 else "checks it; the others are named in the same way"
    console.print(command(f"attn review {exercise.name}.{step.name}", why))


def _nothing(session: LearnerSession) -> str:
    days = [
        (session.known(exercise, step).review_on, step.name)
        for exercise in session.workspace.exercises
        for step in exercise.steps
        if session.known(exercise, step).passed and session.known(exercise, step).review_on
    ]
    if not days:
        return f"There is nothing to review. {HOW_OFTEN}"
    day, name = min(days, key=lambda each: each[0])
    return f"There is nothing to review today. Next: {name}, on {day}."


def review_step(folder: Path, words: str, today: date, console: Console, say: Say) -> bool:
    """Check a step in its review file, and note when it comes back; return whether it passes."""
    session = open_session(folder, say)
    exercise, step = session.step(words)
    known = session.known(exercise, step)
    is_due = step in session.progress.to_review(exercise, today)
    if not is_due and known.review_begun != today.isoformat():
        console.print(Text(_not_due(session, exercise, step)))
        return False
    session, file = _begun(session, exercise, step, today)
    known = session.known(exercise, step)
    run = _asked(file, today)
    if run.verdict.passes:
        session.noted(exercise, step, replace(reviewed(known, today, passed=True), review_begun=""))
        file.put_away(today)
    elif run.verdict.outcome is not Outcome.NOT_WRITTEN:
        session.noted(exercise, step, reviewed(known, today, passed=False))
    for line in _answer(session, file, run):
        console.print(line)
    if not run.verdict.passes:
        show(console, finding_pieces(run))
    if file.examples(today) is None:
        console.print(Text(f"{WITHOUT}, so the inputs are those of the worked examples.", "dim"))
    _say_when(console, open_session(folder, say), exercise, step, run)
    return run.verdict.passes


def _not_due(session: LearnerSession, exercise: Exercise, step: Step) -> str:
    known = session.known(exercise, step)
    if not known.passed:
        return f"{step.name} does not pass yet. A review is for steps that have passed."
    if known.review_on:
        return f"{step.name} is not to be reviewed today. It comes back on {known.review_on}."
    if known.reviews:
        return f"{step.name} has passed all of its {len(REVIEW_DAYS)} reviews."
    name = session.name_of(exercise, step)
    return f"{step.name} has no review yet. This notes when it comes back:\n  attn check {name}"


def _begun(
    session: LearnerSession, exercise: Exercise, step: Step, today: date
) -> tuple[LearnerSession, ReviewFile]:
    """Make the file of a review, blank, unless it was made on this day."""
    file = ReviewFile(session.workspace, exercise, step)
    known = session.known(exercise, step)
    if known.review_begun != today.isoformat() or not file.path.is_file():
        file.make(today)
        known = replace(known, review_begun=today.isoformat())
        session = session.noted(exercise, step, known)
    return session, file


def _asked(file: ReviewFile, today: date) -> StepRun:
    """Ask the examples of this day of the learner's file, below their own other steps."""
    own = read_work(file.exercise)
    cells = file.cells(own.cells)
    names = (*(f"{own.path.name}, cell {n}" for n in range(1, len(cells))), str(file.path))
    submission = replace(own, cells=cells, path=file.path)
    folder = file.examples(today) or file.exercise.folder
    exercise = replace(file.exercise, folder=folder)
    checking = Checking(exercise, submission, (file.step,), names=names)
    with Child(exercise) as child:
        (run,) = checking.run(child).steps
    return run


def _answer(session: LearnerSession, file: ReviewFile, run: StepRun) -> Iterator[Text]:
    head = Text.assemble(sign(run.verdict.outcome), f" {file.step.name}: {file.step.title}")
    yield head.append("  review", "dim")
    if run.verdict.outcome is Outcome.NOT_WRITTEN:
        yield Text(f"Write it in {_shown(file.path)}")


def _say_when(
    console: Console, session: LearnerSession, exercise: Exercise, step: Step, run: StepRun
) -> None:
    known = session.known(exercise, step)
    if run.verdict.outcome is Outcome.NOT_WRITTEN:
        return
    if run.verdict.passes:
        last = f"That was the last of {len(REVIEW_DAYS)} reviews."
        console.print(Text(f"It comes back on {known.review_on}." if known.review_on else last))
        return
    console.print(Text(f"It comes back on {known.review_on}. You can go on with it now, too."))
    console.print(command(f"attn review {exercise.name}.{step.name}", "after your next change"))


def _shown(path: Path) -> str:
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


# Puts the stub of a step, or of a whole exercise, back into the learner's file.
#
# First a copy of the file is kept. For a step, only its own lines or its notebook cell change.


def reset(root: Path, task: Task, file: Path) -> Path | None:
    """Put the stub back into `file`; return the copy of the old one (None if there was none).

    If the step is not found in the file, or the copy or the file cannot be written, nothing
    changes and `KitError` is raised.
    """
    exercise, step = task.exercise, task.step
    stub = original(exercise, f"{exercise.name}{file.suffix}").read_text(encoding="utf-8")
    if step and file.is_file():
        change = _in_notebook if file.suffix == ".ipynb" else _in_script
        text = change(_StepInFile(file, exercise.name, step.name), stub)
    else:
        text = stub
    kept = _keep(root, file) if file.is_file() else None
    write_whole(file, text)
    return kept


def _keep(root: Path, file: Path) -> Path:
    kept = _free_place(root, f"{file.stem}-{time.strftime('%Y-%m-%d-%H%M%S')}{file.suffix}")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept, file.read_bytes())
    except OSError as error:
        raise KitError(
            f"your file cannot be copied, so it is left unchanged: {error.strerror}",
            place=str(kept.parent),
            cure="free some disk space, or allow yourself to write there, and try again",
        ) from error
    return kept


def _free_place(root: Path, name: str) -> Path:
    """Return where a copy of this name is kept, with a number if there is one already."""
    path = root / MARK / "kept" / name
    ends = (f"-{number}" if number else "" for number in itertools.count())
    return next(each for end in ends if not (each := path.with_stem(path.stem + end)).exists())


@dataclass(frozen=True)
class _StepInFile:
    """The learner's file, and the step to find in it."""

    file: Path
    exercise: str
    name: str

    def text(self) -> str:
        """Return the text of the file without a byte order mark; raise `KitError`."""
        try:
            return self.file.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise self.lost() from None

    def lost(self) -> KitError:
        return KitError(
            f"`{self.name}` cannot be found in your file, so it cannot be put back on its own",
            place=str(self.file),
            cure=f"`attn reset {self.exercise}` puts the whole file back and keeps a copy of yours",
        )


def _in_script(step: _StepInFile, stub: str) -> str:
    text = step.text()
    plain = with_plain_lines(text)
    places, fresh = _definitions(plain, step.name), _definitions(stub, step.name)
    if not places:
        places, fresh = _cells(plain, step.name), _cells(stub, step.name)
    if not places or not fresh:
        raise step.lost()
    lines, (begin, end) = plain.split("\n"), fresh[0]
    # Go from the end, so that earlier places stay valid. The first place gets the stub.
    for number in range(len(places) - 1, -1, -1):
        lines_of_stub = stub.split("\n")[begin:end] if number == 0 else []
        lines[places[number][0] : places[number][1]] = lines_of_stub
    return ("\r\n" if "\r\n" in text else "\n").join(lines)


def _definitions(text: str, name: str) -> list[tuple[int, int]]:
    """Return the places of the definitions of `name`: first line (from 0), and the line after.

    Return none if one of them is not valid Python, because its end is then unknown.
    """
    found = [each for each in find_definitions(text) if each.name == name]
    whole = all(each.is_python for each in found)
    return [(each.first - 1, each.last) for each in found] if whole else []


def _cells(text: str, name: str) -> list[tuple[int, int]]:
    """Return the same for the `# %%` cells that define `name`, valid Python or not."""
    return [
        (cell.line - 1, cell.last)
        for cell in percent_cells(text)
        if cell.marker and _defines(cell.text, name)
    ]


def _defines(source: str, name: str) -> bool:
    return any(found.name == name for found in find_definitions(source))


def _in_notebook(step: _StepInFile, stub: str) -> str:
    try:
        notebook = json.loads(step.text())
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise step.lost() from None
    released = json.loads(stub)["cells"]
    fresh = [cell for cell in released if _defines(source(cell), step.name)]
    # The cell that was made for the step, or else one that defines it now.
    own = [cell for cell in cells if _made_for(cell, step.name)]
    own = own or [cell for cell in cells if _defines(source(cell), step.name)]
    if not own or not fresh:
        raise step.lost()
    for cell in own:
        cell.update(source=fresh[0]["source"], outputs=[], execution_count=None)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _made_for(cell: dict[str, Any], name: str) -> bool:
    grading = cell.get("metadata", {}).get("nbgrader", {})
    return bool(grading.get("solution")) and grading.get("grade_id") == name
