"""Write down the public checks as worked examples, the reference standing in for the student."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.checks.axis_sizes import refuse_wrong_axes
from autograder.checks.check_runner import Recorder
from autograder.checks.grader_run import run_graders
from autograder.checks.marks import step_of, title_of
from autograder.checks.plugin import GradingPlugin
from autograder.checks.reference import Reference, read_reference
from autograder.checks.step_judge import KEPT
from autograder.checks.unsendable import refuse_what_cannot_cross
from autograder.checks.written_twice import refuse_checks_of_one_name
from autograder.errors import Faults, KitError
from autograder.judging.answer_pair import AnswerPair
from autograder.judging.conditions import STANDING, without_conditions
from autograder.judging.distribution import Distributed
from autograder.judging.examples import Example, write_examples
from autograder.judging.expectation import Agrees, Expectation, Refused, judge
from autograder.judging.layer_calls import CallRecorder, LayerCall
from autograder.model.exercise import GRADERS
from autograder.model.request import Request, Returned
from autograder.protocol import arrays
from autograder.protocol.wire import arrays_in

MOST_NUMBERS = 4_000  # in the calls of one layer that are written down


def record_examples(folder: Path) -> str:
    """Return the text of the examples file of the exercise in `folder`.

    Raises `KitError` when a step has no public check, hence no worked example, or when a check
    cannot be run, hands over what does not cross, or contradicts the annotations; it tells all of
    these.
    """
    reference = read_reference(folder)
    refuse_checks_of_one_name(folder / GRADERS)
    faults = Faults()
    examples = _recorded(reference, faults)
    faults.refuse()  # a check that does not run has written no example
    shown = {example.step for example in examples}
    for step in reference.exercise.steps:
        if step.name not in shown:
            with faults.noted():
                raise KitError(
                    f"the step {step.name} has no worked example",
                    place=str(folder / GRADERS),
                    cure="mark one of its checks as public, and let it compare: "
                    "student(...).agrees()",
                )
    faults.refuse()
    return write_examples(reference.exercise.name, examples)


def record_other_examples(folder: Path, step: str, seed: int) -> str:
    """Return the text of an examples file with one step's examples, drawn from another seed.

    Raises `KitError` as `record_examples` does.
    """
    reference = read_reference(folder)
    grading = replace(reference.exercise.grading, public_seed=seed)
    drawn = replace(reference, exercise=replace(reference.exercise, grading=grading))
    faults = Faults()
    examples = _recorded(drawn, faults, step)
    faults.refuse()
    return write_examples(drawn.exercise.name, examples)


def _recorded(reference: Reference, faults: Faults, step: str = "") -> list[Example]:
    """Return the worked examples of one step, or of all; note the faults of checks."""
    examples: list[Example] = []
    done: list[tuple[str, tuple[str, ...]]] = []

    def judge(plugin: GradingPlugin) -> None:
        reference.forget()  # what was drawn while the checks were collected is not repeatable
        sound: dict[str | None, bool] = {}
        for item in plugin.collected.shown:
            own = step_of(item)
            # As in grading: a step that fails a check is held to nothing more.
            held = not item.name.startswith(STANDING) or sound.get(own, True)
            if step in ("", own) and held:
                arrays.seed(0)  # every call draws new layers, but a build must be repeatable
                sound[own] = False
                with faults.noted():
                    plugin.recorded(item, reference, _recorder(reference, item, examples))
                    sound[own] = True
        if not step:
            done.append(plugin.steps_of_layer())

    run_graders(GradingPlugin(reference, judge, public=True))
    return _with_steps_of_layer(examples, *done)


def _with_steps_of_layer(
    examples: list[Example], *layers: tuple[str, tuple[str, ...]]
) -> list[Example]:
    """Return the examples; the first one about a layer says which steps a right one does."""
    does = dict(layers)
    return [replace(each, does=does.pop(each.step, ())) for each in examples]


def _recorder(reference: Reference, item: pytest.Item, examples: list[Example]) -> Recorder:
    def record(
        request: Request,
        expectation: Expectation,
        asked: tuple[Request, ...],
        pairs: tuple[AnswerPair, ...],
    ) -> None:
        refuse_what_cannot_cross(item.name, request, reference)
        if not isinstance(expectation, Refused):
            reply = reference.expected(replace(request, dtype=""))
            if isinstance(reply, Returned):
                refuse_wrong_axes(reference, request, reply)
        # A random draw is too long to write down, and its faults have sentences of their own.
        named = not isinstance(expectation, Distributed | Refused)
        step = step_of(item) or ""
        known = {
            mistake.name for each in examples if each.step == step for mistake in each.mistakes
        }
        # A standing check is asked about code that shows none of the others.
        told = known if item.name.startswith(STANDING) else set()
        mistakes = tuple(
            candidate
            for candidate in (reference.replay.singles(request) if named else ())
            # One that does not show on these inputs has nothing to say about them.
            if candidate.name not in told and judge(expectation, request, candidate.reply, ())
        )
        name = getattr(item, "originalname", item.name)
        about = step, name, title_of(item)
        calls = _calls_of(reference, request, expectation)
        examples.append(Example(*about, request, expectation, mistakes, asked, pairs, calls))

    return record


def _calls_of(
    reference: Reference, request: Request, expectation: Expectation
) -> tuple[LayerCall, ...]:
    """Return the calls that the reference's class makes of its steps, asked under no condition.

    What a step draws anew each time is left out, and so are all calls if they hold too much.
    """
    if request.method is None or isinstance(expectation, Refused):
        return ()
    if isinstance(expectation, Agrees) and not request.read:
        request, _ = without_conditions(request, expectation)
    steps, library = tuple(reference.functions), reference.exercise.library
    recorder = CallRecorder(vars(reference.module), steps, library)
    with recorder.recording():
        reference.ask(request)
    calls = tuple(_kept(reference, call) for call in recorder.calls)
    held = sum(a.size for call in calls for a in arrays_in((*call.arguments, call.result)))
    return calls if held <= MOST_NUMBERS else ()


def _kept(reference: Reference, call: LayerCall) -> LayerCall:
    drawn = reference.exercise.step(call.step).compare in KEPT
    return replace(call, line=0, result=None if drawn else call.result)
