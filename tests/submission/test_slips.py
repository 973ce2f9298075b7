"""Slips of writing, in class and at home: each is told at its step, by its cause and its line."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from autograder.grading.batch import grade_batch
from autograder.grading.journal import GradingRun
from autograder.learning.checking import check_work
from autograder.learning.process import Child
from autograder.learning.results import Checkup
from autograder.submission import name_slips, slips
from autograder.submission.missing_import import missing_imports
from autograder.submission.reading import read_submission
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
NUMPY, TORCH = "numpy_single_head", "torch_multi_head"
PRODUCT = "    return queries @ keys.swapaxes(-2, -1)\n"
LAYER = "SingleHeadAttention"
Change = tuple[str, str]
# A slip and its step, what is said of it, and what is changed in right code.
ROW = re.compile(r"^# (.+): (\w+)\n\? (.+)\n((?:-.*\n)+)((?:\+.*\n)*)", re.MULTILINE)


def slips_in(table: str) -> dict[str, tuple[str, str, Change]]:
    """The rows of a table by slip: the step, what it says, and the old and the new text."""
    rows = ROW.findall(table)
    assert len(rows) == table.count("\n# "), "a row is not as the others"
    return {
        slip: (step, words, (re.sub("^-", "", old, flags=re.MULTILINE).removesuffix("\n"), new))
        for slip, step, words, old, added in rows
        for new in [re.sub(r"^\+", "", added, flags=re.MULTILINE).removesuffix("\n")]
    }


IN_NUMPY = slips_in(r"""
# a stub's line above the code: compute_attention_scores
? Line \d+ still raises `NotImplementedError`: delete it\.
-    return queries @ keys.swapaxes(-2, -1)
+    raise NotImplementedError("compute_attention_scores is not written yet")
+    return queries @ keys.swapaxes(-2, -1)
# a stub's line in the class: SingleHeadAttention
? Line \d+ still raises `NotImplementedError`: delete it\.
-        queries, keys, values = project_qkv(
+        raise NotImplementedError
+        queries, keys, values = project_qkv(
# a body at the left margin: compute_attention_scores
? Line \d+ begins at the left margin, so it is no part of .*It uses `queries`, as the
-    return queries @ keys.swapaxes(-2, -1)
+scores = queries @ keys.swapaxes(-2, -1)
# an array whose numbers are not all set: create_causal_mask
? Line \d+ makes an array with `empty`: it holds whatever lay in memory
-    return np.tril(np.ones((sequence_length, sequence_length)))
+    size = sequence_length
+    np.full((size, size), 0.3)  # lies in memory then
+    mask = np.empty((size, size))
+    for i in range(size):
+        mask[i, : i + 1] = 1
+    return mask
# a mask that is applied and dropped: SingleHeadAttention
? Line \d+ calls `apply_mask` and drops the result\. A step hands its result back\.
-            scores = apply_mask(
+            apply_mask(
# transposed keys that are dropped: compute_attention_scores
? Line \d+ calls `swapaxes` and drops the result\. That call gives something new
-    return queries @ keys.swapaxes(-2, -1)
+    keys.swapaxes(-2, -1)
+    return queries @ keys
# attributes without self: SingleHeadAttention
? Line \d+ sets a local `output_weights`: `self\.` is missing\.
-self.value_weights, self.output_weights = (
+self.value_weights, output_weights = (
# a misspelt function: scale_scores
? There is a `scale_score`: did you rename it
-def scale_scores(
+def scale_score(
# a renamed function, known by its parameters: scale_scores
? There is a `by_root`: did you rename it
-def scale_scores(
+def by_root(
# a misspelt class: SingleHeadAttention
? There is a `SingleHeadAtention`: did you rename it
-class SingleHeadAttention
+class SingleHeadAtention
# a step's name given to a variable outside: softmax
? Line \d+ gives the name `softmax` to something else
-def initialize_weights
+softmax = softmax(np.zeros((2, 3, 3)))
+
+
+def initialize_weights
# a step's name given to a variable inside: compute_attention_weights
? `softmax` is a variable of this function too
-    return softmax(scores)
+    softmax = softmax(scores)
+    return softmax
# a name of Python's own given to a variable outside: softmax
? Line \d+ gives the name `max` to a value.*Python's own `max` is out of reach
-    exponentials = np.exp(shifted)
-    return exponentials
+    return np.exp(shifted) / max(1, 1)
+
+
+max = 3
+exponentials = np.ones(3)
+def unused():
+    return exponentials
# a name of Python's own given to a variable inside: softmax
? Line \d+ gives the name `sum` to a value.*Python's own `sum` is out of reach
-    exponentials = np.exp(shifted)
+    exponentials = np.exp(shifted)
+    sum = exponentials.sum()
+    sum([1])
# an imported module's name given to a variable: scale_scores
? Line \d+ gives the name `np` to a value.*the `np` that you import is out of reach
-    return attention_scores / np.sqrt
+    np = attention_scores
+    return np / np.sqrt
# lines in the wrong order: softmax
? Line \d+ uses `late`, and only line \d+ sets it
-    exponentials = np.exp(shifted)
+    exponentials = np.exp(late)
+    late = shifted
# a sum that begins with nothing: softmax
? Line \d+ uses `total`, and no line before sets it
-    exponentials = np.exp(shifted)
+    total += 1
+    exponentials = shifted
# staticmethod: SingleHeadAttention
? `@staticmethod` in line \d+ changes how Python calls `forward`
-    def forward(
+    @staticmethod
+    def forward(
# property: SingleHeadAttention
? `@property` in line \d+ forbids to call `forward`
-    def forward(
+    @property
+    def forward(
# no self: SingleHeadAttention
? first parameter of `forward` in line \d+ is not `self`
-        self, x: Float
+        x: Float
# a method outside its class: SingleHeadAttention
? Line \d+ defines `forward` outside the class
-    def forward(
+def forward(
# a function that prints: compute_attention_scores
? Line \d+ prints the result; `return` gives it to the caller\.
-    return queries @ keys.swapaxes(-2, -1)
+    print(queries @ keys.swapaxes(-2, -1))
# a function that prints what it sets: compute_attention_scores
? Line \d+ prints the result; `return` gives it to the caller\.
-    return queries @ keys.swapaxes(-2, -1)
+    out = queries @ keys.swapaxes(-2, -1)
+    print('out', out)
# a function that prints in a block: compute_attention_scores
? Line \d+ prints the result; `return` gives it to the caller\.
-    return queries @ keys.swapaxes(-2, -1)
+    with np.errstate():
+        out = queries @ keys.swapaxes(-2, -1)
+        print(out)
# a function that looks at a sum: compute_attention_scores
? ends in line \d+ without a `return`.*Line \d+ sets `out`, and the caller never sees it
-    return queries @ keys.swapaxes(-2, -1)
+    out = queries @ keys.swapaxes(-2, -1)
+    print(out.sum(), np.max(out))
# a function that prints a text: compute_attention_scores
? ends in line \d+ without a `return`.*Line \d+ sets `out`, and the caller never sees it
-    return queries @ keys.swapaxes(-2, -1)
+    out = queries @ keys.swapaxes(-2, -1)
+    print('first: %s' % out[0])
# a function that prints a shape: compute_attention_scores
? ends in line \d+ without a `return`.*Line \d+ sets `out`, and the caller never sees it
-    return queries @ keys.swapaxes(-2, -1)
+    out = queries @ keys.swapaxes(-2, -1)
+    print(out.shape)
# an argument that is changed in place: compute_attention_scores
? It overwrites `queries`, .*Line \d+ uses `\*=`, which changes numbers in place
-    return queries @ keys.swapaxes(-2, -1)
+    queries *= 1.5
+    return queries @ keys.swapaxes(-2, -1)
# a part of an argument that is set: compute_attention_scores
? It overwrites `keys`, .*Line \d+ assigns to a part of `keys` itself
-    return queries @ keys.swapaxes(-2, -1)
+    keys[0] = 1.5
+    return queries @ keys.swapaxes(-2, -1)
# a function without a return: compute_attention_scores
? ends in line \d+ without a `return`, so it gives None\. That line sets `scores`
-    return queries @ keys.swapaxes(-2, -1)
+    scores = queries @ keys.swapaxes(-2, -1)
# a breakpoint: compute_attention_scores
? Line \d+ calls `breakpoint\(\)`, which waits for your keys\..*`attn check compute_att
-    return queries @ keys.swapaxes(-2, -1)
+    breakpoint()
+    return queries @ keys.swapaxes(-2, -1)
# a breakpoint of pdb: compute_attention_scores
? Line \d+ calls `pdb\.set_trace\(\)`, which waits for your keys\.
-    return queries @ keys.swapaxes(-2, -1)
+    import pdb; pdb.set_trace()
+    return queries @ keys.swapaxes(-2, -1)
# a variable of the file in place of a parameter: scale_scores
? Line \d+ uses `own`, which line \d+ sets outside the function\. `attention_scores` is
-    return attention_scores / np.sqrt(embedding_dimension)
+    return own / np.sqrt(embedding_dimension)
+
+
+own = np.ones((2, 3, 3))
# an async function: compute_attention_scores
? Line \d+ has `async def`: a call of `compute_attention_scores` gives a coroutine
-def compute_attention_scores
+async def compute_attention_scores
# warnings that raise: softmax
? Line \d+ calls `seterr`\. From there on, NumPy raises an error
-import numpy as np
+import numpy as np
+np.seterr(all='raise')
# a yield: compute_attention_scores
? Line \d+ has `yield`, so `compute_attention_scores` returns a generator\.
-    return queries @ keys.swapaxes(-2, -1)
+    yield queries @ keys.swapaxes(-2, -1)
# a yield of everything: compute_attention_scores
? Line \d+ has `yield from`, so `compute_attention_scores` returns a generator\.
-    return queries @ keys.swapaxes(-2, -1)
+    yield from queries @ keys.swapaxes(-2, -1)
# a generator in round brackets: compute_attention_scores
? Line \d+ returns a generator: it has a `for` in round brackets\.
-    return queries @ keys.swapaxes(-2, -1)
+    return (q @ k.T for q, k in zip(queries, keys))
# a return inside a loop: compute_attention_scores
? Line \d+ returns inside the loop, so the loop ends in its first round
-    return queries @ keys.swapaxes(-2, -1)
+    scores = np.zeros((len(keys), keys.shape[1], keys.shape[1]))
+    for b in range(len(keys)):
+        scores[b] = queries[b] @ keys[b].T
+        return scores
# an indent too many: compute_attention_scores
? begins further right
-    return queries @ keys.swapaxes(-2, -1)
+    a = 1
+      return queries @ keys.swapaxes(-2, -1)
# a missing colon: create_causal_mask
? A colon is missing at the end of that line
-def create_causal_mask(sequence_length: int) -> Real[np.ndarray, "S S"]:
+def create_causal_mask(sequence_length: int) -> Real[np.ndarray, "S S"]
# a bracket that is not closed: scale_scores
? opened and never closed
-np.sqrt(embedding_dimension)
+np.sqrt(embedding_dimension
# a parameter renamed above only: create_causal_mask
? It uses `sequence_length`, but the `def` in line \d+ has \(length\)
-def create_causal_mask(sequence_length: int)
+def create_causal_mask(length: int)
# parameters in another order: scale_scores
? handed out as \(attention_scores, embedding_dimension\)
-attention_scores: Float[np.ndarray, "B S S"], embedding_dimension: int
+embedding_dimension: int, attention_scores: Float[np.ndarray, "B S S"]
# a parameter too many: softmax
? Line \d+ has the parameters \(scores, axis\)
-def softmax(scores: Float[np.ndarray, "B S S"]
+def softmax(scores: "B S S", axis
# forward misspelt: SingleHeadAttention
? Line \d+ defines `foward`\. Is that `forward`, misspelt\?
-    def forward(
+    def foward(
# one underscore: SingleHeadAttention
? Line \d+ defines `_init_`\. .* two underscores on each side
-    def __init__(
+    def _init_(
# a step looked for on self: SingleHeadAttention
? Line \d+ looks for `compute_attention_weights` on `self`
- = compute_attention_weights(
+ = self.compute_attention_weights(
# an attribute without self: SingleHeadAttention
? Line \d+ uses `query_weights`, but it is an attribute of the object
-x, self.query_weights,
+x, query_weights,
# a variable that nothing sets: apply_attention
? Nothing in the code sets `my_scale`
-return attention_weights @ values
+return attention_weights @ (values * my_scale)
# a list in the place of an array: compute_attention_scores
? Line \d+ makes `keys` a list
-    return queries @ keys.swapaxes(-2, -1)
+    keys = [key.T for key in keys]
+    return queries @ keys.swapaxes(-2, -1)
# a mask along the wrong axis: SingleHeadAttention
? calls `create_causal_mask`: as `sequence_length` it gets 2, and 5 is expected\.
-create_causal_mask(x.shape[1])
+create_causal_mask(x.shape[0])
# a mask kept from the first call: SingleHeadAttention
? ^Called once, your code gives what is expected; called again with other inputs
-scores = apply_mask(scores, create_causal_mask(x.shape[1]))
+self.mask = getattr(self, 'mask', create_causal_mask(x.shape[1]))
+            scores = apply_mask(scores, self.mask)
# a step that calls itself: compute_attention_weights
? ^Line \d+ calls `compute_attention_weights` inside itself
-return softmax(scores)
+return compute_attention_weights(softmax(scores))
# a function that is not called: compute_attention_weights
? ^It returns a function, .*Line \d+ names `softmax` and does not call it
-return softmax(scores)
+return softmax
# a comma behind the result: project_output
? ^It returns a list or tuple of 1, .*Line \d+ ends with a comma
-return attention_output @ output_weights
+return attention_output @ output_weights,
# a comma behind what is set: project_output
? ^It returns a list or tuple of 1, .*Line \d+ ends with a comma
-return attention_output @ output_weights
+out = attention_output @ output_weights,
+    return out
# a variable that is misspelt as a function of the library: softmax
? name 'exp' is not defined.*Did you mean `exps`\?
-shifted = scores
+exps = scores - 0
+    shifted = exp
""")
IN_TORCH = slips_in(r"""
# super().__init__() forgotten: MultiHeadAttention
? the first line of `__init__`
-        super().__init__()
# another precision for all: create_projections
? Line \d+ calls `set_default_dtype`.*makes tensors in that precision
-import torch
+import torch
+torch.set_default_dtype(torch.float64)
# gradients switched off: MultiHeadAttention
? Line \d+ calls `set_grad_enabled`
-import torch
+import torch
+torch.set_grad_enabled(False)
# a new tensor without a dtype: MultiHeadAttention
? Line \d+ makes a tensor with `torch\.zeros`, and its dtype is not taken from the inputs
-        return project_output(merge_heads(attention_output)
+        merged = torch.zeros(x.shape).copy_(merge_heads(attention_output))
+        return project_output(merged
# a dtype by its name: MultiHeadAttention
? Two tensors of different precision meet.*Line \d+ asks for float32, whatever
-        return project_output(merge_heads(attention_output)
+        merged = merge_heads(attention_output).to(torch.float32)
+        return project_output(merged
# a layer that casts itself: MultiHeadAttention
? Line \d+ asks for float32, whatever the inputs are
-        return project_output(merge_heads(attention_output)
+        self.float()
+        return project_output(merge_heads(attention_output)
# a result that is cast: compute_attention_weights
? is float32, but the inputs are float64.*Line \d+ asks for float32
-    return scaled_scores.softmax(dim=-1)
+    return scaled_scores.softmax(-1).float()
# refused, with an exception of another kind: MultiHeadAttention
? which is right\. Line \d+ raises `RuntimeError`, but `AssertionError` or `ValueError`
-        assert hidden_size % num_heads == 0,
+        if hidden_size % num_heads:
+            raise RuntimeError
+        assert hidden_size % num_heads == 0,
""")
RIGHT = {  # right code that lacks an import: the line that is added
    "numpy": (NUMPY, "import numpy as np", ("import numpy as np\n", "")),
    "the annotations": (NUMPY, "jaxtyping", ("from jaxtyping import Float, Real\n", "")),
    "nn": (
        TORCH,
        "from torch import nn",
        ("from torch import Tensor, nn", "from torch import Tensor"),
    ),
}
ABSENT = (
    (
        "import numpy as np\n",
        "import numpy as np\nimport einops_not_here as einops\n",
    ),
    ("return softmax(scores)", "return einops.softmax(scores)"),
)


def answers(name: str, *changes: Change) -> str:
    """The right code of an exercise, changed."""
    text = (ROOT / "solutions" / name / "solution.py").read_text(encoding="utf-8")
    kept = [line for line in text.split("\n") if not re.match(r"#|\s*### (BEGIN|END)", line)]
    code = "\n".join(kept)
    for old, new in changes:
        assert old in code
        code = code.replace(old, new, 1)
    return code


def graded(tmp_path: Path, name: str, table: Mapping[str, str]) -> dict[str, Verdict]:
    """Grade each text of a table as a student's file."""
    folder = ROOT / "solutions" / name
    exercise, submissions = read_exercise(folder), []
    for number, text in enumerate(table.values()):
        file = tmp_path / str(number) / f"{name}.py"
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
        submissions.append(read_submission(file, exercise, str(number)))
    return dict(
        zip(table, grade_batch(folder, submissions, GradingRun(graded=tmp_path)), strict=True)
    )


def checked(tmp_path: Path, name: str, text: str) -> Checkup:
    """Check a text as `attn check` does."""
    folder = tmp_path / name
    shutil.copytree(ROOT / "assignments" / name, folder)
    (folder / f"{name}.ipynb").unlink()
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    exercise = read_exercise(folder)
    return check_work(exercise, exercise.steps, child=Child(exercise))


def said(verdict: Verdict) -> dict[str, str]:
    """What is said of every step that is not right."""
    return {step.name: step.finding.message for step in verdict.steps if step.finding}


# Each of them is judged in a process: most only in the slow tests.
QUICK = [*IN_NUMPY][::12]
# At home, the calls of a layer are compared with the right ones, which tells more than its text.
SEEN_AT_HOME = "a mask along the wrong axis"
AT_HOME = [
    pytest.param(slip, marks=() if slip in QUICK else pytest.mark.slow)
    for slip in IN_NUMPY
    if slip != SEEN_AT_HOME
]


@pytest.fixture(scope="module")
def in_one_class(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """Hand-ins of the quick tests, graded together."""
    changes = {slip: (IN_NUMPY[slip][2],) for slip in QUICK}
    texts = {slip: answers(NUMPY, *change) for slip, change in changes.items()}
    texts |= {"a module that is not there": answers(NUMPY, *ABSENT)}
    texts |= {"a matrix product": answers(NUMPY, (PRODUCT, "    return queries @ keys\n"))}
    return graded(tmp_path_factory.mktemp("one_class"), NUMPY, texts)


@pytest.mark.parametrize("slip", QUICK)
def test_slips_of_one_class_are_told_each_at_its_step_and_at_no_other(
    in_one_class: dict[str, Verdict], slip: str
) -> None:
    step, words, _ = IN_NUMPY[slip]
    messages = said(in_one_class[slip])
    assert [*messages] == [step] and re.search(words, messages[step])


@pytest.fixture(scope="module")
def in_class(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, table in ((NUMPY, IN_NUMPY), (TORCH, IN_TORCH)):
        texts = {slip: answers(name, change) for slip, (_, _, change) in table.items()}
        verdicts = graded(tmp_path_factory.mktemp(name), name, texts)
        found |= {slip: said(verdict) for slip, verdict in verdicts.items()}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("slip", [*IN_NUMPY, *IN_TORCH])
def test_a_slip_is_told_in_class_at_its_step_and_at_no_other(
    in_class: dict[str, dict[str, str]], slip: str
) -> None:
    step, words, _ = (IN_NUMPY | IN_TORCH)[slip]
    messages = in_class[slip]
    assert re.search(words, messages.pop(step))
    assert set(messages) <= ({"CausalMultiHeadAttention"} if slip in IN_TORCH else set())


@pytest.mark.parametrize("slip", AT_HOME)
def test_a_slip_is_told_at_home_in_the_same_words(tmp_path: Path, slip: str) -> None:
    step, words, change = IN_NUMPY[slip]
    runs = checked(tmp_path, NUMPY, answers(NUMPY, change)).steps
    (finding,) = (run.verdict.finding for run in runs if run.verdict.name == step)
    assert finding and re.search(words, finding.message)


@pytest.mark.slow
def test_a_wrong_size_in_the_layer_is_told_at_home_by_the_call_itself(tmp_path: Path) -> None:
    step, _, change = IN_NUMPY[SEEN_AT_HOME]
    runs = checked(tmp_path, NUMPY, answers(NUMPY, change)).steps
    (finding,) = (run.verdict.finding for run in runs if run.verdict.name == step)
    assert finding and "as `sequence_length` it gets 2, and 3 is expected." in finding.message


@pytest.mark.slow
@pytest.mark.parametrize("missing", RIGHT)
def test_a_missing_import_is_added_wherever_it_is_used(tmp_path: Path, missing: str) -> None:
    name, line, change = RIGHT[missing]
    text = answers(name, change)
    verdict = graded(tmp_path, name, {missing: text})[missing]
    assert said(verdict) == {}
    added = "at the top, and that was added for the check"
    assert any(line in remark and added in remark for remark in verdict.remarks)
    checkup = checked(tmp_path, name, text)
    assert checkup.passes and set(verdict.remarks) == set(checkup.remarks)


def test_nothing_is_put_back_that_the_code_sets_itself() -> None:
    given = answers(NUMPY)
    for code in ("np = 1\nnp", "def f(math): return math", "import math\ndef f(): math.pi"):
        assert missing_imports([code], "numpy", given) == ()
    assert missing_imports(["def f(): return math.pi"], "numpy", given) == ("import math",)
    assert missing_imports(["def f(): return torch.ones(1)"], "numpy", given) == ()
    text = answers(TORCH)
    for line, name in (("import torch", "torch.ones"), ("from torch import Tensor", "Tensor")):
        assert missing_imports([f"def f(): return {name}(1)"], "torch", text) == (line,)


def test_a_module_that_is_not_there_is_told_at_the_step_that_uses_it(
    in_one_class: dict[str, Verdict], tmp_path: Path
) -> None:
    home = checked(tmp_path, NUMPY, answers(NUMPY, *ABSENT))
    told = "`einops_not_here`, which is not there"
    in_class = said(in_one_class["a module that is not there"])
    assert in_class.keys() == {"compute_attention_weights"}
    assert told in in_class["compute_attention_weights"]
    at_home = {run.verdict.name: run.verdict.finding for run in home.steps}
    finding = at_home["compute_attention_weights"]
    assert finding and told in finding.message and at_home["softmax"] is None


TORCH_INSIDE = ("return softmax(scores)", "import torch\n    return torch.tensor(softmax(scores))")
TORCH_ABOVE = (
    ("import numpy as np\n", "import torch.nn.functional as F\nimport numpy as np\n"),
    ("return softmax(scores)", "return F.softmax(scores, -1)"),
)
BY_NAME = ("return softmax(scores)", "return __import__('importlib').import_module('sympy').exp(1)")


@pytest.mark.parametrize(
    "changes",
    [
        (TORCH_INSIDE,),
        pytest.param(TORCH_ABOVE, marks=pytest.mark.slow),
        pytest.param((BY_NAME,), marks=pytest.mark.slow),
    ],
)
def test_a_package_of_another_exercise_costs_only_the_step_that_uses_it(
    tmp_path: Path, changes: tuple[Change, ...]
) -> None:
    text, step = answers(NUMPY, *changes), "compute_attention_weights"
    in_class = graded(tmp_path, NUMPY, {"": text})[""]
    home = {run.verdict.name: run.verdict for run in checked(tmp_path, NUMPY, text).steps}
    assert said(in_class).keys() == {step}
    assert {name for name in home if home[name].finding} == {step, LAYER}
    finding = home[step].finding
    assert finding and re.search("Only Python's own modules|needs only what", finding.message)
    assert re.search("No module named|not there when", finding.message)
    assert said(in_class)[step] == finding.message


def test_a_file_of_the_learner_s_own_and_a_picture_are_found_at_home(tmp_path: Path) -> None:
    folder = tmp_path / NUMPY
    above = "import numpy as np\n"
    text = answers(NUMPY, (above, f"{above}import mine\nimport matplotlib\n"))
    work = checked(tmp_path, NUMPY, text)
    assert work.troubles
    (folder / "mine.py").write_text("", encoding="utf-8")
    exercise = read_exercise(folder)
    again = check_work(exercise, exercise.steps, child=Child(exercise))
    assert again.passes and not again.troubles


def test_the_library_s_own_terms_come_after_the_sentence(
    in_one_class: dict[str, Verdict],
) -> None:
    (step,) = (each for each in in_one_class["a matrix product"].steps if each.finding)
    assert step.finding and "gufunc" not in step.finding.message
    named = step.finding.misconception
    assert named or "In a matrix product" in step.finding.message


def test_in_a_notebook_lines_are_counted_by_cell(tmp_path: Path) -> None:
    code = "def softmax(scores):\n    x = scores\n    raise NotImplementedError\n"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": code}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    file = tmp_path / f"{NUMPY}.ipynb"
    file.write_text(json.dumps(notebook), encoding="utf-8")
    folder = ROOT / "solutions" / NUMPY
    submission = read_submission(file, read_exercise(folder), "anna")
    (verdict,) = grade_batch(folder, [submission], GradingRun(graded=tmp_path))
    assert said(verdict)["softmax"] == (
        "Line 3 of its cell still raises `NotImplementedError`: delete it."
    )


def test_a_setting_that_raises_nothing_is_not_told() -> None:
    """What only silences warnings is no cause of an error."""
    quiet = "np.seterr(all='ignore')\nwarnings.simplefilter('ignore')\n"
    loud = "np.seterr(all='raise')\nwarnings.simplefilter('error')\n"
    assert not list(slips._settings([ast.parse(quiet)], notebook=False))
    told = [each.fact for each in slips._settings([ast.parse(loud)], notebook=False)]
    assert told == ["Line 1 calls `seterr`.", "Line 2 calls `simplefilter`."]


def test_a_number_of_the_file_stands_for_a_parameter_only_by_its_name() -> None:
    setting = ast.parse("EPSILON = 1e-9\nEMBEDDING_DIMENSION = 8\n").body
    unused = ["embedding_dimension"]
    assert isinstance(setting[0], ast.Assign) and isinstance(setting[1], ast.Assign)
    assert not name_slips._is_meant(setting[0], "EPSILON", unused)
    assert name_slips._is_meant(setting[1], "EMBEDDING_DIMENSION", unused)
