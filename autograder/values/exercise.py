"""What an exercise is: the facts of its `exercise.toml`, read once and frozen.

Titles, order, points, hints and limits live in that file and nowhere else.
The same reader serves the instructor's copy (in `solutions/`) and the public
copy that `attn build` writes for students (in `assignments/`, no seed).
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.values.value_file import read_as

# What an author says at the end of an exercise: what was built, and what to read next.


@dataclass(frozen=True)
class FurtherReading:
    """A paper, book or page to read next; `place` is how to find it, and `why` one sentence."""

    title: str
    by: str
    year: int
    place: str
    why: str

    @property
    def sentence(self) -> str:
        """The title, with a full stop where it does not end as a sentence does."""
        return self.title if self.title.endswith(("?", "!", ".")) else f"{self.title}."

    @property
    def source(self) -> str:
        """Who wrote it, when, and where it is."""
        return f"{self.by}, {self.year}. {self.place}"


@dataclass(frozen=True)
class Closing:
    """The sentences on what was `built`, and what to read next, in order."""

    built: str = ""
    reading: tuple[FurtherReading, ...] = ()


# The name that was probably meant by a name that nothing has.

ALIKE = 0.6  # of two names, as `difflib` measures it


def near_name(typed: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that `typed` is most like, or None if it is like none of them.

    Capitals do not matter, and neither does an end that was left out.
    """
    from difflib import get_close_matches  # every process reads exercises, few need this

    plain = {name.lower(): name for name in names}
    wanted = typed.lower()
    begun = [name for name in plain if wanted and name.startswith(wanted)]
    close = get_close_matches(wanted, plain, n=1, cutoff=ALIKE)
    found = wanted if wanted in plain else next(iter([*begun[:1], *close]), None)
    return plain[found] if found else None


def did_you_mean(typed: str, names: Iterable[str]) -> str:
    """Return the beginning of a cure, such as "did you mean softmax? Otherwise ", or ""."""
    name = near_name(typed, names)
    return f"did you mean {name}? Otherwise " if name else ""


FORMAT_VERSION = 1
# The files of an exercise that more than one part of the kit reads.
EXAMPLES = "examples.xz"
EARLIER_EXAMPLES = "examples.json"  # what was handed out before has it instead
GENERATED = "generated"  # in the folder of a solution: what nobody writes by hand
# What mistakes cost a model, made by `make costs` or `make training-costs`.
MISTAKE_COSTS = "mistake_costs.json"
MANIFEST = "exercise.toml"
SOLUTION = "solution.py"
GRADERS = "graders.py"
WALKTHROUGH = "walkthrough.py"  # the numbers in the prose of solution.py
LIBRARIES = ("numpy", "torch")
COMPARISONS = ("values", "numbers", "booleans", "floor", "distribution", "layers")
RANDOM = ("distribution", "layers")
CHECK_PREFIX = "check_"  # in a notebook: the name of the cell that checks a step begins so


@dataclass(frozen=True)
class Limits:
    """What one submission may use while it is graded.

    Seconds are processor time, so that a busy machine fails nobody. One call, and all calls
    together, may take three times as long in wall time. Loading the cells may take as long as
    two calls.
    """

    seconds_per_call: float = 2.0
    seconds_per_submission: float = 20.0
    memory_megabytes: int = 512
    output_kilobytes: int = 64


@dataclass(frozen=True)
class Step:
    """One function (or the class) that a student writes.

    `compare` says how a result is made comparable. `values` are compared as they are.
    With `numbers`, booleans count as 0 and 1. With `floor`, all very negative scores,
    -inf included, are the same. A `distribution` is random and never compared by value.
    `layers` are PyTorch modules, compared by the shapes of their parameters.
    `similar` is code for a similar job, as typed into Python, with what it prints; "" for none.
    """

    name: str
    title: str
    points: float
    minutes: int
    hints: tuple[str, ...]
    compare: str = "values"
    similar: str = ""

    @property
    def random(self) -> bool:
        """Whether its results differ from call to call, so that values are never compared."""
        return self.compare in RANDOM


@dataclass(frozen=True)
class Grading:
    """How inputs are drawn: the seeds, and the size of each axis, hidden and public.

    `without` says for a step which standing properties it is not held to, each with the reason.
    `left_out` names steps of solution.py that students do not get. Students get none of it.
    """

    seed: int = 0
    public_seed: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    public_sizes: Mapping[str, int] = field(default_factory=dict)
    without: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: Sequence[str] = ()


@dataclass(frozen=True)
class Remark:
    """What to say about a submission that calls `uses`; to be told so costs no points."""

    uses: str
    words: str


@dataclass(frozen=True)
class LayerTraining:
    """A task that a model learns through the class `layer` in `attn play`.

    The class is made with the width of the model and these `arguments`. `causal`: whether it is
    called with causal=True.
    """

    task: str
    layer: str
    arguments: Sequence[int] = ()
    causal: bool = False


@dataclass(frozen=True)
class Exercise:
    """A chain of steps that ends in a class.

    `words` fills the placeholders in the texts that it shares with other exercises. `speaker` is
    the class that a language model speaks through in `attn play`, "" if it does not; `trainings`
    are the tasks that are learned through its layers there. `diagram` is the drawing of the layer,
    as `authoring/stub.py` reads it, and `path` the way through it in one line; students get both
    in the prose only.
    `closing` is what is said at the end. An `optional` exercise is for those who want to go on:
    nobody gets it without asking for it by name, except on their own (`attn start`), and it is no
    part of how far a learner is. A release notes the Python that it is graded with, such as "3.11".
    """

    name: str
    title: str
    library: str
    difficulty: int
    steps: tuple[Step, ...]
    limits: Limits
    grading: Grading
    folder: Path
    remarks: tuple[Remark, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    speaker: str = ""
    diagram: str = ""
    path: str = ""
    trainings: tuple[LayerTraining, ...] = ()
    closing: Closing = field(default_factory=Closing)
    optional: bool = False
    graded_with: str = ""

    @property
    def plays(self) -> bool:
        """Whether `attn play` has something to show of it."""
        return bool(self.speaker or self.trainings)

    @property
    def secret_folders(self) -> tuple[Path, ...]:
        """Folders that no student's code may read: its own, and those it shares with others."""
        return (self.folder.resolve(), *shared_folders(self.folder))

    @property
    def dtype(self) -> str:
        """The floating-point type of its inputs: what the library makes by default."""
        return "float32" if self.library == "torch" else "float64"

    @property
    def points(self) -> float:
        """The most points that a submission can get."""
        return sum(step.points for step in self.steps)

    @property
    def minutes(self) -> int:
        """How long the exercise takes, by the author's estimate."""
        return sum(step.minutes for step in self.steps)

    @property
    def extent(self) -> str:
        """How much there is to do, in words: "8 steps, about 90 minutes"."""
        optional = "optional: " * self.optional
        return f"{optional}{len(self.steps)} steps, about {self.minutes} minutes"

    def step(self, name: str) -> Step:
        """Return the step called `name`; raise `KitError` when there is none."""
        for step in self.steps:
            if step.name == name:
                return step
        names = [step.name for step in self.steps]
        raise KitError(
            f"there is no step {name!r} in {self.name}",
            place=str(self.folder / MANIFEST),
            cure=f"{did_you_mean(name, names)}use one of: {', '.join(names)}",
        )

    def before(self, name: str) -> tuple[str, ...]:
        """Return the names of the steps that come before `name`, in order."""
        names = tuple(step.name for step in self.steps)
        return names[: names.index(name)]


def read_exercise(folder: Path) -> Exercise:
    """Read `folder/exercise.toml`; raise `KitError` when it is missing or not valid."""
    manifest = folder / MANIFEST
    try:
        facts = tomllib.loads(manifest.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise KitError(
            f"{folder.name!r} is not an exercise: it has no {MANIFEST}",
            place=str(folder),
            cure="name a folder of solutions/ or assignments/, such as numpy_single_head",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise KitError(
            f"{MANIFEST} is not valid TOML: {error}", place=str(manifest), cure="correct that line"
        ) from None
    return _exercise(facts, folder, manifest)


def given_text(folder: Path) -> str:
    """Return the text that holds the exercise's signatures: an author's own file."""
    return (folder / SOLUTION).read_text(encoding="utf-8")


def generated(solution: Path, name: str) -> Path:
    """Return the path of a file in the folder of a solution that nobody writes by hand.

    It may lie beside the solution, where a folder that was made before still has it.
    """
    place, before = solution / GENERATED / name, solution / name
    return before if before.is_file() and not place.is_file() else place


def find_exercise(name: str, root: Path) -> Exercise:
    """Read the exercise `name` below `root`; the `KitError` lists the names that exist."""
    if not (root / name / MANIFEST).is_file():
        known = sorted(path.parent.name for path in root.glob(f"*/{MANIFEST}"))
        raise KitError(
            f"there is no exercise {name!r}",
            place=str(root),
            cure=f"use one of: {', '.join(known)}" if known else "name the folder that holds them",
        )
    return read_exercise(root / name)


def shared_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders of shared code beside the exercise in `folder`.

    Their names begin with an underscore, such as `_attention`; they are not exercises.
    """
    beside = folder.resolve().parent.glob("_[!_]*")
    return tuple(sorted(path for path in beside if path.is_dir()))


def shared_code(folder: Path) -> tuple[Path, ...]:
    """Return the files of code in the `shared_folders` of the exercise in `folder`."""
    return tuple(path for each in shared_folders(folder) for path in sorted(each.rglob("*.py")))


_NEEDED = ("name", "title", "library", "difficulty", "steps")
_KNOWN = {*Exercise.__dataclass_fields__}  # anything else is not read


def _exercise(facts: dict[str, Any], folder: Path, manifest: Path) -> Exercise:
    def wrong(fact: str, cure: str) -> KitError:
        return KitError(fact, place=str(manifest), cure=cure)

    if facts.get("format_version") != FORMAT_VERSION:
        raise wrong(f"format_version is {facts.get('format_version')!r}", f"write {FORMAT_VERSION}")
    try:
        given = {name: facts[name] for name in (*_NEEDED, *({*facts} & _KNOWN))}
        steps = [{**step, "points": float(step["points"])} for step in facts["steps"]]
        made = {"limits": {}, "grading": {}, **given, "steps": steps, "folder": folder}
        exercise = read_as(Exercise, made)
    except (KeyError, TypeError, ValueError) as error:
        raise wrong(
            f"a field is missing or not known: {error}", "compare it with another exercise"
        ) from None
    if exercise.library not in LIBRARIES:
        raise wrong(f"library is {exercise.library!r}", f"use one of: {', '.join(LIBRARIES)}")
    names = [step.name for step in exercise.steps]
    if not names or len(set(names)) != len(names):
        raise wrong("the steps are missing, or two have the same name", "name every step once")
    closing = exercise.closing
    said = [closing.built, *(text for each in closing.reading for text in (each.title, each.why))]
    for table, texts in (("closing", said), ("words", exercise.words.values())):
        if not all(isinstance(text, str) for text in texts):
            fact = f"[{table}] holds something that is not text"
            raise wrong(fact, "write every word in quotes")
    for name, text in (("diagram", exercise.diagram), ("path", exercise.path)):
        if not isinstance(text, str):
            raise wrong(f"the {name} is not text", "write its lines between three quotes")
    if exercise.speaker and exercise.speaker not in names:
        raise wrong(f"speaker is {exercise.speaker!r}", "name a step that is a whole layer")
    for training in exercise.trainings:
        if training.layer not in names:
            fact = f"a training has the layer {training.layer!r}"
            raise wrong(fact, "name a step that is a whole layer")
    if not isinstance(exercise.graded_with, str):
        raise wrong(f"graded_with is {exercise.graded_with!r}", 'write a version, such as "3.11"')
    if not isinstance(exercise.optional, bool):
        raise wrong(f"optional is {exercise.optional!r}", "write true or false")
    for step in exercise.steps:
        if step.compare not in COMPARISONS:
            raise wrong(
                f"step {step.name}: compare is {step.compare!r}",
                f"use one of: {', '.join(COMPARISONS)}",
            )
    return exercise


# Where lines of a file come from that was put together from several, for errors that name a line.
#
# A note beside the file says which of its lines are those of another file.

_NOTE = ".origin.json"
_PLACE = re.compile(r"(?P<file>[^\n]+?\.(?:py|toml))(?::(?P<line>\d+))?(?P<rest>.*)", re.DOTALL)


def note_origin(path: Path, origin: Path, first: int = 0, count: int = 0) -> None:
    """Note that `count` lines of the file at `path`, from line `first` on, are those of `origin`.

    Lines count from 1. Without them, only the file is known in which to look.
    """
    note = {"origin": str(origin), "first": first, "count": count}
    _note(path).write_text(json.dumps(note), encoding="utf-8")


def at_its_origin(place: str) -> str:
    """Return a place such as `graders.py:217` as the place in the file where that line is from."""
    found = _PLACE.fullmatch(place)
    if not found:
        return place
    try:
        note = json.loads(_note(Path(found["file"])).read_text("utf-8"))
    except (OSError, ValueError):  # most files have none; a place is not always a file
        return place
    if not found["line"] or not note["count"]:
        return str(note["origin"])
    line = int(found["line"]) - note["first"] + 1
    return f"{note['origin']}:{line}{found['rest']}" if 1 <= line <= note["count"] else place


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}{_NOTE}")


# What a function takes and gives, by the names of the axes.
#
# Every message with a shape names its axes, and the names stand in one place: the jaxtyping
# annotations of the reference. They are read here in two ways, from a live function (a check has
# one) and from its source (building has to work on a machine without torch). jaxtyping itself is
# not imported.

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Signature:
    """The axes of every parameter and of every returned array.

    Axes are written as jaxtyping writes them ("B S S"; "" is an array without
    axes) and are None for what is not an array. `returns` has one entry for one
    value, several for a tuple and none for a function that returns None.
    """

    parameters: tuple[tuple[str, str | None], ...]
    returns: tuple[str | None, ...]

    def text(self, name: str) -> str:
        """Return the signature as a person reads it: `softmax(scores: (B, S, S)) -> (B, S, S)`."""
        taken = ", ".join(
            parameter if axes is None else f"{parameter}: {shape_text(axes)}"
            for parameter, axes in self.parameters
        )
        if all(axes is None for axes in self.returns):
            return f"{name}({taken})"
        given = ", ".join("value" if axes is None else shape_text(axes) for axes in self.returns)
        return f"{name}({taken}) -> {given}"


def shape_text(axes: str) -> str:
    """Write axes as a shape: "B S S" is "(B, S, S)" and "D" is "(D,)"."""
    names = axes.split()
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def signature_of(function: Callable[..., Any]) -> Signature:
    """Read the signature of a live function, method or class (then of its `__init__`).

    `self` is left out. Raises `KitError` when an annotation cannot be evaluated.
    """
    name = getattr(function, "__qualname__", type(function).__name__)
    target = inspect.getattr_static(function, "__init__") if _is_class(function) else function
    try:
        names = list(inspect.signature(target).parameters)
        hints = typing.get_type_hints(target)
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise KitError(
            f"the annotations of {name} cannot be read: {error}",
            place=f"the line `def {name.rpartition('.')[2]}`",
            cure="write the signature as the exercise gives it, with its imports",
        ) from None
    returned = hints.get("return", Any)
    parts = typing.get_args(returned) if typing.get_origin(returned) is tuple else (returned,)
    return Signature(
        parameters=tuple((name, _axes_of(hints.get(name))) for name in names if name != "self"),
        returns=() if returned is type(None) else tuple(_axes_of(part) for part in parts),
    )


def _is_class(function: Callable[..., Any]) -> bool:
    return isinstance(function, type)


def _axes_of(annotation: object) -> str | None:
    """The axes of a live annotation; of a union when all of its arrays agree."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return _agreed(_axes_of(part) for part in typing.get_args(annotation))
    axes = getattr(annotation, "dim_str", None)
    return axes if isinstance(axes, str) else None


def _agreed(parts: typing.Iterable[str | None]) -> str | None:
    found = {axes for axes in parts if axes is not None}
    return found.pop() if len(found) == 1 else None


def signature_in(definition: Definition) -> Signature:
    """Read the signature of a function's source; nothing is run, `self` is left out."""
    arguments = definition.args
    everything = [*arguments.posonlyargs, *arguments.args]
    everything += [arguments.vararg] if arguments.vararg else []
    everything += arguments.kwonlyargs
    everything += [arguments.kwarg] if arguments.kwarg else []
    return Signature(
        parameters=tuple(
            (each.arg, _axes_in(each.annotation)) for each in everything if each.arg != "self"
        ),
        returns=_returns_in(definition.returns),
    )


def _returns_in(annotation: ast.expr | None) -> tuple[str | None, ...]:
    annotation = _unquoted(annotation)
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return ()
    if isinstance(annotation, ast.Subscript) and _last_name(annotation.value) in (
        "tuple",
        "Tuple",
    ):
        inside = annotation.slice
        parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        return tuple(_axes_in(part) for part in parts)
    return (_axes_in(annotation),)


def _axes_in(annotation: ast.expr | None) -> str | None:
    """The axes of an annotation's source, such as `Float[np.ndarray, "B S S"] | None`."""
    annotation = _unquoted(annotation)
    if isinstance(annotation, ast.BinOp):
        return _agreed(_axes_in(part) for part in (annotation.left, annotation.right))
    if not isinstance(annotation, ast.Subscript):
        return None
    inside = annotation.slice
    if _last_name(annotation.value) == "Optional":
        return _axes_in(inside)
    match inside:
        case ast.Tuple(elts=[_, ast.Constant(value=str(axes))]):
            return axes.strip()
    return None


def _unquoted(annotation: ast.expr | None) -> ast.expr | None:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]
