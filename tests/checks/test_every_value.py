"""Every kind of value that Python can return, through every way in which a check looks at it.

What holds the right numbers is right, in whatever it comes. Whatever else comes is a finding about
the student's value: no exception of ours, no fault of ours, no full marks.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.checks.marks import Draw
from autograder.checks.reference import Reference, read_reference
from autograder.checks.student import Conversation, Student
from autograder.grading.batch import remarks_on
from autograder.judging.compare import ResultSpec, compare
from autograder.judging.expectation import CheckFailed
from autograder.judging.inprocess import InProcess
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.submission.reading import Submission
from autograder.values.exercise import Limits
from autograder.values.request import Request, Respondent, Returned
from autograder.values.verdict import Finding, Outcome
from autograder.worker import wire
from autograder.worker.wire import round_tripped

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 2.0  # for one value in one question; the measured worst is a tenth of it
MOST_MEMORY = 3 * wire.MAX_PAYLOAD

# Student code: `ANY` maps a name to a function that makes the value. A worker runs it too.
ANY = """
import collections, datetime, decimal, fractions, itertools, math
import numpy as np

class Liar:
    def __len__(self): raise ZeroDivisionError
    def __iter__(self): raise ZeroDivisionError
    def __eq__(self, other): raise ZeroDivisionError
    def __array__(self, *given, **named): raise ZeroDivisionError
    def __getattr__(self, name): raise ZeroDivisionError
    def __repr__(self): raise ZeroDivisionError
    __hash__ = None

class Disguised:
    @property
    def __class__(self): return np.ndarray
    shape, dtype, ndim = (2, 5, 8), np.dtype(float), 3
    def __array__(self, *given, **named): return np.zeros((2, 5, 8))

class Unreadable:
    @property
    def __class__(self): raise ZeroDivisionError

class Named(type):
    @property
    def __name__(self): return 7

class Misnamed(metaclass=Named): pass
class Endless:
    def __iter__(self): return self
    def __next__(self): return 1.0
class Broken(Endless):
    def __next__(self): raise ZeroDivisionError
class Long(tuple):
    def __len__(self): return 1 << 60
    def __iter__(self): return iter(int, 1)
class Odd(np.ndarray):
    shape = property(lambda self: 7)
    dtype = property(lambda self: "none")
Point = collections.namedtuple("Point", "x y")

def deep(count, start=1.0):
    for _ in range(count): start = [start]
    return start
def recursive():
    own = []; own.append(own); return own
def multiplying():
    own = [1.0] * 64
    for _ in range(3): own = [own] * 64
    return own
def view(*shape, dtype=float): return np.broadcast_to(np.zeros((), dtype), shape)
def hidden(*shape):
    array = np.ma.array(np.zeros(shape)); array[0] = np.ma.masked; return array
def generator(count):
    for number in range(count): yield np.full((2, 5, 8), float(number))

ANY = {
    "None": lambda: None, "Ellipsis": lambda: ..., "NotImplemented": lambda: NotImplemented,
    "True": lambda: True, "an int": lambda: 3, "a huge int": lambda: 10 ** 400,
    "a float": lambda: 2.5, "nan": lambda: math.nan, "infinity": lambda: math.inf,
    "complex": lambda: 1j, "Decimal": lambda: decimal.Decimal("1.5"),
    "Fraction": lambda: fractions.Fraction(1, 3), "text": lambda: "softmax",
    "long text": lambda: "x" * 100_000, "surrogate": lambda: "\\ud800", "bytes": lambda: b"12",
    "memoryview": lambda: memoryview(b"12"), "a range": lambda: range(3),
    "a long range": lambda: range(1 << 60), "dict": lambda: {"queries": 1}, "set": lambda: {1, 2},
    "values of a dict": lambda: {1: 1, 2: 2, 3: 3}.values(), "no items": lambda: (),
    "nested": lambda: ((), ((1,), [2]), []), "70 long": lambda: [1.0] * 70,
    "6 deep": lambda: deep(6), "100,000 deep": lambda: deep(100_000), "recursive": recursive,
    "multiplying": multiplying, "a class": lambda: dict, "an odd class": lambda: Misnamed,
    "of an odd class": lambda: Misnamed(), "a module": lambda: math, "lambda": lambda: len,
    "a function": lambda: deep, "an exception": lambda: NotImplementedError("softmax"),
    "a date": lambda: datetime.date(2020, 1, 1), "a liar": lambda: Liar(),
    "disguised": lambda: Disguised(), "unreadable": lambda: Unreadable(),
    "liars": lambda: [Liar(), Disguised(), Unreadable()], "endless": lambda: Endless(),
    "counting": lambda: itertools.count(), "broken": lambda: Broken(), "a long tuple": lambda:
    Long((1, 2, 3)), "a named tuple": lambda: Point(1.0, 2.0), "a generator": lambda: generator(3),
    "a long generator": lambda: generator(1 << 40), "a map": lambda: map(np.zeros, (1, 2, 3)),
    "no axes": lambda: np.array(1.0), "a number of NumPy": lambda: np.float64(1),
    "int64": lambda: np.int64(4), "empty": lambda: np.zeros(0), "long and empty": lambda:
    np.zeros((0, 1 << 40)), "9 axes": lambda: np.zeros((1,) * 9), "float16": lambda:
    np.zeros((2, 5, 8), "e"), "booleans": lambda: np.zeros((2, 5, 5), bool), "uint8": lambda:
    np.zeros((5, 5), "u1"), "uint64": lambda: np.full((5, 5), (1 << 64) - 1, "u8"), "complex128":
    lambda: np.zeros((2, 5, 8), complex), "longdouble": lambda: np.zeros((2, 5, 8), "g"),
    "objects": lambda: np.array([None] * 3), "strings": lambda: np.array(["a"] * 3), "structured":
    lambda: np.zeros(3, [("a", "f8"), ("b", "i4")]), "dates": lambda: np.zeros(3, "M8[s]"),
    "NaN": lambda: np.full((2, 5, 5), np.nan), "-inf": lambda: np.full((2, 5, 5), -np.inf),
    "1e308": lambda: np.full((2, 5, 5), 1e308), "big-endian": lambda: np.zeros((2, 5, 8), ">f4"),
    "matrix": lambda: np.matrix(np.zeros((5, 5))), "hidden": lambda: hidden(2, 5, 8),
    "masked": lambda: np.ma.masked, "records": lambda: np.rec.array([(1, 2.0)]), "odd": lambda:
    np.zeros((2, 5, 8)).view(Odd), "a terabyte": lambda: view(1 << 20, 1 << 17), "an exabyte":
    lambda: view(1 << 30, 1 << 29), "terabytes": lambda: [view(1 << 20, 1 << 17)] * 3, "65 MB":
    lambda: view(65, 1 << 20, dtype="u1"), "30 MB each": lambda: [view(30, 1 << 20, dtype="?")] * 9,
    "hidden terabyte": lambda: np.ma.array(view(1 << 20, 1 << 17)), "a generator of NumPy":
    lambda: np.random.default_rng(1), "a flat array": lambda: np.zeros((9, 9)).flat,
}
"""
TORCH = """
import torch
from torch import nn

class Part(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *given, **named): raise ZeroDivisionError
def layer(weight, bias=None):
    made = nn.Linear(24, 72)
    del made.weight, made.bias
    made.weight, made.bias = weight, bias
    return made
def wide(): return torch.zeros(1).expand(1 << 20, 1 << 17)

ANY |= {
    "a tensor": lambda: torch.zeros(2, 5, 8), "a parameter": lambda: nn.Parameter(torch.ones(3)),
    "meta": lambda: torch.zeros(2, 5, device="meta"), "sparse": lambda: torch.eye(3).to_sparse(),
    "compressed": lambda: torch.zeros(2).to_mkldnn(), "float8": lambda:
    torch.zeros(3).to(torch.float8_e4m3fn), "conjugate": lambda: torch.zeros(3, 2,
    dtype=torch.cfloat).conj(), "negative": lambda: torch.zeros(3, dtype=torch.cfloat).conj().imag,
    "half": lambda: torch.zeros(3).bfloat16(), "a subclass": lambda:
    torch.zeros(3).as_subclass(Part), "a wide tensor": wide, "a wide half": lambda:
    torch.zeros(1).bfloat16().expand(1 << 20, 1 << 17), "a size": lambda: torch.Size([1, 2]),
    "a device": lambda: torch.device("cpu"), "a dtype": lambda: torch.float32,
    "maximum": lambda: torch.zeros(3, 2).max(dim=-1), "a wide layer": lambda: layer(wide()),
    "a layer of text": lambda: layer("weight"), "a layer of 3 axes": lambda:
    layer(nn.Parameter(torch.zeros(2, 3, 4))), "a layer without weight": lambda: layer(None),
    "a wide bias": lambda: layer(torch.zeros(72, 24), wide()), "a layer in a row": lambda:
    nn.Sequential(nn.Linear(24, 72)), "Conv1d": lambda: nn.Conv1d(24, 72, 1), "lazy": lambda:
    nn.LazyLinear(5), "lazy and wide": lambda: nn.LazyLinear(1 << 50), "waiting": lambda:
    nn.UninitializedParameter(), "modules": lambda: nn.ModuleList([nn.Identity()] * 2), "by name":
    lambda: nn.ModuleDict({"Wqkv": nn.Linear(1, 1)}), "the class": lambda: nn.Linear,
    "parameters": lambda: nn.ParameterList([torch.zeros(2)] * 3),
    "a layer of its own": lambda: layer(torch.zeros(72, 24).as_subclass(Part)),
}
"""
Question = Callable[[Student, Draw], None]


@cache
def reference(name: str) -> Reference:
    return read_reference(ROOT / "solutions" / name)


def made(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def asked(step: str, respondent: Respondent, exercise: str) -> tuple[Student, Draw]:
    sizes = {"B": 2, "S": 5, "D": 8, "C": 24, "heads": 4}
    naming = not step[0].isupper()  # in a class, thousands of pairs of mistakes would be tried
    conversation = Conversation(respondent, eager=True)
    draw = Draw(sizes, 7, step, "float32")
    return Student(step, reference(exercise), conversation, lambda: naming), draw


# Every way to look at what came, as graders do.
NUMPY: dict[str, tuple[str, Question]] = {
    "values": ("softmax", lambda student, draw: student(draw("B S S")).agrees()),
    "numbers": ("create_causal_mask", lambda student, draw: student(5).agrees()),
    "floor": (
        "apply_mask",
        lambda student, draw: student(draw("B S S"), np.tri(5)).agrees(),
    ),
    "three": (
        "project_qkv",
        lambda student, draw: student(draw("B S D"), *(draw("D D") for _ in range(3))).agrees(),
    ),
    "draws": (
        "initialize_weights",
        lambda student, draw: student(64, draw.seed()).is_distributed(mean=0.0, deviation=0.02),
    ),
    "two draws": (
        "initialize_weights",
        lambda student, draw: student(4, draw.seed()).differs_from(student(4, draw.seed()), "No."),
    ),
    "refusal": (
        "softmax",
        lambda student, draw: student(draw("B S S")).is_refused("It goes on.", "ValueError"),
    ),
    "attributes": (
        "SingleHeadAttention",
        lambda student, draw: (
            student.constructed(64, draw.seed())
            .attributes("query_weights", "key_weights")
            .is_distributed(mean=0.0, deviation=0.02)
        ),
    ),
    "one attribute": (
        "SingleHeadAttention",
        lambda student, draw: (
            student.constructed(8, draw.seed()).attributes("query_weights").agrees()
        ),
    ),
    "a method": (
        "SingleHeadAttention",
        lambda student, draw: (
            student.constructed(8, draw.seed()).call("forward", draw("B S D")).agrees()
        ),
    ),
}
OF_TORCH: dict[str, tuple[str, Question]] = {
    "three": (
        "split_heads",
        lambda student, draw: student(draw.shaped(2, 5, 24), 4).agrees(),
    ),
    "layers": ("create_projections", lambda student, draw: student(24).has_layers()),
    "layers of a class": (
        "MultiHeadAttention",
        lambda student, draw: student.constructed(24, 4).attributes("Wqkv", "Wo").has_layers(),
    ),
    "a weight put in": (
        "MultiHeadAttention",
        lambda student, draw: (
            student.constructed(24, 4, **{"Wqkv.weight": draw.shaped(72, 24)})
            .call("forward", draw.shaped(2, 5, 24))
            .agrees()
        ),
    ),
    "gradients": (
        "MultiHeadAttention",
        lambda student, draw: (
            student.constructed(24, 4)
            .gradients(
                ("Wqkv.weight", "Wo.bias"),
                "forward",
                draw.shaped(2, 5, 24),
                backward=draw.shaped(2, 5, 24),
            )
            .agrees()
        ),
    ),
}


def returning(make: Callable[[], Any]) -> dict[str, Any]:
    """A submission in which every step, and every part of the class, is the value."""

    class Layer:
        def __init__(self, *given: Any, **named: Any) -> None:
            self.query_weights = self.key_weights = self.Wqkv = self.Wo = make()

        def forward(self, *given: Any, **named: Any) -> Any:
            return make()

    def step(*given: Any, **named: Any) -> Any:
        return make()

    steps = dict.fromkeys((step for step, _ in (*NUMPY.values(), *OF_TORCH.values())), step)
    return {**steps, "SingleHeadAttention": Layer, "MultiHeadAttention": Layer, "softmax": step}


def finding_of(question: Question, student: Student, draw: Draw) -> Finding | None:
    """What the check says, or None where it passes; whatever else it raises is our fault."""
    try:
        with np.errstate(all="ignore"):  # as graders run
            question(student, draw)
    except CheckFailed as failed:
        return failed.finding
    return None


def every_value(library: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield from made(ANY + (TORCH if library == "torch" else ""))["ANY"].items()


WAYS = [*NUMPY, *(f"torch: {way}" for way in OF_TORCH)]
SHARE = 5  # each way is tried with every fifth value at once, no two that follow with the same


@pytest.mark.filterwarnings("ignore")  # as graders run: a warning is no fault
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_value_of_any_kind_is_a_finding_and_never_a_fault_of_ours(way: str, every: bool) -> None:
    part = slice(None) if every else slice(WAYS.index(way) % SHARE, None, SHARE)
    torch = way.startswith("torch: ")
    exercise = "torch_multi_head" if torch else "numpy_single_head"
    library = "torch" if torch else "numpy"
    step, question = (OF_TORCH if torch else NUMPY)[way.removeprefix("torch: ")]
    for name, make in [*every_value(library)][part]:
        begun = time.process_time()
        student, draw = asked(step, InProcess(returning(make), library), exercise)
        finding = finding_of(question, student, draw)
        assert finding is not None, f"{name} passes"
        assert finding.outcome is not Outcome.INFRASTRUCTURE, name
        unwritten = finding.outcome is Outcome.NOT_WRITTEN
        assert not unwritten, f"{name}: {finding.message}"
        assert len(finding.message) < 700 and finding.message.isprintable(), name
        assert time.process_time() - begun < MOST_SECONDS, name


def test_a_view_of_a_terabyte_is_never_written_out() -> None:
    wide = [make for name, make in every_value("torch") if "wide" in name or "byte" in name]
    for library in ("numpy", "torch"):
        for make in wide:
            value = make()
            tracemalloc.start()
            round_tripped(value, library)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < MOST_MEMORY


SUBMISSIONS = {
    "numpy": ("numpy_single_head", "softmax", "scores", (2, 5, 5), ()),
    "torch": ("torch_multi_head", "split_heads", "projected, heads", (2, 5, 24), (4,)),
}


@pytest.mark.parametrize("library", ["numpy", pytest.param("torch", marks=pytest.mark.slow)])
def test_in_the_sandbox_a_value_of_any_kind_is_a_finding_too(library: str) -> None:
    exercise, step, given, shape, rest = SUBMISSIONS[library]
    code = ANY + (TORCH if library == "torch" else "")
    first = given.split(",")[0]
    called = f"\ndef {step}({given}): return list(ANY.values())[int({first}[0, 0, 0])]()\n"
    limits = Limits(seconds_per_call=10.0, seconds_per_submission=120.0, memory_megabytes=1024)
    names = [name for name, _ in every_value(library)]

    def numbered(number: int, student: Student, draw: Draw) -> None:
        """Ask for the value of this number; the input tells it to the code."""
        array = draw.shaped(*shape)
        array[0, 0, 0] = number
        student(array, *rest).agrees()

    with (
        Zygote(library, limits) as zygote,
        SandboxedStudent(zygote, (code + called,), seed=1) as own,
    ):
        for number, name in enumerate(names):
            student, draw = asked(step, own, exercise)
            finding = finding_of(partial(numbered, number), student, draw)
            assert finding is not None, f"{name} passes"
            assert finding.outcome in (
                Outcome.WRONG_TYPE,
                Outcome.WRONG_SHAPE,
                Outcome.WRONG_VALUES,
                Outcome.RAISED,
                Outcome.PROTOCOL,
            ), f"{name}: {finding.message}"


# --- right answers, in whatever they come --------------------------------------------------------

WHOLE = ResultSpec(("size",), (None,))
THREE = ResultSpec(("queries", "keys", "values"), ("B S D",) * 3)


WHOLE_NUMBERS = (756, np.int64(756), np.array(756), np.prod([4, 189]))
FLOATS = (2.5, np.float32(2.5), np.array(2.5))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        *((given, expected) for given in WHOLE_NUMBERS for expected in (756, 756.0)),
        *((given, expected) for given in FLOATS for expected in (2.5, np.array(2.5))),
    ],
)
def test_a_number_is_the_same_number_without_axes(given: Any, expected: Any) -> None:
    due = round_tripped(expected, "numpy") if isinstance(expected, float) else expected
    assert compare(round_tripped(given, "numpy"), due, WHOLE) is None
    assert compare(round_tripped(given, "numpy"), expected + 1, WHOLE)


@pytest.mark.parametrize("given", [True, 756.0, "756", np.array([756]), None])
def test_what_is_no_whole_number_is_not_taken_for_one(given: Any) -> None:
    assert compare(round_tripped(given, "numpy"), 756, WHOLE)
    assert compare(round_tripped(given, "numpy"), 1, WHOLE)


ARRAYS = tuple(np.random.default_rng(number).standard_normal((2, 4, 5)) for number in range(3))
UNPACKS: dict[str, Callable[[], Any]] = {
    "list": lambda: list(ARRAYS),
    "named tuple": lambda: made(ANY)["collections"].namedtuple("Three", "q k v")(*ARRAYS),
    "generator": lambda: (array for array in ARRAYS),
    "map": lambda: map(np.copy, ARRAYS),
    "deque": lambda: made(ANY)["collections"].deque(ARRAYS),
    "values of a dict": lambda: dict(enumerate(ARRAYS)).values(),
    "stacked": lambda: np.stack(ARRAYS),
    "Fortran order": lambda: [np.asfortranarray(array) for array in ARRAYS],
    "big-endian": lambda: [array.astype(">f8") for array in ARRAYS],
    "negative strides": lambda: [array[::-1].copy()[::-1] for array in ARRAYS],
    "extended precision": lambda: [array.astype(np.longdouble) for array in ARRAYS],
    "nothing hidden": lambda: [np.ma.array(array) for array in ARRAYS],
}


@pytest.mark.parametrize("form", UNPACKS)
def test_what_unpacks_to_the_right_arrays_is_right(form: str) -> None:
    assert compare(round_tripped(UNPACKS[form](), "numpy"), ARRAYS, THREE) is None


def test_a_stack_of_the_wrong_arrays_is_told_by_the_array_that_is_wrong() -> None:
    finding = compare(np.stack(ARRAYS[::-1]), ARRAYS, THREE)
    assert finding and "`queries`" in finding.right
    finding = compare(np.stack(ARRAYS[:2]), ARRAYS, THREE)
    assert finding and finding.outcome is Outcome.WRONG_TYPE and "3 arrays" in finding.fact


def test_what_a_masked_array_hides_does_not_count() -> None:
    right = ARRAYS[0]
    finding = compare(
        round_tripped(np.ma.array(right, mask=right > 0), "numpy"),
        right,
        ResultSpec(("result",), ("B S D",)),
    )
    assert finding and "a masked array that hides some of its numbers" in finding.fact


def test_tensors_of_every_make_cross_with_their_numbers() -> None:
    import torch

    right = torch.randn(3, 2, generator=torch.Generator().manual_seed(1))
    conjugate = torch.complex(right, -right).conj()
    for same in (
        torch.nn.Parameter(right),
        right.clone().requires_grad_() * 1,
        right.t().contiguous().t(),
        conjugate.imag,
        right.as_subclass(made(ANY + TORCH)["Part"]),
    ):
        np.testing.assert_array_equal(round_tripped(same, "torch"), right.numpy())


SLOTS = """
class Layer:
    __slots__ = ("weights", "_hidden")
    def __init__(self): self.weights = 1
class Deeper(Layer):
    __slots__ = "more"
"""
FROZEN = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Layer:
    weights: int = 1
"""


@pytest.mark.parametrize(("code", "listed"), [(SLOTS, ("weights",)), (FROZEN, ("weights",))])
def test_attributes_without_a_dict_or_frozen_are_set_and_read(
    code: str, listed: tuple[str, ...]
) -> None:
    request = Request("Layer", method="", attributes={"weights": 7}, read=("weights", "*"))
    reply = InProcess(made(code)).ask(request)
    assert isinstance(reply, Returned)
    assert reply.attributes == {"weights": 7, "*": listed}


def test_the_slots_of_every_base_are_listed() -> None:
    reply = InProcess(made(SLOTS)).ask(Request("Deeper", method="", read=("*",)))
    assert isinstance(reply, Returned) and reply.attributes["*"] == ("more", "weights")


MODULES = """
import torch
from torch import nn
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.row = nn.ModuleList([nn.Linear(2, 3)])
        self.named = nn.ModuleDict({"out": nn.LazyLinear(2)})
    def forward(self, x): return self.named.out(self.row[0](x))
"""


def test_layers_are_reached_by_index_and_by_name_and_a_lazy_one_takes_its_weight() -> None:
    draw = Draw({}, 1, "modules", "float32")
    weights = {
        "row.0.weight": draw.shaped(3, 2),
        "row.0.bias": draw.shaped(3),
        "named.out.weight": draw.shaped(2, 3),
        "named.out.bias": draw.shaped(2),
    }
    x = draw.shaped(4, 2)
    reply = InProcess(made(MODULES), "torch").ask(
        Request(
            "Layer", method="forward", method_arguments=(x,), attributes=weights, read=("row.0",)
        )
    )
    assert isinstance(reply, Returned)
    first, second = (
        (weights[f"{name}.weight"].T, weights[f"{name}.bias"]) for name in ("row.0", "named.out")
    )
    expected = (x @ first[0] + first[1]) @ second[0] + second[1]
    np.testing.assert_allclose(reply.value, expected, rtol=1e-5)
    assert isinstance(reply.attributes["row.0"], wire.Linear)


def test_nothing_is_put_into_a_class_that_everybody_shares() -> None:
    from torch import nn

    code = "from torch import nn\nclass Layer:\n    def __init__(self): self.Wqkv = nn.Linear"
    request = Request("Layer", method="", attributes={"Wqkv.weight": np.ones((3, 2))})
    reply = InProcess(made(code), "torch").ask(request)
    assert not isinstance(reply, Returned) and reply.outcome is Outcome.RAISED
    assert not hasattr(nn.Linear, "weight")


def layers_finding(code: str) -> Finding | None:
    names = made(
        f"from torch import nn\nimport torch\ndef create_projections(C):\n    return {code}"
    )
    student, draw = asked("create_projections", InProcess(names, "torch"), "torch_multi_head")
    return finding_of(lambda student, draw: student(24).has_layers(), student, draw)


@pytest.mark.parametrize(
    "code",
    [
        "nn.ModuleList([nn.Linear(C, 3 * C), nn.Linear(C, C)])",
        "(nn.Linear(C, times * C) for times in (3, 1))",
        "nn.LazyLinear(3 * C), nn.LazyLinear(C)",
        "type('Own', (nn.Linear,), {})(C, 3 * C), nn.Linear(C, C)",
    ],
)
def test_layers_of_every_make_are_right(code: str) -> None:
    assert layers_finding(code) is None


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("nn.Parameter(torch.ones(3 * C, C))", "a tensor or parameter of shape (72, 24), but a li"),
        ("None", "`Wqkv` is None, but a linear layer"),
        ("len", "`Wqkv` is a function, but a linear layer"),
        ("nn.Linear", "`Wqkv` is the class Linear itself, but a linear layer"),
        ("nn.Sequential(nn.Linear(C, 3 * C))", "`Wqkv` is an object of type Sequential, but"),
        ("nn.Conv1d(C, 3 * C, 1)", "`Wqkv` is an object of type Conv1d, but"),
        ("'Linear'", "`Wqkv` is a single value of type str, but"),
        ("nn.LazyLinear(C)", "`Wqkv` gives 24 numbers, but it is expected to map 24 to 72."),
        ("nn.Linear(0, 3 * C)", "`Wqkv` is a linear layer of 0 inputs, but it is expected to map"),
        (
            "nn.LazyLinear(3 * C, bias=False)",
            "one is expected. The check calls `create_projections(24)`.",
        ),
    ],
)
def test_what_is_no_such_layer_is_named_for_what_it_is(code: str, words: str) -> None:
    finding = layers_finding(f"({code}), nn.Linear(C, C)")
    assert finding and words in finding.message


@pytest.mark.parametrize("mask", [np.tri(4), np.tri(4) > 0])
def test_a_mask_of_numbers_or_of_booleans_may_be_inverted(mask: np.ndarray) -> None:
    code = "import numpy as np\ndef f(scores, mask): return np.where(~mask, -1e9, scores)"
    reply = InProcess(made(code)).ask(Request("f", (ARRAYS[0][:, :, :4], mask)))
    assert isinstance(reply, Returned)
    np.testing.assert_array_equal(reply.value, np.where(mask, ARRAYS[0][:, :, :4], -1e9))


def test_what_is_no_mask_is_not_inverted() -> None:
    reply = InProcess(made("def f(scores): return ~scores")).ask(Request("f", (ARRAYS[0],)))
    assert not isinstance(reply, Returned) and reply.outcome is Outcome.RAISED


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import numpy as np\nm = np.matrix(1)", "`np.matrix`"),
        ("from numpy import matrix\nm = matrix(1)", "`np.matrix`"),
        ("import numpy as np\nm = np.\N{MATHEMATICAL BOLD SMALL M}atrix(1)", "`np.matrix`"),
        ("import numpy as np\nm = np.ma.array(1)  # \N{SQUARE ROOT}", "masked array"),
        ("import torch\nm = torch.ones(1)", "PyTorch"),
        ("matrix = ma = 1\nfor matrix in (): pass", ""),
    ],
)
def test_what_is_right_and_still_a_trap_gets_a_remark(code: str, words: str) -> None:
    exercise = reference("numpy_single_head").exercise
    remarks = remarks_on(Submission("x", exercise.name, (code,), Path("x.py")), exercise)
    assert len(remarks) == bool(words) and words in "".join(remarks)
