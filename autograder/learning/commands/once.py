"""The learner's commands, one function each: what is done, and what is said about it.

Each opens the workspace that `folder` lies in and raises `KitError` for what the learner can put
right.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.learning.runner.checking import check_work
from autograder.learning.runner.process import Child
from autograder.learning.runner.results import Checkup
from autograder.learning.state.progress import read_progress, save
from autograder.learning.state.session import LearnerSession, Say, open_session
from autograder.learning.state.workspace import Task
from autograder.learning.terminal.screen import command, hint, show_checkup
from autograder.model.exercise import Exercise, Step

Confirm = Callable[[str], bool]  # a question to be answered with yes or no


def start(root: Path, names: Sequence[str], console: Console, say: Say) -> None:
    """Lay out a workspace and say the next command."""
    from autograder.learning.state.scaffold import create_workspace

    laid = create_workspace(root, names)
    progress = read_progress(laid.workspace.root, say)
    save(progress if progress.current else progress.with_current(laid.workspace.names[0]), say)
    for exercise in laid.workspace.exercises:
        console.print(Text(f"{exercise.name}  ").append(_about(exercise), "dim"))
    if laid.kept:
        console.print(Text(f"kept as you left it: {_named(laid.kept, root)}"))
    if laid.updated:
        console.print(Text(f"brought up to date: {_named(laid.updated, root)}"))
    if not importlib.util.find_spec("torch"):
        for exercise in laid.workspace.exercises:
            if exercise.library == "torch":
                needs = "needs PyTorch: python -m pip install 'attention-kit[torch]'"
                console.print(Text(f"{exercise.name} {needs}"))
    console.print()
    console.print(Text("Each folder has a notebook and a .py with the same steps: choose one."))
    console.print(Text("Next:"))
    if laid.workspace.root != Path.cwd().resolve():
        console.print(command(f"cd {root}"))
    console.print(command("attn watch", "checks whenever you save"))


def _about(exercise: Exercise) -> str:
    return f"{len(exercise.steps)} steps, about {exercise.minutes} minutes"


def _named(files: Sequence[Path], root: Path) -> str:
    return ", ".join(file.relative_to(root).as_posix() for file in files)


def check(
    folder: Path, words: str | None, console: Console, say: Say, *, as_json: bool = False
) -> bool:
    """Check the learner's work; return whether all that was asked passes."""
    desk = open_session(folder, say)
    task = desk.task(words)
    checkup = check_work(task.exercise, task.steps, child=Child(task.exercise))
    desk = desk.checked(checkup)
    if as_json:
        console.file.write(json.dumps(checkup.document(), indent=2, ensure_ascii=False) + "\n")
    else:
        rung, desk = _rung(desk, checkup)
        show_checkup(console, checkup, task, following(desk, task), rung)
    return checkup.passes


def _rung(desk: LearnerSession, checkup: Checkup) -> tuple[int, LearnerSession]:
    """The hint that a check shows is the last one given, or the first, now counted as given."""
    if checkup.next is None or not checkup.next.step.hints:
        return 0, desk
    step = checkup.next.step
    known = desk.known(checkup.exercise, step)
    if known.hints:
        return min(known.hints, len(step.hints)), desk
    return 1, desk.noted(checkup.exercise, step, known.with_hints(1))


def following(desk: LearnerSession, task: Task) -> str:
    """What to type when all that was asked passes."""
    if len(desk.progress.passed(task.exercise)) < len(task.exercise.steps):
        return f"attn check {desk.open_step(task.exercise).name}"
    after = desk.next_exercise(task.exercise)
    return f"attn check {after.name}" if after else "attn list"


def next_hint(folder: Path, words: str | None, console: Console, say: Say) -> None:
    """Show the next rung of a step's hints, or all of them when there is none left."""
    desk = open_session(folder, say)
    exercise, step = desk.step(words)
    for line in give_hint(desk, exercise, step)[1]:
        console.print(line)


def give_hint(
    desk: LearnerSession, exercise: Exercise, step: Step
) -> tuple[LearnerSession, tuple[Text, ...]]:
    """Take the next rung of a step's hints; note it, and return its lines."""
    known = desk.known(exercise, step)
    count = len(step.hints)
    title = Text(f"{step.name}: {step.title}", style="bold")
    if known.hints >= count:
        every = (hint(step, number) for number in range(1, count + 1))
        return desk, (title, *every, Text("Those are all the hints of this step."))
    number = known.hints + 1
    desk = desk.noted(exercise, step, known.with_hints(number))
    left = count - number
    after = f"{left} more when you ask again." if left else "That was the last one."
    return desk, (title, hint(step, number), Text(after))


def show_progress(folder: Path, console: Console, say: Say) -> None:
    """Show how far the learner is in every exercise."""
    from autograder.learning.terminal.listing import listed

    desk = open_session(folder, say)
    for line in listed(desk, desk.current):
        console.print(line)


def show_step(
    folder: Path, words: str | None, path: Path | None, console: Console, say: Say
) -> None:
    """Draw a step: yours, what is expected, the difference; into a file when `path` is given."""
    desk = open_session(folder, say)
    exercise, step = desk.step(words)
    child = Child(exercise)
    from autograder.learning.terminal.drawing import chosen, draw_file, drawn

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
    """Show the reference's code of a step that passes, else after a yes; return whether it was."""
    from autograder.learning.state.answer_key import reference_code

    desk = open_session(folder, say)
    exercise, step = desk.step(words)
    code = reference_code(desk.workspace, exercise, step)
    if code is None:
        console.print(Text("This workspace came without solutions, so there is none to show."))
        console.print(command(f"attn hint {step.name}", "goes further with every call"))
        return False
    known = desk.known(exercise, step)
    question = f"{step.name} does not pass yet. Show its solution all the same?"
    if not known.passed and not ask(question):
        console.print(Text("Good: it stays closed."))
        return False
    desk.noted(exercise, step, known.with_solution())
    from rich.syntax import Syntax

    console.print(Syntax(code, "python", background_color="default", word_wrap=True))
    return True


def reset_task(folder: Path, words: str, ask: Confirm, console: Console, say: Say) -> bool:
    """Put the stub of a step or exercise back, after a yes; return whether it was."""
    desk = open_session(folder, say)
    task = desk.task(words)
    name = task.step.name if task.step else f"every step of {task.exercise.name}"
    if not ask(f"Put the stub of {name} back? Your file is kept as a copy."):
        console.print(Text("Nothing was changed."))
        return False
    for line in put_back(desk, task)[1]:
        console.print(line)
    return True


def put_back(desk: LearnerSession, task: Task) -> tuple[LearnerSession, tuple[Text, ...]]:
    """Put the stub of a task back, note it, and return what to say."""
    from autograder.learning.state.resetting import reset

    file, kept = reset(desk.workspace.root, task.exercise, task.step)
    for step in task.steps:
        desk = desk.noted(task.exercise, step, desk.known(task.exercise, step).with_passed(False))
    lines = [Text(f"{file.name} has the stub again.")]
    if kept:
        lines.append(Text(f"What you had is in {kept}"))
    if file.suffix == ".ipynb":
        lines.append(Text("In JupyterLab: File, Reload Notebook from Disk."))
    return desk, tuple(lines)
