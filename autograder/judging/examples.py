"""Worked examples: a check's questions in a file, so that a student needs no solution.

`attn build` runs the public checks with the reference as the student, on inputs
small enough to work by hand. It writes down every question, the expected result,
and what each known mistake gives. A learner's notebook and the terminal ask the
same questions with the same engine as the hidden graders.
"""

from __future__ import annotations

import base64
import json
import math
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.judging.compare import ResultSpec, arrays_of, compare, compare_form
from autograder.judging.diagnosis import Candidate, failure, named
from autograder.judging.distribution import Distributed
from autograder.judging.expectation import (
    Agrees,
    Expectation,
    Refused,
    overwritten,
    with_attributes,
)
from autograder.judging.layers import LinearLayers, judge_layers
from autograder.judging.value_words import Tokens, quoted
from autograder.values.exercise import EARLIER_EXAMPLES, EXAMPLES
from autograder.values.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.values.verdict import Finding, Outcome
from autograder.worker.call import EarlierCall, LayerCall
from autograder.worker.wire import Linear, Opaque, Seed, Value

try:
    import lzma
except ImportError as error:
    raise KitError(
        f"the worked examples cannot be read: {error}",
        place=sys.executable,
        cure="this Python was built without LZMA: use that of python.org, or of your system",
    ) from error

# The file: a line of JSON, and behind it the numbers of all arrays, packed by LZMA.
#
# `xz -dc examples.xz | head -n 1` shows the line. In it stands for an array where its bytes
# begin behind the line; arrays that hold the same bytes share them. What was handed out before
# has `examples.json` instead, in which arrays are text.

_ALIGNED = 8  # an array begins at a multiple of its numbers' size: that packs best
_PACKING = [{"id": lzma.FILTER_LZMA2, "preset": 6, "nice_len": 128, "lc": 0, "lp": 2}]


def packed(facts: Any) -> bytes:
    """Return facts with arrays in them as the content of a file; see `facts_in`."""
    distinct: dict[tuple[str, bytes], int] = {}

    def noted(array: np.ndarray) -> Any:
        distinct[_bytes_of(array)] = 0

    _with_arrays(facts, noted)
    ordered = sorted(distinct, key=lambda key: -np.dtype(key[0]).itemsize)
    begins = accumulate((len(content) for _, content in ordered), initial=0)
    distinct |= zip(ordered, begins)

    def placed(array: np.ndarray) -> Any:
        key = _bytes_of(array)
        return {"dtype": key[0], "shape": list(array.shape), "at": distinct[key]}

    line = json.dumps(_with_arrays(facts, placed), ensure_ascii=False).encode("utf-8")
    line += b" " * (-(len(line) + 1) % _ALIGNED) + b"\n"
    numbers = (content for _, content in ordered)
    return lzma.compress(b"".join([line, *numbers]), filters=_PACKING)


def facts_in(content: bytes) -> Any:
    """Return the facts that `packed` has packed, each array anew; raise what it meets if not."""
    line, _, numbers = lzma.decompress(content).partition(b"\n")

    def read(facts: dict[str, Any]) -> Any:
        if facts.keys() != {"dtype", "shape", "at"}:
            return facts
        dtype, shape = np.dtype(facts["dtype"]), facts["shape"]
        begin = facts["at"]
        held = numbers[begin : begin + math.prod(shape) * dtype.itemsize]
        return np.frombuffer(held, dtype.newbyteorder("<")).reshape(shape).astype(dtype)

    return json.loads(line, object_hook=read)


def words_in(content: bytes) -> str:
    """Return all that a file of worked examples says in words, as JSON."""
    return lzma.decompress(content).partition(b"\n")[0].decode("utf-8")


def alike(there: bytes, made: bytes) -> bool:
    """Say whether two files hold the same, but for the last digits of numbers."""
    try:
        return _alike(facts_in(there), facts_in(made))
    except (ValueError, KeyError, TypeError, lzma.LZMAError):
        return False


def _alike(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_alike, left, right))
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        if (left.dtype, left.shape) != (right.dtype, right.shape):
            return False
        if left.dtype.kind != "f":
            return np.array_equal(left, right)
        return np.allclose(left, right, rtol=1e-4, atol=1e-5, equal_nan=True)
    return type(left) is type(right) and bool(left == right)


def _bytes_of(array: np.ndarray) -> tuple[str, bytes]:
    return array.dtype.name, array.astype(array.dtype.newbyteorder("<")).tobytes()


def _with_arrays(facts: Any, told: Callable[[np.ndarray], Any]) -> Any:
    """Return facts with what `told` gives in place of each array."""
    if isinstance(facts, np.ndarray):
        return told(facts)
    if isinstance(facts, dict):
        return {name: _with_arrays(value, told) for name, value in facts.items()}
    if isinstance(facts, list):
        return [_with_arrays(value, told) for value in facts]
    return facts


# A value of a worked example as facts, and back.

# Of results: two more than the strictest tolerance needs. Inputs are written exactly.
DIGITS = 8
MOST_ROUNDED = 300  # numbers: of a larger array, all are written exactly


def written_values(values: Mapping[str, Value], digits: int | None = None) -> dict[str, Any]:
    """Return values with names as facts; see `written_value`."""
    return {name: written_value(value, digits) for name, value in values.items()}


def written_value(value: Value, digits: int | None = None) -> Any:
    """Return a value as facts; its numbers exactly, or rounded to `digits` that count."""
    if isinstance(value, np.ndarray):
        return _rounded(value, digits) if digits and value.size <= MOST_ROUNDED else value
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


def _rounded(array: np.ndarray, digits: int) -> np.ndarray:
    if array.dtype.kind != "f":
        return array
    numbers = [float(f"{number:.{digits}g}") for number in array.ravel().tolist()]
    return np.array(numbers, dtype=array.dtype).reshape(array.shape)


def read_value(facts: Any) -> Value:
    """Return the value that was written as `facts`."""
    if not isinstance(facts, dict):
        return facts
    if "packed" in facts:  # this and the next are of `examples.json`
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
class PairMistake:
    """A known mistake (see `Candidate`) whose two answers are amiss in some arrays."""

    name: str
    words: str
    step: str
    amiss: tuple[str, ...]


@dataclass(frozen=True)
class AnswerPair:
    """Two questions of a check, by their numbers, and whether their answers are the same.

    If `same`, every array holds the same numbers in both answers; else every array holds others.
    `fact` is what to say when that is not so, and `look` where to look next. `mistakes` are known
    ones of which two answers are amiss.
    """

    first: int
    second: int
    same: bool
    fact: str
    look: str = ""
    mistakes: tuple[PairMistake, ...] = ()


@dataclass(frozen=True)
class AnswerForm:
    """What an answer looks like: the reference's, of which only the shapes count."""

    expected: Value
    form: ResultSpec

    def judge(
        self, pair: AnswerPair, known: Iterable[PairMistake], *answers: tuple[Request, Reply]
    ) -> Finding | None:
        """Return what is not as expected about two answers, or None.

        It is named by what is `known` to be amiss in the same arrays.
        """
        for request, reply in answers:
            finding = self._misshapen(request, reply)
            if finding:
                return named(finding, ())
        amiss, arrays = self._amiss(pair, *answers), arrays_of(self.expected, self.form)
        if not amiss:
            return None
        place = f" That is seen in {quoted(amiss)}." * (len(amiss) < len(arrays))
        right = f"The {'layers' if self._of_layers else 'arrays'} and their shapes are right."
        finding = Finding(Outcome.WRONG_VALUES, pair.fact + place, right=right, look=pair.look)
        alike = (each for each in known if each.amiss == amiss)
        return named(finding, [Candidate(each.name, each.words, Returned(None)) for each in alike])

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


FORMAT_VERSION = 2
EARLIER_FORMAT = 1  # in `examples.json`
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

    @property
    def known(self) -> tuple[Candidate | PairMistake, ...]:
        """The mistakes that this example shows, in one answer or in two of them."""
        return (*self.mistakes, *(each for pair in self.pairs for each in pair.mistakes))


def read_examples(folder: Path) -> tuple[Example, ...]:
    """Read the worked examples of an assignment; raise `KitError` when they cannot be read."""
    file, earlier = folder / EXAMPLES, folder / EARLIER_EXAMPLES
    try:
        if not file.is_file() and earlier.is_file():
            file = earlier
            return _examples(json.loads(file.read_bytes()), EARLIER_FORMAT)
        return examples_in(file.read_bytes())
    except FileNotFoundError:
        fact = "the worked examples are missing"
    except (ValueError, KeyError, TypeError, lzma.LZMAError) as error:
        fact = f"the worked examples cannot be read: {error}"
    cure = f"get {file.name} from the released assignment again"
    raise KitError(fact, place=str(file), cure=cure)


def examples_in(content: bytes) -> tuple[Example, ...]:
    """Return the worked examples that `write_examples` has written; raise what it meets if not."""
    return _examples(facts_in(content), FORMAT_VERSION)


def _examples(facts: Any, version: int) -> tuple[Example, ...]:
    if facts["format_version"] != version:
        raise ValueError(f"format_version is {facts['format_version']}")
    examples = facts["examples"]
    return tuple(_example(e) for e in examples if e["expectation"]["kind"] != _NO_LONGER_ASKED)


def mistake_words_of(examples: Iterable[Example]) -> dict[str, str]:
    """Return what a student is told about each known mistake, by the mistake's name.

    The words are those of its own step, which comes before the layer that it may be found in, too.
    """
    found: dict[str, str] = {}
    for example in examples:
        for each in example.known:
            found.setdefault(each.name, each.words)
    return found


def done_by(step: str, examples: Iterable[Example]) -> tuple[str, ...]:
    """Return the steps whose work a right layer does, so that nobody need write them."""
    return tuple(name for each in examples if each.step == step for name in each.does)


def write_examples(exercise: str, examples: Iterable[Example]) -> bytes:
    """Return the content of a file of worked examples, stable from run to run."""
    facts = {
        "format_version": FORMAT_VERSION,
        "exercise": exercise,
        "examples": [_facts(example) for example in examples],
    }
    return packed(facts)


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
        pairs = map(asdict, example.pairs)
        facts["pairs"] = [{name: each[name] for name in each if each[name] != ()} for each in pairs]
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
    if reply.gradients and _has_gradients_to_judge(reply, example):
        facts["gradients"] = [written_value(value, DIGITS) for value in reply.gradients]
    if example.request.read:
        return facts | {"attributes": written_values(reply.attributes, DIGITS)}
    return facts | {"value": written_value(reply.value, DIGITS)}


def _has_gradients_to_judge(reply: Returned, example: Example) -> bool:
    """Say whether anybody looks at the gradients: those of a wrong result say nothing more."""
    expectation, seen = example.expectation, with_attributes(example.request, reply)
    if not isinstance(expectation, Agrees) or isinstance(seen, Failed):
        return True
    # As right as the coarsest tolerance has it, since a question may be asked in another precision.
    form = replace(expectation.form, precision="bfloat16")
    return compare(seen.value, expectation.expected, form) is None


def _example(facts: Mapping[str, Any]) -> Example:
    mistakes = tuple(
        Candidate(mistake["name"], mistake["words"], _read_reply(mistake), mistake.get("step", ""))
        for mistake in facts["mistakes"]
    )
    expectation = _read_expectation(facts["expectation"])
    asked = tuple(map(_read_request, facts.get("asked", ())))
    pairs = tuple(map(_read_pair, facts.get("pairs", ())))
    about = facts["step"], facts["check"], facts["title"]
    request = _read_request(facts["request"])
    calls = tuple(map(_read_call, facts.get("calls", ())))
    does = tuple(facts.get("does", ()))
    return Example(*about, request, expectation, mistakes, asked, pairs, calls, does)


def _read_pair(facts: Mapping[str, Any]) -> AnswerPair:
    mistakes = tuple(
        PairMistake(**{**each, "amiss": tuple(each["amiss"])}) for each in facts.get("mistakes", ())
    )
    return AnswerPair(**{**facts, "mistakes": mistakes})


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
    names, axes, tokens = tuple(facts["names"]), tuple(facts["axes"]), facts.get("tokens")
    form = ResultSpec(
        names,
        axes,
        facts["compare"],
        facts["noun"],
        facts["precision"],
        tokens=tokens and Tokens(tuple(tokens["names"]), tokens["followed"]),
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
