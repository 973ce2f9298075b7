"""What is said and shown of a training: before it, after it, and about mistakes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median

import numpy as np

from autograder.play.language_model import mistakes_of, of_different_steps, read_measured
from autograder.reports.picture import Panel

# How a training goes on and how it ends, as data that crosses from one process to another.

COUNT = 200  # new inputs that a trained model is tried on
MOMENTS = 8  # parts of a training; at its beginning and after each, it is told how it goes


@dataclass(frozen=True)
class Drawing:
    """One heat map of a training: its title, the names of rows and columns, and the numbers.

    If the model reads a picture, `picture` has the ink of its pixels, and `shows` says what it is.
    """

    title: str
    axes: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: tuple[tuple[float, ...], ...]
    picture: tuple[tuple[float, ...], ...] = ()
    shows: str = ""

    def panel(self) -> Panel:
        """Return it as a heat map, with the strongest color for a share of 1."""
        values = np.array(self.numbers)
        return Panel(self.title, values, self.axes, (self.rows, self.columns), 1.0)


@dataclass(frozen=True)
class Moment:
    """A moment of a training: after how many steps, the loss in nats an answer, what is seen."""

    step: int
    loss: float
    drawings: tuple[Drawing, ...] = ()


@dataclass(frozen=True)
class TriedInput:
    """One new input: what was given, what is expected, and what came."""

    given: str
    expected: str
    came: str


@dataclass(frozen=True)
class TrainingResult:
    """What a trained model does with COUNT new inputs.

    loss: in nats an answer; not finite when it is NaN. right: how many are right throughout, and
    for a model that writes, right_when_told: how many are, when each digit is predicted from the
    right ones before it. steps: how many of most_steps there was time for. seconds: how long it
    took.
    """

    task: str
    loss: float
    right: int
    right_when_told: int
    steps: int
    most_steps: int
    seconds: float
    tried: tuple[TriedInput, ...] = ()


# What each known mistake does to a training: measured beforehand, beside the exercise.

NOTICED = COUNT // 20  # so many fewer right ones than ever with a right layer are noticed
FAR_LOWER = 0.5  # a loss below this share of the right layer's looks better; medians of seeds


@dataclass(frozen=True)
class TaskOutcome:
    """What came of trainings on one task, one for each seed.

    losses: None where one is NaN. rights: how many of COUNT new inputs came out right. stops: the
    error that ends every training, or "".
    """

    task: str
    losses: tuple[float | None, ...] = ()
    rights: tuple[int, ...] = ()
    stops: str = ""


@dataclass(frozen=True)
class TrainedMistake:
    """A known mistake in a step, and what came of the tasks with it.

    shown_by: the title of the first check that finds it.
    """

    name: str
    step: str
    words: str
    shown_by: str
    outcomes: tuple[TaskOutcome, ...]


@dataclass(frozen=True)
class MeasuredTrainings:
    """What comes of each task with the right layer, and with each mistake of an exercise."""

    right: tuple[TaskOutcome, ...]
    mistakes: tuple[TrainedMistake, ...]

    def with_right_layer(self, task: str) -> TaskOutcome:
        """Return what came of a task with the right layer."""
        return next(each for each in self.right if each.task == task)

    def is_noticed(self, outcome: TaskOutcome) -> bool:
        """Whether anybody would notice, from the loss or from what comes out right."""
        right = self.with_right_layer(outcome.task)
        stopped = outcome.stops or None in outcome.losses
        return bool(stopped) or max(outcome.rights) < min(right.rights) - NOTICED

    def looks_better(self, outcome: TaskOutcome) -> bool:
        """Whether the loss is far lower than with the right layer, and fewer come out right."""
        if outcome.stops or None in outcome.losses or not self.is_noticed(outcome):
            return False
        right = _median(self.with_right_layer(outcome.task).losses)
        return _median(outcome.losses) < FAR_LOWER * right

    def is_hidden(self, mistake: TrainedMistake) -> bool:
        """Whether no task shows the mistake."""
        return not any(map(self.is_noticed, mistake.outcomes))

    @property
    def worst(self) -> tuple[TrainedMistake, ...]:
        """Mistakes of different steps that train to the end.

        First those whose loss looks better, then those with the fewest right ones.
        """
        ends = [each for each in self.mistakes if not any(one.stops for one in each.outcomes)]
        ends = [each for each in ends if not any(None in one.losses for one in each.outcomes)]
        return of_different_steps(sorted(ends, key=self._rank))

    def _rank(self, mistake: TrainedMistake) -> tuple[bool, int]:
        better = any(map(self.looks_better, mistake.outcomes))
        return not better, min(min(each.rights) for each in mistake.outcomes)


def _median(losses: Iterable[float | None]) -> float:
    return median(each for each in losses if each is not None)


def read_trainings(folder: Path) -> MeasuredTrainings | None:
    """Return what mistakes do to trainings, if that was measured of the exercise in `folder`."""
    return read_measured(MeasuredTrainings, folder)


LEARNED, HARDLY = 0.9 * COUNT, 0.1 * COUNT
# Of the pictures: pixels of one, and of a patch of it; how many patches it has; how many digits.
SIDE, PATCH = 12, 3
PATCHES = (SIDE // PATCH) ** 2
CLASSES = 10
_GUESSED = math.log(CLASSES)

_LEARNS = {
    "repeat": (
        "A small model learns to repeat six digits. It reads them, and after them six blanks. Each "
        "blank has to name the digit that stands in its place."
    ),
    "sort": (
        "A small model learns to sort six digits. It reads them, and after them six blanks. The "
        "first blank has to name the smallest digit, the next one the second smallest."
    ),
    "write": (
        "A small model learns to write six digits in order, one after the other. While it is "
        "trained, it reads the right answer too, each digit one place late."
    ),
    "digits": (
        f"A small vision transformer learns to read digits. A program draws them, on {SIDE} by "
        f"{SIDE} pixels, which are cut into {PATCHES} patches. In front stands the class token, "
        "which has to name the digit."
    ),
}
_BLOCKS = "Its attention, in both of its blocks, is your layer."
_DOES = {
    "repeat": "Repeating",
    "sort": "Sorting",
    "write": "Writing in order",
    "digits": "Reading digits",
}
_COPIED = (
    "So the loss looks perfect, and what the model writes is wrong. While it was trained, each "
    "place could look at the next one, where the answer stood. It learned to copy that. When it "
    "writes, nothing stands there yet."
)
_NO_MASK = (
    "Your layer has no mask, and for repeating and sorting it needs none. To write, later places "
    "have to be hidden: the exercise on several heads adds that mask."
)
_BROKEN_MASK = "Does your mask hide all later places, before the softmax?"
MET = "Of the mistakes that you met, each put into a training in place of the right step:"
OTHERS = "You met no mistake that has a name here. This is what three of them would have done:"


def unit(task: str) -> str:
    """Return what a task is tried on, as a plural."""
    return "pictures" if task == "digits" else "sequences"


def words_before(task: str) -> str:
    """Return what the model learns, and where the learner's layer is in it."""
    return f"{_LEARNS[task]} {_BLOCKS}"


def moment_words(moment: Moment) -> str:
    """Return how a training goes, in one line."""
    return f"step {moment.step:3}   loss {_nats(moment.loss)}"


def tried_words(tried: TriedInput) -> str:
    """Return one new input with what came of it, in one line."""
    given = f"{tried.given}  →  " if tried.given else ""
    if tried.came == tried.expected:
        return f"{given}{tried.came}  right"
    return f"{given}{tried.came}  wrong, {tried.expected} is expected"


def result_words(
    result: TrainingResult, measured: MeasuredTrainings | None, *, causal: bool
) -> Iterator[str]:
    """Yield sentences about a result; causal: whether the layer was to hide later places."""
    if not math.isfinite(result.loss):
        yield (
            f"After {result.steps} steps the loss is NaN, and nothing can be learned. Where do "
            "your numbers become infinite, or 0 divided by 0? The checks say more."
        )
        return
    yield (
        f"That took {result.seconds:.0f} s. On new {unit(result.task)}, the loss is "
        f"{_nats(result.loss)} nats a digit; who only guesses has {_nats(_GUESSED)}."
    )
    if copies(result):
        yield (
            f"With the right beginning before it, it gets {result.right_when_told} of {COUNT} "
            f"right. When it writes alone, it gets {result.right} right."
        )
        yield _COPIED
        yield _BROKEN_MASK if causal else _NO_MASK
        return
    yield f"Of {COUNT} new {unit(result.task)}, {result.right} come out right."
    if result.steps < result.most_steps:
        times = f"{result.steps} of {result.most_steps} steps"
        yield f"There was time for {times}, so more may be possible."
    elif result.right >= LEARNED:
        yield "Your layer has learned it."
    else:
        yield f"{_with_right_layer(measured, result.task)}Do all checks pass?"


def copies(result: TrainingResult) -> bool:
    """Whether a model that writes does well only as long as it sees the answer."""
    return result.right_when_told >= LEARNED and result.right <= HARDLY


def mistake_words(
    measured: MeasuredTrainings | None, met: Iterable[str], *, others: bool = False
) -> Iterator[tuple[str, ...]]:
    """Yield paragraphs about the last mistake that was `met`, as lines.

    If `others` are asked for, about all that were met, and where none was, about the worst.
    """
    found = mistakes_of(met, measured.mistakes) if measured else ()
    if measured is None or not (found or others):
        return
    yield (MET if found else OTHERS,)
    for mistake in (found if others else found[-1:]) or measured.worst:
        yield (f"“{mistake.words}”", *_lines(measured, mistake))
    hidden = sum(map(measured.is_hidden, measured.mistakes))
    yield (
        f"Of the {len(measured.mistakes)} known mistakes of this exercise, {hidden} stay hidden: "
        "about as many come out right as with the right layer. A model that is trained with a "
        "mistake often learns its way around it. Only exact checks find those.",
    )


def _lines(measured: MeasuredTrainings, mistake: TrainedMistake) -> Iterator[str]:
    if not mistake.outcomes:
        yield "No training was tried with it."
        return
    for outcome in mistake.outcomes:
        yield f"{_DOES[outcome.task]}: {outcome_words(measured, outcome)}"
    if measured.is_hidden(mistake):
        apart = any(_losses_apart(measured, outcome) for outcome in mistake.outcomes)
        unseen = "Only the loss differs, a little: you would hardly notice."
        hidden = unseen if apart else "So nobody would notice."
        yield f"{hidden} A check that finds it: {mistake.shown_by}."


def outcome_words(measured: MeasuredTrainings, outcome: TaskOutcome) -> str:
    """Return what came of a task with a mistake, beside what comes with the right layer."""
    if outcome.stops:
        return f"it stops: {outcome.stops}"
    if None in outcome.losses:
        return "the loss becomes NaN."
    right = measured.with_right_layer(outcome.task)
    loss = f"{number_range(outcome.losses)} in place of {number_range(right.losses)}"
    came = f"{number_range(outcome.rights)} of {COUNT}"
    usual = number_range(right.rights)
    same = number_range(outcome.rights) == usual
    beside = "as with the right layer" if same else f"in place of {usual}"
    count = f"{came} come out right, {beside}"
    if measured.looks_better(outcome):
        return f"the loss is {loss}. It looks better, and it is wrong: {count}."
    return f"{count}; the loss is {loss}."


def _losses_apart(measured: MeasuredTrainings, outcome: TaskOutcome) -> bool:
    """Whether every loss of a training lies outside of those with the right layer."""
    right = [each for each in measured.with_right_layer(outcome.task).losses if each is not None]
    losses = [each for each in outcome.losses if each is not None]
    return bool(losses and right) and (max(losses) < min(right) or min(losses) > max(right))


def _with_right_layer(measured: MeasuredTrainings | None, task: str) -> str:
    if measured is None:
        return ""
    right = number_range(measured.with_right_layer(task).rights)
    return f"With a right layer it was {right} of {COUNT}. "


def number_range(numbers: Iterable[float | None]) -> str:
    """Return the lowest and the highest of numbers, as one where they look alike."""
    known = sorted(each for each in numbers if each is not None)
    lowest, highest = (_short(each) for each in (known[0], known[-1]))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def _short(number: float) -> str:
    return str(number) if isinstance(number, int) else _nats(number)


def _nats(loss: float) -> str:
    return f"{loss:.2g}"


# A picture that a model reads, as text and as SVG.

_PIXEL = 11  # of the screen, for one of a picture
_SHADES = " ░▒▓█"


def shaded_lines(picture: Sequence[Sequence[float]]) -> tuple[str, ...]:
    """Return a picture as lines of text, two signs for a pixel: the more ink, the darker."""
    top = len(_SHADES) - 1
    return tuple(
        "".join(2 * _SHADES[round(min(1.0, max(0.0, ink)) * top)] for ink in row).rstrip()
        for row in picture
    )


def picture_svg(picture: Sequence[Sequence[float]], words: str) -> str:
    """Return a picture as SVG, with lines between its patches and the words that it shows."""
    size = SIDE * _PIXEL
    pixels = "".join(
        f"<rect x='{x * _PIXEL}' y='{y * _PIXEL}' width='{_PIXEL}' height='{_PIXEL}' "
        f"fill-opacity='{min(1.0, max(0.0, ink)):.2f}'/>"
        for y, row in enumerate(picture)
        for x, ink in enumerate(row)
    )
    between = "".join(f"M{at} 0V{size}M0 {at}H{size}" for at in range(0, size + 1, PATCH * _PIXEL))
    return (
        f"<svg role='img' aria-label='{escape(words)}' width='{size}' height='{size}' "
        f"viewBox='0 0 {size} {size}' fill='currentColor'>{pixels}"
        f"<path d='{between}' fill='none' stroke='#1976d2' stroke-opacity='.7'/></svg>"
    )
