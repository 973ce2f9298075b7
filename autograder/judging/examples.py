"""Worked examples: a check's questions as JSON, so that a student needs no solution.

`attn build` runs the public checks with the reference as the student, on inputs
small enough to work by hand. It writes down every question, the expected result,
and what each known mistake gives. A learner's notebook and the terminal ask the
same questions with the same engine as the hidden graders.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.judging.compare import ResultSpec, arrays_of, compare_form
from autograder.judging.diagnosis import Candidate, failure
from autograder.judging.distribution import Distributed
from autograder.judging.expectation import (
    Agrees,
    Expectation,
    Refused,
    overwritten,
    with_attributes,
)
from autograder.judging.layers import LinearLayers, judge_layers
from autograder.judging.tokens import Tokens
from autograder.model.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.model.verdict import Finding, Outcome
from autograder.protocol.call import EarlierCall, LayerCall
from autograder.protocol.wire import Linear, Opaque, Seed, Value

# A value of a worked example as JSON, and back: an array is one line of text.

# Of results: two more than the strictest tolerance needs. Inputs are written exactly.
DIGITS = 8
# Nobody reads more than these: a larger array is written as its bytes, packed.
MOST_NUMBERS = 300


def written_values(values: Mapping[str, Value], digits: int | None = None) -> dict[str, Any]:
    """Return values with names as JSON; see `written_value`."""
    return {name: written_value(value, digits) for name, value in values.items()}


def written_value(value: Value, digits: int | None = None) -> Any:
    """Return a value as JSON; its numbers exactly, or rounded to `digits` that count."""
    if isinstance(value, np.ndarray):
        if value.size > MOST_NUMBERS:
            packed = base64.b64encode(zlib.compress(value.tobytes(), 9)).decode("ascii")
            return {"dtype": value.dtype.name, "packed": packed, "shape": list(value.shape)}
        # As text, so that an array stays on one line.
        facts = {"dtype": value.dtype.name, "numbers": json.dumps(_numbers(value, digits))}
        # Nested lists say how many numbers there are along each axis, unless there are none.
        return facts if value.size else {**facts, "shape": list(value.shape)}
    if isinstance(value, Seed):
        return {"seed": value.seed}
    if isinstance(value, Linear):
        parts = written_values({"weight": value.weight, "bias": value.bias}, digits)
        return parts if value.trainable else {**parts, "trainable": False}
    if isinstance(value, tuple):
        return {"items": [written_value(item, digits) for item in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"opaque": value.type_name}


def _numbers(array: np.ndarray, digits: int | None) -> Any:
    if array.ndim:
        return [_numbers(row, digits) for row in array]
    number = array.item()
    if isinstance(number, bool | int):
        return number
    if not math.isfinite(number):
        return str(number)
    # str() of a float32 is the shortest text that is read back as the same float32.
    return float(f"{number:.{digits}g}") if digits else float(str(array))


def read_value(facts: Any) -> Value:
    """Return the value that was written as `facts`."""
    if not isinstance(facts, dict):
        return facts
    if "packed" in facts:
        content = zlib.decompress(base64.b64decode(facts["packed"]))
        return np.frombuffer(content, facts["dtype"]).reshape(facts["shape"]).copy()
    if "numbers" in facts:
        numbers = _floats(json.loads(facts["numbers"]))
        array = np.array(numbers, dtype=facts["dtype"])
        return array.reshape(facts["shape"]) if "shape" in facts else array
    if "seed" in facts:
        return Seed(facts["seed"])
    if "opaque" in facts:
        return Opaque(facts["opaque"])
    if "weight" in facts:
        parts = read_value(facts["weight"]), read_value(facts["bias"])
        return Linear(*parts, facts.get("trainable", True))
    return tuple(read_value(item) for item in facts["items"])


def _floats(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_floats(number) for number in numbers]
    return float(numbers) if isinstance(numbers, str) else numbers


# Two answers to one check side by side: do they hold the same numbers, or others?
#
# Whether a draw comes from the generator that is passed in shows in no single answer.


@dataclass(frozen=True)
class AnswerPair:
    """Two questions of a check, by their numbers, and whether their answers are the same.

    If `same`, every array holds the same numbers in both answers; else every array holds others.
    `fact` is what to say when that is not so, and `look` where to look next.
    """

    first: int
    second: int
    same: bool
    fact: str
    look: str = ""


@dataclass(frozen=True)
class AnswerForm:
    """What an answer looks like: the reference's, of which only the shapes count."""

    expected: Value
    form: ResultSpec

    def judge(self, pair: AnswerPair, *answers: tuple[Request, Reply]) -> Finding | None:
        """Return what is not as expected about two answers, or None."""
        for request, reply in answers:
            finding = self._misshapen(request, reply)
            if finding:
                return finding
        amiss, arrays = self._amiss(pair, *answers), arrays_of(self.expected, self.form)
        if not amiss:
            return None
        place = f" That is seen in {_listed(amiss)}." * (len(amiss) < len(arrays))
        right = f"The {'layers' if self._of_layers else 'arrays'} and their shapes are right."
        return Finding(Outcome.WRONG_VALUES, pair.fact + place, right=right, look=pair.look)

    def amiss(self, pair: AnswerPair, *answers: tuple[Request, Reply]) -> tuple[str, ...] | None:
        """Return the names of the arrays in which two answers are not as expected of the pair.

        None when one of them does not have this form.
        """
        if any(self._misshapen(*answer) for answer in answers):
            return None
        return self._amiss(pair, *answers)

    def _amiss(self, pair: AnswerPair, *answers: tuple[Request, Reply]) -> tuple[str, ...]:
        """Return the same of two answers that have this form."""
        first, second = (self._arrays(*answer) for answer in answers)
        return tuple(
            name
            for name, array, other in zip(self.form.names, first, second)
            if array.size and np.array_equal(array, other, equal_nan=True) != pair.same
        )

    @property
    def _of_layers(self) -> bool:
        return any(isinstance(part, Linear) for part in arrays_of(self.expected, self.form))

    def _misshapen(self, request: Request, reply: Reply) -> Finding | None:
        reply = with_attributes(request, reply)
        if isinstance(reply, Failed):
            return failure(reply)
        if self._of_layers:
            return judge_layers(LinearLayers(self.expected, self.form), reply, ())
        return compare_form(reply.value, self.expected, self.form)

    def _arrays(self, request: Request, reply: Reply) -> tuple[np.ndarray, ...]:
        answer = with_attributes(request, reply)
        assert not isinstance(answer, Failed)
        # Of a layer the weights: its bias may begin with zeros.
        parts = arrays_of(answer.value, self.form)
        return tuple(part.weight if isinstance(part, Linear) else part for part in parts)


def _listed(names: tuple[str, ...]) -> str:
    *others, last = (f"`{name}`" for name in names)
    return f"{', '.join(others)} and {last}" if others else last


FORMAT_VERSION = 1
FILE = "examples.json"
# Files of 0.1.0 ask this in questions of its own; now it is part of every other question.
_NO_LONGER_ASKED = "unchanged"


@dataclass(frozen=True)
class Example:
    """One public question about a step: what is asked, what is expected, what mistakes give.

    `asked` are questions whose answers are looked at side by side, in `pairs`, by their numbers.
    `calls` are those that the right layer makes of its steps meanwhile. `does` stands in the first
    question about a layer: the steps whose work a layer does that passes all of them.
    """

    step: str
    check: str
    title: str
    request: Request
    expectation: Expectation
    mistakes: tuple[Candidate, ...]
    asked: tuple[Request, ...] = ()
    pairs: tuple[AnswerPair, ...] = ()
    calls: tuple[LayerCall, ...] = ()
    does: tuple[str, ...] = ()


def read_examples(folder: Path) -> tuple[Example, ...]:
    """Read the worked examples of an assignment; raise `KitError` when they cannot be read."""
    file = folder / FILE
    try:
        return examples_in(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise KitError(
            "the worked examples are missing",
            place=str(file),
            cure=f"get {FILE} from the released assignment again",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise KitError(
            f"the worked examples cannot be read: {error}",
            place=str(file),
            cure=f"get {FILE} from the released assignment again",
        ) from None


def examples_in(text: str) -> tuple[Example, ...]:
    """Return the worked examples that `write_examples` has written; raise what it meets if not."""
    facts = json.loads(text)
    if facts["format_version"] != FORMAT_VERSION:
        raise ValueError(f"format_version is {facts['format_version']}")
    return tuple(map(_example, filter(_is_asked, facts["examples"])))


def mistake_words_of(examples: Iterable[Example]) -> dict[str, str]:
    """Return what a student is told about each known mistake, by the mistake's name.

    The words are those of its own step, which comes before the layer that it may be found in, too.
    """
    found: dict[str, str] = {}
    for example in examples:
        for each in example.mistakes:
            found.setdefault(each.name, each.words)
    return found


def done_by(step: str, examples: Iterable[Example]) -> tuple[str, ...]:
    """Return the steps whose work a right layer does, so that nobody need write them."""
    return tuple(name for each in examples if each.step == step for name in each.does)


def write_examples(exercise: str, examples: Iterable[Example]) -> str:
    """Return the text of an examples file: one line per array, stable from run to run."""
    facts = {
        "format_version": FORMAT_VERSION,
        "exercise": exercise,
        "examples": [_facts(example) for example in examples],
    }
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def _facts(example: Example) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "step": example.step,
        "check": example.check,
        "title": example.title,
        "request": _request(example.request),
        "expectation": _expectation(example.expectation),
        "mistakes": [
            {"name": mistake.name, "words": mistake.words}
            | ({"step": mistake.step} if mistake.step else {})
            | _reply(mistake.reply, example)
            for mistake in example.mistakes
        ],
    }
    if example.pairs:
        facts["asked"] = [_request(request) for request in example.asked]
        facts["pairs"] = [asdict(pair) for pair in example.pairs]
    if example.calls:
        facts["calls"] = [_call(call) for call in example.calls]
    if example.does:
        facts["does"] = list(example.does)
    return facts


def _call(call: LayerCall) -> dict[str, Any]:
    return {
        "step": call.step,
        "names": list(call.names),
        "arguments": [written_value(value, DIGITS) for value in call.arguments],
        "result": written_value(call.result, DIGITS),
    }


def _request(request: Request) -> dict[str, Any]:
    return {
        "target": request.target,
        "arguments": [written_value(value) for value in request.arguments],
        "keywords": written_values(request.keywords),
        "method": request.method,
        "method_arguments": [written_value(value) for value in request.method_arguments],
        "attributes": written_values(request.attributes),
        "read": list(request.read),
        "before": list(request.before),
        "calls": request.calls,
        "dtype": request.dtype,
        "backward": written_value(request.backward),
        "layouts": [list(order) if order else None for order in request.layouts],
        "earlier": [written_value(call.values) for call in request.earlier],
        "recording": request.recording,
    }


# Written into files that students keep: the names of our classes may change, these may not.
_KINDS: dict[type, str] = {
    Agrees: "agrees",
    Distributed: "distributed",
    LinearLayers: "layers",
    Refused: "refused",
}


def _expectation(expectation: Expectation) -> dict[str, Any]:
    form = expectation.form
    facts: dict[str, Any] = {
        "kind": _KINDS[type(expectation)],
        "names": list(form.names),
        "axes": list(form.axes),
        "compare": form.compare,
        "noun": form.noun,
        "precision": form.precision,
    }
    facts |= {"tokens": asdict(form.tokens)} if form.tokens else {}
    match expectation:
        case Agrees(expected):
            facts["expected"] = written_value(expected, DIGITS)
            facts["gradients"] = [written_value(each, DIGITS) for each in expectation.gradients]
            facts["gradient_names"] = list(expectation.gradient_names)
            facts["observations"] = list(expectation.observations)
            facts |= {"may_be_slow": True} if expectation.may_be_slow else {}
        case LinearLayers(expected):
            facts["expected"] = written_value(expected, DIGITS)
        case Refused():
            facts |= {"kinds": list(expectation.kinds), "fact": expectation.fact}
        case Distributed(expected):
            facts |= {"mean": expectation.mean, "deviation": expectation.deviation}
            facts["shapes"] = [list(array.shape) for array in expected]
    return facts


def _reply(reply: Reply, example: Example) -> dict[str, Any]:
    """Describe what a mistake gives: of it only what the expectation looks at."""
    if isinstance(reply, Failed):
        exception = reply.exception
        return {
            "outcome": reply.outcome.value,
            "raises": [exception.type_name, exception.message] if exception else None,
        }
    facts: dict[str, Any] = {}
    if overwritten(example.request, reply) is not None:
        facts["after"] = [written_value(value, DIGITS) for value in reply.after]
    if reply.gradients:
        facts["gradients"] = [written_value(value, DIGITS) for value in reply.gradients]
    if example.request.read:
        return facts | {"attributes": written_values(reply.attributes, DIGITS)}
    return facts | {"value": written_value(reply.value, DIGITS)}


def _is_asked(facts: Mapping[str, Any]) -> bool:
    return bool(facts["expectation"]["kind"] != _NO_LONGER_ASKED)


def _example(facts: Mapping[str, Any]) -> Example:
    mistakes = tuple(
        Candidate(mistake["name"], mistake["words"], _read_reply(mistake), mistake.get("step", ""))
        for mistake in facts["mistakes"]
    )
    expectation = _read_expectation(facts["expectation"])
    asked = tuple(map(_read_request, facts.get("asked", ())))
    pairs = tuple(AnswerPair(**pair) for pair in facts.get("pairs", ()))
    about = facts["step"], facts["check"], facts["title"]
    request = _read_request(facts["request"])
    calls = tuple(map(_read_call, facts.get("calls", ())))
    does = tuple(facts.get("does", ()))
    return Example(*about, request, expectation, mistakes, asked, pairs, calls, does)


def _read_request(asked: Mapping[str, Any]) -> Request:
    return Request(
        asked["target"],
        tuple(read_value(value) for value in asked["arguments"]),
        {name: read_value(value) for name, value in asked["keywords"].items()},
        asked["method"],
        tuple(read_value(value) for value in asked["method_arguments"]),
        {name: read_value(value) for name, value in asked["attributes"].items()},
        tuple(asked["read"]),
        tuple(asked["before"]),
        asked["calls"],
        asked["dtype"],
        read_value(asked["backward"]),
        tuple(order and tuple(order) for order in asked.get("layouts", ())),
        tuple(EarlierCall.of(read_value(call)) for call in asked.get("earlier", ())),
        asked.get("recording", True),
    )


def _read_call(facts: Mapping[str, Any]) -> LayerCall:
    arguments = tuple(read_value(value) for value in facts["arguments"])
    return LayerCall(facts["step"], tuple(facts["names"]), arguments, read_value(facts["result"]))


def _read_expectation(facts: Mapping[str, Any]) -> Expectation:
    names, axes = tuple(facts["names"]), tuple(facts["axes"])
    form = ResultSpec(
        names,
        axes,
        facts["compare"],
        facts["noun"],
        facts["precision"],
        tokens=_read_tokens(facts.get("tokens")),
    )
    match facts["kind"]:
        case "agrees":
            gradients = tuple(read_value(each) for each in facts.get("gradients", ()))
            names = tuple(facts.get("gradient_names", ()))
            seen = tuple(facts.get("observations", ()))
            slow = facts.get("may_be_slow", False)
            return Agrees(read_value(facts["expected"]), form, gradients, names, seen, slow)
        case "distributed":
            shapes = tuple(np.zeros(shape) for shape in facts["shapes"])
            return Distributed(shapes, form, facts["mean"], facts["deviation"])
        case "layers":
            return LinearLayers(read_value(facts["expected"]), form)
        case "refused":
            return Refused(tuple(facts["kinds"]), facts["fact"], form)
    raise ValueError(f"an expectation of kind {facts['kind']!r}")


def _read_tokens(facts: Mapping[str, Any] | None) -> Tokens | None:
    return Tokens(tuple(facts["names"]), facts["followed"]) if facts else None


def _read_reply(facts: Mapping[str, Any]) -> Reply:
    if "outcome" in facts:
        raised = facts["raises"]
        exception = ExceptionReport(*raised) if raised else None
        return Failed(Outcome(facts["outcome"]), exception=exception)
    return Returned(
        read_value(facts.get("value")),
        tuple(read_value(value) for value in facts.get("after", ())),
        {name: read_value(value) for name, value in facts.get("attributes", {}).items()},
        tuple(read_value(value) for value in facts.get("gradients", ())),
    )
