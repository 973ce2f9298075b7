"""What is drawn of a step that was checked: yours, expected, the difference, the inputs.

It needs no terminal: a page in a browser draws the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autograder.judging.tokens import Tokens
from autograder.learning.results import CheckRun, Drawn, GivenInput, StepRun
from autograder.reports.panel import Panel, comparison, panel
from autograder.reports.picture import OwnResult, Picture, own_picture
from autograder.submission.slip import capitalized
from autograder.values.verdict import Outcome


@dataclass(frozen=True)
class StepPicture:
    """The picture of one array of a check: words, and heat maps.

    entry: which entry of its leading axes is shown, by name. row: one token in yours and expected.
    """

    name: str
    words: str
    panels: tuple[Panel, ...]
    entry: tuple[tuple[str, int], ...] = ()
    row: tuple[Panel, ...] = ()


def chosen(run: StepRun) -> CheckRun | None:
    """Return a check with arrays that fails, or else one with arrays, or None.

    It is the example of the text, if that is one, or else the first.
    """
    drawn = [check for check in run.checks if check.arrays]
    drawn.sort(key=lambda check: check.arrays[0].tokens is None)
    failing = [check for check in drawn if not check.verdict.passes]
    return next(iter(failing or drawn), None)


def pictures(check: CheckRun) -> tuple[StepPicture, ...]:
    """Return pictures of a check's arrays that differ, or of all if none differs."""
    every = list(map(_picture, check.arrays))
    differing = tuple(picture for picture, differs in every if differs)
    return differing or tuple(picture for picture, _ in every)


def _picture(drawn: Drawn) -> tuple[StepPicture, bool]:
    """Return the picture of an array, and whether yours differs from the expected one."""
    expected = np.asarray(drawn.expected)
    tokens = _tokens(drawn)
    if drawn.yours is None:
        labels = tokens.labels(expected.shape, drawn.axes) if tokens else None
        alone = panel(expected, title="expected", axes=drawn.axes, labels=labels)
        return StepPicture(drawn.name, "Your code gave no array here.", (alone,)), True
    yours, names = np.asarray(drawn.yours), drawn.axes or ""
    compared = comparison(
        yours, expected, axes=drawn.axes, precision=drawn.precision, tokens=tokens
    )
    words = capitalized(compared.words)
    if compared.panels:
        entry = tuple(zip(names.split(), compared.index))
        found = StepPicture(drawn.name, words, compared.panels, entry, compared.row)
        return found, compared.differs
    panels = tuple(
        panel(array, title=title, axes=names if array.ndim == len(names.split()) else None)
        for title, array in (("yours", yours), ("expected", expected))
    )
    return StepPicture(drawn.name, words, panels), compared.differs


def own_result(run: StepRun) -> Picture:
    """Return the picture of a step that passes: the learner's own numbers, if they say anything."""
    return own_picture(
        [
            OwnResult(
                run.step.name,
                check.verdict.title,
                drawn.name,
                np.asarray(drawn.yours),
                drawn.axes,
                _tokens(drawn),
            )
            for check in run.checks
            for drawn in check.arrays
            if drawn.axes and drawn.yours is not None
        ]
    )


def picture_of_run(run: StepRun) -> Picture:
    """Return the picture on the card of a step: numbers that are wrong, or the learner's own."""
    if run.verdict.passes:
        return own_result(run)
    check = chosen(run)
    finding = check.verdict.finding if check else None
    if check is None or finding is None or finding.outcome is not Outcome.WRONG_VALUES:
        return Picture()
    first = pictures(check)[0]
    which = f", for `{first.name}`" if len(check.arrays) > 1 else ""
    caption = f"In the check “{check.verdict.title}”{which}: {first.words}"
    return Picture(caption, (*first.row, *first.panels))


def input_panels(check: CheckRun) -> tuple[Panel, ...]:
    """Return what a check handed over, at the entry that is drawn of the result."""
    entry, tokens = dict(pictures(check)[0].entry), _tokens(check.arrays[0])
    return tuple(_input_panel(given, entry, tokens) for given in check.inputs if given.numbers)


def _tokens(drawn: Drawn) -> Tokens | None:
    return Tokens(**drawn.tokens) if drawn.tokens else None


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
