"""A wrong layer: which step or which call is blamed, and that nothing is said but what was seen."""

from __future__ import annotations

import pytest

from autograder.authoring.text_rules import StudentText, reading_gaps
from autograder.judging.explanation import meaning
from autograder.tracing import home
from autograder.tracing.traced_layer import PASSING
from autograder.values.request import ExceptionReport
from autograder.values.verdict import Finding, Outcome, telling
from tracing.judged_layer import HEADS, NUMPY, TORCH, VIT, Change, exercise_of, judged, words

INT_MASK = (
    "np.tril(np.ones((sequence_length, sequence_length)))",
    "np.tri(sequence_length, dtype=int)",
)
INVERTED = (
    "np.where(causal_mask == 1, scaled_scores, -1e9)",
    "np.where(~causal_mask, -1e9, scaled_scores)",
)
OUTPUT = "attention_output, self.output_weights"
TWICE = "(scale_scores(attention_scores, x.shape[-1]), x.shape[-1])\n"
INLINE = (
    "compute_attention_scores(queries, keys)\n",
    "(keys @ queries.swapaxes(-2, -1))\n",
)
EXPONENTIALS = (
    "exponentials = scaled_scores.exp()\n"
    "    exponentials /= exponentials.sum(dim=-1, keepdim=True)\n"
    "    return exponentials"
)


STEPS = {
    (NUMPY, "/ np.sqrt(embedding_dimension)", "/ embedding_dimension"): "scale_scores",
    (NUMPY, "queries @ keys.swapaxes(-2, -1)", "keys @ queries.swapaxes(-2, -1)"): (
        "compute_attention_scores"
    ),
    (HEADS, "scaled_scores.softmax(dim=-1)", "scaled_scores.softmax(dim=-2)"): (
        "compute_attention_weights"
    ),
}


@pytest.mark.parametrize(("name", "old", "new"), STEPS)
def test_a_step_that_fails_its_own_check_is_named_first(name: str, old: str, new: str) -> None:
    told, step = words(name, (old, new)), STEPS[name, old, new]
    assert told.startswith(f"`forward` calls your `{step}`, which does not pass its own check.")
    assert "The fault is in" not in told


def test_a_step_that_calls_a_wrong_one_waits_for_it_and_is_not_wrong() -> None:
    """Its own code may be right: what it gets is not."""
    wrong = ("exponentials.sum(axis=-1, keepdims=True)", "exponentials.sum(axis=-2, keepdims=True)")
    assert judged(NUMPY, "softmax", wrong).outcome is Outcome.WRONG_VALUES
    for step, caller in (
        ("compute_attention_weights", "compute_attention_weights"),
        ("SingleHeadAttention", "forward"),
    ):
        verdict = judged(NUMPY, step, wrong)
        assert verdict.outcome is Outcome.WAITS and verdict.finding
        assert verdict.finding.fact == (
            f"`{caller}` calls your `softmax`, which does not pass its own check. "
            "So this step waits for step 1."
        )
        assert verdict.finding.look.startswith("Look there first. ")


def test_a_step_that_calls_one_that_is_not_written_waits_and_is_written_itself() -> None:
    raises = '    raise NotImplementedError("softmax is not written yet")\n'
    stub = ("    shifted = ", f"{raises}    shifted = ")
    verdict = judged(NUMPY, "compute_attention_weights", stub)
    assert verdict.outcome is Outcome.WAITS and verdict.finding
    assert verdict.finding.message == (
        "`compute_attention_weights` calls your `softmax`, which is not written yet. "
        "So this step waits for step 1. Look there first."
    )
    assert judged(NUMPY, "softmax", stub).outcome is Outcome.NOT_WRITTEN


NEARLY = {
    (NUMPY, "return softmax(scores)", "return np.clip(softmax(scores), 1e-6, None)"): 8,
    (HEADS, "scaled_scores.softmax(dim=-1)", "scaled_scores.softmax(dim=-1) * (1 - 4e-6)"): 5,
    (VIT, "scaled_scores.softmax(dim=-1)", "scaled_scores.softmax(dim=-1) + 1e-6"): 5,
}


@pytest.mark.parametrize(("name", "old", "new"), NEARLY)
def test_an_error_that_only_the_layer_makes_visible_is_told_of_the_step_as_in_class(
    name: str, old: str, new: str
) -> None:
    """It is within what the checks of the step can see."""
    layer = next(step.name for step in exercise_of(name)[0].steps if "Attention" in step.name)
    verdict = judged(name, layer, (old, new))
    assert verdict.outcome is Outcome.WAITS and verdict.finding
    assert verdict.finding.fact == (
        "`forward` calls your `compute_attention_weights`, which passes its own check, but is not "
        f"right with what a right `{layer}` passes to it. "
        f"So this step waits for step {NEARLY[name, old, new]}."
    )
    seen = "Look there first. Its numbers are nearly right: they differ by up to "
    assert verdict.finding.look.startswith(seen) and "a bound set" in verdict.finding.look


def test_where_calls_of_a_layer_are_too_large_to_be_known_others_show_a_small_error() -> None:
    clamped = ("scaled_scores.softmax(dim=-1)", "scaled_scores.softmax(dim=-1).clamp(min=1e-6)")
    assert judged(HEADS, "MultiHeadAttention", clamped).passes
    told = words(HEADS, clamped, layer="CausalMultiHeadAttention")
    assert told.startswith("`forward` calls your `compute_attention_weights`, which passes its own")


def test_a_step_that_is_too_far_off_with_what_the_layer_passes_is_not_called_nearly_right() -> None:
    clamped = ("scaled_scores.softmax(dim=-1)", "scaled_scores.softmax(dim=-1).clamp(min=1e-5)")
    assert judged(HEADS, "compute_attention_weights", clamped).passes
    told = words(HEADS, clamped)
    assert "which passes its own check, but is not right with what a right `" in told
    assert "nearly right" not in told and "Where 0 is expected, the result holds 1e-05." in told


def test_where_only_gradients_show_a_small_error_it_is_told_of_the_step() -> None:
    softmax = (
        "exponentials = (scaled_scores - scaled_scores.amax(-1, keepdim=True)).exp()\n"
        "    return exponentials / (exponentials.sum(-1, keepdim=True) + 1e-5)"
    )
    told = words(HEADS, ("return scaled_scores.softmax(dim=-1)", softmax))
    assert told.startswith("`forward` calls your `compute_attention_weights`, which passes its own")


VIEWED = (
    "return attention_weights @ values",
    "return attention_weights @ values.view(values.shape[0], -1).view(values.shape)",
)
# Only seen where the layer is asked for gradients, of which a step that raises sends none back.
VIEWED_INPUT = ("Wqkv(x)", "Wqkv(x.view(-1, x.shape[-1])).view(*x.shape[:2], -1)")
# Where the calls of the layer that is asked hold too much to be written down.
VIEWED_THRICE = (
    "    queries = q_linear(x)\n",
    "    x = x.view(-1, x.shape[-1]).view(x.shape)\n    queries = q_linear(x)\n",
)
IN_SINGLE = (
    "return attention_scores / math.sqrt(head_dim)",
    "return attention_scores / torch.tensor([float(head_dim)]).sqrt()",
)


@pytest.mark.parametrize(
    ("name", "step", "change", "when"),
    [
        (TORCH, "apply_attention", VIEWED, ", in another order in memory."),
        (TORCH, "project_qkv", VIEWED_INPUT, ", in another order in memory."),
        (VIT, "project_qkv", VIEWED_THRICE, ", in another order in memory."),
        (TORCH, "scale_scores", IN_SINGLE, "."),
    ],
)
def test_a_step_that_fails_on_memory_order_or_dtype_in_the_layer_is_charged_and_not_called_right(
    name: str, step: str, change: Change, when: str
) -> None:
    layer = exercise_of(name)[0].steps[-1].name
    verdict = judged(name, layer, change)
    assert judged(name, step, change).passes
    assert verdict.outcome is Outcome.WAITS and verdict.finding
    given = f"a right `{layer}` passes to it"
    assert f"`{step}`, which passes its own check, but is not right with what {given}{when}" in (
        verdict.finding.fact
    )
    assert not any(
        PASSING in each.finding.message for each in verdict.checks if each.finding is not None
    )


def test_a_step_that_keeps_its_results_is_seen_where_the_layer_calls_it() -> None:
    cached = ("def create_projections(", "@__import__('functools').cache\ndef create_projections(")
    verdict = judged(TORCH, "SingleHeadAttention", cached)
    assert verdict.outcome is Outcome.WAITS


def test_a_step_that_gets_nearly_what_is_expected_is_not_said_to_get_what_is_expected() -> None:
    """The layer adds the small number itself."""
    added = "apply_attention(attention_weights + 1e-6, values)"
    told = words(NUMPY, ("apply_attention(attention_weights, values)", added))
    assert "gets the expected numbers" not in told
    assert "what it gets as `attention_weights` is not quite what is expected." in told
    assert "nearly right: they differ by up to 1e-06, and the largest is 1." in told


def test_a_step_is_wrong_by_itself_where_all_that_it_calls_is_right() -> None:
    wrong = ("return softmax(scores)", "return 2 * softmax(scores)")
    verdict = judged(NUMPY, "compute_attention_weights", wrong)
    assert verdict.outcome is Outcome.WRONG_VALUES


def test_a_fault_in_a_check_that_calls_no_wrong_step_is_told_before_one_that_waits() -> None:
    waits = Finding(Outcome.WAITS, "It waits.", misconception="a_name")
    assert telling([waits, Finding(Outcome.WRONG_VALUES, "It is wrong.", vague=True)]) == 1


CALLS = {
    (NUMPY, "scores(queries, keys)\n", "scores(keys, queries)\n"): (
        "calls `compute_attention_scores` with its arguments in another order: as `queries` it "
        "gets what is expected as `keys`."
    ),
    (NUMPY, "attention(attention_weights, values)\n", "attention(values, attention_weights)\n"): (
        "calls `apply_attention` with its arguments in another order"
    ),
    (TORCH, "attention(attention_weights, values)\n", "attention(values, attention_weights)\n"): (
        "calls `apply_attention` with its arguments in another order"
    ),
    (
        NUMPY,
        "mask(scores, create_causal_mask(x.shape[1]))",
        "mask(create_causal_mask(x.shape[1]), scores)",
    ): "calls `apply_mask` with its arguments in another order",
    (NUMPY, "weights(embedding_dimension, rng)\n", "weights(rng, embedding_dimension)\n"): (
        "calls `initialize_weights` with its arguments in another order"
    ),
    (NUMPY, "attention(attention_weights, values)\n", "attention(attention_weights, x)\n"): (
        "as `values` it gets the input of `forward`. Expected there: the `values` of `project_qkv`."
    ),
    (TORCH, "weights(scaled_scores)\n", "weights(attention_scores)\n"): (
        "gets what `compute_attention_scores` gives. Expected there: what `scale_scores` gives."
    ),
    (
        NUMPY,
        "return project_output(attention_output, self.output_weights)",
        "return attention_output",
    ): ("You return the gathered values without projecting them."),
    (NUMPY, "scores, x.shape[-1])\n", "scores, x.shape[1])\n"): (
        "as `embedding_dimension` it gets 5, and 3 is expected."
    ),
    (NUMPY, "create_causal_mask(x.shape[1])", "create_causal_mask(x.shape[-1])"): (
        "as `sequence_length` it gets 4, and 3 is expected."
    ),
    (HEADS, "(self.Wqkv(x), self.num_heads)", "(self.Wqkv(x), 2)"): (
        "calls `split_heads`: as `num_heads` it gets 2, and 3 is expected."
    ),
    (TORCH, "(attention_weights, values)\n", "(attention_weights, values) + values\n"): (
        "as `attention_output` it gets what is expected plus the `values` of `project_qkv`."
    ),
    (VIT, "split_heads(keys, self", "split_heads(queries, self"): (
        "Expected there: the `keys` of `project_qkv`."
    ),
    (NUMPY, f"project_output({OUTPUT})", f"project_output({OUTPUT}) + values"): (
        "It is that plus the `values` of `project_qkv`."
    ),
    (NUMPY, "(attention_scores, x.shape[-1])\n", TWICE): (
        "calls `scale_scores` once more than is expected."
    ),
    (NUMPY, "attention(attention_weights, v", "attention(attention_weights.swapaxes(-2, -1), v"): (
        "as `attention_weights` it gets what is expected with its last two axes exchanged."
    ),
    (NUMPY, "scale_scores(attention_scores, x", "scale_scores(3 * attention_scores, x"): (
        "as `attention_scores` it gets 3 times what is expected."
    ),
    (TORCH, "project_qkv(x, self.Wqkv)", "project_qkv(x, nn.Linear(8, 6))"): (
        "as `Wqkv` it gets a layer with another weight and bias than the check has put into"
    ),
}


@pytest.mark.parametrize(("name", "old", "new"), CALLS)
def test_where_each_step_is_right_the_call_that_is_not_is_told(
    name: str, old: str, new: str
) -> None:
    told = words(name, (old, new))
    assert CALLS[name, old, new] in told
    right = PASSING in told and "The fault is in" not in told
    assert right or "is right by itself. But your `forward` gives the same result as" in told


def test_a_step_that_takes_only_booleans_is_not_called_right_beside_a_mask_of_whole_numbers() -> (
    None
):
    told = words(NUMPY, INT_MASK, INVERTED)
    assert "your `apply_mask`, which passes its own check, but is not right with what your" in told
    assert "of int64, which your `create_causal_mask` makes. With one of bool, your layer" in told
    assert "each right alone" not in told
    assert "it makes -2 of 1" in told


def test_a_mask_of_floats_cannot_be_inverted_and_is_told_the_same_way() -> None:
    assert "of float64, which your `create_causal_mask` makes. With one of bool" in words(
        NUMPY, INVERTED
    )


def test_a_mask_of_booleans_that_is_inverted_makes_a_right_layer() -> None:
    bool_mask = (INT_MASK[0], "np.tri(sequence_length, dtype=bool)")
    assert judged(NUMPY, "SingleHeadAttention", bool_mask, INVERTED).passes


def test_what_a_layer_does_without_the_step_is_no_fault_of_the_step() -> None:
    told = words(NUMPY, INLINE)
    assert "calls `scale_scores`: as `attention_scores` it gets what is expected with" in told
    assert "Your layer does not call `compute_attention_scores`." in told


def test_a_mistake_that_the_layer_itself_makes_keeps_its_words() -> None:
    told = words(TORCH, ("(attention_output, self.Wo)", "(attention_output, self.Wo) + x"))
    assert "Your forward adds its input to the output." in told


@pytest.mark.parametrize(
    "name", [TORCH, *(pytest.param(each, marks=pytest.mark.slow) for each in (NUMPY, HEADS, VIT))]
)
def test_who_is_blamed_changes_nothing_of_what_passes(name: str) -> None:
    layer = exercise_of(name)[0].steps[-1].name
    for change in ((old, new) for of, old, new in (*STEPS, *CALLS) if of == name):
        blamed, plain = (judged(name, layer, change, blaming=each) for each in (True, False))
        assert [check.passes for check in blamed.checks] == [
            check.passes for check in plain.checks
        ], change


@pytest.mark.parametrize("name", [NUMPY, TORCH, HEADS, VIT])
def test_the_namespace_is_as_before_and_a_right_layer_stays_right(name: str) -> None:
    assert judged(name, exercise_of(name)[0].steps[-1].name).passes


def test_other_names_of_attributes_are_told_as_such_and_not_as_a_wrong_call() -> None:
    names = [(f"self.{name}_weights", f"self.W_{name}") for name in ("query", "key", "value")]
    told = words(NUMPY, *names)
    assert "After `__init__` there is no attribute `query_weights`." in told
    assert "Yours are `W_query`" in told


def test_sizes_that_are_refused_although_they_fit_are_named() -> None:
    told = words(HEADS, ("hidden_size % num_heads == 0", "hidden_size // num_heads == 0"))
    assert "Here `hidden_size` is 8 and `num_heads` is 2, which the layer has to take." in told


def test_an_exception_of_another_kind_in_one_line_is_told_the_expected_kinds() -> None:
    sizes = "{num_heads} heads cannot share {hidden_size} evenly"
    refusal = f'assert hidden_size % num_heads == 0, f"{sizes}"'
    told = words(HEADS, (refusal, "if hidden_size % num_heads: raise Exception('no')"))
    assert "raises `Exception`, but `AssertionError` or `ValueError` is expected." in told


def test_an_error_of_the_backward_pass_has_no_line_of_the_library() -> None:
    clamped = ("return scaled_scores.softmax(dim=-1)", EXPONENTIALS)
    told = words(TORCH, clamped)
    assert "It raises `RuntimeError" in told and "changed in place" in told
    assert "Line" not in told.partition("Look there first.")[2]


def test_a_layer_that_draws_anew_in_each_call_is_told_so() -> None:
    told = words(TORCH, ("project_output(attention_output, self.Wo)", "torch.rand_like(x)"))
    assert (
        "Asked twice with the same inputs and weights, your code gives different numbers." in told
    )


def test_shapes_that_do_not_line_up_leave_out_plain_numbers() -> None:
    report = ExceptionReport(
        "ValueError",
        "operands could not be broadcast together with shapes (4,4) (2,3,3) () ",
    )
    assert meaning(report).startswith("The shapes (4,4) (2,3,3) do not line up.")


def test_where_layers_are_made_anew_in_forward_the_first_call_with_one_is_told() -> None:
    made = "self.Wqkv, self.Wo = create_projections(x.shape[-1])\n        "
    told = words(
        TORCH,
        ("queries, keys, values = project_qkv(x,", f"{made}queries, keys, values = project_qkv(x,"),
    )
    assert (
        "as `Wqkv` it gets a layer with another weight and bias than the check has put into" in told
    )


def test_results_unpacked_in_another_order_are_told_with_the_call_that_gave_them() -> None:
    renamed = ("        queries, keys, values = split", "        one, other, values = split")
    told = words(HEADS, renamed, ("scores(queries, keys)\n", "scores(other, one)\n"))
    assert "and in which does `split_heads` give its results in line" in told


def test_the_line_that_makes_the_first_nan_is_told() -> None:
    told = words(NUMPY, ("/ np.sqrt(embedding_dimension)", "/ np.sqrt(-embedding_dimension)"))
    assert "makes the first one." in told and "The root of a negative number is NaN." in told


def test_a_softmax_too_soon_is_told_by_its_sums() -> None:
    told = words(NUMPY, (INVERTED[0], f"softmax({INVERTED[0]})"))
    assert "Each row of your result sums to 1, as after a softmax." in told


def test_nan_that_the_layer_makes_by_itself_is_told_with_its_own_line() -> None:
    rooted = "scale_scores(np.sqrt(attention_scores) ** 2, x"
    told = words(NUMPY, ("scale_scores(attention_scores, x", rooted))
    assert "makes the first one. The root of a negative number is NaN." in told


def test_what_the_code_prints_while_it_is_asked_again_is_not_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    talking = "print('so many calls')\n        attention_scores = compute_attention_scores(keys, q"
    change = ("attention_scores = compute_attention_scores(queries, keys", f"{talking}ueries")
    plain = judged(NUMPY, "SingleHeadAttention", change, blaming=False)
    asked_plainly = capsys.readouterr().out.count("so many calls")
    blamed = judged(NUMPY, "SingleHeadAttention", change)
    assert capsys.readouterr().out.count("so many calls") == asked_plainly
    assert plain.finding != blamed.finding


def test_slow_code_keeps_the_finding_that_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    # No other test has this change, and what was judged is kept.
    change = (INLINE[0], "compute_attention_scores(keys, queries)  # slow\n")
    plain = judged(NUMPY, "SingleHeadAttention", change, blaming=False)
    monkeypatch.setattr(home, "SECONDS", -1.0)
    assert judged(NUMPY, "SingleHeadAttention", change) == plain


def test_what_is_told_of_a_call_is_easy_to_read() -> None:
    told = [words(name, (old, new)) for name, old, new in (*CALLS, *STEPS)]
    told.append(words(NUMPY, INT_MASK, INVERTED))
    assert reading_gaps([StudentText("a layer", each) for each in told], ()) == ()
