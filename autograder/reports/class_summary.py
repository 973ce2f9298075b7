"""Sentences about what a class has in common, for the instructor's next lecture."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.reports.finding import told
from autograder.reports.misunderstandings import misunderstandings
from autograder.reports.roll import (
    NO_ENTRIES,
    GradebookEntries,
    changes_of,
    class_roll,
    max_points_of,
    points_of,
)
from autograder.values.exercise import Exercise
from autograder.values.sanitize import listed
from autograder.values.symbols import KEY, OUR_FAULT, count, is_partly_marked, mark, number
from autograder.values.verdict import (
    NOT_JUDGED,
    Finding,
    LayerVerdict,
    Outcome,
    StepVerdict,
    Verdict,
)

# Sentences about the whole: the chain end to end, together with every step alone.
#
# A student whose step 4 is wrong sees wrong results from step 4 on. The sentence made here says
# which later steps are still right, and where to begin.

_PURPOSE = "The steps are its parts as functions, so that each part can be checked by itself."


def chain_sentence(exercise: Exercise, verdict: Verdict) -> str:
    """Return the sentence that says how the steps work end to end, and where to begin."""
    chain = verdict.chain
    first = first_missed(verdict)
    if not chain.asked and chain.outcome is Outcome.PASSED:
        if first:
            return f"Look at step {first} first."
        return "" if verdict.infrastructure else "Every step is right."
    if chain.outcome is Outcome.INFRASTRUCTURE:
        begin = f" Until then, look at step {first} first." if first else ""
        return f"Your steps have not been run end to end yet. {OUR_FAULT}{begin}"
    if layer_leads(verdict):
        return _whole_layer(exercise, verdict)
    return _chain_words(exercise, verdict)


def own_layer(verdict: Verdict) -> LayerVerdict | None:
    """Return the student's own layer when it is right by itself, else None."""
    layer = verdict.chain.layer
    return layer if layer and layer.is_right else None


def unwritten(verdict: Verdict) -> tuple[int, ...]:
    """Return the numbers (from 1) of the steps worth points that are not written."""
    return tuple(
        position
        for position, step in enumerate(verdict.steps, start=1)
        if step.max_points and step.outcome is Outcome.NOT_WRITTEN
    )


def chain_finding(verdict: Verdict) -> Finding | None:
    """Return what was found end to end, unless a right layer does without the step that stops."""
    chain = verdict.chain
    beside = own_layer(verdict) and chain.outcome is Outcome.NOT_WRITTEN
    return None if beside else chain.finding


def layer_leads(verdict: Verdict) -> bool:
    """Whether the first thing to say is that the whole layer is right."""
    return own_layer(verdict) is not None and verdict.chain.outcome is not Outcome.PASSED


def _whole_layer(exercise: Exercise, verdict: Verdict) -> str:
    layer = own_layer(verdict)
    assert layer
    lead = f"Your layer is complete and right: `{layer.name}` passes all of its checks by itself."
    if all(step.passes for step in verdict.steps):
        return f"{lead} {_chain_words(exercise, verdict)}"
    parts = [lead, _PURPOSE]
    earned = [n for n, step in enumerate(verdict.steps, start=1) if step.by_layer]
    if earned:
        parts.append(_earned(earned))
    first = first_missed(verdict)
    if first in unwritten(verdict):
        parts.append(f"Next comes step {first}, which is not written yet and has its own points.")
    elif first:
        parts.append(f"Step {first}, judged alone, is not right yet, so look there first.")
    return " ".join(parts)


def _earned(positions: Sequence[int]) -> str:
    which, its = steps_words(positions), "its" if len(positions) == 1 else "their"
    written = f"You did not write {which} as {'a function' if its == 'its' else 'functions'}"
    return f"{written}. Your layer does {its} work, so you get {its} points."


def _chain_words(exercise: Exercise, verdict: Verdict) -> str:
    chain, first = verdict.chain, first_missed(verdict)
    if chain.breaks_at is not None:
        return _broken(verdict, len(exercise.before(chain.breaks_at)) + 1)
    if chain.outcome is not Outcome.PASSED:
        if first:
            return f"Your steps are not right end to end yet; look at step {first} first."
        return "Every step is right alone; joined end to end, your steps do not fit together yet."
    if first:
        return (
            f"Your steps joined end to end give the right result; step {first}, judged alone, "
            "does not yet, so look there first."
        )
    if verdict.infrastructure:
        return "Your steps joined end to end give the right result."
    return "Every step is right, alone and joined end to end."


def first_missed(verdict: Verdict) -> int:
    """Return the number (from 1) of the first step that the student should correct, or 0."""
    for position, step in enumerate(verdict.steps, start=1):
        # A bonus is worth no points, so nobody has to correct it, unless nothing is worth any.
        missed = step.outcome not in (Outcome.PASSED, Outcome.INFRASTRUCTURE)
        counts = step.max_points or not verdict.max_points
        if counts and missed and not step.by_layer:
            return position
    return 0


def first_line(verdict: Verdict) -> tuple[int, str]:
    """Return the first thing to look at in one line, and the number of its step.

    The number is 0 when the line is not about a single step. A step that was not judged comes
    first, because no points are written for it.
    """
    outcomes = [step.outcome for step in verdict.steps]
    if verdict.infrastructure:
        position = outcomes.index(Outcome.INFRASTRUCTURE) + 1
    else:
        position = first_missed(verdict)
    if position:
        step = verdict.steps[position - 1]
        alone = step.outcome is Outcome.NOT_WRITTEN and own_layer(verdict)
        lead = "the whole layer is right; " if alone else ""
        return (0 if step.outcome is Outcome.REJECTED else position), lead + told(step).line
    if any(step.by_layer for step in verdict.steps):
        return 0, "the whole layer is right, and does the work of the steps that are not written"
    if verdict.chain.outcome is Outcome.PASSED and not verdict.chain.asked:
        return 0, "every step is right"
    if verdict.chain.outcome is Outcome.PASSED:
        return 0, "every step is right, alone and end to end"
    return 0, f"end to end: {told(verdict.chain).line}"


def step_note(exercise: Exercise, verdict: Verdict, step: StepVerdict) -> str:
    """Return what to add to "right" for a step that had correct inputs or earlier steps.

    Where it is not right and has points all the same, return what they are for.
    """
    if is_partly_marked(step):
        return f"in {len(step.checks) - step.checks_passed} of {len(step.checks)} checks"
    if step.outcome is not Outcome.PASSED:
        return ""
    if step.leaning:
        return "with correct earlier steps in place of yours"
    breaks_at = verdict.chain.breaks_at
    if breaks_at is not None and breaks_at in exercise.before(step.name):
        return "given correct inputs"
    return ""


def steps_words(positions: Sequence[int]) -> str:
    """Return "step 6", "steps 6 and 7" or "steps 1 to 3, 5 and 8", for sorted positions."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    # Two in a row are listed: "6 and 7", not "6 to 7".
    parts = [
        part
        for run in runs
        for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(n) for n in run])
    ]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    return f"step {listed}" if len(positions) == 1 else f"steps {listed}"


def _broken(verdict: Verdict, broken: int) -> str:
    right = [n for n, s in enumerate(verdict.steps, start=1) if s.outcome is Outcome.PASSED]
    before = [n for n in right if n < broken]
    after = [n for n in right if n > broken]
    first = first_missed(verdict)
    missing = {n for n, s in enumerate(verdict.steps, 1) if s.outcome is Outcome.NOT_WRITTEN}
    if 0 < first < broken:  # joined, its fault does not show before
        stops = "your steps stop" if broken in missing else "the first difference shows"
        alone = ", judged alone, is not right yet, so look there"
        lead = " is not written yet, so write it" if first in missing else alone
        return f"Step {first}{lead} first; joined end to end, {stops} at step {broken}."
    if broken in right:
        return (
            f"{_sentence(_are(before + [broken]))} right alone; joined, the first difference "
            f"shows at step {broken}, so look at what it gets from the steps before it."
        )
    known = [f"{_are(before)} right"] if before else []
    known += [f"{_are(after)} right given correct inputs"] if after else []
    if broken in missing:
        end = f"your chain stops at step {broken}, which is not written yet, so continue there"
    else:
        end = f"your chain breaks at step {broken}, so look there first"
    return _sentence(f"{', and '.join(known)}; {end}" if known else end) + "."


def _are(positions: Sequence[int]) -> str:
    return f"{steps_words(positions)} {'is' if len(positions) == 1 else 'are'}"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


# How the marks of a class are spread: the middle, who is far below it, and in which shares.

TENTHS = 10
_ROUNDING = 1e-9  # sums of thirds of points fall short of a whole number by less than this


@dataclass(frozen=True)
class MarkRange:
    """How many students have a share of the points in one range; `words` name the range."""

    words: str
    students: int


@dataclass(frozen=True)
class MarkDistribution:
    """The marks of a class in numbers, all in points.

    `of` are the most points, None where students have different ones. Half of the class lies
    between the two numbers of `middle`. `low` are the ids of who has less than half of the points,
    the lowest first. `ranges` go from the lowest to the highest.
    """

    graded: int
    not_graded: int
    full: int
    median: float
    middle: tuple[float, float]
    of: float | None
    low: tuple[str, ...]
    ranges: tuple[MarkRange, ...]

    @property
    def most(self) -> int:
        """The number of students in the fullest range, at least 1."""
        return max(1, *(each.students for each in self.ranges))

    @property
    def median_words(self) -> str:
        """The median as "20 of 22"."""
        return number(self.median) + ("" if self.of is None else f" of {number(self.of)}")

    @property
    def middle_words(self) -> str:
        """The marks between which half of the class lies, as "13 to 22"."""
        low, high = map(number, self.middle)
        return low if low == high else f"{low} to {high}"


def mark_distribution(
    verdicts: Sequence[Verdict], entries: GradebookEntries
) -> MarkDistribution | None:
    """Return how the marks are spread, as the gradebook has them where it has `entries`.

    It is None where nobody could earn a point.
    """
    marks = [
        (points, max_points_of(verdict, entries), verdict.student)
        for verdict in verdicts
        if (points := points_of(verdict, entries)) is not None
    ]
    if not any(most > 0 for _, most, _ in marks):
        return None
    shares = [(points / most, student) for points, most, student in marks if most > 0]
    tenths = Counter(min(TENTHS, int(TENTHS * share + _ROUNDING)) for share, _ in shares)
    above = any(share > 1 + _ROUNDING for share, _ in shares)
    all_points = [points for points, _, _ in marks]
    return MarkDistribution(
        graded=len(marks),
        not_graded=len(verdicts) - len(marks),
        full=sum(points >= most for points, most, _ in marks),
        median=statistics.median(all_points),
        middle=_middle_half(all_points),
        of=marks[0][1] if len({most for _, most, _ in marks}) == 1 else None,
        low=tuple(student for share, student in sorted(shares) if share < 0.5 - _ROUNDING),
        ranges=tuple(MarkRange(_words(each, above), tenths[each]) for each in range(TENTHS + 1)),
    )


def _middle_half(points: Sequence[float]) -> tuple[float, float]:
    if len(points) == 1:
        return points[0], points[0]
    low, _, high = statistics.quantiles(points, n=4, method="inclusive")
    return low, high


def _words(tenth: int, above: bool) -> str:
    if tenth == TENTHS:
        return "all points or more" if above else "all points"
    low, high = 100 * tenth // TENTHS, 100 * (tenth + 1) // TENTHS
    return f"{low} to under {high} %" if tenth else f"under {high} %"


def class_summary(
    exercise: Exercise, verdicts: Sequence[Verdict], entries: GradebookEntries = NO_ENTRIES
) -> tuple[str, ...]:
    """Return sentences about the class. Points are the gradebook's, where it has `entries`.

    They give, in this order: the number of students and the median of the points; whose points are
    not the automatic ones; who is not graded; how many wrote a right layer without all of its
    steps; the step that most got wrong, and the one that most did not write; and each misconception
    with its number of students, the most frequent first. Raise `KitError` when a verdict is not
    about this exercise.
    """
    roll = class_roll(exercise, verdicts)
    if not roll:
        return ("No submission is graded yet.",)
    named = [each for each in misunderstandings(exercise, roll) if each.name]
    named.sort(key=lambda each: (-len(each.students), each.step, each.name))
    return (
        *_points(roll, entries),
        *_not_judged(roll),
        *whole_layers(roll),
        *(f"{each.words}: {each.step}." for each in most_missed(exercise, roll)),
        *(
            f"{each.name} (in {each.step}): {count(len(each.students), 'student')}"
            for each in named
        ),
    )


def _points(roll: Sequence[Verdict], entries: GradebookEntries) -> Iterator[str]:
    graded = sum(points_of(verdict, entries) is not None for verdict in roll)
    marks = mark_distribution(roll, entries)
    if marks:
        yield (
            f"{count(graded, 'student')} graded, {marks.full} with full points; the median is "
            f"{marks.median_words} points."
        )
    elif graded:
        yield f"{count(graded, 'student')} graded; the exercise gives no points."
    changed = sum(bool(changes_of(verdict, entries)) for verdict in roll)
    if changed:
        yield f"Other points in the gradebook than the automatic ones: {count(changed, 'student')}."


def _not_judged(roll: Sequence[Verdict]) -> Iterator[str]:
    left = [verdict for verdict in roll if not verdict.graded]
    if ours := [verdict.student for verdict in left if verdict.infrastructure]:
        yield f"Not judged: {listed(ours)}. Grade again."
    if unread := [verdict.student for verdict in left if not verdict.infrastructure]:
        yield f"Not graded, since nothing could be read: {listed(unread)}."


def whole_layers(roll: Sequence[Verdict]) -> Iterator[str]:
    """Yield a sentence about who wrote a right layer without all of its steps, if anybody did."""
    whole = [verdict for verdict in roll if own_layer(verdict) and unwritten(verdict)]
    if whole:
        earned = sum(any(step.by_layer for step in verdict.steps) for verdict in whole)
        part = "" if earned == len(whole) else f"{earned or 'none'} of them "
        yield (
            f"Right as a whole layer, without all of its steps: {count(len(whole), 'student')}, "
            f"{part}with points for what the layer does."
        )


@dataclass(frozen=True)
class MissedStep:
    """The step that most students missed in one way, in `words`: its place from 1, and how many."""

    words: str
    place: int
    name: str
    students: int

    @property
    def step(self) -> str:
        """It in words: "step 4, softmax, by 3 students"."""
        return f"step {self.place}, {self.name}, by {count(self.students, 'student')}"


def most_missed(exercise: Exercise, roll: Sequence[Verdict]) -> Iterator[MissedStep]:
    """Tell apart what was tried and is wrong, and what most have not reached."""
    wrong: Counter[str] = Counter()
    blank: Counter[str] = Counter()
    for verdict in roll:
        for step in verdict.steps:
            if not (step.is_done or step.outcome in NOT_JUDGED):
                (blank if step.outcome is Outcome.NOT_WRITTEN else wrong)[step.name] += 1
    for words, counted in (("Wrong most often", wrong), ("Not written most often", blank)):
        if counted:
            # In a tie, name the earliest step: the later ones may follow from it.
            order = [step.name for step in exercise.steps]
            name = max(order, key=lambda step: counted[step])
            yield MissedStep(words, order.index(name) + 1, name, counted[name])


# Where the chains of a class break: which of the students' own steps stops them end to end.

# Where the chain of a student ends, beside the number of a step.
RIGHT_TO_THE_END, NO_SINGLE_STEP, NOT_RUN, NOT_ASKED = "right", "0", "none", ""


@dataclass(frozen=True)
class StepBreaks:
    """How many chains break at one place, by the sign of how they end.

    `place` is as `chain_place` gives it. `right_alone` are those in which the step itself is right.
    """

    place: str
    signs: dict[str, int]
    right_alone: int = 0

    @property
    def students(self) -> int:
        """How many chains break here."""
        return sum(self.signs.values())


@dataclass(frozen=True)
class ChainBreaks:
    """Where the chains of a class break: sentences, the signs in use, the places in order."""

    sentences: tuple[str, ...]
    signs: tuple[str, ...]
    places: tuple[StepBreaks, ...]

    @property
    def most(self) -> int:
        """The number of chains that break at the worst place, at least 1."""
        return max([1, *(place.students for place in self.places)])


def chain_place(exercise: Exercise, verdict: Verdict) -> str:
    """Return where a student's chain ends: the number of the step where it breaks, from 1.

    `RIGHT_TO_THE_END`, `NO_SINGLE_STEP` (it is wrong, and no step is to blame), `NOT_RUN` and
    `NOT_ASKED` stand for the rest.
    """
    chain = verdict.chain
    if chain.outcome is Outcome.PASSED:
        return RIGHT_TO_THE_END if chain.asked else NOT_ASKED
    if chain.outcome in (Outcome.INFRASTRUCTURE, Outcome.REJECTED):
        return NOT_RUN
    if chain.breaks_at is None:
        return NO_SINGLE_STEP
    return str(len(exercise.before(chain.breaks_at)) + 1)


def chain_breaks(exercise: Exercise, verdicts: Sequence[Verdict]) -> ChainBreaks | None:
    """Return where the chains break; None where no verdict knows how the steps work together."""
    ends = [(chain_place(exercise, verdict), verdict) for verdict in verdicts]
    if all(place in (NOT_ASKED, NOT_RUN) for place, _ in ends):
        return None
    places = []
    for place in [*(str(n) for n in range(1, len(exercise.steps) + 1)), NO_SINGLE_STEP]:
        here = [verdict for at, verdict in ends if at == place]
        if here:
            signs = Counter(mark(verdict.chain.outcome).sign for verdict in here)
            # Of no single step, none is counted.
            step = int(place) - 1
            alone = sum(verdict.steps[step].passes for verdict in here) if step >= 0 else 0
            places.append(StepBreaks(place, dict(signs), alone))
    used = tuple(sign for sign in KEY if any(sign in place.signs for place in places))
    return ChainBreaks(tuple(_sentences(ends)), used, tuple(places))


def _sentences(ends: Sequence[tuple[str, Verdict]]) -> Iterator[str]:
    run = [verdict for place, verdict in ends if place not in (NOT_ASKED, NOT_RUN)]
    right = sum(verdict.chain.outcome is Outcome.PASSED for verdict in run)
    yield f"Right end to end: {right} of {count(len(run), 'student')}."
    layers = sum(layer_leads(verdict) for verdict in run)
    if layers:
        yield f"Not right end to end, but with a layer that is right by itself: {layers}."
    not_run = sum(place == NOT_RUN for place, _ in ends)
    if not_run:
        yield f"Not run end to end: {count(not_run, 'student')}."
