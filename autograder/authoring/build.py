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

import tomli_w

from autograder.authoring.leak import refuse_leaks, secrets_of
from autograder.authoring.lesson import (
    GUIDE,
    refuse_badly_folded,
    render_guide,
    taught,
)
from autograder.authoring.regions import Solution, read_solution
from autograder.authoring.stub import read_cells, render_checklist, render_stub
from autograder.authoring.student_notebook import render_notebook
from autograder.errors import Faults, KitError
from autograder.values.exercise import (
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
        yield from _of_texts(step)


def _of_texts(step: Step) -> Iterator[tuple[str, str]]:
    if not step.title.strip():
        yield f"the step {step.name} has no title", "write one"
    if not step.name.isidentifier() or keyword.iskeyword(step.name):
        yield (
            f"no function can be called {step.name!r}",
            "use a name that Python takes, the same as in solution.py",
        )


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
