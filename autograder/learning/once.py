"""The learner's commands, one function each.

Each command opens the workspace around `folder`, and raises `KitError` for an error that the
learner can correct.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from autograder.authoring.lesson import (
    FORMULA,
    FoldedAnswer,
    folded_answers,
    outside_code,
    replaced_answers,
)
from autograder.errors import KitError
from autograder.learning.checking import check_work
from autograder.learning.climbing import unasked_hint
from autograder.learning.process import Child
from autograder.learning.progress import LearnerSession, Say, noted, open_session, read_progress
from autograder.learning.results import Checkup
from autograder.learning.reviewing import review_command, review_words
from autograder.learning.screen import CodeRows, Indented, command, show_checkup
from autograder.learning.step_lesson import AFTER, ASKS, Lesson, asked_after, finish_of, lesson_of
from autograder.learning.workspace import Task, which_counts, work_file, workspaces_below
from autograder.reports.finding import Finish, FinishedStep, finish_page, needed_steps
from autograder.values.exercise import Exercise, Step
from autograder.values.files import write_whole
from autograder.values.symbols import GUESS
from autograder.values.this_machine import requirement_of
from autograder.values.verdict import Outcome

# `attn read`: the lesson of a step in the terminal, the same that stands in the notebook.
#
# A terminal folds nothing and sets no formulas. So an answer is shown only when it is asked for,
# and formulas are written as text.

_PICTURE = re.compile(r"!\[([^\]]*)\]\(data:[^)]*\)")


def read_step(
    folder: Path, words: str | None, console: Console, say: Say, *, answers: bool = False
) -> None:
    """Show the lesson of a step, with the answers to its questions if they are asked for."""
    session = open_session(folder, say)
    exercise, step = session.step(words)
    found = lesson_of(exercise, step.name)
    for piece in lesson_lines(found, answers=answers):
        console.print(piece)
        console.print()
    name = session.name_of(exercise, step)
    if not answers and folded_answers(f"{found.above}\n{found.below}"):
        console.print(command(f"attn read {name} --answers", "with the answers"))
    console.print(command(f"attn check {name}", "checks what you have written"))


def lesson_lines(lesson: Lesson, *, answers: bool = False) -> tuple[RenderableType, ...]:
    """Return the lesson as a terminal shows it; without `answers`, the questions alone.

    The question after the check comes with the answers: it is for who has written the step.
    """
    parts = (lesson.above, lesson.below if answers else lesson.trials)
    return tuple(Markdown(plain(part, answers=answers), code_theme="bw") for part in parts if part)


def answer_lines(
    lesson: Lesson, *, after: bool = False, written: bool = True
) -> tuple[RenderableType, ...]:
    """Return the questions of a step with their answers; `after`: the one for who has written it.

    That question stands on the screen already. Before a step is `written`, it is not answered.
    """
    asked = folded_answers(f"{lesson.above}\n\n{lesson.below}")
    kinds = (AFTER,) if after else ASKS if written else ASKS[:1]
    found = [each for each in asked if each.when in kinds]
    texts = [
        each.answer if after else f"**{each.when}** {each.question}\n\n{each.answer}"
        for each in found
    ]
    if not texts:
        return (Text(f"No question is asked at {lesson.step}."),)
    return tuple(Markdown(plain(text), code_theme="bw") for text in texts)


def question_after(exercise: Exercise, step: str) -> str:
    """Return the question for who has written a step, "" where there is none."""
    asked = asked_after(exercise, step)
    return f"{GUESS}: {without_formulas(asked.question)}" if asked else ""


def plain(prose: str, *, answers: bool = True) -> str:
    """Return prose of a notebook in Markdown that a terminal can show."""

    def told(folded: FoldedAnswer) -> str:
        hidden = folded.when in ASKS and not answers
        return f"**{folded.when}** {folded.question}" + ("" if hidden else f"\n\n{folded.answer}")

    text = replaced_answers(prose, told)
    text = _PICTURE.sub(r"*\1*", text)
    return without_formulas(text, markdown=True)


def without_formulas(text: str, *, markdown: bool = False) -> str:
    """Return text with its formulas written as text, in which `markdown` reads no sign."""
    from pylatexenc.latex2text import LatexNodes2Text

    reader = LatexNodes2Text(math_mode="text", keep_comments=True)

    def written(formula: re.Match[str]) -> str:
        latex = (formula["display"] or formula["inline"]).replace(r"\mathit", r"\mathrm")
        words: str = reader.latex_to_text(latex.replace("%", r"\%")).strip()
        if formula["display"]:
            return f"\n\n```\n{words}\n```\n\n"
        return words.replace("_", r"\_") if markdown else words

    return outside_code(text, lambda part: FORMULA.sub(written, part))


Confirm = Callable[[str], bool]  # asks a yes-or-no question


def start(root: Path, names: Sequence[str], console: Console, say: Say) -> None:
    """Make a workspace; say what to type, what to open, and where to look."""
    from autograder.learning.workspace import create_workspace

    created = create_workspace(root, names)
    progress = read_progress(created.workspace.root, say)
    first = created.workspace.names[0]
    noted(progress, lambda now: now if now.current else now.with_current(first), say)
    for exercise in created.workspace.exercises:
        console.print(Text.assemble((exercise.name, "bold"), f"  {exercise.title}"))
        console.print(Text(f"  {exercise.extent}", "dim"))
    if created.kept:
        console.print(Text(f"kept as you left it: {_named(created.kept, root)}"))
    if created.updated:
        console.print(Text(f"brought up to date: {_named(created.updated, root)}"))
    console.print()
    for line in _first_turn(open_session(created.workspace.root, say), root):
        console.print(line, crop=False)


def _first_turn(session: LearnerSession, root: Path) -> Iterator[RenderableType]:
    """Say how the next step is written and checked: what to type, open and look at."""
    exercise = session.current
    step = session.open_step(exercise)
    yield Text("Type:")
    if not shutil.which("attn"):
        yield from _activation()
    if session.workspace.root != Path.cwd().resolve():
        yield CodeRows(f"cd {shlex.quote(str(root))}")
    yield command("attn watch", "checks whenever you save")
    yield Text("Open one of these two files. They hold the same steps: work in only one.")
    yield command(f"{exercise.name}/{exercise.name}.py", "in your editor")
    yield command(f"{exercise.name}/{exercise.name}.ipynb", "in JupyterLab")
    if not find_spec("jupyterlab"):
        yield Text("JupyterLab is not there yet. This installs it:")
        yield CodeRows(f"python -m pip install {requirement_of('jupyterlab')}")
    if session.known(exercise, step).outcome in ("", Outcome.NOT_WRITTEN.value):
        line = f"In `{step.name}`, replace the line that raises NotImplementedError with your code"
        yield Indented(Text(f"{line}, and save. The answer appears in the terminal."), 0, 0)
    others = [each for each in session.workspace.exercises if not each.optional]
    harder = max(others, key=lambda each: each.difficulty, default=exercise)
    if harder.library == "torch" and harder is not exercise:
        words = "You know attention, and PyTorch? Begin here, and write the class first: if that is"
        yield Indented(Text(f"{words} right, the steps before it count as known."), 0, 0)
        yield command(f"attn watch {harder.name}")


def _activation() -> Iterator[RenderableType]:
    """Return the command that puts `attn` on the path, where this environment has one."""
    folder = Path(sys.prefix, "Scripts" if os.name == "nt" else "bin")
    if (folder / "activate").is_file():
        file = str(folder / "activate")
        yield CodeRows(file if os.name == "nt" else f"source {shlex.quote(file)}")


def _named(files: Sequence[Path], root: Path) -> str:
    return ", ".join(file.relative_to(root).as_posix() for file in files)


def check(
    folder: Path, words: str | None, console: Console, say: Say, *, as_json: bool = False
) -> bool:
    """Check the learner's work; return whether every requested step passes."""
    session = open_session(folder, say)
    task = session.task(words)
    with Child(task.exercise) as child:
        checkup = check_work(task.exercise, task.steps, child=child, file=task.file)
    checkup = session.with_words_on_saving(checkup)
    session = session.checked(checkup)
    if as_json:
        plain = not console.encoding.startswith("utf")  # JSON has its own way to write a sign
        console.file.write(json.dumps(checkup.document(), indent=2, ensure_ascii=plain) + "\n")
    else:
        session, first_hint = unasked_hint(session, checkup)
        passed = next((run for run in checkup.steps if task.step and run.verdict.passes), None)
        question = question_after(task.exercise, passed.step.name) if passed else ""
        picture: tuple[RenderableType, ...] = ()
        if passed:
            from autograder.learning.screen import own_drawn

            picture = own_drawn(passed)
        about = passed or checkup.next
        name = session.name_of(task.exercise, about.step) if about else ""
        show_checkup(
            console, checkup, task, following(session, task), first_hint, picture, question, name
        )
    return checkup.passes


def following(session: LearnerSession, task: Task) -> str:
    """Return the command to type when every requested step passes."""
    done = len(session.progress.passed(task.exercise)) == len(task.exercise.steps)
    if done and task.exercise.plays:
        return f"attn play {task.exercise.name}"
    return after_all(session, task.exercise)


def after_all(session: LearnerSession, exercise: Exercise) -> str:
    """Return the command to type when a layer works: the closing words, or else an open step."""
    if len(session.progress.passed(exercise)) < len(exercise.steps):
        return f"attn check {session.name_of(exercise, session.open_step(exercise))}"
    return f"attn finish {exercise.name}"


def next_after(session: LearnerSession, exercise: Exercise) -> str:
    """Return the command to type when nothing more is to be said about an exercise."""
    after = session.next_exercise(exercise)
    return f"attn check {after.name}" if after else "attn list"


def show_progress(folder: Path, console: Console, say: Say) -> None:
    """Show how far the learner is in every exercise."""
    from autograder.learning.screen import listed

    session = open_session(folder, say)
    for line in listed(session, session.current):
        console.print(line)
    two_files = which_counts(session.current)
    if two_files:
        console.print(Text(two_files))
    to_review = review_words(session, date.today())
    if to_review:
        console.print(Text(to_review))
        console.print(review_command(session, date.today()))


def show_step(
    folder: Path, words: str | None, path: Path | None, console: Console, say: Say
) -> None:
    """Draw a step: yours, expected and the difference; with `path`, also into a file."""
    session = open_session(folder, say)
    exercise, step = session.step(words)
    with Child(exercise) as child:
        from autograder.learning.screen import draw_file, drawn
        from autograder.learning.step_pictures import chosen

        (run,) = check_work(exercise, (step,), child=child).steps
    for piece in drawn(run):
        console.print(piece)
    check = chosen(run)
    if path and check:
        draw_file(path, check)
        console.print(Text(f"saved as {path}"))


def show_solution(
    folder: Path, words: str | None, ask: Confirm, console: Console, say: Say
) -> bool:
    """Show the reference's code for a step; if it does not pass yet, ask first.

    Return whether the code was shown.
    """
    from autograder.learning.workspace import WITHOUT, reference_code

    session = open_session(folder, say)
    exercise, step = session.step(words)
    code = reference_code(session.workspace, exercise, step)
    if code is None:
        console.print(Text(f"{WITHOUT}, so there is none to show."))
        name = session.name_of(exercise, step)
        console.print(command(f"attn hint {name}", "tells you more each time"))
        return False
    known = session.known(exercise, step)
    question = f"{step.name} does not pass yet. Show its solution anyway?"
    if not known.passed and not ask(question):
        console.print(Text("Good: the solution stays closed."))
        return False
    if not known.passed:  # afterwards, to look is no help
        session.noted(exercise, step, replace(known, solution=True))
    from rich.syntax import Syntax

    colored = Syntax("", "python", background_color="default").highlight(code)
    colored.rstrip()
    console.print(colored, soft_wrap=True)  # as it is: it may be copied, or go into a file
    return True


def reset_task(folder: Path, words: str, ask: Confirm, console: Console, say: Say) -> bool:
    """Ask, and put back the stub of a step or exercise; return whether that was done."""
    session = open_session(folder, say)
    task = session.task(words)
    if not ask(reset_question(task)):
        console.print(Text("Nothing was changed."))
        return False
    for line in put_back(session, task)[1]:
        console.print(line, soft_wrap=True)
    return True


def reset_question(task: Task) -> str:
    """Return what is asked before a stub is put back."""
    file = task.file or work_file(task.exercise)
    stubs = f"the stub of {task.step.name}" if task.step else "the stub of every step"
    return f"Put {stubs} back into {file.name}? A copy of that file is kept."


def put_back(session: LearnerSession, task: Task) -> tuple[LearnerSession, tuple[Text, ...]]:
    """Put back the stub of a task, save that, and return what to say."""
    from autograder.learning.reviewing import reset

    file = task.file or work_file(task.exercise)
    kept = reset(session.workspace.root, task, file)
    for step in task.steps:
        stub = session.known(task.exercise, step).with_stub()
        session = session.noted(task.exercise, step, stub)
    lines = [Text(f"{file.name} has the stub again.")]
    if kept:
        lines.append(Text(f"Your own version is in {kept}"))
    if file.suffix == ".ipynb":
        lines.append(Text("In JupyterLab: File, Reload Notebook from Disk."))
    counts = work_file(task.exercise)
    if counts != file and counts.is_file():
        lines.append(Text(f"Now {counts.name} counts:"))
        lines.append(Text(f"  attn check {task.exercise.name}"))
    return session, tuple(lines)


# The closing words of an exercise in a terminal, readable in 40 columns and without color.


def finish_lines(finish: Finish) -> Iterator[RenderableType]:
    """Yield what is known of an exercise that is done, and what to read next."""
    yield Text(finish.headline, "bold")
    if finish.built:
        yield from _part("What you have built", (finish.built,))
    yield from _part("How long it took", finish.took)
    yield from _part("Mistakes that you met", (finish.met,))
    for step in finish.steps:
        yield from _finished_step(step)
    if finish.reading:
        yield from _part("What to read next", ())
    for reading in finish.reading:
        yield Indented(Text(reading.title, "italic"), later=4)
        yield Indented(Text(f"{reading.source}."), 4, 4)
        yield Indented(Text(reading.why), 4, 4)
    yield from _part("What is not known here", finish.unknown)
    yield Text()


def _part(head: str, words: Iterable[str]) -> Iterator[RenderableType]:
    yield Text()
    yield Text(head, "bold")
    for each in words:
        yield Indented(Text(each))


def _finished_step(step: FinishedStep) -> Iterator[RenderableType]:
    """Yield the lines of a step that has something to tell."""
    if not (step.mistakes or step.help or step.open):
        return
    yield Indented(Text(step.heading.replace("`", "")), later=4)
    for words in step.mistakes:
        yield Indented(Text(words), 4, 4)
    if step.help:
        yield Indented(Text(f"With help: {step.help}.", "dim"), 4, 4)


SUFFIX = ".html"
UNKNOWN = "What you did before the first check is not noted."


def finish(folder: Path, words: str | None, page: Path | None, console: Console, say: Say) -> bool:
    """Check an exercise and, when it is done, show its closing words; return whether it is done.

    With `page`, they are also written there as a page. Raises `KitError`.
    """
    if page and page.suffix.lower() != SUFFIX:
        raise KitError(
            f"the closing page is HTML, and {page.name} does not end with {SUFFIX}",
            place=str(page),
            cure=f"attn finish --save {page.with_suffix(SUFFIX).name}",
        )
    session = open_session(folder, say)
    exercise = session.exercise(words)
    with Child(exercise) as child:
        checkup = check_work(exercise, exercise.steps, child=child)
    session = session.passed(checkup)
    still_open = [run.step for run in checkup.steps if not run.verdict.is_done]
    left = [step for step in needed_steps(exercise) if step in still_open]
    if left:
        _show_what_is_left(checkup, left[0], console)
        return False
    from autograder.judging.examples import mistake_words_of, read_examples

    told = mistake_words_of(read_examples(exercise.folder))
    found = finish_of(exercise, session.progress, told, UNKNOWN, shown=without_formulas)
    for line in finish_lines(found):
        console.print(line)
    if page:
        write_whole(page, finish_page(found))
        console.print(Text(f"saved as {page}"))
    console.print(Text("Continue with:"))
    if not page:
        console.print(command(f"attn finish {exercise.name} --save finish.html", "to keep it"))
    if exercise.plays:
        console.print(command(f"attn play {exercise.name}", "your layer at work"))
    console.print(command(next_after(session, exercise)))
    return True


def _show_what_is_left(checkup: Checkup, step: Step, console: Console) -> None:
    exercise = checkup.exercise
    done, number = sum(run.verdict.is_done for run in checkup.steps), exercise.steps.index(step) + 1
    for remark in checkup.remarks:
        console.print(Text(remark))
    console.print(Text(f"{exercise.title}: {done} of {len(exercise.steps)} steps pass."))
    console.print(Text(f"The closing words come after the last. Next: step {number}, {step.name}."))
    console.print(command(f"attn check {exercise.name}.{step.name}", "says what to look at"))


# What `attn` alone says: where you are, and the next command to type.

ALL = ("attn --help", "lists all commands")


def greet(folder: Path, console: Console) -> None:
    """Greet whoever is in `folder`, and name the next command."""
    try:
        session = open_session(folder, lambda words: console.print(Text(words)))
    except KitError:
        _greet_a_newcomer(console, workspaces_below(folder))
    else:
        _greet_a_learner(session, console)
    console.print(command(*ALL))


def _greet_a_newcomer(console: Console, workspaces: Sequence[str]) -> None:
    console.print(Text("Welcome to attention-kit. Here you build attention step by step."))
    console.print(Text("To learn:"))
    for name in workspaces:
        console.print(command(f"cd {shlex.quote(name)}", "has exercises that you can go on with"))
    console.print(command("attn start my-attention", "makes a folder with the exercises"))
    console.print(Text("To teach a class:"))
    console.print(command("attn course demo", "makes a course with a sample class, and grades it"))
    console.print(Text("For everything else:"))


def _greet_a_learner(session: LearnerSession, console: Console) -> None:
    exercise = session.current
    if len(session.progress.passed(exercise)) == len(exercise.steps):
        exercise = session.next_exercise(exercise) or exercise
    passed, of = session.progress.passed(exercise), len(exercise.steps)
    console.print(Text("Welcome back."))
    console.print(Text(f"{exercise.title}: {len(passed)} of {of} steps passed when last checked."))
    two_files = which_counts(exercise)
    if two_files:
        console.print(Text(two_files))
    if exercise.optional and len(passed) < of:
        console.print(Text("This one is optional: go on if you like."))
    to_review = review_words(session, date.today())
    if to_review:
        console.print(Text(to_review))
        console.print(review_command(session, date.today()))
    if len(passed) < of:
        step = session.open_step(exercise)
        number = exercise.steps.index(step) + 1
        console.print(Text(f"You are at step {number}, {step.name}: {step.title}."))
        console.print(Text("Go on with:"))
        console.print(command(f"attn watch {exercise.name}", "checks whenever you save"))
    else:
        console.print(Text("Every step of every exercise here passes. See them all with:"))
        console.print(command("attn list", "shows points and progress"))
