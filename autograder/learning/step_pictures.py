"""What is drawn of a step that was checked: yours, expected, the difference, the inputs.

It needs no terminal: a page in a browser draws the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.judging.tokens import Tokens
from autograder.learning.results import CheckRun, Drawn, GivenInput, StepRun
from autograder.reports.panel import Panel, comparison, panel
from autograder.reports.picture import Picture
from autograder.submission.slip import capitalized


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


def picture_facts(picture: Picture) -> dict[str, Any]:
    """Return a picture as JSON facts."""
    panels = [{**vars(each), "values": each.values.tolist()} for each in picture.panels]
    return {"caption": picture.caption, "panels": panels}


def picture_of_run(run: StepRun) -> Picture:
    """Return the picture of a step, as on the card in a notebook; raise nothing if it has none."""
    return Picture(run.picture.get("caption", ""), tuple(map(_read, run.picture.get("panels", ()))))


def _read(facts: Mapping[str, Any]) -> Panel:
    rows, columns = map(tuple, facts["labels"])
    values, notes = np.asarray(facts["values"]), tuple(facts["notes"])
    read = {"values": values, "labels": (rows, columns), "notes": notes}
    return Panel(**{**facts, **read, "axes": tuple(facts["axes"])})


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
