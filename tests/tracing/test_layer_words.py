"""What is told first of a wrong layer whose steps are right: true, and about the first cause."""

from __future__ import annotations

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet

from autograder.authoring.text_rules import StudentText, reading_gaps
from autograder.tracing.calls import array_words
from autograder.values.verdict import Outcome
from tracing.judged_layer import HEADS, NUMPY, STRETCH, TORCH, VIT, Change, judged, words

CAUSAL = "CausalMultiHeadAttention"
MADE = "self.Wqkv, self.Wo = create_projections(hidden_size, bias)\n"
SPLIT = "queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)\n"
REFUSAL = 'hidden_size % num_heads == 0, f"{num_heads} heads cannot share {hidden_size} evenly"'
MERGED = "project_output(merge_heads(attention_output), self.Wo)"
PROJECTED = "project_output(attention_output, self.Wo)"
VIT_PROJECTED = "queries, keys, values = project_qkv(x, self.q_linear"
VIT_SPLIT = "".join(
    f"        {name} = split_heads({name}, self.num_heads)\n"
    for name in ("queries", "keys", "values")
)
INLINE_WEIGHTS = (
    "compute_attention_weights(scaled_scores)\n        attention_output",
    "scaled_scores.softmax(dim=-2)\n        attention_output",
)


def added(line: str) -> Change:
    return MADE, f"{MADE}        {line}\n"


def in_the_slow_tests(*rows: str | tuple[str, ...]) -> list[ParameterSet]:
    """What says the same of another exercise."""
    return [
        pytest.param(*((row,) if isinstance(row, str) else row), marks=pytest.mark.slow)
        for row in rows
    ]


MISSPELT = {
    HEADS: ("scores(queries, keys)\n", "scores(query=queries, key=keys)\n"),
    VIT: ("scores(queries, keys)\n", "scores(query=queries, key=keys)\n"),
    NUMPY: ("(attention_weights, values)\n", "(weights=attention_weights, values=values)\n"),
    TORCH: (PROJECTED, "project_output(attention_output, linear=self.Wo)"),
}


@pytest.mark.parametrize("name", [NUMPY, HEADS, *in_the_slow_tests(TORCH, VIT)])
def test_a_misspelt_keyword_of_a_step_is_told_as_python_tells_it(name: str) -> None:
    told = words(name, MISSPELT[name])
    assert "got an unexpected keyword argument" in told
    assert "has no parameter `" in told


@pytest.mark.parametrize(
    ("given", "said"),
    [("attention_output", "leaves out `Wo`"), ("attention_output, self.Wo, 3", "more values")],
)
def test_too_few_and_too_many_arguments_are_told_as_python_tells_it(given: str, said: str) -> None:
    told = words(TORCH, (PROJECTED, f"project_output({given})"))
    assert "raises `TypeError" in told and said in told


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("self.norm = nn.LayerNorm(hidden_size)", "norm"),
        ("self.extra = nn.Linear(hidden_size, hidden_size)", "extra"),
        ("self.scale = nn.Parameter(torch.ones(1))", "scale"),
    ],
)
@pytest.mark.parametrize("exercise", [HEADS, *in_the_slow_tests(TORCH)])
def test_an_unused_parameter_is_named_and_no_call_is_blamed(
    exercise: str, line: str, name: str
) -> None:
    told = words(exercise, added(line))
    assert f"would train them too. They are in `self.{name}`." in told
    assert "All calls are right" not in told and "`self.Wo`" not in told


RETURNED = {
    (HEADS, MERGED, f"{MERGED}, attention_weights"): "The first of them is what `project_output`",
    (HEADS, MERGED, f"attention_weights, {MERGED}"): "The second of them is what `project_output`",
    (TORCH, PROJECTED, f"[{PROJECTED}]"): "In it is what `project_output` gives.",
    (HEADS, MERGED, f"{MERGED}.relu()"): "no number is below 0",
    (TORCH, PROJECTED, f"{PROJECTED}.mean(1)"): "is the mean of what is expected along axis 1 (S)",
    (TORCH, PROJECTED, f"2 * {PROJECTED}"): "is 2 times what is expected",
}


@pytest.mark.parametrize(("name", "old", "new"), RETURNED)
def test_what_is_done_to_the_last_result_is_told_and_not_that_it_is_another(
    name: str, old: str, new: str
) -> None:
    told = words(name, (old, new))
    assert RETURNED[name, old, new] in told
    assert "All calls are right up to `project_output` in line" in told
    assert "not what that call gives" not in told


def test_a_right_result_in_another_precision_is_told_as_that() -> None:
    told = words(TORCH, (PROJECTED, f"{PROJECTED}.double()"))
    assert "The result is float64" in told and "All calls" not in told


def test_a_layer_whose_bias_was_changed_is_not_called_another_layer() -> None:
    emptied = "with torch.no_grad(): self.Wqkv.bias *= 0\n        "
    told = words(
        TORCH,
        (
            "queries, keys, values = project_qkv(x,",
            f"{emptied}queries, keys, values = project_qkv(x,",
        ),
    )
    assert "a layer with another bias than the check has put into `self.Wqkv`." in told
    told = words(TORCH, ("project_qkv(x, self.Wqkv)", "project_qkv(x, self.Wo)"))
    assert "as `Wqkv` it gets `self.Wo`." in told


def test_a_layer_that_is_copied_is_told_to_get_no_gradient_and_not_to_be_cut_off() -> None:
    copied = "project_qkv(x, __import__('copy').deepcopy(self.Wqkv))"
    finding = judged(TORCH, "SingleHeadAttention", ("project_qkv(x, self.Wqkv)", copied)).finding
    assert finding and finding.outcome is Outcome.WRONG_VALUES
    assert finding.fact == "In your forward, only Wo gets a gradient: Wqkv is never trained."
    assert "compute with a copy" in finding.look
    seen = "After a backward pass, `Wqkv.weight` and `Wqkv.bias` have no gradient."
    assert finding.details[-1].startswith(seen)


def test_layers_that_instances_share_are_told_and_not_what_was_done_to_them() -> None:
    kept = "__import__('functools').lru_cache(create_projections)"
    shared = (
        ("        self.Wqkv, self.Wo = create_projections(", "        self.Wqkv, self.Wo = KEPT("),
        ("class SingleHeadAttention", f"KEPT = {kept}\n\n\nclass SingleHeadAttention"),
    )
    told = words(TORCH, *shared)
    assert "Two instances of your class have layers with the same numbers" in told
    told = words(TORCH, (MADE, f"{MADE}        nn.init.ones_(self.Wqkv.weight)\n"))
    assert "The weights of `Wqkv` are not drawn at random" in told


@pytest.mark.parametrize("decimals", [1, 2])
def test_weights_that_were_rounded_are_told_as_that_and_not_as_no_draw(decimals: int) -> None:
    rounded = f"weight.data = layer.weight.data.round(decimals={decimals})"
    told = words(
        TORCH,
        (
            "    return Wqkv, Wo\n",
            f"    for layer in (Wqkv, Wo): layer.{rounded}\n    return Wqkv, Wo\n",
        ),
        layer="create_projections",
    )
    said = f"The weights of `Wqkv` have no more than {decimals} decimal{'s' * (decimals > 1)}"
    assert said in told and "A draw keeps all digits." in told
    assert "not drawn" not in told and "separate" not in told and "learn the same" not in told


def test_a_layer_that_is_wrong_from_some_size_on_is_said_to_be_right_only_where_it_was_asked() -> (
    None
):
    line = "scaled_scores = scale_scores(attention_scores, keys.shape[-1])\n"
    finding = judged(
        TORCH,
        "SingleHeadAttention",
        (line, f"{line}        scaled_scores = scaled_scores * (2 if x.shape[1] > 13 else 1)\n"),
        blaming=False,
    ).finding
    assert finding and finding.look.startswith("With the sizes that were asked before, it is right")


def test_a_bias_that_is_off_by_default_is_not_said_to_be_never_there() -> None:
    default = "num_heads: int, bias: bool = True)", "num_heads: int, bias: bool = False)"
    told = judged(HEADS, "MultiHeadAttention", default, blaming=False).finding
    assert told and "Your layers have no bias where one is expected." in told.fact


def test_no_gradient_is_missed_where_none_could_be_sent_back() -> None:
    checks = judged(HEADS, "MultiHeadAttention", (MERGED, f"{MERGED}, attention_weights")).checks
    facts = [check.finding.fact for check in checks if check.finding]
    no_way = (
        "The layer returns a list or tuple of 2, and no gradient can be sent back through that."
    )
    assert no_way in facts
    assert not any("No parameter gets a gradient" in fact for fact in facts)


BY_HAND = ("    return Wo(merged)", "    return merged @ Wo.weight.T + Wo.bias")


def test_a_step_that_needs_a_bias_is_told_where_it_is_none() -> None:
    told = words(HEADS, BY_HAND)
    assert "calls your `project_output`, which does not pass its own check" in told
    assert "`Wo.bias` is None where the layer is made with `bias=False`." in told


def test_a_layer_that_needs_a_bias_is_told_where_it_is_none() -> None:
    by_hand = "merge_heads(attention_output) @ self.Wo.weight.T + self.Wo.bias"
    told = words(HEADS, (MERGED, by_hand), layer=CAUSAL)
    assert "`self.Wo.bias` is None where the layer is made with `bias=False`." in told


# Alone it is not asked with a tensor of this shape.
OF_ONE_SHAPE = (
    "    return Wo(merged)",
    "    merged[9 * (merged.shape == (3, 5, 6))]\n    return Wo(merged)",
)


def test_an_exception_in_a_step_that_is_right_is_told_with_its_line() -> None:
    told = words(HEADS, OF_ONE_SHAPE)
    assert "calls your `project_output`, which passes its own check" in told
    assert "raises `IndexError" in told


def test_a_mask_of_floats_is_told_at_its_step() -> None:
    floats = (
        "return positions < lengths[:, None]",
        "return (positions < lengths[:, None]).float()",
    )
    told = words(STRETCH, floats)
    assert "calls your `create_padding_mask`, which does not pass its own check" in told
    assert "True and False are expected. Later steps may turn a mask over with `~`" in told


UNPACKED = [
    (HEADS, "split_heads", "values, keys, queries"),
    (NUMPY, "project_qkv", "values, keys, queries"),
    (VIT, "project_qkv", "keys, queries, values"),
    (STRETCH, "project_two_sequences", "queries, values, keys"),
]
UNPACKED_ELSEWHERE = [
    (HEADS, "split_heads", "queries, values, keys"),
    (HEADS, "split_heads", "keys, values, queries"),
    (TORCH, "project_qkv", "queries, values, keys"),
    (VIT, "project_qkv", "queries, values, keys"),
]


@pytest.mark.parametrize(
    ("name", "step", "names"), [*UNPACKED, *in_the_slow_tests(*UNPACKED_ELSEWHERE)]
)
def test_the_line_that_unpacks_results_in_another_order_is_told(
    name: str, step: str, names: str
) -> None:
    told = words(name, (f"        queries, keys, values = {step}", f"        {names} = {step}"))
    listed = ", ".join(f"`{each}`" for each in names.split(", "))
    assert f"unpacks the results of `{step}` as {listed}. In which order does" in told


def test_two_layers_that_are_kept_under_each_others_name_are_told_by_their_line() -> None:
    told = words(HEADS, ("self.Wqkv, self.Wo = create", "self.Wo, self.Wqkv = create"))
    assert "unpacks the results of `create_projections` as `self.Wo`, `self.Wqkv`." in told


def test_arguments_in_another_order_do_not_blame_an_unpacking_that_is_right() -> None:
    told = words(TORCH, ("scores(queries, keys)\n", "scores(keys, queries)\n"))
    assert "In which order does `compute_attention_scores` take its arguments?" in told


FIRST = {
    (HEADS, SPLIT, f"{SPLIT}        keys = values = queries\n"): (
        "calls `compute_attention_scores`: as `keys` it gets the `queries` of `split_heads`."
    ),
    (VIT, VIT_SPLIT, VIT_SPLIT.replace("num_heads", "head_dim")): (
        "calls `split_heads`: as `num_heads` it gets 5, and 2 is expected."
    ),
    (
        NUMPY,
        "x, self.query_weights, self.key_weights, self.value_weights\n",
        "x, self.query_weights, self.value_weights, self.output_weights\n",
    ): "as `key_weights` it gets `self.value_weights`. Expected there: `self.key_weights`.",
}


@pytest.mark.parametrize(("name", "old", "new"), FIRST)
def test_the_first_call_that_gets_something_wrong_is_told(name: str, old: str, new: str) -> None:
    assert FIRST[name, old, new] in words(name, (old, new))


def test_of_two_slips_the_first_is_told() -> None:
    merging = (
        "merged = merge_heads(attention_output)",
        "merged = attention_output.reshape(x.shape)",
    )
    told = words(VIT, INLINE_WEIGHTS, merging)
    assert "as `attention_weights` it gets other numbers than expected." in told
    assert "Your layer does not call `compute_attention_weights`." in told


@pytest.mark.parametrize("cut", ["", ".chunk(3, dim=-1)"])
def test_a_first_call_that_gets_other_numbers_in_other_shapes_is_told(cut: str) -> None:
    told = words(HEADS, (SPLIT, f"queries, keys, values = self.Wqkv(x){cut}\n"))
    assert "calls `compute_attention_scores`: as `queries` it gets a tensor of shape" in told
    assert "Your layer does not call `split_heads`." in told


def test_a_call_that_is_left_out_for_one_of_three_is_told() -> None:
    told = words(VIT, ("        queries = split_heads(queries, self.num_heads)\n", ""))
    assert "Your layer does not call `split_heads` for the `queries`." in told


def test_a_mask_the_wrong_way_round_is_told_as_that() -> None:
    told = words(NUMPY, ("create_causal_mask(x.shape[1]))", "1 - create_causal_mask(x.shape[1]))"))
    assert "the wrong way round, with 1 for 0 and 0 for 1." in told


def test_a_result_used_for_another_one_is_told_by_the_mistake_that_gives_the_same() -> None:
    told = words(STRETCH, ("(attention_weights @ values)", "(attention_weights @ keys)"))
    assert "Your `project_two_sequences` is right by itself. But your `forward` gives" in told
    assert "with this mistake in it: “You return the keys as the" in told


def test_an_exception_in_the_layer_itself_is_no_mistake_of_a_step_that_comes_later() -> None:
    told = words(HEADS, (MERGED, "merge_heads(self.Wo(attention_output))"))
    assert "Here they have 3 and 6. The shapes there: `attention_output` (3, 2, 5, 3)." in told
    assert "You move the heads" not in told


def test_layers_in_another_order_are_told_although_each_result_goes_on_by_itself() -> None:
    told = words(VIT, ("self.k_linear, self.v_linear)\n", "self.v_linear, self.k_linear)\n"))
    assert "calls `project_qkv` with its arguments in another order" in told


def test_an_order_that_is_made_good_by_the_next_line_is_not_told() -> None:
    crossed = ("self.k_linear, self.v_linear)\n", "self.v_linear, self.k_linear)\n")
    back = ("        queries, keys, values = project", "        queries, values, keys = project")
    told = words(VIT, crossed, back, ("project_output(merged,", "project_output(2 * merged,"))
    assert "as `merged` it gets 2 times what is expected." in told


def test_a_call_that_belongs_to_another_case_is_told_as_that() -> None:
    told = words(STRETCH, ("if lengths is not None:", "if lengths is None:"))
    assert "calls `create_padding_mask`, which is not expected with these arguments." in told


def test_numbers_that_were_rounded_are_told_as_that() -> None:
    told = words(TORCH, ("project_qkv(x,", "project_qkv(x.half(),"))
    assert "as `x` it gets what is expected, rounded to float16." in told


def test_a_layer_that_scales_sooner_is_not_blamed_for_that() -> None:
    sooner = ("scores(queries, keys)\n", "scores(queries / keys.shape[-1] ** 0.5, keys)\n")
    later = ("scale_scores(attention_scores, keys.shape[-1])", "attention_scores")
    told = words(TORCH, sooner, later, (PROJECTED, "project_output(values, self.Wo)"))
    assert "as `attention_output` it gets the `values` of `project_qkv`." in told


def test_a_parameter_that_only_the_learners_step_has_is_no_wrong_call() -> None:
    more = ('(scaled_scores: Float[Tensor, "B S S"])', "(scaled_scores, temperature=1.0)")
    told = words(TORCH, more, (PROJECTED, f"2 * {PROJECTED}"))
    assert "All calls are right up to `project_output`" in told


def test_a_step_that_stands_in_another_branch_is_not_said_to_be_left_out() -> None:
    scaled = "scores = scale_scores(attention_scores, x.shape[-1])\n        if causal:\n"
    masked = "            scores = apply_mask(scores, create_causal_mask(x.shape[1]))\n"
    branches = (
        f"if causal:\n{masked.replace('(scores', '(attention_scores')}        else:\n"
        "            scores = scale_scores(attention_scores, x.shape[-1])\n"
    )
    told = words(NUMPY, (scaled + masked, branches))
    assert "With `causal=True`, your layer does not call `scale_scores`. Line" in told
    assert "calls it on another way through the code." in told


def test_shapes_are_told_without_a_comma_too_many() -> None:
    told = words(TORCH, ("scores(queries, keys)\n", "scores(queries, keys.mT)\n"))
    assert "it gets a tensor of shape (3, 5, 4), not (3, 4, 5). Line" in told


def test_a_changed_input_is_told_as_that_and_no_call_before_the_first_is_right() -> None:
    told = words(
        TORCH, ("project_qkv(x,", "project_qkv(nn.functional.layer_norm(x, x.shape[-1:]),")
    )
    assert "as `x` it gets other numbers than expected. Expected there: the input of" in told
    assert "Every call before" not in told


def test_a_scale_of_its_own_in_the_layer_is_told_where_a_call_shows_it() -> None:
    told = words(STRETCH, ("math.sqrt(keys.shape[-1])", "math.sqrt(keys.shape[1])"))
    assert "as `scaled_scores` it gets 0.8944 times what is expected." in told


def test_steps_in_the_wrong_order_are_told_by_which_comes_first() -> None:
    late = (MERGED, "merge_heads(project_output(attention_output, self.Wo))")
    assert "`merge_heads` comes before `project_output`." in words(HEADS, late)
    soon = (
        f"        {VIT_PROJECTED}",
        f"        x = split_heads(x, self.num_heads)\n        {VIT_PROJECTED}",
    )
    told = words(VIT, soon, (VIT_SPLIT, ""))
    assert "`project_qkv` comes before `split_heads`." in told


HIDDEN = {
    (
        "-math.inf)\n        attention",
        "-10)\n        attention",
    ): "it gets -10 for the hidden scores",
    (
        "scaled_scores = scaled_scores.masked_fill(~visible, -math.inf)\n        attention_weights "
        "= compute_attention_weights(scaled_scores)",
        "pass\n        attention_weights = compute_attention_weights(scaled_scores)\n"
        "        if causal:\n            attention_weights = attention_weights * visible",
    ): "You mask the weights after the softmax",
    ("scaled_scores = scaled_scores.masked", "scaled_scores = attention_scores.masked"): (
        "as `scaled_scores` it gets 2 times what is expected."
    ),
}


@pytest.mark.parametrize(("old", "new"), HIDDEN)
def test_what_is_wrong_with_the_mask_of_the_bonus_is_told(old: str, new: str) -> None:
    assert HIDDEN[old, new] in words(HEADS, (old, new), layer=CAUSAL)


def test_a_size_that_is_taken_and_not_kept_is_told() -> None:
    kept = "        self.num_heads = num_heads\n"
    sentence = "`__init__` takes `num_heads`, but nothing there sets"
    assert sentence in words(HEADS, (kept, ""))
    assert sentence in words(VIT, (kept, "        num_heads = num_heads\n"))


def test_a_class_waits_for_the_one_that_it_is_built_on() -> None:
    kept = "self.num_heads = num_heads\n", "self.num_heads = hidden_size // num_heads\n"
    finding = judged(HEADS, "CausalMultiHeadAttention", kept).finding
    assert finding and finding.outcome is Outcome.WAITS
    assert finding.fact == (
        "`CausalMultiHeadAttention` builds on your `MultiHeadAttention`, which does not pass its "
        "own check. So this step waits for step 9."
    )


def test_a_size_that_is_kept_wrong_is_told_and_no_step_is_blamed() -> None:
    kept = "self.num_heads = num_heads\n"
    split = "split_heads(self.Wqkv(x), self.num_heads)\n        attention_scores = compute"
    own = "self.Wqkv(x).reshape(*x.shape[:2], 3, -1, self.head_dim).transpose(1, 3).unbind(dim=2)"
    told = words(
        HEADS,
        (kept, f"{kept}        self.head_dim = num_heads\n"),
        (split, split.replace("split_heads(self.Wqkv(x), self.num_heads)", own)),
    )
    assert "After `__init__`, `self.head_dim` is 2, but as `head_dim`, `scale_scores`" in told
    assert "The fault is in" not in told


def test_a_misspelt_attribute_is_told_the_one_that_is_kept() -> None:
    assert "Did you mean `self.num_heads`?" in words(
        VIT, ("(keys, self.num_heads", "(keys, self.numheads")
    )
    assert "keeps it as `self.num_heads`." in words(
        VIT, ("(keys, self.num_heads", "(keys, num_heads")
    )


@pytest.mark.filterwarnings("ignore:assertion is always true")
def test_an_assert_of_a_tuple_is_told_to_refuse_nothing() -> None:
    told = words(HEADS, (REFUSAL, f"({REFUSAL})"))
    assert "asserts a tuple" in told and "nothing is ever refused" in told


def test_heads_that_end_the_constructor_without_an_exception_are_told_to_raise_one() -> None:
    told = words(HEADS, (f"assert {REFUSAL}", "if hidden_size % num_heads:\n            return"))
    assert "`__init__` should raise `AssertionError` or `ValueError`." in told
    assert "there is no attribute" not in told


def test_weights_beside_the_expected_ones_are_told_and_not_a_draw_in_each_call() -> None:
    library = "self.own = nn.MultiheadAttention(hidden_size, num_heads, batch_first=True)"
    told = words(HEADS, added(library), (SPLIT, f"return self.own(x, x, x)[0]\n        {SPLIT}"))
    assert "the check puts the same weights into `Wqkv` and `Wo`." in told
    assert "Asked twice" not in told


def test_a_layer_that_is_no_module_is_told_so() -> None:
    plain = ("class SingleHeadAttention(nn.Module):", "class SingleHeadAttention:")
    told = words(TORCH, plain, ("        super().__init__()\n", ""))
    assert "gets that from `nn.Module`. Which class does `SingleHeadAttention` build on?" in told
    assert "In training" not in told


def test_what_is_told_of_a_layer_is_easy_to_read() -> None:
    changes = [(name, (old, new)) for name, old, new in (*RETURNED, *FIRST)]
    told = [words(name, change) for name, change in (*changes, *MISSPELT.items(), (HEADS, BY_HAND))]
    told += [words(HEADS, change, layer=CAUSAL) for change in HIDDEN]
    assert reading_gaps([StudentText("a layer", each) for each in told], ()) == ()


def test_arrays_with_infinite_numbers_are_compared_without_a_warning() -> None:
    hidden = np.array([[1.0, -np.inf], [2.0, 3.0]])
    assert array_words(2 * hidden, hidden) == "2 times what is expected"
    assert array_words(np.maximum(hidden, -10), hidden).startswith("-10 for the hidden scores")
    assert array_words(np.zeros((2, 2)), hidden) == "other numbers than expected"
    assert array_words(hidden, np.full((2, 2), np.inf)) == "other numbers than expected"
