"""What makes an answer wrong is told by its cause: in real exercises, by their own checks."""

from __future__ import annotations

import linecache
import re
import warnings
from dataclasses import dataclass
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

ROOT = Path(__file__).resolve().parents[2]
NUMPY, TORCH, VIT = "numpy_single_head", "torch_single_head", "vit_multi_head"
MULTI = "torch_multi_head"


@dataclass(frozen=True)
class Slip:
    """A mistake added below right code: the step, and what is said of it (a regular expression)."""

    step: str
    says: str
    code: str


def layer(line: str, class_name: str = "SingleHeadAttention") -> str:
    """A layer whose forward ends in `line`, where `right` stands for the right one."""
    return f"""
class Mine({class_name}):
    def forward(self, x):
        right = super().forward
        {line}

{class_name} = Mine
"""


def causal_layer(line: str) -> str:
    """The layer in NumPy, whose forward ends in `line`."""
    return layer(line).replace("self, x", "self, x, causal=False")


LAYER = "SingleHeadAttention"
# In one piece, as it is often written.
TWO_RESHAPES = """
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        B, S, C = x.shape
        heads = [part.reshape(B, self.num_heads, S, -1) for part in self.Wqkv(x).chunk(3, dim=-1)]
        queries, keys, values = heads
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(C // self.num_heads)
        return self.Wo((scores.softmax(dim=-1) @ values).reshape(B, S, C))
"""
WRONG = {
    MULTI: {
        "a seed before each layer": Slip(
            "create_projections",
            r"many agree\..* Your code also sets a seed \(`torch.manual_seed`\)",
            "def create_projections(hidden_size, bias=True):\n"
            "    torch.manual_seed(0)\n"
            "    Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)\n"
            "    torch.manual_seed(0)\n"
            "    return Wqkv, nn.Linear(hidden_size, hidden_size, bias=bias)\n",
        ),
        "two reshapes": Slip(
            "MultiHeadAttention",
            r"two steps were wrong\. \(1\) `split_heads`: you reshape.* \(2\) `merge_heads`: you",
            TWO_RESHAPES,
        ),
    },
    TORCH: {
        "only after eval()": Slip(
            LAYER,
            r"After `eval\(\)`, the layer gives other numbers",
            layer("return right(x) * (1 if self.training else 2)"),
        ),
        "a dropout": Slip(
            LAYER,
            "A dropout does that",
            layer("return nn.functional.dropout(right(x), 0.5, self.training)"),
        ),
        "noise": Slip(
            LAYER,
            "Asked twice with the same inputs and weights",
            layer("return right(x) + torch.randn(1)"),
        ),
        "only with one sequence": Slip(
            LAYER,
            r"With a single entry along axis 0 \(B\), as here",
            layer("return right(x) if len(x) > 1 else self.Wo(right(x)[..., : x.shape[-1] // 4])"),
        ),
        "the first call is kept": Slip(
            LAYER,
            "called a second time with the same inputs, it does not",
            layer(
                "self.shift = getattr(self, 'shift', 0); y = right(x) + self.shift; "
                "self.shift = 1; return y"
            ),
        ),
        "a weight of the first call is kept": Slip(
            LAYER,
            "After a first call, other weights are put into your layer. Then it does not",
            layer(
                "now = self.Wo.weight[0, 0].item(); self.kept = getattr(self, 'kept', now); "
                "return right(x) + now - self.kept"
            ),
        ),
        "a shape of the first call is kept": Slip(
            LAYER,
            "called again with other inputs, it does not",
            layer(
                "self.tokens = getattr(self, 'tokens', x.shape[1]); "
                "return right(x) + (x.shape[1] != self.tokens)"
            ),
        ),
        "the instances share a size": Slip(
            LAYER,
            "Once a second instance of your class is made and called, the first no longer gives",
            layer("return right(x) + (x.shape[-1] != SIZES[-1])").replace(
                "    def forward",
                "    def __init__(self, hidden_size, bias=True):\n"
                "        super().__init__(hidden_size, bias)\n"
                "        SIZES.append(hidden_size)\n\n"
                "    def forward",
            )
            + "SIZES = []\n",
        ),
        "the input is overwritten": Slip(
            LAYER,
            "It overwrites argument number 1, .* The result is not as expected either",
            layer("x.data.add_(1e-2); return right(x)"),
        ),
        "parts that do not come apart": Slip(
            "project_qkv",
            "3 tensors are expected.* for `queries`, `keys` and `values` along axis 2",
            "def project_qkv(x, Wqkv):\n    return Wqkv(x).unflatten(-1, (3, -1))\n",
        ),
        "a layer in place of its result": Slip(
            "compute_attention_weights",
            r"`nn\.Softmax\(\.\.\.\)` only makes a layer",
            "def compute_attention_weights(scaled_scores):\n    return nn.Softmax(dim=-1)\n",
        ),
        "a hook": Slip(
            LAYER,
            "Going forward, your layer is right",
            layer("y = right(x); y.register_hook(lambda gradient: 2 * gradient); return y"),
        ),
        "every second weight detached": Slip(
            LAYER,
            r"Going forward, your layer is right, .* \d+ of \d+ numbers are 0",
            layer(
                "q, k, v = project_qkv(x, self.Wqkv); h = v.shape[-1] // 2; "
                "v = torch.cat([v[..., :h].detach(), v[..., h:]], -1); "
                "return self.Wo(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v)"
            ),
        ),
        "two results after eval()": Slip(
            LAYER,
            r"In training, .* after `eval\(\)`, it does not. It returns a list or tuple of 2",
            layer("return right(x) if self.training else (right(x), None)"),
        ),
        "long sequences are cut": Slip(
            LAYER,
            "With the inputs that were asked before, .* Which line depends on a size",
            layer("return right(torch.where(torch.arange(x.shape[1])[:, None] < 9, x, 0))"),
        ),
        "copies of the weights": Slip(
            LAYER,
            "Does it compute with other weights than its own, such as copies",
            """
class Mine(SingleHeadAttention):
    def __init__(self, hidden_size, bias=True):
        super().__init__(hidden_size, bias)
        self.copy = self.Wo.weight.detach().clone()

    def forward(self, x):
        q, k, v = project_qkv(x, self.Wqkv)
        weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
        return nn.functional.linear(weights @ v, self.copy.to(x.dtype), self.Wo.bias)

SingleHeadAttention = Mine
""",
        ),
        "a root in half precision": Slip(
            "scale_scores",
            r"The result is (1\.000|0\.999)\d+ times what is expected, .* has too few digits",
            "def scale_scores(attention_scores, head_dim):\n"
            "    return attention_scores / torch.tensor(head_dim, dtype=torch.float16).sqrt()\n",
        ),
        "a product in bfloat16": Slip(
            "compute_attention_scores",
            "they have the digits of bfloat16",
            "def compute_attention_scores(queries, keys):\n"
            "    return (queries.bfloat16() @ keys.bfloat16().mT).to(queries.dtype)\n",
        ),
        "the eight largest shares": Slip(
            "compute_attention_weights",
            "only the 8 largest shares of a row are left",
            "def compute_attention_weights(scaled_scores):\n"
            "    least = scaled_scores.topk(min(8, scaled_scores.shape[-1])).values[..., -1:]\n"
            "    return scaled_scores.masked_fill(scaled_scores < least, -math.inf).softmax(-1)\n",
        ),
        "weights that repeat": Slip(
            "create_projections",
            r"its \d+ numbers take only 2 values",
            "def create_projections(hidden_size, bias=True):\n"
            "    d = hidden_size // 4\n"
            "    layers = nn.Linear(hidden_size, 3 * d, bias), nn.Linear(d, hidden_size, bias)\n"
            "    nn.init.eye_(layers[0].weight)\n"
            "    return layers\n",
        ),
    },
    NUMPY: {
        "a seed before each draw": Slip(
            "initialize_weights",
            r"the same numbers\. Your code also sets a seed \(`np.random.seed`\)",
            "def initialize_weights(D, rng):\n"
            "    def drawn():\n"
            "        np.random.seed(0)\n"
            "        return np.random.normal(0, 0.02, (D, D))\n"
            "    return drawn(), drawn(), drawn(), drawn()\n",
        ),
        "a generator with one seed for each draw": Slip(
            "initialize_weights",
            r"the same numbers\..* Are they one array or copies of one, or does a generator begin",
            "def initialize_weights(D, rng):\n"
            "    def drawn():\n"
            "        return np.random.default_rng(0).normal(0, 0.02, (D, D))\n"
            "    return drawn(), drawn(), drawn(), drawn()\n",
        ),
        "a mask kept from the first call": Slip(
            "create_causal_mask",
            "It is the right result of another call, which had other inputs",
            """
kept = {}
right_mask = create_causal_mask
def create_causal_mask(sequence_length):
    return kept.setdefault("mask", right_mask(sequence_length))
""",
        ),
        "a length written as a number": Slip(
            "create_causal_mask",
            "does your code hold a size as a number",
            """
def create_causal_mask(sequence_length):
    return np.tril(np.ones((5, 5)))
""",
        ),
        "scores cut off before a softmax": Slip(
            "softmax",
            "scores that lie far from 0 count as equal",
            "def softmax(scores):\n"
            "    e = np.exp(np.clip(scores, -500, 500))\n"
            "    return e / e.sum(axis=-1, keepdims=True)\n",
        ),
        "one maximum, and no division by 0": Slip(
            "softmax",
            r"\d rows hold 0 everywhere, and the others are right. In the lost rows, even the larg",
            "def softmax(scores):\n"
            "    e = np.exp(scores - scores.max())\n"
            "    return e / (e.sum(axis=-1, keepdims=True) + 1e-9)\n",
        ),
        "NaN made 0": Slip(
            "softmax",
            "All rows hold 0 everywhere. Some of these scores are as large as",
            "def softmax(scores):\n"
            "    e = np.exp(scores)\n"
            "    return np.nan_to_num(e / e.sum(axis=-1, keepdims=True))\n",
        ),
        "the largest magnitude": Slip(
            "softmax",
            "does not shift each row by its own maximum",
            "def softmax(scores):\n"
            "    e = np.exp(scores - np.abs(scores).max(axis=-1, keepdims=True))\n"
            "    return e / e.sum(axis=-1, keepdims=True)\n",
        ),
        "sums of other rows": Slip(
            "softmax",
            r"the one at \(i, j\) by that of row j",
            "def softmax(scores):\n"
            "    e = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return e / e.sum(axis=-1)[:, None]\n",
        ),
        "one matrix transposed": Slip(
            "project_qkv",
            "`keys` multiplies .* two axes of argument number 3 have changed places",
            "def project_qkv(x, query_weights, key_weights, value_weights):\n"
            "    return x @ query_weights, x @ key_weights.T, x @ value_weights\n",
        ),
        "values made from the keys": Slip(
            "project_qkv",
            "`values` is made from `keys`",
            "def project_qkv(x, query_weights, key_weights, value_weights):\n"
            "    keys = x @ key_weights\n"
            "    return x @ query_weights, keys, keys @ value_weights\n",
        ),
        "keys of all sequences": Slip(
            "compute_attention_scores",
            r"uses the sum of argument number 2 along axis 0 \(B\)",
            "def compute_attention_scores(queries, keys):\n"
            "    return queries @ keys.sum(axis=0).T\n",
        ),
        "keys of one sequence": Slip(
            "compute_attention_scores",
            r"uses the first entry of argument number 2 along axis 0 \(B\)",
            "def compute_attention_scores(queries, keys):\n    return queries @ keys[0].T\n",
        ),
        "cosines": Slip(
            "compute_attention_scores",
            "each vector of both arguments is divided by its own length",
            "def compute_attention_scores(queries, keys):\n"
            "    unit = lambda array: array / np.linalg.norm(array, axis=-1, keepdims=True)\n"
            "    return unit(queries) @ unit(keys).swapaxes(-2, -1)\n",
        ),
        "distances": Slip(
            "compute_attention_scores",
            "-0.5 times the squared distance",
            "def compute_attention_scores(queries, keys):\n"
            "    return -0.5 * ((queries[:, :, None] - keys[:, None]) ** 2).sum(axis=-1)\n",
        ),
        "the key with the largest weight": Slip(
            "apply_attention",
            "in each row of argument number 1, only the largest number counts, as 1",
            "def apply_attention(attention_weights, values):\n"
            "    best = attention_weights.argmax(axis=-1)\n"
            "    return np.take_along_axis(values, best[..., None], axis=1)\n",
        ),
        "a result that a later call overwrites": Slip(
            "scale_scores",
            "When your code is called again, the result of the call before changes",
            "def scale_scores(attention_scores, embedding_dimension, kept={}):\n"
            "    out = kept.setdefault(attention_scores.shape, np.empty_like(attention_scores))\n"
            "    return np.divide(attention_scores, np.sqrt(embedding_dimension), out=out)\n",
        ),
        "a half in place of nothing": Slip(
            "create_causal_mask",
            r"Where 0 is expected, the result holds 0\.5\. Its other numbers are right",
            "def create_causal_mask(sequence_length):\n"
            "    allowed = np.tril(np.ones((sequence_length, sequence_length)))\n"
            "    return np.where(allowed == 1, 1.0, 0.5)\n",
        ),
        "a mask for the first sequence": Slip(
            "apply_mask",
            r"forbidden ones are very negative in entry 0 along axis 0 \(B\) only; elsewhere",
            "def apply_mask(scaled_scores, causal_mask):\n"
            "    result = scaled_scores.copy()\n"
            "    result[0] = np.where(causal_mask == 1, result[0], -1e9)\n"
            "    return result\n",
        ),
        "scores that are hidden too little": Slip(
            "apply_mask",
            "Forbidden ones hold -100, but a very negative number",
            "def apply_mask(scaled_scores, causal_mask):\n"
            "    return np.where(causal_mask == 1, scaled_scores, -100.0)\n",
        ),
        "places in place of numbers": Slip(
            "softmax",
            r"floating-point numbers are expected\. Which of your operations makes numbers of that",
            "def softmax(scores):\n    return scores.argmax(axis=-1)\n",
        ),
        "fractions that get lost": Slip(
            "scale_scores",
            "The fractions get lost somewhere on the way",
            "def scale_scores(attention_scores, embedding_dimension):\n"
            "    return (attention_scores / np.sqrt(embedding_dimension)).astype(int)\n",
        ),
        "the largest by Python": Slip(
            "softmax",
            "Python's own `max` compares one number with another",
            "def softmax(scores):\n    exponentials = np.exp(scores - max(scores))\n"
            "    return exponentials / exponentials.sum(axis=-1, keepdims=True)\n",
        ),
        "causal stays on": Slip(
            LAYER,
            "called again with other inputs, it does not",
            causal_layer(
                "self.on = getattr(self, 'on', False) or causal; return right(x, self.on)"
            ),
        ),
        "no mask for one sequence": Slip(
            LAYER,
            r"With a single entry along axis 0 \(B\), as here, .* with twice as many, it is",
            causal_layer("return right(x, causal and len(x) > 1)"),
        ),
        "an axis is lost": Slip(
            LAYER,
            r"^The shape of the result is \(\d+,\), but",
            causal_layer("return right(x, causal).squeeze()"),
        ),
        "two of four arrays are one": Slip(
            "initialize_weights",
            "`query_weights` and `key_weights` are not .*: they hold the same numbers",
            "def initialize_weights(embedding_dimension, rng):\n"
            "    drawn = [rng.normal(0, 0.02, (embedding_dimension,) * 2) for _ in range(3)]\n"
            "    return drawn[0], *drawn\n",
        ),
        "a number as small as 1e-9": Slip(
            "apply_mask",
            "nearly 0, so each of them still gets a share",
            "def apply_mask(scaled_scores, causal_mask):\n"
            "    return np.where(causal_mask == 0, -1e-9, scaled_scores)\n",
        ),
        "infinity without a minus": Slip(
            "apply_mask",
            "Forbidden ones hold plus infinity",
            "def apply_mask(scaled_scores, causal_mask):\n"
            "    return np.where(causal_mask == 0, np.inf, scaled_scores)\n",
        ),
        "a product of shapes that do not fit": Slip(
            "apply_attention",
            "multiplies (the two arguments )?number by number",
            "def apply_attention(attention_weights, values):\n"
            "    return attention_weights * values\n",
        ),
        "a quotient rounded down": Slip(
            "scale_scores",
            "the expected one, rounded down to a whole number",
            "def scale_scores(attention_scores, embedding_dimension):\n"
            "    return attention_scores // np.sqrt(embedding_dimension)\n",
        ),
    },
    VIT: {
        "a seed before each layer": Slip(
            "create_projections",
            r"the same weights as another one.* Your code also sets a seed",
            "def create_projections(hidden_dim):\n"
            "    def drawn():\n"
            "        torch.manual_seed(0)\n"
            "        return nn.Linear(hidden_dim, hidden_dim)\n"
            "    return drawn(), drawn(), drawn(), drawn()\n",
        ),
        "tokens in front of the batch": Slip(
            "merge_heads",
            "in another order before a reshape than it needs",
            "def merge_heads(attention_output):\n"
            "    B, heads, N, width = attention_output.shape\n"
            "    return attention_output.permute(2, 0, 1, 3).reshape(B, N, heads * width)\n",
        ),
        "two of four layers are one": Slip(
            "create_projections",
            "the same weights as another one: `q_linear`, `k_linear`",
            "def create_projections(hidden_dim):\n"
            "    layers = [nn.Linear(hidden_dim, hidden_dim) for _ in range(3)]\n"
            "    return layers[0], *layers\n",
        ),
    },
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
    for exercise, slips in WRONG.items()
    for case in slips
    if case not in ONLY_GRADED.get(exercise, ())
]


def written(reference: Reference, case: str, slip: Slip) -> InProcess:
    """The reference with the slip below it."""
    names = dict(vars(reference.module))
    file = f"<{case}>"
    linecache.cache[file] = (len(slip.code), None, slip.code.splitlines(True), file)
    exec(compile(slip.code, file, "exec"), names)
    return InProcess(names, reference.exercise.library)


@cache
def reference_of(exercise: str) -> Reference:
    return read_reference(ROOT / "solutions" / exercise)


@cache
def examples_of(exercise: str) -> tuple[Example, ...]:
    return read_examples(ROOT / "assignments" / exercise)


@pytest.mark.parametrize(("exercise", "case"), AT_HOME)
def test_the_cause_is_told_by_the_worked_examples(exercise: str, case: str) -> None:
    reference, slip = reference_of(exercise), WRONG[exercise][case]
    step = reference.exercise.step(slip.step)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        code = written(reference, case, slip)
        finding = ask_examples(step, examples_of(exercise), code).verdict.finding
    assert finding and re.search(slip.says, finding.message), finding


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
            slip = WRONG[exercise][case]
            steps = plugin.judged_by(written(reference, case, slip)).steps
            (finding,) = (step.finding for step in steps if step.name == slip.step)
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
