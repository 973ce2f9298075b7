"""Builds an exercise: `solutions/<name>/` in, `assignments/<name>/` out.

The files are made in memory, searched for leaks, and only then written, so a
failed build changes nothing. It tells all faults that it can find. The same solution
gives the same bytes, which is how a stale assignment is noticed.
"""

from __future__ import annotations

import ast
import keyword
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import nbformat
import tomli_w
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.authoring.leak import refuse_leaks, secrets_of
from autograder.authoring.lesson import (
    GUIDE,
    only_folded,
    refuse_badly_folded,
    render_guide,
    taught,
    with_code_in_questions,
    with_fixed_columns,
    without_folded,
)
from autograder.authoring.regions import Solution, read_solution
from autograder.authoring.stub import (
    Cell,
    cost_text,
    is_below_a_step,
    read_cells,
    render_checklist,
    render_stub,
)
from autograder.errors import Faults, KitError
from autograder.values.exercise import (
    CHECK_PREFIX,
    EARLIER_EXAMPLES,
    EXAMPLES,
    GENERATED,
    MANIFEST,
    MISTAKE_COSTS,
    Exercise,
    Step,
    generated,
    read_exercise,
)
from autograder.values.files import file_content, write_all_whole

# Refuses an exercise whose facts would not work, or would grade wrong, further on.
#
# `exercise.toml` is read by everybody, students included, so the reader takes what has the right
# form. What an author has to write is demanded here, before anything is handed out.


def refuse_wrong_facts(exercise: Exercise, solution: Solution) -> None:
    """Raise `KitError` for every fact that is missing or cannot be meant."""
    tree = ast.parse("\n".join(solution.lines))
    faults, place = Faults(), str(exercise.folder / MANIFEST)
    for fact, cure in (*_of_exercise(exercise), *_of_steps(exercise), *_of_names(exercise, tree)):
        with faults.noted():
            raise KitError(fact, place=place, cure=cure)
    faults.refuse()


def _of_exercise(exercise: Exercise) -> Iterator[tuple[str, str]]:
    if not exercise.title.strip():
        yield "the exercise has no title", "write one"
    if not exercise.points > 0 and not exercise.optional:
        worth = f"all steps together are worth {exercise.points:g} points"
        yield worth, "write points > 0, or optional = true if nobody has to do it"
    for limit in fields(exercise.limits):
        value = getattr(exercise.limits, limit.name)
        if not _is_number(value) or not value > 0:
            yield f"the limit {limit.name} is {value!r}", "write a number that is larger than 0"
    for table in ("sizes", "public_sizes"):
        for axis, size in getattr(exercise.grading, table).items():
            if type(size) is not int or size < 1:
                yield f"the size of the axis {axis} is {size!r} in {table}", "write 1 or more"


def _of_steps(exercise: Exercise) -> Iterator[tuple[str, str]]:
    for step in exercise.steps:
        if not _is_number(step.points) or not 0 <= step.points < float("inf"):
            yield f"{step.name} is worth {step.points:g} points", "write 0 (a bonus) or more"
        if type(step.minutes) is not int or step.minutes < 1:
            yield f"{step.name} takes {step.minutes!r} minutes", "write a whole number of minutes"
        if not step.title.strip():
            yield f"the step {step.name} has no title", "write one"
        if not step.name.isidentifier() or keyword.iskeyword(step.name):
            cure = "use a name that Python takes, the same as in solution.py"
            yield f"no function can be called {step.name!r}", cure


def _of_names(exercise: Exercise, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Give the steps that share their name with something else that students are given."""
    taken = {name: node.lineno for node in tree.body for name in _bound(node)}
    for step in exercise.steps:
        if step.name in taken:
            yield (
                f"the step {step.name} has the name of something else, in line "
                f"{taken[step.name]} of solution.py",
                "rename one of the two: the later hides the earlier",
            )


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (each.asname or each.name.partition(".")[0] for each in names)
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# The public part of `exercise.toml`: everything but `[grading]`, `[words]`, `diagram`, `path`.
#
# It is written from the facts and not cut out of the text. So the author's comments are left out,
# and a secret table cannot slip through because of an unusual spelling.

NOT_GIVEN = ("grading", "words", "diagram", "path")  # the last two stand in the prose
HEAD = "# Generated by `attn build`. The facts of this exercise: steps, points, minutes, hints.\n"


def render_public(exercise: Exercise) -> str:
    """Return the text of the public `exercise.toml`; it reads back as the same facts."""
    facts = tomllib.loads((exercise.folder / MANIFEST).read_text(encoding="utf-8"))
    return HEAD + tomli_w.dumps({key: facts[key] for key in facts if key not in NOT_GIVEN})


# The notebook that students get: prose, one cell per step, a check under each.
#
# nbgrader finds a step by its `grade_id`, so that is the step's name. A check cell
# holds one call and nothing secret, so neither notebook, gradebook nor feedback can
# show a hidden test. Cell ids are never random: the same solution gives the same bytes.
#
# What folds before the first step stands between its cell and its check, so that the first line to
# write is in sight when the notebook opens.

HOW_TO_WORK = (
    "Run the next two cells (Shift+Enter); the first is folded. In each step, write in place of "
    "the line that raises, then run it and its check."
)
SCHEMA_VERSION = 3  # of nbgrader's cell metadata
LONG = 4  # lines of a cell that only shows something
PROSE = "prose-"  # how the id of prose begins
BELOW = "below-"  # the same, if it goes on about the step above
SETUP = "setup"  # the grade_id of the cell that defines `check`
_FOLDED = {"jupyter": {"source_hidden": True}}  # metadata of a cell whose code nobody has to read
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}


def render_notebook(exercise: Exercise, cells: tuple[Cell, ...]) -> str:
    """Return the text of the notebook (nbformat 4.5), valid and with nbgrader's metadata."""
    written: list[Any] = []
    first_code = next(number for number, cell in enumerate(cells) if cell.code)
    steps = [number for number, cell in enumerate(cells) if cell.step]
    for number, cell in enumerate(cells):
        if number == first_code:
            written += _setup(exercise)
        if not cell.code:
            begins = BELOW if is_below_a_step(cells, number) else PROSE
            source = without_folded(cell.source) if number + 1 == steps[0] else cell.source
            written.append(_prose(source, f"{begins}{number:03}"))
        elif cell.step is None:
            only_shows = cell.notebook_only and cell.source.count("\n") >= LONG
            hidden = _FOLDED if only_shows else {}  # whoever wants to read its code unfolds it
            written.append(new_code_cell(cell.source, id=f"given-{number:03}", metadata=hidden))
        else:
            stub, check = _step(exercise.step(cell.step), cell)
            folds = only_folded(cells[number - 1].source) if number == steps[0] else ""
            written += [stub, *([_prose(folds, f"{BELOW}{number:03}")] if folds else []), check]
    written.append(new_markdown_cell(_way(exercise), id="setup-steps"))
    written += _closing() if exercise.closing.built else []
    notebook = new_notebook(cells=written, metadata=METADATA)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def _prose(source: str, id: str) -> Any:
    return new_markdown_cell(with_code_in_questions(with_fixed_columns(source)), id=id)


def _setup(exercise: Exercise) -> list[Any]:
    source = f'from autograder import open_exercise\n\ncheck = open_exercise("{exercise.name}")'
    return [
        new_markdown_cell(HOW_TO_WORK, id="setup-prose"),
        new_code_cell(
            source, id="setup", metadata=_locked(_nbgrader(SETUP, locked=True)) | _FOLDED
        ),
    ]


def _closing() -> list[Any]:
    prose = (
        "## What you have built\n\n"
        "Once every check above has passed, the cell below sums up: what you have built, how long "
        "it took, the mistakes that you met, and what to read next."
    )
    return [
        new_markdown_cell(prose, id="closing-prose"),
        new_code_cell("check.finish()", id="closing"),
    ]


def _way(exercise: Exercise) -> str:
    """Return the list of the steps in order, folded, with what each is worth."""
    steps = "\n".join(
        f"{number}. {step.title}: `{step.name}` ({cost_text(step)})"
        for number, step in enumerate(exercise.steps, start=1)
    )
    return f"<details>\n<summary>The {len(exercise.steps)} steps</summary>\n\n{steps}\n\n</details>"


def _step(step: Step, cell: Cell) -> list[Any]:
    graded = _nbgrader(f"{CHECK_PREFIX}{step.name}", locked=True, grade=True)
    return [
        new_code_cell(
            cell.source,
            id=f"step-{step.name}",
            metadata={"deletable": False, "nbgrader": _nbgrader(step.name, solution=True)},
        ),
        new_code_cell(
            f"check({step.name})",
            id=f"check-{step.name}",
            metadata=_locked(graded | {"points": step.points}),
        ),
    ]


def _nbgrader(
    grade_id: str, *, grade: bool = False, locked: bool = False, solution: bool = False
) -> dict[str, Any]:
    return {
        "grade": grade,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": SCHEMA_VERSION,
        "solution": solution,
        "task": False,
    }


def _locked(nbgrader: dict[str, Any]) -> dict[str, Any]:
    """Return cell metadata as nbgrader's LockCells writes it, for learners without a course."""
    return {"deletable": False, "editable": False, "nbgrader": nbgrader}


# All files of an assignment, and which of those that are there are not what they would be now.

Content = str | bytes
Examples = Callable[[Path], bytes]
# What is generated in the folder of a solution, from that folder and its worked examples.
Beside = Callable[[Path, bytes], Mapping[str, str]]
# Folders that tools leave behind; they are not part of an assignment.
TRACES = ("__pycache__", ".ipynb_checkpoints", ".pytest_cache")


def build(
    solution_folder: Path,
    assignments: Path,
    examples: Examples | None = None,
    whole: Path | None = None,
) -> tuple[Path, ...]:
    """Write `assignments/<name>/` and return the paths of its files.

    `examples` gets the solution folder and returns its worked examples; without it, that file is
    left out. If steps were left out of the solution folder, the examples and the numbers
    in the prose come from the folder `whole`. If the solution does not fit, or a part of it would
    leak, nothing is written and `KitError` is raised.
    """
    name, files = _render(solution_folder, examples, whole)
    placed = _placed(assignments / name, files)
    write_all_whole(placed)
    _remove_earlier(placed)
    return tuple(placed)


def build_all(
    solution_folders: Sequence[Path],
    assignments: Path,
    examples: Examples | None = None,
    beside: Beside | None = None,
) -> dict[str, tuple[Path, ...]]:
    """Write the assignments of several exercises; return the paths of the files of each.

    With `beside`, what it makes is written for each solution, too. All is made before the first
    file is written, so an error in one exercise leaves everything as it was. Raises `KitError` as
    `build` does, with the faults of all exercises.
    """
    faults, made, placed = Faults(), dict[str, tuple[Path, ...]](), dict[Path, Content]()
    for folder in solution_folders:
        with faults.noted():
            name, files = _render(folder, examples)
            own = _placed(assignments / name, files)
            written = own.get(assignments / name / EXAMPLES)
            more = beside(folder, written) if beside and isinstance(written, bytes) else {}
            placed |= own | {folder / GENERATED / file: text for file, text in more.items()}
            made[name] = tuple(own)
    faults.refuse()
    write_all_whole(placed)
    _remove_earlier(placed)
    return made


def _placed(folder: Path, files: Mapping[str, Content]) -> dict[Path, Content]:
    """Return the files by their paths; worked examples that are as good as those stay."""
    placed = {folder / file: content for file, content in files.items()}
    made, file = files.get(EXAMPLES), folder / EXAMPLES
    if made is not None and file.is_file():
        there = file.read_bytes()
        placed[file] = there if _same(EXAMPLES, there, file_content(made)) else made
    return placed


def _remove_earlier(written: Iterable[Path]) -> None:
    """Remove what an earlier kit has made in place of files that are written now."""
    for path in written:
        if path.name == EXAMPLES:
            path.with_name(EARLIER_EXAMPLES).unlink(missing_ok=True)
        elif path.parent.name == GENERATED:
            (path.parent.parent / path.name).unlink(missing_ok=True)


def stale(
    solution_folder: Path, assignments: Path, examples: Examples | None = None
) -> tuple[str, ...]:
    """List every file of the assignment that is missing, differs or is left over; write nothing.

    Each entry is a sentence for a person, such as `numpy_single_head/README.md differs`.
    """
    name, files = _render(solution_folder, examples)
    folder = assignments / name
    found = []
    for file, text in files.items():
        path = folder / file
        if not path.is_file():
            found.append(f"{name}/{file} is missing")
        elif not _same(file, path.read_bytes(), file_content(text)):
            found.append(f"{name}/{file} differs")
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        trace = any(part in TRACES for part in inside.parts)
        if path.is_file() and not trace and inside.as_posix() not in files:
            found.append(f"{name}/{inside.as_posix()} is left over")
    return tuple(found)


def _same(file: str, there: bytes, made: bytes) -> bool:
    """Compare the bytes, but the numbers in the worked examples as numbers.

    The last digits of what is computed depend on the processor.
    """
    if there == made or file != EXAMPLES:
        return there == made
    from autograder.judging.examples import alike  # it brings NumPy

    return alike(there, made)


def _render(
    solution_folder: Path, examples: Examples | None, whole: Path | None = None
) -> tuple[str, dict[str, Content]]:
    """Return the exercise's name and its files for students, by name, in a fixed order."""
    exercise = read_exercise(solution_folder)
    if exercise.name != solution_folder.resolve().name:
        raise KitError(
            f"the exercise is called {exercise.name!r}, but its folder is not",
            place=str(solution_folder / MANIFEST),
            cure="give the folder and the exercise the same name",
        )
    solution = read_solution(exercise)
    faults, files = Faults(), dict[str, Content]()
    with faults.noted():
        refuse_wrong_facts(exercise, solution)
    with faults.noted():
        cells = taught(exercise, solution, read_cells(solution), whole)
        refuse_badly_folded(solution, (cell.source for cell in cells if not cell.code))
        files[f"{exercise.name}.py"] = render_stub(exercise, cells)
        files[f"{exercise.name}.ipynb"] = render_notebook(exercise, cells)
        files[GUIDE] = render_guide(exercise, cells)
    with faults.noted():
        files["README.md"] = render_checklist(exercise, solution)
        files[MANIFEST] = render_public(exercise)
    with faults.noted():
        if examples is not None:
            files[EXAMPLES] = examples(whole or solution_folder)
    faults.refuse()
    costs = generated(solution_folder, MISTAKE_COSTS)
    if exercise.plays and costs.is_file():
        files[MISTAKE_COSTS] = costs.read_text(encoding="utf-8")
    refuse_leaks(secrets_of(exercise), files)
    return exercise.name, files
