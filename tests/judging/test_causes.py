"""What makes an answer wrong is told by its cause: in real exercises, by their own checks."""

from __future__ import annotations

import linecache
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import Reference, read_reference
from autograder.judging.asking import ask_examples
from autograder.judging.compare import ResultSpec
from autograder.judging.diagnosis import failure
from autograder.judging.examples import Example, read_examples
from autograder.judging.explanation import meaning
from autograder.judging.inprocess import InProcess
from autograder.judging.layers import LinearLayers, judge_layers
from autograder.values.request import ExceptionReport, Failed, Returned
from autograder.values.verdict import Outcome
from autograder.worker.wire import MESSAGE, Linear
from support.written_answers import WrittenAnswer, answers_in

ROOT = Path(__file__).resolve().parents[2]
NUMPY, TORCH, VIT = "numpy_single_head", "torch_single_head", "vit_multi_head"
MULTI = "torch_multi_head"

# What is said of each answer is a regular expression.
IN_MULTI = r"""
# a seed before each layer: many agree\..* Your code also sets a seed \(`torch.manual_seed`\)
def create_projections(hidden_size, bias=True):
    torch.manual_seed(0)
    Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)
    torch.manual_seed(0)
    return Wqkv, nn.Linear(hidden_size, hidden_size, bias=bias)

# two reshapes: two steps were wrong\. \(1\) `split_heads`: you reshape.* \(2\) `merge_heads`: you
class MultiHeadAttention(Reference):
    def forward(self, x):
        B, S, C = x.shape
        heads = [part.reshape(B, self.num_heads, S, -1) for part in self.Wqkv(x).chunk(3, dim=-1)]
        queries, keys, values = heads
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(C // self.num_heads)
        return self.Wo((scores.softmax(dim=-1) @ values).reshape(B, S, C))
"""
IN_TORCH = r"""
# only after eval(): After `eval\(\)`, the layer gives other numbers
class SingleHeadAttention(Reference):
    def forward(self, x):
        return super().forward(x) * (1 if self.training else 2)

# a dropout: A dropout does that
class SingleHeadAttention(Reference):
    def forward(self, x):
        return nn.functional.dropout(super().forward(x), 0.5, self.training)

# noise: Asked twice with the same inputs and weights
class SingleHeadAttention(Reference):
    def forward(self, x):
        return super().forward(x) + torch.randn(1)

# only with one sequence: With a single entry along axis 0 \(B\), as here
class SingleHeadAttention(Reference):
    def forward(self, x):
        y = super().forward(x)
        return y if len(x) > 1 else self.Wo(y[..., : x.shape[-1] // 4])

# the first call is kept: called a second time with the same inputs, it does not
class SingleHeadAttention(Reference):
    def forward(self, x):
        self.shift = getattr(self, "shift", 0)
        y = super().forward(x) + self.shift
        self.shift = 1
        return y

# a weight of the first call is kept:
# After a first call, other weights are put into your layer. Then it does not
class SingleHeadAttention(Reference):
    def forward(self, x):
        now = self.Wo.weight[0, 0].item()
        self.kept = getattr(self, "kept", now)
        return super().forward(x) + now - self.kept

# a shape of the first call is kept: called again with other inputs, it does not
class SingleHeadAttention(Reference):
    def forward(self, x):
        self.tokens = getattr(self, "tokens", x.shape[1])
        return super().forward(x) + (x.shape[1] != self.tokens)

# the instances share a size:
# Once a second instance of your class is made and called, the first no longer gives
class SingleHeadAttention(Reference):
    def __init__(self, hidden_size, bias=True):
        super().__init__(hidden_size, bias)
        SIZES.append(hidden_size)

    def forward(self, x):
        return super().forward(x) + (x.shape[-1] != SIZES[-1])
SIZES = []

# the input is overwritten: It overwrites argument number 1, .* The result is not as expected either
class SingleHeadAttention(Reference):
    def forward(self, x):
        x.data.add_(1e-2)
        return super().forward(x)

# parts that do not come apart:
# 3 tensors are expected.* for `queries`, `keys` and `values` along axis 2
def project_qkv(x, Wqkv):
    return Wqkv(x).unflatten(-1, (3, -1))

# a layer in place of its result: `nn\.Softmax\(\.\.\.\)` only makes a layer
def compute_attention_weights(scaled_scores):
    return nn.Softmax(dim=-1)

# a hook: Going forward, your layer is right
class SingleHeadAttention(Reference):
    def forward(self, x):
        y = super().forward(x)
        y.register_hook(lambda gradient: 2 * gradient)
        return y

# every second weight detached: Going forward, your layer is right, .* \d+ of \d+ numbers are 0
class SingleHeadAttention(Reference):
    def forward(self, x):
        q, k, v = project_qkv(x, self.Wqkv)
        h = v.shape[-1] // 2
        v = torch.cat([v[..., :h].detach(), v[..., h:]], -1)
        return self.Wo(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v)

# two results after eval():
# In training, .* after `eval\(\)`, it does not. It returns a list or tuple of 2
class SingleHeadAttention(Reference):
    def forward(self, x):
        return super().forward(x) if self.training else (super().forward(x), None)

# long sequences are cut: With the inputs that were asked before, .* Which line depends on a size
class SingleHeadAttention(Reference):
    def forward(self, x):
        return super().forward(torch.where(torch.arange(x.shape[1])[:, None] < 9, x, 0))

# copies of the weights: Does it compute with other weights than its own, such as copies
class SingleHeadAttention(Reference):
    def __init__(self, hidden_size, bias=True):
        super().__init__(hidden_size, bias)
        self.copy = self.Wo.weight.detach().clone()

    def forward(self, x):
        q, k, v = project_qkv(x, self.Wqkv)
        weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
        return nn.functional.linear(weights @ v, self.copy.to(x.dtype), self.Wo.bias)

# a root in half precision:
# The result is (1\.000|0\.999)\d+ times what is expected, .* has too few digits
def scale_scores(attention_scores, head_dim):
    return attention_scores / torch.tensor(head_dim, dtype=torch.float16).sqrt()

# a product in bfloat16: they have the digits of bfloat16
def compute_attention_scores(queries, keys):
    return (queries.bfloat16() @ keys.bfloat16().mT).to(queries.dtype)

# the eight largest shares: only the 8 largest shares of a row are left
def compute_attention_weights(scaled_scores):
    least = scaled_scores.topk(min(8, scaled_scores.shape[-1])).values[..., -1:]
    return scaled_scores.masked_fill(scaled_scores < least, -math.inf).softmax(-1)

# weights that repeat: its \d+ numbers take only 2 values
def create_projections(hidden_size, bias=True):
    d = hidden_size // 4
    layers = nn.Linear(hidden_size, 3 * d, bias), nn.Linear(d, hidden_size, bias)
    nn.init.eye_(layers[0].weight)
    return layers
"""
IN_NUMPY = r"""
# a seed before each draw: the same numbers\. Your code also sets a seed \(`np.random.seed`\)
def initialize_weights(D, rng):
    def drawn():
        np.random.seed(0)
        return np.random.normal(0, 0.02, (D, D))
    return drawn(), drawn(), drawn(), drawn()

# a generator with one seed for each draw:
# the same numbers\..* Are they one array or copies of one, or does a generator begin
def initialize_weights(D, rng):
    def drawn():
        return np.random.default_rng(0).normal(0, 0.02, (D, D))
    return drawn(), drawn(), drawn(), drawn()

# a mask kept from the first call: It is the right result of another call, which had other inputs
kept = {}
right_mask = create_causal_mask
def create_causal_mask(sequence_length):
    return kept.setdefault("mask", right_mask(sequence_length))

# a length written as a number: does your code hold a size as a number
def create_causal_mask(sequence_length):
    return np.tril(np.ones((5, 5)))

# scores cut off before a softmax: scores that lie far from 0 count as equal
def softmax(scores):
    e = np.exp(np.clip(scores, -500, 500))
    return e / e.sum(axis=-1, keepdims=True)

# one maximum, and no division by 0:
# \d rows hold 0 everywhere, and the others are right. In the lost rows, even the larg
def softmax(scores):
    e = np.exp(scores - scores.max())
    return e / (e.sum(axis=-1, keepdims=True) + 1e-9)

# NaN made 0: All rows hold 0 everywhere. Some of these scores are as large as
def softmax(scores):
    e = np.exp(scores)
    return np.nan_to_num(e / e.sum(axis=-1, keepdims=True))

# the largest magnitude: does not shift each row by its own maximum
def softmax(scores):
    e = np.exp(scores - np.abs(scores).max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

# sums of other rows: the one at \(i, j\) by that of row j
def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1)[:, None]

# one matrix transposed: `keys` multiplies .* two axes of argument number 3 have changed places
def project_qkv(x, query_weights, key_weights, value_weights):
    return x @ query_weights, x @ key_weights.T, x @ value_weights

# values made from the keys: `values` is made from `keys`
def project_qkv(x, query_weights, key_weights, value_weights):
    keys = x @ key_weights
    return x @ query_weights, keys, keys @ value_weights

# keys of all sequences: uses the sum of argument number 2 along axis 0 \(B\)
def compute_attention_scores(queries, keys):
    return queries @ keys.sum(axis=0).T

# keys of one sequence: uses the first entry of argument number 2 along axis 0 \(B\)
def compute_attention_scores(queries, keys):
    return queries @ keys[0].T

# cosines: each vector of both arguments is divided by its own length
def compute_attention_scores(queries, keys):
    unit = lambda array: array / np.linalg.norm(array, axis=-1, keepdims=True)
    return unit(queries) @ unit(keys).swapaxes(-2, -1)

# distances: -0.5 times the squared distance
def compute_attention_scores(queries, keys):
    return -0.5 * ((queries[:, :, None] - keys[:, None]) ** 2).sum(axis=-1)

# the key with the largest weight:
# in each row of argument number 1, only the largest number counts, as 1
def apply_attention(attention_weights, values):
    best = attention_weights.argmax(axis=-1)
    return np.take_along_axis(values, best[..., None], axis=1)

# a result that a later call overwrites:
# When your code is called again, the result of the call before changes
def scale_scores(attention_scores, embedding_dimension, kept={}):
    out = kept.setdefault(attention_scores.shape, np.empty_like(attention_scores))
    return np.divide(attention_scores, np.sqrt(embedding_dimension), out=out)

# a half in place of nothing:
# Where 0 is expected, the result holds 0\.5\. Its other numbers are right
def create_causal_mask(sequence_length):
    allowed = np.tril(np.ones((sequence_length, sequence_length)))
    return np.where(allowed == 1, 1.0, 0.5)

# a mask for the first sequence:
# forbidden ones are very negative in entry 0 along axis 0 \(B\) only; elsewhere
def apply_mask(scaled_scores, causal_mask):
    result = scaled_scores.copy()
    result[0] = np.where(causal_mask == 1, result[0], -1e9)
    return result

# scores that are hidden too little: Forbidden ones hold -100, but a very negative number
def apply_mask(scaled_scores, causal_mask):
    return np.where(causal_mask == 1, scaled_scores, -100.0)

# places in place of numbers:
# floating-point numbers are expected\. Which of your operations makes numbers of that
def softmax(scores):
    return scores.argmax(axis=-1)

# fractions that get lost: The fractions get lost somewhere on the way
def scale_scores(attention_scores, embedding_dimension):
    return (attention_scores / np.sqrt(embedding_dimension)).astype(int)

# the largest by Python: Python's own `max` compares one number with another
def softmax(scores):
    exponentials = np.exp(scores - max(scores))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)

# causal stays on: called again with other inputs, it does not
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        self.on = getattr(self, "on", False) or causal
        return super().forward(x, self.on)

# no mask for one sequence:
# With a single entry along axis 0 \(B\), as here, .* with twice as many, it is
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        return super().forward(x, causal and len(x) > 1)

# an axis is lost: ^The shape of the result is \(\d+,\), but
class SingleHeadAttention(Reference):
    def forward(self, x, causal=False):
        return super().forward(x, causal).squeeze()

# two of four arrays are one:
# `query_weights` and `key_weights` are not .*: they hold the same numbers
def initialize_weights(embedding_dimension, rng):
    drawn = [rng.normal(0, 0.02, (embedding_dimension,) * 2) for _ in range(3)]
    return drawn[0], *drawn

# a number as small as 1e-9: nearly 0, so each of them still gets a share
def apply_mask(scaled_scores, causal_mask):
    return np.where(causal_mask == 0, -1e-9, scaled_scores)

# infinity without a minus: Forbidden ones hold plus infinity
def apply_mask(scaled_scores, causal_mask):
    return np.where(causal_mask == 0, np.inf, scaled_scores)

# a product of shapes that do not fit: multiplies (the two arguments )?number by number
def apply_attention(attention_weights, values):
    return attention_weights * values

# a quotient rounded down: the expected one, rounded down to a whole number
def scale_scores(attention_scores, embedding_dimension):
    return attention_scores // np.sqrt(embedding_dimension)
"""
IN_VIT = r"""
# a seed before each layer: the same weights as another one.* Your code also sets a seed
def create_projections(hidden_dim):
    def drawn():
        torch.manual_seed(0)
        return nn.Linear(hidden_dim, hidden_dim)
    return drawn(), drawn(), drawn(), drawn()

# tokens in front of the batch: in another order before a reshape than it needs
def merge_heads(attention_output):
    B, heads, N, width = attention_output.shape
    return attention_output.permute(2, 0, 1, 3).reshape(B, N, heads * width)

# two of four layers are one: the same weights as another one: `q_linear`, `k_linear`
def create_projections(hidden_dim):
    layers = [nn.Linear(hidden_dim, hidden_dim) for _ in range(3)]
    return layers[0], *layers
"""
WRONG = {
    MULTI: answers_in(IN_MULTI),
    TORCH: answers_in(IN_TORCH),
    NUMPY: answers_in(IN_NUMPY),
    VIT: answers_in(IN_VIT),
}
# The worked examples say something else of these, since they ask less.
ONLY_GRADED = {
    TORCH: (
        *("a dropout", "noise", "a hook"),
        *("every second weight detached", "copies of the weights"),
    ),
    MULTI: ("two reshapes",),
    NUMPY: ("a mask kept from the first call", "a length written as a number"),
}
AT_HOME = [
    (exercise, case)
    for exercise, answers in WRONG.items()
    for case in answers
    if case not in ONLY_GRADED.get(exercise, ())
]


def written(reference: Reference, answer: WrittenAnswer) -> InProcess:
    """The reference with the answer in the place of its step, whose lines can be quoted."""
    file = f"<{answer.name}>"
    linecache.cache[file] = (len(answer.code), None, answer.code.splitlines(True), file)
    return InProcess(answer.beside(vars(reference.module), file), reference.exercise.library)


@cache
def reference_of(exercise: str) -> Reference:
    return read_reference(ROOT / "solutions" / exercise)


@cache
def examples_of(exercise: str) -> tuple[Example, ...]:
    return read_examples(ROOT / "assignments" / exercise)


@pytest.mark.parametrize(("exercise", "case"), AT_HOME)
def test_the_cause_is_told_by_the_worked_examples(exercise: str, case: str) -> None:
    reference, answer = reference_of(exercise), WRONG[exercise][case]
    step = reference.exercise.step(answer.step)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        code = written(reference, answer)
        finding = ask_examples(step, examples_of(exercise), code).verdict.finding
    assert finding and re.search(answer.says, finding.message), finding


@pytest.mark.parametrize(
    ("exercise", "cases"),
    [
        *ONLY_GRADED.items(),
        *(pytest.param(each, tuple(WRONG[each]), marks=pytest.mark.slow) for each in WRONG),
    ],
)
def test_the_cause_is_told_in_grading(exercise: str, cases: tuple[str, ...]) -> None:
    reference, told = reference_of(exercise), dict[str, str]()

    def judge(plugin: GradingPlugin) -> None:
        for case in cases:
            answer = WRONG[exercise][case]
            steps = plugin.judged_by(written(reference, answer)).steps
            (finding,) = (step.finding for step in steps if step.name == answer.step)
            told[case] = finding.message if finding else ""

    with np.errstate(all="ignore"):
        run_graders(GradingPlugin(reference, judge))
    for case in cases:
        assert re.search(WRONG[exercise][case].says, told[case]), (case, told[case])


def test_a_layer_of_another_precision_is_told_apart_from_a_new_tensor() -> None:
    message = "mat1 and mat2 must have the same dtype, but got Float and Half"
    called = ExceptionReport("RuntimeError", message, 3, "parts = split(self.Wqkv(x), 4)")
    assert "several instances share these weights" in meaning(called)
    made = ExceptionReport("RuntimeError", message, 3, "return weights @ torch.zeros(3, 4)")
    assert "Two tensors of different precision meet" in meaning(made)


def test_a_message_that_was_cut_ends_with_a_whole_word() -> None:
    message = ("a variable was modified by an inplace operation, " * 9)[:MESSAGE]
    report = ExceptionReport("RuntimeError", message, 3, "y += x")
    fact = failure(Failed(Outcome.RAISED, exception=report)).fact
    assert not message.endswith(" ") and re.search(r" (variable|was|by|an|a) …`\.$", fact), fact


def test_layers_that_share_weights_are_the_cause_of_what_a_layer_gives() -> None:
    """So that nothing is said in its place about the way through `forward`."""
    drawn = np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32)
    wanted = tuple(Linear(weight, None) for weight in drawn)
    form = ResultSpec(("q_linear", "k_linear"), (None, None))
    finding = judge_layers(LinearLayers(wanted, form), Returned((wanted[0], wanted[0])), ())
    assert finding and finding.cause


def test_two_numbers_of_a_small_layer_that_are_equal_by_chance_are_no_mistake() -> None:
    """With 6 numbers that happens in 1 of 500,000 draws, and a class of right answers shares it."""
    other = Linear(np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32), None)
    right = Linear(np.array([[-0.961], [0.503], [0.409], [-0.062], [0.961], [0.615]], "f4"), None)
    wrong = Linear(np.array([[0.5], [-0.5], [0.5], [0.1], [0.5], [0.1]], "f4"), None)
    wanted = LinearLayers((other, right), ResultSpec(("Wqkv", "Wo"), (None, None)))
    assert judge_layers(wanted, Returned((other, right)), ()) is None
    finding = judge_layers(wanted, Returned((other, wrong)), ())
    assert finding and "its 6 numbers take only 2 values" in finding.fact


def test_whole_numbers_that_are_too_large_for_a_browser_alone_are_told_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = ExceptionReport("OverflowError", "Python int too large to convert to C long", 1, "x")
    assert meaning(error) == ""
    monkeypatch.setattr("sys.maxsize", 2**31 - 1)
    assert "have 32 bits" in meaning(error) and "in a terminal they have 64" in meaning(error)


def test_that_a_browser_has_no_threads_is_told_there(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ExceptionReport("RuntimeError", "can't start new thread", 1, "t.start()")
    assert meaning(error) == ""
    monkeypatch.setattr("sys.maxsize", 2**31 - 1)
    assert meaning(error) == "A browser's Python has no threads. A terminal's has."
