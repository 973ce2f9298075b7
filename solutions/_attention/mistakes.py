"""Known wrong implementations that exercises share; each docstring is what the student reads.

Each class is a kind of step, and holds the mistakes made there. An exercise takes those that fit,
and its exercise.toml says under `[words]` what stands for the {names} in braces. The first
paragraph says what the code does and what is expected instead, the second where to look. None of
them gives the line to type. No library is imported, since the exercise in NumPy is also graded
where PyTorch is not installed.
"""

import functools
import math


def given(right):
    """Return a decorator that hands a mistake the `right` step, to build the wrong one from."""

    def decorated(wrong):
        @functools.wraps(wrong)
        def step(*arguments, **named):
            return wrong(right, *arguments, **named)

        return step

    return decorated


class FusedLayers:
    """Making the layers Wqkv and Wo; each is given the right step."""

    def layers_the_wrong_way_round(right, hidden_size, bias=True):
        """Your two layers come in the order Wo, Wqkv.

        The order should be Wqkv, Wo. In which order do you return them?
        """
        return tuple(reversed(right(hidden_size, bias)))

    def bias_switch_ignored(right, hidden_size, bias=True):
        """Your layers have a bias although bias=False was asked for.

        The argument is there to be passed on. Where does your code use it?
        """
        return right(hidden_size)

    def bias_off_by_default(right, hidden_size, bias=False):
        """Your layers have no bias by default, but one is expected.

        The bias is on unless bias=False is asked for. Which default does your argument have?
        """
        return right(hidden_size, bias)

    def bias_missing(right, hidden_size, bias=True):
        """Your layers have no bias where one is expected.

        The bias is on unless bias=False is asked for. What do your layers get for their bias
        argument?
        """
        return right(hidden_size, False)

    def bias_forgotten_in_the_output_layer(right, hidden_size, bias=True):
        """Only your Wqkv follows the bias argument; Wo does not.

        Either both layers have a bias or neither does. What does the second layer get for its bias
        argument?
        """
        Wqkv, Wo = right(hidden_size, bias)
        return Wqkv, type(Wo)(Wo.in_features, Wo.out_features)


class Parts:
    """Queries, keys and values; each is given the right step, which returns the three."""

    def order_of_key_query_value(right, *arguments):
        """Your queries and keys have changed places.

        {order}
        """
        queries, keys, values = right(*arguments)
        return keys, queries, values

    def order_of_value_key_query(right, *arguments):
        """Your three results come in the order value, key, query.

        {order}
        """
        return tuple(reversed(right(*arguments)))

    def keys_used_for_values(right, *arguments):
        """You return the keys as the values.

        What a token offers as its key and what it passes on are two different {parts}. Which
        {part} the third result?
        """
        queries, keys, _ = right(*arguments)
        return queries, keys, keys

    def keys_not_projected(right, x, *projections):
        """You take the token vectors themselves as the keys: they are not projected.

        Queries, keys and values are three {parts} of the same tokens. What makes the keys?
        """
        queries, _, values = right(x, *projections)
        return queries, 1 * x, values

    def values_not_projected(right, x, *projections):
        """You take the token vectors themselves as the values: they are not projected.

        Queries, keys and values are three {parts} of the same tokens. What makes the values?
        """
        queries, keys, _ = right(x, *projections)
        return queries, keys, 1 * x

    def keys_and_values_from_the_queries(right, x, *projections):
        """You make the keys and the values from the queries, not from the token vectors.

        All three are projections of the same tokens. Does `x` still hold the token vectors when
        you make the keys?
        """
        queries = right(x, *projections)[0]
        _, keys, values = right(queries, *projections)
        return queries, keys, values

    def projections_one_after_the_other(right, x, *projections):
        """Your keys are projected from the queries, and your values from the keys.

        All three are projections of the same tokens. What goes into the second projection, and
        what into the third?
        """
        queries = right(x, *projections)[0]
        keys = right(queries, *projections)[1]
        return queries, keys, right(keys, *projections)[2]


class Heads:
    """Splitting a tensor (B, tokens, D) into heads, and merging (B, heads, tokens, head_dim)."""

    def heads_interleaved(projected, num_heads):
        """You split the vectors as (head_dim, heads), so numbers from different heads alternate.

        The numbers of one head lie next to each other. Which of the two axes comes first, the
        heads or head_dim?
        """
        B, tokens, _ = projected.shape
        return projected.reshape(B, tokens, -1, num_heads).permute(0, 3, 1, 2)

    def heads_and_head_size_exchanged(projected, num_heads):
        """Your heads have the size num_heads, and there are head_dim of them.

        num_heads says how many heads there are. Which axis gets that size in your code? And
        which one moves to the front?
        """
        B, tokens, _ = projected.shape
        return projected.reshape(B, tokens, -1, num_heads).transpose(1, 2)

    def heads_behind_the_tokens(projected, num_heads):
        """Your {results} (B, {S}, heads, head_dim): the heads stand behind the tokens.

        A matrix product takes the last two axes, which have to be {S} and head_dim. Which two axes
        still have to change places?
        """
        return projected.unflatten(-1, (num_heads, -1))

    def heads_in_front_of_the_batch(projected, num_heads):
        """Your {results} (heads, B, {S}, head_dim): the heads stand in front of the batch.

        The batch axis comes first. Where does the head axis belong?
        """
        return projected.unflatten(-1, (num_heads, -1)).permute(2, 0, 1, 3)

    def merged_without_a_move(attention_output):
        """You go straight to (B, {S}, {C}), so a token holds numbers of other tokens.

        A {reshape} moves no axis, so the heads still stand in front of the tokens. Which two axes
        have to change places first?
        """
        B, heads, tokens, head_dim = attention_output.shape
        return attention_output.reshape(B, tokens, heads * head_dim)

    def merged_heads_interleaved(attention_output):
        """You merge with head_dim in front of the heads, so numbers from different heads alternate.

        A token holds one head after the other. Which of the two axes comes first before they
        become one?
        """
        return attention_output.permute(0, 2, 3, 1).flatten(2)

    def tokens_swapped_with_the_head_size(attention_output):
        """You swap the token axis with head_dim, but it should change places with the heads.

        When the last two axes become one, they have to be heads and head_dim. Which axes does your
        code swap?
        """
        B, heads, tokens, head_dim = attention_output.shape
        return attention_output.transpose(2, 3).reshape(B, tokens, heads * head_dim)

    def heads_not_joined(attention_output):
        """You move the heads behind the tokens and leave them as an axis of their own.

        The result has three axes, and the last one is {C}. Which two axes still have to become one?
        """
        return attention_output.transpose(1, 2)

    def heads_averaged(attention_output):
        """You average the heads, but they should stand side by side.

        An average loses what sets the heads apart. How many numbers does a token have if every
        head keeps its own?
        """
        return attention_output.mean(dim=1)

    def heads_summed(attention_output):
        """You add up the heads, but they should stand side by side.

        A sum loses what sets the heads apart. How many numbers does a token have if every head
        keeps its own?
        """
        return attention_output.sum(dim=1)


class Scores:
    """Unscaled scores of queries and keys; those for a single head work in NumPy as well."""

    def keys_not_transposed(queries, keys):
        """You multiply the queries by the keys without swapping any axes of the keys.

        The {width_axis} of a query has to meet the {width_axis} of a key. Where is that axis in
        the keys now?
        """
        return queries @ keys

    def keys_reshaped(queries, keys):
        """You reshape the keys where two of their axes have to change places.

        A reshape or a view keeps the order of the numbers, so the numbers of different tokens get
        mixed. What makes two axes change places?
        """
        *others, tokens, width = keys.shape
        return queries @ keys.reshape(*others, width, tokens)

    def batch_axis_transposed(queries, keys):
        """You move the batch axis of the keys, but it has to stay in front.

        The transpose leaves the batch axis alone. Which two axes of the keys change places?
        """
        return queries @ keys.transpose(0, 2)

    def heads_compared_with_heads(queries, keys):
        """You compare the heads of one token with each other, not the tokens of one head.

        In each head, entry (i, j) is token i's query times token j's key. Which axis has to stand
        in front of head_dim in the product?
        """
        return queries.transpose(1, 2) @ keys.permute(0, 2, 3, 1)

    def scores_summed_over_the_heads(queries, keys):
        """Your scores are summed over the heads, as if all heads were one.

        Every head has scores of its own. Which axes does your sum run over?
        """
        scores = queries @ keys.transpose(-2, -1)
        return scores.sum(dim=1, keepdim=True).expand_as(scores)

    def keys_times_queries(queries, keys):
        """Your scores are transposed: rows belong to keys and columns to queries.

        Entry (i, j) is query i times key j. Which of the two stands on the left?
        """
        return keys @ queries.swapaxes(-2, -1)

    def only_the_keys_own_query(queries, keys):
        """You multiply each query only by the key of its own token: the result is {own_scores}.

        Every query meets every key, and each pair gives a number. Which product of two matrices
        makes all pairs at once?
        """
        return (queries * keys).sum(axis=-1)

    def only_the_last_product(queries, keys):
        """Your scores hold only the last product of each sum, that of the last two numbers.

        A dot product adds up all the products. If a loop makes them, what does one round do to
        what the rounds before it have left?
        """
        return queries[..., -1:] @ keys[..., -1:].swapaxes(-2, -1)

    def scores_scaled_already(queries, keys):
        """Your scores are already divided by the square root of the {width}.

        That is the next step, and done twice it would be too much. What does this step return?
        """
        return queries @ keys.swapaxes(-2, -1) / math.sqrt(keys.shape[-1])

    def queries_times_queries(queries, keys):
        """You compare the queries with themselves: the keys are not used.

        Entry (i, j) is query i times key j. Which {array}s stand in your product?
        """
        return queries @ queries.swapaxes(-2, -1)


class Scaling:
    """Scaling the scores by the size of what a dot product runs over, the width."""

    def scores_not_scaled(attention_scores, width):
        """Your scores {unscaled} they are not scaled.

        The spread of a dot product grows with {spread}. What do you divide by to undo that?
        """
        return 1 * attention_scores

    def divided_by_the_width(attention_scores, width):
        """You divide by the {width} itself, {root}.

        The variance of a dot product grows like {D}. How does its standard deviation grow?
        """
        return attention_scores / width

    def divided_by_the_width_and_by_two(attention_scores, width):
        """You divide by the {width}, and then by 2 as well.

        If you write the root as a power: a power comes before a division, so `a ** 1 / 2` is half
        of a. What puts the exponent in one piece?
        """
        return attention_scores / width / 2

    def divided_by_half_the_width(attention_scores, width):
        """You divide by half the {width}, not by its square root.

        If you write the root as a power: a power comes before a division, so `a ** 1 / 2` is half
        of a. What puts the exponent in one piece?
        """
        return attention_scores / (width / 2)

    def divided_by_eight_always(attention_scores, width):
        """You divide by 8, which is right only where {D} is 64.

        Other layers have other sizes. Where does your code get the number whose root it divides by?
        """
        return attention_scores / 8

    def divided_by_the_root_rounded_down(attention_scores, width):
        """You divide by a whole number: the square root of the {width}, rounded down.

        A square root is rarely whole, and `int`, `isqrt` and `//` drop what comes after the point.
        Which of your operations makes a whole number?
        """
        return attention_scores / math.isqrt(width)

    def multiplied_by_the_root(attention_scores, width):
        """You multiply by the square root of the {width}, which widens the spread.

        Scaling should make the scores smaller. Which operation does that?
        """
        return attention_scores * math.sqrt(width)

    def divided_by_the_root_of_the_sequence_length(attention_scores, width):
        """You divide by the square root of the sequence length.

        Each score is a sum over the {width_axis}, not over the sequence. Which number says how
        many products it adds up?
        """
        return attention_scores / math.sqrt(attention_scores.shape[-1])

    def scaled_in_place(attention_scores, width):
        """You change the scores in place, so the caller's {array} changes too.

        The {array} belongs to the caller, and the backward pass may need it as it was. Which
        operator makes a new {array}?
        """
        attention_scores /= math.sqrt(width)
        return attention_scores


class Softmax:
    """From scores to weights; each is given the right step, a softmax along the last axis."""

    def softmax_over_the_queries(right, scores):
        """Your softmax runs down the columns: each column sums to 1, not each row.

        A row belongs to one query, and that query divides its attention among the keys. Along
        which {along} do the keys of one query lie?
        """
        return right(scores.swapaxes(-2, -1)).swapaxes(-2, -1)

    def softmax_of_the_transposed_scores(right, scores):
        """You swap the axes of the scores before the softmax: your rows belong to the keys.

        The scores come with a row for each query, and the softmax runs along it. Does anything
        have to change places before?
        """
        return right(scores.swapaxes(-2, -1))

    def softmax_of_the_negated_scores(right, scores):
        """Your softmax takes the scores with the wrong sign: the lowest one gets the most weight.

        The best match has the highest score, and should get the largest share. Which line changes
        the sign?
        """
        return right(-scores)

    def negative_scores_raised_to_zero(right, scores):
        """You set negative scores to 0 before the softmax, so they all count the same.

        A score may have any sign: the lower it is, the smaller is its share. Which line keeps only
        what is positive?
        """
        return right(scores.clip(min=0))

    def softmax_over_the_heads(right, scores):
        """Your softmax runs along the heads: the heads of one token compete with each other.

        Each head has weights of its own. Along which dimension do the keys of one query lie? If
        no dimension is given, PyTorch takes this one.
        """
        return right(scores.swapaxes(1, -1)).swapaxes(1, -1)

    def softmax_over_the_batch(right, scores):
        """Your softmax runs along the batch: the {sequence}s of a batch compete with each other.

        {Sequence}s have nothing to do with one another here. Along which {along} do the keys of
        one query lie?
        """
        return right(scores.swapaxes(0, -1)).swapaxes(0, -1)

    def softmax_over_whole_heads(right, scores):
        """Your softmax runs over all scores of a head at once: the whole square sums to 1.

        Each row belongs to one query and sums to 1 by itself. Over which numbers of a head does
        your softmax run?
        """
        return right(scores.flatten(2)).reshape(scores.shape)

    def softmax_without_the_shift(scores):
        """Your softmax exponentiates large scores without bringing them down, and they overflow.

        The shares depend only on the differences within a row, so you may shift each row before
        you exponentiate it. How far, and which way, so that nothing overflows?
        """
        exponentials = math.e**scores
        return exponentials / exponentials.sum(-1)[..., None]

    def softmax_applied_twice(right, scores):
        """You apply the softmax twice: the weights are nearly equal.

        Weights put through a softmax again lose most of their differences. How many times does
        your code call softmax?
        """
        return right(right(scores))

    def future_masked(right, scores):
        """You mask the future, but here every token sees all tokens.

        Models that predict the next token need a causal mask; {no_mask}. What happens to the
        scores before your softmax?
        """
        future = scores.new_ones(scores.shape).triu(diagonal=1) == 1
        return right(scores.masked_fill(future, -math.inf))

    def logarithm_of_the_softmax(right, scores):
        """You return the logarithm of the weights: they are negative and do not sum to 1.

        Such a logarithm is made for a loss. Which function gives the shares themselves?
        """
        return right(scores).log()

    def scores_returned_as_weights(right, scores):
        """You return the scores, but weights are expected.

        What turns numbers of any size into shares that sum to 1?
        """
        return scores.clone()


class Sums:
    """The weighted sum of the values; those for a single head work in NumPy as well."""

    def weights_averaged_over_the_heads(attention_weights, values):
        """You average the attention weights over the heads before you apply them.

        Then every head attends to the same tokens, and several heads are of no use. Whose weights
        belong to the values of a head?
        """
        return attention_weights.mean(dim=1, keepdim=True) @ values

    def weights_transposed_in_the_sum(attention_weights, values):
        """You transpose the attention weights: each token gives instead of gathering.

        Row i of the weights belongs to the token that gathers. Which axis of the weights meets the
        {token_axis} of the values?
        """
        return attention_weights.swapaxes(-2, -1) @ values

    def values_weighted_by_their_columns(attention_weights, values):
        """You multiply each value by the sum of a column of weights: nothing is gathered.

        A token adds up the values of all tokens, each in its own share. Which axis is added up in
        your code, and which axis has to be?
        """
        return attention_weights.sum(-2)[..., None] * values

    def only_the_last_value(attention_weights, values):
        """Your result holds only the last value, times its weight: nothing is added up.

        Each token takes a share of all values. If a loop takes them one by one, what does one
        round do to what the rounds before it have left?
        """
        return attention_weights[..., -1:] @ values[..., -1:, :]

    def values_averaged(attention_weights, values):
        """You give every token the plain average of the values: the weights make no difference.

        Each token takes each value in its own share. Where do the weights come in?
        """
        return values.mean(axis=-2, keepdims=True) + 0 * values

    def values_before_weights(attention_weights, values):
        """You multiply the values by the weights, in this order, and the axes do not fit.

        The sum runs over the tokens: the last axis of the weights and the {token_axis} of the
        values. Which of the two stands on the left?
        """
        return values @ attention_weights

    def weights_returned_as_output(attention_weights, values):
        """You return the attention weights, but the weighted sum of the values is expected.

        The result has one vector of {numbers}. What should the weights be applied to?
        """
        return 1 * attention_weights


class Output:
    """The output projection, by a layer of PyTorch unless nothing is projected."""

    def output_not_projected(gathered, Wo):
        """You return the {gathered} without projecting them.

        {unprojected}
        """
        return 1 * gathered

    def output_bias_forgotten(gathered, Wo):
        """Your projection leaves out the bias of {Wo}.

        A linear layer is a product and a bias. What does calling the layer do that a product with
        its weight does not?
        """
        return gathered @ Wo.weight.T

    def weight_of_the_layer_not_transposed(gathered, Wo):
        """You multiply by the weight of Wo as it is stored{sizes}.

        PyTorch stores the weight of a linear layer as (outputs, inputs). What does the layer do
        with it when it is called?
        """
        return gathered @ Wo.weight + Wo.bias

    def projected_twice(merged, Wo):
        """You apply {Wo} twice.

        Its output has the shape of its input, so no error is raised. How many times does your code
        call the layer?
        """
        return Wo(Wo(merged))

    def merged_added_to_the_output(merged, Wo):
        """You add the input of {Wo} to its output.

        A residual connection goes around the whole layer, and the code that uses the layer adds
        it. What does this step alone return?
        """
        return merged + Wo(merged)
