"""What is drawn of a step that was checked: yours, expected, the difference, the inputs.

It is drawn where the code ran, and sent as JSON: the arrays themselves would take far longer. It
needs no terminal: a page in a browser shows the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from autograder.judging.asking import AskedExample
from autograder.judging.compare import arrays_of, asked_precision
from autograder.judging.expectation import Agrees
from autograder.judging.value_words import Tokens
from autograder.learning.results import CheckRun, StepRun
from autograder.reports.picture import Panel, Picture, comparison, panel
from autograder.submission.slip import capitalized
from autograder.values.request import Failed, Reply, Request
from autograder.values.value_file import read_as
from autograder.worker.wire import Value

MOST_DRAWN = 20_000  # numbers of an array that is drawn
MOST_GIVEN = 400  # of an input that is drawn


@dataclass(frozen=True)
class GivenInput:
    """One input of a check: its name, its axes, in words, and its numbers if they can be drawn."""

    name: str
    axes: str | None
    words: str
    numbers: np.ndarray | None = None


@dataclass(frozen=True)
class ArrayPicture:
    """The picture of one array of a check: words, and heat maps.

    name: of the array, if it is one of several. row: one token in yours and expected.
    """

    name: str
    words: str
    panels: tuple[Panel, ...]
    row: tuple[Panel, ...] = ()


@dataclass(frozen=True)
class CheckPicture:
    """What is drawn of a check: the arrays that differ, or all if none differs, and the inputs.

    by_hand: whether it is the example of the text. given: whether the code gave any array.
    """

    arrays: tuple[ArrayPicture, ...]
    inputs: tuple[Panel, ...]
    by_hand: bool
    given: bool


def check_picture(asked: AskedExample, inputs: Iterable[GivenInput]) -> CheckPicture | None:
    """Draw what a check asked for beside what came, None where it asked for no array."""
    expectation = asked.example.expectation
    if asked.reply is None or not isinstance(expectation, Agrees):
        return None
    form = expectation.form
    given = arrays_of(_result(asked.example.request, asked.reply), form)
    wanted = arrays_of(expectation.expected, form)
    every, yours = [], False
    for place, (name, axes, expected) in enumerate(zip(form.names, form.axes, wanted)):
        right, own = numbers(expected), numbers(given[place]) if place < len(given) else None
        if right is not None:
            precision = asked_precision(expected, form.precision)
            every.append(_picture(name, axes, own, right, precision, form.tokens))
            yours = yours or own is not None
    if not every:
        return None
    differing = [each for each in every if each[1]] or every
    panels = [
        _input_panel(each, differing[0][2], form.tokens)
        for each in inputs
        if each.numbers is not None and each.numbers.size
    ]
    pictures = (each if len(every) > 1 else replace(each, name="") for each, _, _ in differing)
    return CheckPicture(tuple(pictures), tuple(panels), form.tokens is not None, yours)


def numbers(value: Value, most: int = MOST_DRAWN) -> np.ndarray | None:
    """Return an array that can be drawn, None for anything else."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf" or value.size > most:
        return None
    return value.astype(np.float64) if value.dtype.kind == "f" else value


def _result(request: Request, reply: Reply) -> Value:
    """Return what is judged: the returned value, or the attributes if those were asked for."""
    if isinstance(reply, Failed):
        return None
    if not request.read:
        return reply.value
    values = tuple(reply.attributes.get(name) for name in request.read if name != "*")
    return values[0] if len(values) == 1 else values


def _picture(
    name: str,
    axes: str | None,
    yours: np.ndarray | None,
    expected: np.ndarray,
    precision: str,
    tokens: Tokens | None,
) -> tuple[ArrayPicture, bool, Mapping[str, int]]:
    """Return the picture of an array, whether it differs, and which entry of it is shown."""
    if yours is None:
        labels = tokens.labels(expected.shape, axes) if tokens else None
        alone = panel(expected, title="expected", axes=axes, labels=labels)
        return ArrayPicture(name, "Your code gave no array here.", (alone,)), True, {}
    compared = comparison(yours, expected, axes=axes, precision=precision, tokens=tokens)
    words, names = capitalized(compared.words), (axes or "").split()
    panels = compared.panels or tuple(
        panel(array, title=title, axes=axes or "" if array.ndim == len(names) else None)
        for title, array in (("yours", yours), ("expected", expected))
    )
    entry = dict(zip(names, compared.index))
    return ArrayPicture(name, words, panels, compared.row), compared.differs, entry


def _input_panel(given: GivenInput, entry: Mapping[str, int], tokens: Tokens | None) -> Panel:
    numbers = np.asarray(given.numbers)
    names = (given.axes or "").split()
    # A learner may have changed the annotation that names the axes.
    if len(names) == numbers.ndim:
        wanted = [entry.get(axis, 0) for axis in names[:-2]]
    else:  # without names, the axes are taken to stand in the order of the result's
        wanted = list(entry.values()) if len(entry) == numbers.ndim - 2 else [0] * numbers.ndim
    index = tuple(min(number, size - 1) for number, size in zip(wanted, numbers.shape[:-2]))
    labels = tokens.labels(numbers.shape, given.axes) if tokens else None
    return panel(numbers, title=given.name, axes=given.axes, labels=labels, index=index)


def chosen(run: StepRun) -> CheckRun | None:
    """Return a check that is drawn and fails, or else one that is drawn, or None.

    It is the example of the text, if that is one, or else the first.
    """
    drawn = [check for check in run.checks if check.drawn]
    drawn.sort(key=lambda check: not check.drawn["by_hand"])
    failing = [check for check in drawn if not check.verdict.passes]
    return next(iter(failing or drawn), None)


def picture_of_run(run: StepRun) -> Picture:
    """Return the picture of a step, as on the card in a notebook; raise nothing if it has none."""
    return read_as(Picture, run.picture)
