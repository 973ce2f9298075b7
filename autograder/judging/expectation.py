"""What a check expects of a reply, as data: the closed vocabulary of a grader file.

Being data, an expectation can be judged beside the reference (hidden graders) or
written into the worked examples and judged in a learner's notebook: one engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

import numpy as np

from autograder.judging.claims import CLOSE_LOOK
from autograder.judging.compare import (
    LOWER,
    ResultSpec,
    agree,
    apart,
    arrays_of,
    asked_precision,
    compare,
    is_near,
)
from autograder.judging.diagnosis import Candidate, diagnose, failure, named_by, told_by_cause
from autograder.judging.distribution import Distributed, judge_distribution
from autograder.judging.explanation import NEW_TENSORS
from autograder.judging.layers import LinearLayers, judge_layers
from autograder.values.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.values.verdict import NO_ATTRIBUTE, Finding, Outcome
from autograder.worker.wire import (
    ADDED,
    HIDDEN,
    MODE,
    NUMPY_SEED,
    OVERWRITTEN,
    PYTHON_SEED,
    RECORDED,
    TORCH_SEED,
    Value,
    arrays_in,
)

# What is judged of a reply whose values are right: dtype, gradients, settings, parameters.

VALUES_RIGHT = "The values are right."
ADDED_FACT = (
    "Your layer has parameters beside the expected ones, and an optimizer would train them too."
)
# What is said about what was seen, and where to look next.
_OBSERVATIONS = {
    "set_grad_enabled": (
        "After your code has run, PyTorch no longer records gradients, so nothing can be trained.",
        "Where do you switch them off, and where does that end? (`torch.set_grad_enabled`)",
    ),
    "set_default_dtype": (
        "After your code has run, PyTorch makes its tensors in another precision.",
        "Which line sets a default for all code, rather than for one tensor? "
        "(`torch.set_default_dtype`)",
    ),
    HIDDEN: (
        "`parameters()` of your layer leaves out weights that the layer computes with, so an "
        "optimizer never trains them.",
        "PyTorch finds a layer that is an attribute of its own (`self.name = nn.Linear(...)`), but "
        "none in a list or dictionary of Python. An `nn.ModuleList` shows it what it holds.",
    ),
    ADDED: (
        ADDED_FACT,
        "Which line makes a parameter or a layer that the step does not ask for?",
    ),
    MODE: (
        "Your layer switches between training and evaluation by itself when it is called.",
        "Who uses the layer decides that. Which line calls `eval()` or `train()`?",
    ),
    RECORDED: (
        "Your code has PyTorch record gradients for a tensor that it is given, and so for all that "
        "is computed with it later.",
        "That tensor belongs to whoever called. Which line sets its `requires_grad`?",
    ),
    OVERWRITTEN: (
        "When your code is called again, the result of the call before changes.",
        "Whoever called before still holds that result. Which line writes into an array that is "
        "kept from call to call, where each call needs a new one?",
    ),
    **{
        seed: (
            f"After your code has run, {drawing} the same random numbers every time.",
            "All other code draws from the same generator, and its numbers would repeat, too. "
            f"Which line sets a seed? (`{seed}`)",
        )
        for seed, drawing in (
            (PYTHON_SEED, "Python's `random` gives"),
            (NUMPY_SEED, "`np.random` gives"),
            (TORCH_SEED, "PyTorch draws"),
        )
    },
}


def judge_precision(returned: Value, expected: Value, form: ResultSpec) -> Finding | None:
    """Return the finding on a tensor whose dtype is not that of the inputs.

    NumPy's own rules raise the precision in many right ways, so there it is left open.
    """
    if form.noun != "tensor" or form.compare not in ("values", "floor"):
        return None
    parts = zip(form.names, arrays_of(returned, form), arrays_of(expected, form))
    for name, given, wanted in parts:
        if not isinstance(given, np.ndarray) or not isinstance(wanted, np.ndarray):
            continue
        asked = asked_precision(wanted, form.precision)
        # bfloat16 crosses the wire as float32.
        if given.dtype.name != asked and (asked, given.dtype.name) != ("bfloat16", "float32"):
            subject = f"`{name}`" if len(form.names) > 1 else "The result"
            return Finding(
                Outcome.WRONG_TYPE,
                f"{subject} is {given.dtype.name}, but the inputs are {asked}, and so is the "
                "result that is expected.",
                right=VALUES_RIGHT,
                look=f"{NEW_TENSORS} Which line of yours makes a tensor, or names a dtype?",
            )
    return None


def judge_observations(reply: Returned, expected: Sequence[str]) -> Finding | None:
    """Return the finding on what was seen beside the value, and is not seen of the reference."""
    for name in reply.observations:
        if name not in expected:
            fact, look = _OBSERVATIONS[name]
            return Finding(Outcome.WRONG_VALUES, fact, right=VALUES_RIGHT, look=look)
    return None


def judge_gradients(
    expectation: Agrees, request: Request, reply: Returned, candidates: Iterable[Candidate]
) -> Finding | None:
    """Return the first gradient that is missing or not as expected."""
    if request.backward is None:
        return None
    receivers = _receivers(request)
    finding = _gradient_finding(expectation, reply.gradients, receivers)
    if finding is None:
        return None

    def explains(known: Returned) -> bool:
        # What sends back what is expected explains nothing, however near that is.
        return (
            _gradient_finding(expectation, known.gradients, receivers) is not None
            and compare(known.value, expectation.expected, expectation.form) is None
            and _alike(known.gradients, reply.gradients, len(expectation.gradient_names))
        )

    return named_by(finding, candidates, explains)


def _receivers(request: Request) -> tuple[np.ndarray, ...]:
    """The arrays of a request that receive a gradient, in the order of `Returned.gradients`."""
    given = request.call_arguments
    floating = (array for array in arrays_in(given) if array.dtype.kind == "f")
    return (*floating, *arrays_in(tuple(request.attributes.values())))


def are_shares(array: np.ndarray) -> bool:
    """Say whether the rows of an array are shares: none is negative, and they sum to 1."""
    return bool(
        array.ndim and (array >= 0).all() and np.allclose(array.sum(axis=-1), 1.0, atol=1e-4)
    )


def _reaching(gradient: Value, receiver: np.ndarray) -> Value:
    """Return the part of a gradient that can reach what its receiver was computed from.

    A softmax passes on no constant along a row. So where the receiver's rows are shares, the mean
    of the gradient, weighted by them, is taken off.
    """
    if not isinstance(gradient, np.ndarray) or gradient.shape != receiver.shape:
        return gradient
    if not are_shares(receiver):
        return gradient
    return gradient - (receiver * gradient).sum(axis=-1, keepdims=True)


def _largest(gradients: Sequence[Value]) -> float:
    """Return the largest number in the gradients of one backward pass, at least 1.

    They are sums over tokens, made of each other: one may be 0 in theory, and its rounding errors
    are those of the largest.
    """
    sizes = (float(np.abs(array).max()) for array in arrays_in(tuple(gradients)) if array.size)
    return max((1.0, *(size for size in sizes if np.isfinite(size))))


def _gradient_finding(
    expectation: Agrees, gradients: Sequence[Value], receivers: Sequence[np.ndarray]
) -> Finding | None:
    names, form = expectation.gradient_names, expectation.form
    missing, size = [], _largest(expectation.gradients)
    given_gradients = _padded(gradients, len(names))
    for name, wanted, given, receiver in zip(
        names, expectation.gradients, given_gradients, receivers
    ):
        if wanted is None:
            continue
        if given is None:
            missing.append(name)
            continue
        spec = ResultSpec((name,), (None,), noun=form.noun, precision=form.precision, size=size)
        passed_on = Returned(_reaching(given, receiver))
        due = _reaching(wanted, receiver)
        different = diagnose(passed_on, due, spec, ())
        if different and is_near(passed_on.value, due):
            return _nearly(different, name, *apart(passed_on.value, due))
        if different:
            fact = f"The gradient that arrives at `{name}` is not as expected."
            seen = _of_gradient(different.message)
            return replace(different, fact=fact, right=VALUES_RIGHT, details=(seen,), look=_LOOK)
    if not missing:
        return None
    every = len(missing) == sum(wanted is not None for wanted in expectation.gradients)
    listed = " and ".join(f"`{name}`" for name in missing)
    fact = (
        "The result has lost its connection to the inputs: no gradient flows back, so nothing "
        "before this step can be trained."
        if every
        else f"No gradient flows back to {listed}."
    )
    return Finding(
        Outcome.WRONG_VALUES,
        fact,
        right=VALUES_RIGHT,
        look="A `detach`, `.data`, `no_grad`, `torch.tensor` or a detour through NumPy cuts it.",
    )


def _nearly(finding: Finding, name: str, largest: float, difference: float) -> Finding:
    """Return the finding on a gradient that is off by little: so may the values be, unseen."""
    fact = (
        f"The gradient that arrives at `{name}` is nearly right, but it is off by up to "
        f"{difference:.1g}, and its largest number is {largest:.2g}. That is too much."
    )
    return replace(
        finding,
        fact=fact,
        right="The values are as near to the expected ones as they have to be.",
        details=(_of_gradient(finding.message),),
        look=CLOSE_LOOK,
    )


def _of_gradient(words: str) -> str:
    """Return what was said of a result, where it is the gradient that was compared."""
    return words.replace("The result", "The gradient").replace("the result", "the gradient")


_LOOK = (
    "Something on the way back differs although the values agree: is a part of the computation "
    "detached, copied by hand, or changed in place?"
)


def _padded(gradients: Sequence[Value], count: int) -> tuple[Value, ...]:
    return (*gradients[:count], *[None] * (count - len(gradients)))


def _alike(gradients: Sequence[Value], others: Sequence[Value], count: int) -> bool:
    """Say whether the same gradients are missing, and the others are near each other."""
    for one, other in zip(_padded(gradients, count), _padded(others, count)):
        if one is None or other is None:
            if one is not other:
                return False
        elif not _near(one, other):
            return False
    return True


def _near(one: Value, other: Value) -> bool:
    arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    if not arrays or one.shape != other.shape or one.dtype.kind != "f":
        return False
    return bool(np.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True))


# A name that a student's process gives is quoted only when it can be an attribute's.
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_LONGEST_NAME, _MOST_NAMES = 60, 16
_SLOW = (Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY)


class CheckFailed(Exception):
    """A check saw something wrong; `finding` says what."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True)
class Agrees:
    """The result is the expected one, within the tolerance of what was asked.

    Nothing else has changed: neither the arguments nor a setting of the library. After a backward
    pass, `gradients` are expected, one for each of `gradient_names` (`Returned.gradients` says in
    which order); where None is expected, anything may arrive. `observations` are those that the
    reference gives too. If `may_be_slow`, code that does not come to an end within the time and
    memory of a call is not wrong: nobody has asked for it to be fast.
    """

    expected: Value
    form: ResultSpec
    gradients: tuple[Value, ...] = ()
    gradient_names: tuple[str, ...] = ()
    observations: tuple[str, ...] = ()
    may_be_slow: bool = False


@dataclass(frozen=True)
class Refused:
    """The code raises one of these exceptions; `fact` is what to say when it does not."""

    kinds: tuple[str, ...]
    fact: str
    form: ResultSpec


Expectation = Agrees | Distributed | LinearLayers | Refused


def may_be_slow(expectation: Expectation) -> bool:
    """Say whether code that takes too long for so large a question is not wrong."""
    return isinstance(expectation, Agrees) and expectation.may_be_slow


def judge(
    expectation: Expectation,
    request: Request,
    reply: Reply,
    candidates: Iterable[Candidate],
    describe: bool = True,
) -> Finding | None:
    """Return what is not as expected, or None; without `describe`, in the barest words."""
    if isinstance(expectation, Refused):  # then no attribute is wanted
        return _refused(expectation, reply)
    finding = _missing(request, reply)
    if finding:
        return finding
    reply = with_attributes(request, reply)
    candidates = (
        replace(candidate, reply=with_attributes(request, candidate.reply))
        for candidate in candidates
    )
    match expectation:
        case Agrees():
            return _agrees(expectation, request, reply, candidates, describe)
        case Distributed():
            drawn = judge_distribution(expectation, reply, candidates)
            return drawn or _left_behind(reply, "The numbers are right.")
        case LinearLayers():
            layers = judge_layers(expectation, reply, candidates, request)
            return layers or _left_behind(reply, "The sizes of the layers are right.")


def _agrees(
    expectation: Agrees,
    request: Request,
    reply: Reply,
    candidates: Iterable[Candidate],
    describe: bool,
) -> Finding | None:
    expected, form = expectation.expected, expectation.form
    if expectation.may_be_slow and isinstance(reply, Failed) and reply.outcome in _SLOW:
        return None
    finding = diagnose(reply, expected, form, candidates, request, describe)
    if isinstance(reply, Failed):
        return finding
    if finding:
        return _overwriting(finding, request, reply) if describe else finding
    return (
        _unchanged(request, reply, candidates)
        or judge_precision(reply.value, expectation.expected, expectation.form)
        or judge_observations(reply, expectation.observations)
        or judge_gradients(expectation, request, reply, candidates)
    )


def _left_behind(reply: Reply, right: str) -> Finding | None:
    """Return what a call that makes something new has changed beside that."""
    finding = judge_observations(reply, ()) if isinstance(reply, Returned) else None
    return finding and replace(finding, right=right)


def with_attributes(request: Request, reply: Reply) -> Reply:
    """When attributes were read, they become the result: one value each, None where missing."""
    if isinstance(reply, Failed) or not request.read:
        return reply
    names = [name for name in request.read if name != "*"]
    values = tuple(reply.attributes.get(name) for name in names)
    return replace(reply, value=values[0] if len(names) == 1 else values)


def _missing(request: Request, reply: Reply) -> Finding | None:
    if isinstance(reply, Failed):
        return None
    absent = [name for name in request.read if name not in reply.attributes]
    if not absent:
        return None
    others = ", ".join(f"`{name}`" for name in listed_names(reply.attributes.get("*")))
    return Finding(
        Outcome.WRONG_TYPE,
        f"{NO_ATTRIBUTE} `{absent[0]}`.",
        look="The check reads the attributes that the docstring of the class names."
        + (f" Yours are {others}." if others else ""),
    )


def listed_names(listed: Value) -> tuple[str, ...]:
    """Return the first names of attributes in a list that the student's process made."""
    items = listed if isinstance(listed, tuple) else ()
    names = (item for item in items if isinstance(item, str))
    fit = (name for name in names if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name))
    return tuple(islice(fit, _MOST_NAMES))


def _unchanged(
    request: Request, reply: Returned, candidates: Iterable[Candidate]
) -> Finding | None:
    changed = overwritten(request, reply)
    if changed is None:
        return None
    finding = Finding(
        Outcome.WRONG_VALUES,
        f"It overwrites argument number {changed + 1}, which belongs to the caller.",
        look="`-=`, `out=` and `a[0] = b` change what they are given, and so do methods that end "
        "in `_`. `a = a - b` makes something new.",
    )
    return named_by(
        finding,
        candidates,
        lambda known: overwritten(request, known) == changed,
        binding=False,  # what is done to the arguments says nothing about the result
    )


def _overwriting(finding: Finding, request: Request, reply: Returned) -> Finding:
    """Return the finding on a wrong result, told by a result or argument that is overwritten."""
    if finding.misconception or finding.outcome is not Outcome.WRONG_VALUES:
        return finding
    if OVERWRITTEN in reply.observations:
        return told_by_cause(finding, *_OBSERVATIONS[OVERWRITTEN])
    changed = _unchanged(request, reply, ())
    if changed is None:
        return finding
    fact = f"{changed.fact} The result is not as expected either."
    return told_by_cause(finding, fact, changed.look)


def overwritten(request: Request, reply: Returned) -> int | None:
    """Return the number of the first argument whose arrays are not as they were given.

    None when nothing was sent back, as from a mistake that was written down.
    """
    if not reply.after:
        return None
    before = request.call_arguments
    for number, (given, left) in enumerate(zip_longest(before, reply.after)):
        pairs = zip_longest(arrays_in(given), arrays_in(left))
        if not all(_still(array, other, request.dtype) for array, other in pairs):
            return number
    return None


def _still(given: np.ndarray | None, left: np.ndarray | None, dtype: str) -> bool:
    """Say whether an array is the same after it was cast to `dtype` and used."""
    if given is None or left is None or given.shape != left.shape:
        return False
    if given.dtype == left.dtype and given.tobytes() == left.tobytes():
        return True  # as nearly always, and soon seen
    if not dtype or given.dtype.kind != "f":
        return np.array_equal(given, left, equal_nan=True)
    if dtype in LOWER:  # NumPy has no bfloat16 to cast to
        return bool(agree(left, given, dtype)[np.isfinite(given)].all())
    return np.array_equal(given.astype(dtype), left, equal_nan=True)


def _refused(expectation: Refused, reply: Reply) -> Finding | None:
    if isinstance(reply, Returned):
        return Finding(Outcome.WRONG_VALUES, expectation.fact)
    raised = reply.exception.type_name if reply.exception else ""
    if reply.outcome is Outcome.RAISED and raised in expectation.kinds:
        return None
    if reply.exception and re.search(r"\braise\b", reply.exception.code):
        return _of_another_kind(expectation, reply.exception)
    return failure(reply)


def _of_another_kind(expectation: Refused, exception: ExceptionReport) -> Finding:
    """The finding on code that refuses, as it should, with an exception of its own choice."""
    kinds = " or ".join(f"`{kind}`" for kind in expectation.kinds)
    return Finding(
        Outcome.RAISED,
        f"Line {exception.line} raises `{exception.type_name}`, but {kinds} is expected.",
        right="It refuses these sizes, which is right.",
        look="Callers who want to catch the error look for it by its kind.",
    )
